"""Errors of the compiler that user code may want to catch."""


class Unsupported(RuntimeError):
    """Operations, types or shapes the compiler does not know; the text lists all of them."""
