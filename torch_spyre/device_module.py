"""The module behind ``torch.spyre``. Only use and :func:`_lazy_init` start the device."""

import torch

from torch_spyre import _C
from torch_spyre.constants import DEVICE_NAME

# Inductor probes these names on every device module.
Scheduling = GraphLowering = Lowering = Codegen = Compile = None

_LAZY_STREAMS = ("Stream", "stream", "current_stream", "default_stream")


def _index(device):
    """Index of an int, str, torch.device or None (the current device)."""
    if device is None:
        return _C.current_device()
    if isinstance(device, int):
        return device
    device = torch.device(device)
    return _C.current_device() if device.index is None else device.index


def _check_device(device):
    index = _index(device)
    if not 0 <= index < _C.device_count():
        raise RuntimeError(
            f"SPYRE-E6509: Device index {index} out of range [0, {_C.device_count()})"
        )
    return index


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


init = _lazy_init


def device_count():
    return _C.device_count()


def current_device():
    return _C.current_device()


def set_device(device):
    _C.set_device(_index(device))


def synchronize(device=None):
    """Waits for all work on the device; every call returns after its work, so there is none."""
    _check_device(device)


class device:
    """Context manager that makes a device current."""

    def __init__(self, device):
        self.index = _check_device(device)
        self.previous = None

    def __enter__(self):
        self.previous = _C.current_device()
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
    return DeviceProperties(_C.device_properties(_check_device(device)))


def get_device_name(device=None):
    return get_device_properties(device).name


def get_device_capability(device=None):
    _check_device(device)
    return (1, 0)


def counters():
    """What happened on the device and around it since the last reset, by name."""
    return _C.counters()


def reset_counters():
    _C.reset_counters()


def fallback_counts():
    """Operations run on the CPU on behalf of spyre tensors, by name."""
    return _C.fallback_counts()


def mem_get_info(device=None):
    """(free, total) bytes of device memory."""
    return torch.accelerator.get_memory_info(_check_device(device))


def memory_allocated(device=None):
    return _C._spyre_get_allocator_stats(_check_device(device))["allocated_bytes.all.current"]


def max_memory_allocated(device=None):
    return _C._spyre_get_allocator_stats(_check_device(device))["allocated_bytes.all.peak"]


def memory_reserved(device=None):
    return memory_allocated(device)


def empty_cache():
    """Nothing is cached: freed memory is free at once."""


def manual_seed(seed, device=None):
    _C.manual_seed(int(seed) & 0xFFFFFFFFFFFFFFFF, _check_device(device))


def manual_seed_all(seed):
    _C.manual_seed_all(int(seed) & 0xFFFFFFFFFFFFFFFF)


def seed():
    """Seeds the generator from the operating system."""
    value = torch._C.Generator().seed()
    manual_seed(value)
    return value


def initial_seed(device=DEVICE_NAME):
    return _C.initial_seed(_check_device(device))


def get_rng_state(device=DEVICE_NAME):
    return _C.get_rng_state(_check_device(device))


def set_rng_state(new_state, device=DEVICE_NAME):
    _C.set_rng_state(new_state, _check_device(device))


def get_amp_supported_dtype():
    return [torch.float16, torch.bfloat16]


def is_bf16_supported():
    return True


def __getattr__(name):
    if name in _LAZY_STREAMS:
        from torch_spyre import streams

        return getattr(streams, name)
    if name == "memory":
        from torch_spyre import memory

        return memory
    # Public names of the extension; torch probes private ones, which must not resolve by accident.
    if not name.startswith("_") and hasattr(_C, name):
        return getattr(_C, name)
    raise AttributeError(f"module 'torch.spyre' has no attribute '{name}'")
