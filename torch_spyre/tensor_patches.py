"""What torch's own tensors learn: ``device_layout=``, readable printing, flex_attention, checks of
traces. Each patch passes other devices straight through.
"""

import functools
import threading

import torch
from torch.nn.attention import flex_attention

from torch_spyre import _C
from torch_spyre._inductor.propagate_named_dims import copy_names
from torch_spyre.constants import DEVICE_NAME


def _is_spyre(tensor):
    return tensor.device.type == DEVICE_NAME and not isinstance(
        tensor, torch._subclasses.fake_tensor.FakeTensor
    )


def device_tensor_layout(self):
    """Device layout of the storage behind a spyre tensor; None on other devices."""
    return _C.get_spyre_tensor_layout(self) if _is_spyre(self) else None


def _target_dtype(tensor, args, kwargs):
    for value in (*args[:2], kwargs.get("dtype"), kwargs.get("tensor"), kwargs.get("other")):
        if isinstance(value, torch.dtype):
            return value
        if isinstance(value, torch.Tensor):
            return value.dtype
    return tensor.dtype


def _without_layout(kwargs):
    """What nn.Module.to takes as well."""
    return {k: v for k, v in kwargs.items() if k in ("device", "dtype", "tensor", "non_blocking")}


def _asked_device(args, kwargs):
    """The device that the arguments of ``Tensor.to`` name; None without one."""
    return torch._C._nn._parse_to(*args, **kwargs)[0] if args or kwargs else None


def _to_with_layout(tensor, layout, args, kwargs):
    dtype = _target_dtype(tensor, args, kwargs)
    device = _asked_device(args, _without_layout(kwargs))
    if device is None:  # the layout says that the device is meant
        device = tensor.device if _is_spyre(tensor) else torch.device(DEVICE_NAME)
    if device.type != DEVICE_NAME:
        raise ValueError(f"device_layout is for {DEVICE_NAME} tensors, not for {device}")
    if device.index is None:
        device = torch.device(DEVICE_NAME, torch.spyre.current_device())
    if tensor.device == device and dtype == tensor.dtype and not kwargs.get("copy", False):
        if _C.get_spyre_tensor_layout(tensor) == layout:
            return tensor
    return _CopyWithLayout.apply(tensor, dtype, layout, device)


class _CopyWithLayout(torch.autograd.Function):
    """A layout is no part of a value: gradients go back as through any copy."""

    @staticmethod
    def forward(context, tensor, dtype, layout, device):
        context.source = (tensor.device, tensor.dtype)
        result = _C.spyre_empty_with_layout(tensor.size(), tensor.stride(), dtype, layout, device)
        # Not copy_(): Dynamo would make a graph of it that takes tensors of two devices.
        _C.copy_tensor(tensor, result)
        return result

    @staticmethod
    def backward(context, grad):
        return grad.to(*context.source), None, None, None


def _documented(original, text):
    """Decorator: name and text of ``original`` with the keyword that was added. Without
    ``__wrapped__``, because functions written in C have no signature to show."""

    def dress(function):
        functools.update_wrapper(function, original)
        del function.__wrapped__
        function.__doc__ = f"{original.__doc__ or ''}\n\n{text}\n"
        return function

    return dress


_TO_TEXT = (
    f"``device_layout=`` gives the result that layout on the {DEVICE_NAME} device; a tensor of another device "
    "moves there."
)
_EMPTY_TEXT = f"``device_layout=`` makes a tensor on the {DEVICE_NAME} device that lies as the layout says."


def _wrap_to(original):
    @_documented(original, _TO_TEXT)
    def to(self, *args, device_layout=None, **kwargs):
        if device_layout is None:
            return copy_names(self, original(self, *args, **kwargs))
        return copy_names(self, _to_with_layout(self, device_layout, args, kwargs))

    return to


def _wrap_empty(original):
    @_documented(original, _EMPTY_TEXT)
    def empty(*args, device_layout=None, **kwargs):
        if device_layout is None:
            return original(*args, **kwargs)
        device = torch.device(kwargs.get("device") or DEVICE_NAME)
        if device.type != DEVICE_NAME:
            raise ValueError(f"device_layout is for {DEVICE_NAME} tensors, not for {device}")
        if kwargs.get("out") is not None:
            raise ValueError("device_layout and out cannot be given together")
        size = kwargs.get("size", args)
        if len(size) == 1 and not isinstance(size[0], int):
            size = size[0]
        return _C.empty_with_layout(
            list(size),
            device_layout,
            kwargs.get("dtype"),
            kwargs.get("device"),
            kwargs.get("pin_memory"),
            kwargs.get("memory_format"),
        )

    return empty


def _wrap_repr(original):
    @functools.wraps(original)
    def __repr__(self, *, tensor_contents=None):
        if tensor_contents is not None or not _is_spyre(self):
            return original(self, tensor_contents=tensor_contents)
        try:
            text = original(self.detach().cpu())
        except RuntimeError:  # a debugger must be able to show the variable of a failed device
            return (
                f"SpyreTensor(shape={tuple(self.shape)}, dtype={self.dtype}, device={self.device})"
            )
        device = f"device='{self.device}'"
        grad = (
            f", grad_fn=<{type(self.grad_fn).__name__}>"
            if self.grad_fn is not None
            else (", requires_grad=True" if self.requires_grad else "")
        )
        return f"{text[:-1]}, {device}{grad})"

    return __repr__


def _wrap_check_trace(original):
    """torch.jit.trace compares the results of the trace and of the function in float64: for that they go to the CPU."""
    active = threading.Lock()
    double = torch.Tensor.double

    def double_on_host(self, *args, **kwargs):
        return double(self.cpu() if _is_spyre(self) else self, *args, **kwargs)

    @functools.wraps(original)
    def check_trace(*args, **kwargs):
        with active:
            torch.Tensor.double = double_on_host
            try:
                return original(*args, **kwargs)
            finally:
                torch.Tensor.double = double

    return check_trace


def from_device(self):
    """The tensor on the CPU: the way back of ``to("spyre")``."""
    return self.cpu()


def _wrap_validate_device(original):
    """Torch lists the devices it has kernels for; here flex_attention is made of operations that the device has."""

    @functools.wraps(original)
    def validate_device(query, key, value):
        if query.device.type != DEVICE_NAME:
            original(query, key, value)

    return validate_device


def install():
    """Once per process."""
    if getattr(torch.Tensor, "_spyre_tensor_patched", False):
        return
    # ``with torch.device(...)`` knows constructors by identity: show it the original empty first.
    from torch.utils._device import _device_constructors

    _device_constructors()
    torch.Tensor.to = _wrap_to(torch.Tensor.to)
    torch.Tensor.__repr__ = _wrap_repr(torch.Tensor.__repr__)
    torch.Tensor.device_tensor_layout = device_tensor_layout
    torch.Tensor.from_device = from_device
    torch.empty = _wrap_empty(torch.empty)
    flex_attention._validate_device = _wrap_validate_device(flex_attention._validate_device)
    torch.jit._trace._check_trace = _wrap_check_trace(torch.jit._trace._check_trace)
    torch.Tensor._spyre_tensor_patched = True
