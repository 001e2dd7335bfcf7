"""The compiler behind ``torch.compile`` for spyre graphs; a thin capture layer over the C++ core."""
