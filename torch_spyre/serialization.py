"""torch.save, torch.load, pickle, deepcopy and the byte functions of storages.

Files hold the values a CPU storage would hold and, beside each tensor, how it lay on the device; the
C++ side is Serialization.h. Here torch's storage class learns that the bytes of a spyre storage cannot be
touched one by one. Every patch passes other devices straight through.
"""

import functools
import io
import re

import torch

from torch_spyre import _C
from torch_spyre.constants import DEVICE_NAME

_PRIORITY = 11  # after the CPU's, before torch's generic one for this device
_LOCATION = re.compile(rf"{DEVICE_NAME}(?::(\d+))?")

_BYTES = "read or write bytes of the storage; use the tensor, or its copy tensor.cpu()"
_SHARE = "be shared between processes; send tensor.cpu() and move it to the device there"
_REFUSED = {
    "__getitem__": _BYTES,
    "__setitem__": _BYTES,
    "__iter__": _BYTES,
    "tolist": _BYTES,
    "fill_": _BYTES,
    "byteswap": _BYTES,
    "_to": _BYTES,
    "_write_file": _BYTES,
    "_set_from_file": _BYTES,
    "share_memory_": _SHARE,
    "_share_fd_cpu_": _SHARE,
    "_share_filename_cpu_": _SHARE,
}


def _is_spyre(value):
    """Of a storage of either kind or a tensor; asking a typed storage for its device warns."""
    device = getattr(getattr(value, "_untyped_storage", value), "device", None)
    return device is not None and device.type == DEVICE_NAME


def _refuse(what):
    raise RuntimeError(f"SPYRE-E6556: a storage on {DEVICE_NAME} cannot {what}")


def _tag(storage):
    if storage.device.type == DEVICE_NAME:
        return f"{DEVICE_NAME}:{storage.device.index}"
    return None


def _restore(storage, location):
    found = _LOCATION.fullmatch(location)
    if found is None:
        return None
    from torch_spyre import device_module

    index = device_module._index(int(found[1]) if found[1] else None)
    if index >= device_module.device_count():
        raise RuntimeError(
            f"SPYRE-E6509: Attempting to deserialize object on {DEVICE_NAME} device {index} but "
            f"torch.spyre.device_count() is {device_module.device_count()}; give torch.load a "
            "map_location with a device that exists"
        )
    if storage.device.type == "meta":
        return torch.UntypedStorage(storage.nbytes(), device="meta")
    return _C._storage_from_host(storage.cpu(), index)


def _wrapped(cls, name, replacement):
    original = getattr(cls, name)

    @functools.wraps(original)
    def method(self, *args, **kwargs):
        if not _is_spyre(self):
            return original(self, *args, **kwargs)
        return replacement(self, *args, **kwargs)

    setattr(cls, name, method)


def _patch_copy(cls):
    original = cls.copy_

    @functools.wraps(original)
    def copy_(self, source, *args, **kwargs):
        if _is_spyre(source) and not _is_spyre(self):
            _C._storage_copy_to_host(source, self)
            return self
        if _is_spyre(self):
            _refuse(_BYTES)
        return original(self, source, *args, **kwargs)

    cls.copy_ = copy_


def _reduce(storage):
    """The older file format copies raw bytes; the newer one asks for a CPU storage."""
    buffer = io.BytesIO()
    torch.save(storage, buffer)
    return torch.storage._load_from_bytes, (buffer.getvalue(),)


def _text(storage):
    return f"[{torch.typename(storage)}(device={storage.device}) of size {len(storage)}]"


def _typed_text(storage):
    device = storage._untyped_storage.device
    return f"[{torch.typename(storage)}(dtype={storage.dtype}, device={device})]"


def _no_dlpack(self, *_args, **_kwargs):
    raise BufferError(
        f"SPYRE-E6556: a tensor on {DEVICE_NAME} has no memory that other libraries can read; "
        "export tensor.cpu()"
    )


def _patch_dlpack():
    _wrapped(torch.Tensor, "__dlpack__", _no_dlpack)
    _wrapped(torch.Tensor, "__dlpack_device__", _no_dlpack)
    original = torch.utils.dlpack.to_dlpack

    @functools.wraps(original)
    def to_dlpack(tensor, *args, **kwargs):
        if _is_spyre(tensor):
            _no_dlpack(tensor)
        return original(tensor, *args, **kwargs)

    torch.utils.dlpack.to_dlpack = torch.to_dlpack = to_dlpack


def install():
    """Once per process."""
    storage = torch.UntypedStorage
    for name, what in _REFUSED.items():
        _wrapped(storage, name, lambda self, *_a, _what=what, **_k: _refuse(_what))
    _wrapped(storage, "cpu", _C._storage_to_host)
    _wrapped(storage, "clone", _C._storage_clone)
    _wrapped(storage, "is_pinned", lambda self, device=None: False)
    _wrapped(storage, "is_shared", lambda self: False)
    _wrapped(storage, "__repr__", _text)
    _wrapped(storage, "__reduce__", _reduce)
    _wrapped(torch.storage.TypedStorage, "__repr__", _typed_text)
    _wrapped(torch.storage.TypedStorage, "__str__", _typed_text)
    _wrapped(torch.storage.TypedStorage, "__reduce__", _reduce)
    _wrapped(torch.storage.TypedStorage, "tolist", lambda self: _refuse(_BYTES))
    _patch_copy(storage)
    _patch_dlpack()
    torch.serialization.register_package(_PRIORITY, _tag, _restore)
    torch.serialization.add_safe_globals(
        [_C.SpyreTensorLayout, _C.DataFormats, _C.ElementArrangement]
    )
