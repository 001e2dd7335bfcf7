"""Memory of the device in the manner of torch.cuda.memory.

The figures come from the allocator (``_C._memory_stats``, ``_C._memory_snapshot``); nothing here
counts. Asking does not start the device.
"""

import collections
import contextlib
import itertools
import pickle
import weakref

import torch
from torch.accelerator.memory import empty_host_cache  # noqa: F401

from torch_spyre import _C
from torch_spyre.constants import DEVICE_NAME
from torch_spyre.usage import list_gpu_processes  # noqa: F401

_UNITS = ["B  ", "KiB", "MiB", "GiB", "TiB"]


def _index(device):
    from torch_spyre import device_module

    return device_module._check_device(device)


def memory_stats(device=None):
    """All figures of the allocator, flat: "allocated_bytes.all.current" and so on. They are those of tensors and of the
    temporaries of programs; "temporary_bytes" is the second part alone, "program_bytes" (code and constants) is in no
    other figure."""
    return collections.OrderedDict(sorted(_C._memory_stats(_index(device)).items()))


def memory_stats_as_nested_dict(device=None):
    """:func:`memory_stats` with a dict for each part of the names."""
    return _nested(memory_stats(device))


def _nested(stats):
    result = {}
    for name, value in stats.items():
        *parents, last = name.split(".")
        place = result
        for parent in parents:
            place = place.setdefault(parent, {})
        place[last] = value
    return result


def _stat(name, device):
    return _C._memory_stats(_index(device))[name]


def memory_allocated(device=None):
    """Bytes that tensors hold, and the temporaries of programs whose launches are being queued."""
    return _stat("allocated_bytes.all.current", device)


def max_memory_allocated(device=None):
    return _stat("allocated_bytes.all.peak", device)


def memory_reserved(device=None):
    """Bytes the allocator holds, cached ones included."""
    return _stat("reserved_bytes.all.current", device)


def max_memory_reserved(device=None):
    return _stat("reserved_bytes.all.peak", device)


def memory_cached(device=None):
    """Older name of :func:`memory_reserved`."""
    return memory_reserved(device)


def max_memory_cached(device=None):
    return max_memory_reserved(device)


def mem_get_info(device=None):
    """(free, total) bytes of device memory."""
    return _C._memory_info(_index(device))


get_memory_info = mem_get_info


def empty_cache():
    """Gives cached memory back, that which programs keep for their temporaries too; does nothing before the device has
    started."""
    if _C.is_started():
        torch.accelerator.empty_cache()


def reset_peak_memory_stats(device=None):
    """The peaks of :func:`memory_stats` begin anew at the current figures."""
    _C._spyre_reset_peak_stats(_index(device))


def reset_accumulated_memory_stats(device=None):
    """The sums of :func:`memory_stats` ("allocated" and "freed") begin anew at 0."""
    _C._spyre_reset_accumulated_stats(_index(device))


reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


def host_memory_stats():
    """Figures of pinned host memory."""
    return collections.OrderedDict(sorted(_C._host_memory_stats().items()))


def host_memory_stats_as_nested_dict():
    """:func:`host_memory_stats` with a dict for each part of the names."""
    return _nested(host_memory_stats())


def reset_peak_host_memory_stats():
    """The peaks of :func:`host_memory_stats` begin anew at the current figures."""
    _C._reset_peak_host_memory_stats()


def reset_accumulated_host_memory_stats():
    """The sums of :func:`host_memory_stats` ("allocated" and "freed") begin anew at 0."""
    _C._reset_accumulated_host_memory_stats()


def set_per_process_memory_fraction(fraction, device=None):
    """Limits the device memory of this process to a part of the card's, 0 to 1. Beyond it an allocation
    raises ``OutOfMemoryError``. Holds for memory that is allocated from now on, and does not start the
    device."""
    if isinstance(fraction, bool) or not isinstance(fraction, (int, float)) or not 0 <= fraction <= 1:
        raise ValueError(
            f"SPYRE-E6560: set_per_process_memory_fraction was given {fraction!r}; give a number from 0 to 1"
        )
    _C._set_memory_fraction(_index(device), float(fraction))


def get_per_process_memory_fraction(device=None):
    """Returns the part that :func:`set_per_process_memory_fraction` chose; 1.0 without a choice."""
    return _C._memory_fraction(_index(device))


def caching_allocator_alloc(size, device=None, stream=None):
    """Allocates ``size`` bytes of device memory for other software and returns a number that stands for
    them. The number is not an address that the host can read."""
    from torch_spyre import streams

    if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size < 1 << 63:
        raise ValueError(f"SPYRE-E6560: caching_allocator_alloc was given {size!r}; give a number of bytes")
    index = _index(device)
    if stream is None:
        stream = streams.current_stream(index)
    number = stream if isinstance(stream, int) else stream.stream_id
    return _C._allocate_raw(index, size, streams.ExternalStream(number, index).stream_id)


def caching_allocator_delete(mem_ptr):
    """Frees what :func:`caching_allocator_alloc` returned."""
    if isinstance(mem_ptr, bool) or not isinstance(mem_ptr, int) or not 0 <= mem_ptr < 1 << 64:
        raise ValueError(
            f"SPYRE-E6560: caching_allocator_delete was given {mem_ptr!r}; give what caching_allocator_alloc returned"
        )
    _C._free_raw(mem_ptr)


