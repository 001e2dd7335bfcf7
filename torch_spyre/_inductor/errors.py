"""Errors of the compiler that user code may want to catch."""


class Unsupported(RuntimeError):
    """The graph holds operations, types or shapes the compiler does not know; the text lists all."""
