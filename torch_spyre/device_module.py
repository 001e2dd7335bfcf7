"""The module behind ``torch.spyre``. Only use and :func:`_lazy_init` start the device.

Names of the submodules below are resolved when they are first asked for; looking at a name, also at one
that does not exist, never starts anything.
"""

import sys
import threading

import torch

from torch_spyre import _C
from torch_spyre.constants import DEVICE_NAME
from torch_spyre.random import (  # noqa: F401
    default_generator,
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)

# Inductor probes these names on every device module.
Scheduling = GraphLowering = Lowering = Codegen = Compile = None

OutOfMemoryError = torch.OutOfMemoryError
AcceleratorError = torch.AcceleratorError
has_half = True

_SUBMODULES = ("amp", "graphs", "logging", "memory", "nvtx", "profiler", "random", "streams")
_LAZY = {
    **dict.fromkeys(
        (
            "Event",
            "ExternalStream",
            "Stream",
            "StreamContext",
            "current_stream",
            "default_stream",
            "set_stream",
            "stream",
        ),
        "streams",
    ),
    **dict.fromkeys(
        (
            "SpyreGraph",
            "graph",
            "graph_pool_handle",
            "make_graphed_callables",
        ),
        "graphs",
    ),
    **dict.fromkeys(("range", "range_pop", "range_push"), "nvtx"),
    **dict.fromkeys(("get_sync_debug_mode", "set_sync_debug_mode"), "sync_debug"),
    **dict.fromkeys(("clock_rate", "list_gpu_processes", "memory_usage", "utilization"), "usage"),
    **dict.fromkeys(
        (
            "MemPool",
            "caching_allocator_alloc",
            "caching_allocator_delete",
            "empty_cache",
            "get_per_process_memory_fraction",
            "host_memory_stats",
            "host_memory_stats_as_nested_dict",
            "max_memory_allocated",
            "max_memory_cached",
            "max_memory_reserved",
            "mem_get_info",
            "memory_allocated",
            "memory_cached",
            "memory_reserved",
            "memory_snapshot",
            "memory_stats",
            "memory_stats_as_nested_dict",
            "memory_summary",
            "reset_accumulated_host_memory_stats",
            "reset_accumulated_memory_stats",
            "reset_max_memory_allocated",
            "reset_max_memory_cached",
            "reset_peak_host_memory_stats",
            "reset_peak_memory_stats",
            "set_per_process_memory_fraction",
            "use_mem_pool",
        ),
        "memory",
    ),
    "get_diagnostic_report": "ffdc",
}
_deferred = []
_deferred_lock = threading.RLock()

# Software for the existing plug-in finds the functions in this object, too.
_impl = sys.modules[__name__]


def _index(device):
    """Index of an int, str, torch.device or None (the current device)."""
    if device is None:
        return _C.current_device()
    if isinstance(device, int):
        return device
    device = torch.device(device)
    if device.type != DEVICE_NAME:
        raise ValueError(f"Expected a {DEVICE_NAME} device, but got: {device}")
    return _C.current_device() if device.index is None else device.index


def _check_device(device):
    index = _index(device)
    if not 0 <= index < _C.device_count():
        raise RuntimeError(
            f"SPYRE-E6509: Device index {index} out of range [0, {_C.device_count()})"
        )
    return index


def _spyre_get_allocator_stats(device=None):
    """Dict of the allocator's figures with the names of ``memory_stats``."""
    return _C._memory_stats(_check_device(device))


def _spyre_reset_accumulated_stats(device=None):
    """The sums of the allocator's figures begin anew at 0."""
    _C._spyre_reset_accumulated_stats(_check_device(device))


def _spyre_reset_peak_stats(device=None):
    """The peaks of the allocator's figures begin anew at the current ones."""
    _C._spyre_reset_peak_stats(_check_device(device))


def is_available():
    """There is a device; False, not an error, when the environment is at fault."""
    return _C.is_available()


def is_initialized():
    """Devices can be used, or are in use, in this process."""
    return _C.is_started()


def _is_compiled():
    return True


def _is_in_bad_fork():
    """This process was forked from one that had started the device."""
    return _C.in_bad_fork()


def _lazy_init():
    """Called before the first use of a device; each card is opened when it is used itself."""
    _C.start_runtime()
    _call_deferred()


def _call_deferred():
    """In the order they were given; other threads wait until all are done."""
    with _deferred_lock:
        while _deferred:
            _deferred.pop(0)()


def _lazy_call(function, **_options):
    """Calls the function now if the device runs, else when it starts: seeding must not start it."""
    with _deferred_lock:
        _deferred.append(function)
        if _C.is_started():
            _call_deferred()


init = _lazy_init


def device_count():
    """Number of devices; does not start any."""
    return _C.device_count()