# In snapshots 0 is the memory of tensors and 1 that of programs.
_pool_numbers = itertools.count(2)


class MemPool:
    """Device memory that tensors share only with other tensors made inside ``use_mem_pool(pool)``. Free
    memory of a pool still serves others before an allocation fails (so ``use_on_oom`` changes nothing),
    and all of it does when the last reference to the pool goes."""

    def __init__(self, allocator=None, use_on_oom=False, no_split=False):
        if allocator is not None:
            raise ValueError(
                f"SPYRE-E6560: MemPool was given the allocator {allocator!r}; leave it out, the device's own "
                "allocator is the only one"
            )
        self._number = next(_pool_numbers)
        self._uses = 0
        weakref.finalize(self, _C._dissolve_private_pool, self._number).atexit = False

    @property
    def id(self):
        """The ``segment_pool_id`` of the pool's segments in snapshots."""
        return (0, self._number)

    def use_count(self):
        """1, and 1 for every ``use_mem_pool`` that is entered."""
        return 1 + self._uses

    def snapshot(self):
        """The segments of the pool, as :func:`memory_snapshot` gives them."""
        return [s for s in memory_snapshot() if s["segment_pool_id"] == self.id]


@contextlib.contextmanager
def use_mem_pool(pool, device=None):
    """Context manager: what this thread allocates on the device lies in the pool."""
    if not isinstance(pool, MemPool):
        raise TypeError(f"SPYRE-E6560: use_mem_pool was given {pool!r}; give a torch.spyre.MemPool")
    index = _index(device)
    outer = _C._exchange_private_pool(index, pool._number)
    pool._uses += 1
    try:
        yield
    finally:
        pool._uses -= 1
        _C._exchange_private_pool(index, outer)


def memory_snapshot(device=None):
    """Segments with their blocks."""
    index = None if device is None else _index(device)
    return [s for s in _snapshot()["segments"] if index is None or s["device"] == index]


def _snapshot(device=None):
    """Segments, blocks and the events since :func:`_record_memory_history`, as torch's memory viewer
    (pytorch.org/memory_viz) reads them."""
    return _C._memory_snapshot()


def _dump_snapshot(filename="dump_snapshot.pickle"):
    with open(filename, "wb") as file:
        pickle.dump(_snapshot(), file)


def _record_memory_history(enabled="all", *_args, max_entries=1 << 16, **_kwargs):
    """Keeps the last ``max_entries`` events of the allocator; ``enabled=None`` stops."""
    if enabled not in (None, False, True, "state", "all"):
        raise ValueError(f"enabled is {enabled!r}; give None, 'state' or 'all'")
    if max_entries < 1:
        raise ValueError(f"max_entries is {max_entries}; give 1 or more")
    _C._record_memory_history(min(int(max_entries), 1 << 24) if enabled else 0)


def _size(count):
    unit = 0
    while abs(count) >= 1 << 14 and unit + 1 < len(_UNITS):
        count //= 1024
        unit += 1
    return f"{count:7d} {_UNITS[unit]}"


def memory_summary(device=None, abbreviated=False):
    """A table of :func:`memory_stats` for people."""
    stats = memory_stats(device)
    rows = [
        ("allocated_bytes", "Allocated memory", _size),
        ("active_bytes", "Active memory", _size),
        ("requested_bytes", "Requested memory", _size),
        ("reserved_bytes", "Reserved memory", _size),
        ("inactive_split_bytes", "Non-releasable memory", _size),
        ("allocation", "Allocations", "{:7d}    ".format),
        ("active", "Active allocations", "{:7d}    ".format),
        ("segment", "Reserved segments", "{:7d}    ".format),
        ("inactive_split", "Non-releasable blocks", "{:7d}    ".format),
    ]
    pools = [("all", "")] if abbreviated else [
        ("all", ""),
        ("large_pool", "   large pool"),
        ("small_pool", "   small pool"),
    ]
    rule = "|" + "-" * 75 + "|"
    lines = [
        "|" + "=" * 75 + "|",
        f"|{f'Spyre memory summary, device {DEVICE_NAME}:{_index(device)}':^75}|",
        rule,
        f"|{'OOMs: ' + str(stats['num_ooms']):^37}|"
        f"{'allocation retries: ' + str(stats['num_alloc_retries']):^37}|",
        "|" + "=" * 75 + "|",
        f"|{'Metric':^23}|{'Now':^12}|{'Peak':^12}|{'Allocated':^12}|{'Freed':^12}|",
        rule,
    ]
    for name, title, form in rows:
        for pool, label in pools:
            values = (
                form(stats[f"{name}.{pool}.{what}"])
                for what in ("current", "peak", "allocated", "freed")
            )
            lines.append(f"| {label or title:<22}|" + "|".join(f"{v:>12}" for v in values) + "|")
        lines.append(rule)
    lines[-1] = "|" + "=" * 75 + "|"
    return "\n".join(lines) + "\n"
