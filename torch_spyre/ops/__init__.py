"""Operations of the device in eager mode; the work is done in the extension module."""
