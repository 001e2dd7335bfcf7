"""Warns or raises before a call that makes the host wait for the device.

Calls that wait are ``synchronize()`` of a device, stream or event, copies between host and device without
``non_blocking=True`` (``.cpu()``, ``.item()`` and fallbacks to the CPU among them), and compiled graphs
with CPU steps. The end of a profile, counters and resets are not told.
"""

import warnings

from torch_spyre import _C

_MODES = ("default", "warn", "error")
_mode = 0


def set_sync_debug_mode(debug_mode):
    """Chooses what happens before the host waits for the device: ``0`` or "default" nothing, ``1`` or
    "warn" a UserWarning, ``2`` or "error" a RuntimeError (E6562). Holds for all threads."""
    global _mode
    number = _MODES.index(debug_mode) if debug_mode in _MODES else debug_mode
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < len(_MODES):
        raise ValueError(
            f"SPYRE-E6560: set_sync_debug_mode was given {debug_mode!r}; give 0, 1, 2, 'default', 'warn' or 'error'"
        )
    _mode = number
    _C._set_wait_hook((None, _warn, _raise)[number])


def get_sync_debug_mode():
    """The number that :func:`set_sync_debug_mode` chose; 0 without a choice."""
    return _mode


def _warn(call):
    from torch_spyre.ops import fallbacks

    fallbacks.warn_graph(f"the host waits for the device: {call}", UserWarning)


def _raise(call):
    raise RuntimeError(
        f"SPYRE-E6562: {call} makes the host wait for the device, which set_sync_debug_mode('error') "
        "forbids; copy with non_blocking=True, or allow it with set_sync_debug_mode('default')"
    )