def current_device():
    """Index of the device of this thread."""
    return _C.current_device()


def set_device(device):
    """Makes a device current for this thread."""
    _C.set_device(_index(device))


def _exchange_device(device):
    """Makes a device current and returns the index of the one that was; below 0 changes nothing."""
    previous = _C.current_device()
    if device >= 0:
        _C.set_device(device)
    return previous


_maybe_exchange_device = _exchange_device


def synchronize(device=None):
    """Waits for all work: of all devices that run, or of one."""
    if torch.compiler.is_compiling():  # Dynamo knows torch's own function
        return torch.accelerator.synchronize(*(() if device is None else (device,)))
    index = None if device is None else _check_device(device)
    if not _C.is_started():
        return
    if sys._getframe(1).f_globals.get("__name__") == "torch.autograd.profiler":
        _C._finish()  # a profile ends: its wait is not an event of the profile
    else:
        _C.synchronize(index)


class device:
    """Context manager that makes a device current; None and negative numbers leave it as it is."""

    def __init__(self, device):
        is_none = device is None or (isinstance(device, int) and device < 0)
        self.index = None if is_none else _check_device(device)
        self.previous = None

    def __enter__(self):
        self.previous = _C.current_device()
        if self.index is not None:
            _C.set_device(self.index)

    def __exit__(self, *_exception):
        _C.set_device(self.previous)
        return False


class device_of(device):
    """Context manager that makes the device of a tensor current."""

    def __init__(self, tensor):
        super().__init__(tensor.device.index if tensor.device.type == DEVICE_NAME else None)


class DeviceProperties:
    """The machine behind a device, as the description in use has it."""

    def __init__(self, values):
        self.__dict__.update(values)

    def __repr__(self):
        return (
            "SpyreDeviceProperties(" + ", ".join(f"{k}={v!r}" for k, v in vars(self).items()) + ")"
        )


def get_device_properties(device=None):
    """The machine behind a device."""
    return DeviceProperties(_C.device_properties(_check_device(device)))


def get_device_name(device=None):
    """Name of the machine behind a device."""
    return get_device_properties(device).name


def get_device_capability(device=None):
    """(1, 0): the only version of the device."""
    _check_device(device)
    return (1, 0)


def counters():
    """What happened on the device and around it since the last reset, by name."""
    return _C.counters()


def reset_counters():
    """Sets all counters to 0."""
    _C.reset_counters()


def fallback_counts():
    """Operations run on the CPU on behalf of spyre tensors, by name."""
    return _C.fallback_counts()


def get_amp_supported_dtype():
    """Types that autocast may compute in."""
    return [torch.float16, torch.bfloat16]


def is_bf16_supported(including_emulation=True):
    """bfloat16 tensors are stored in the device's own 16-bit format."""
    return True


def is_current_stream_capturing():
    """False: work of a stream is never captured. docs/adr/0089-device-graphs.md says why."""
    return False


def get_arch_list():
    """Machine names programs are made for."""
    return ["dd2"]


def ipc_collect():
    """Memory of other processes cannot be mapped, so there is none to give back."""


def can_device_access_peer(device, peer_device):
    """Cards copy through the host."""
    _check_device(device)
    _check_device(peer_device)
    return False


def show_config(file=None):
    """Prints every environment variable that is read, its value and where that comes from."""
    from torch_spyre import environment

    print(environment.text(), file=file)


def reset_device(device=None):
    """Makes a device usable again after a fault. Tensors made before are lost only if the fault was not
    contained; see docs/runtime/errors.md."""
    _C.reset_device(_check_device(device))


def record_control_blocks(count, device=None):
    """Keeps the newest ``count`` control blocks of a card from now on; 0 stops and forgets."""
    _C._record_control_blocks(count, _check_device(device))


def control_blocks(device=None):
    """What the card was told since :func:`record_control_blocks`, a line each; see
    docs/runtime/launch.md."""
    return _C._control_blocks(_check_device(device))


def __getattr__(name):
    import importlib

    home = name if name in _SUBMODULES else _LAZY.get(name)
    if home is not None:
        module = importlib.import_module(f"torch_spyre.{home}")
        value = module if name in _SUBMODULES else getattr(module, name)
        globals()[name] = value
        return value
    if name == "_initialized":  # torch.utils.checkpoint asks before it keeps the RNG state
        return _C.is_started()
    if name == "default_generators":
        return tuple(default_generator(index) for index in range(_C.device_count()))
    # Public names of the extension; torch probes private ones, which must not resolve by accident.
    if not name.startswith("_") and hasattr(_C, name):
        return getattr(_C, name)
    raise AttributeError(f"module 'torch.spyre' has no attribute '{name}'")


def __dir__():
    return sorted({*globals(), *_LAZY, *_SUBMODULES, "default_generators"})
