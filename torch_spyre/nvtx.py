"""Named ranges in profiles, with the names of ``torch.cuda.nvtx``.

A range is a ``record_function`` of torch's profiler: it encloses the operations of its thread. Outside of a
profile ranges cost a microsecond and leave nothing.
"""

import contextlib
import itertools
import threading

from torch.autograd.profiler import record_function

_open = threading.local()
_started = {}
_numbers = itertools.count(1)


def _stack():
    if not hasattr(_open, "ranges"):
        _open.ranges = []
    return _open.ranges


def _entered(message):
    opened = record_function(str(message))
    opened.__enter__()
    return opened


def range_push(msg):
    """Opens a range in this thread and returns its depth, counted from 0."""
    _stack().append(_entered(msg))
    return len(_stack()) - 1


def range_pop():
    """Closes the range of this thread that was opened last and returns its depth. Raises E6563
    without one."""
    if not _stack():
        raise RuntimeError(
            "SPYRE-E6563: range_pop() in a thread without an open range; call range_push() before it"
        )
    _stack().pop().__exit__(None, None, None)
    return len(_stack())


def range_start(msg):
    """Opens a range that does not nest with others and returns its number for :func:`range_end`."""
    number = next(_numbers)
    _started[number] = _entered(msg)
    return number


def range_end(range_id):
    """Closes the range with the number. Raises E6563 without one."""
    opened = _started.pop(range_id, None)
    if opened is None:
        raise RuntimeError(
            f"SPYRE-E6563: range_end({range_id!r}) names no open range; give what range_start() returned, once"
        )
    opened.__exit__(None, None, None)


def mark(msg):
    """Leaves an event without length in the profile."""
    _entered(msg).__exit__(None, None, None)


@contextlib.contextmanager
def range(msg, *args, **kwargs):
    """Context manager and decorator: a range around its body. The arguments format the text."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
