"""Moves a model to the device with the layouts matmuls want.

The weight of a linear layer is the second operand of a product after a transposition: its sticks run
along ``out_features`` (``dim_order=[1, 0]``), so that no product has to rearrange it.
"""

import functools
import threading

import torch

from torch_spyre import _C
from torch_spyre.constants import DEVICE_NAME


def _checked_dtype(tensor, dtype):
    """The type a tensor gets: integers and truth values keep theirs."""
    target = dtype if dtype is not None and tensor.is_floating_point() else tensor.dtype
    if not _C.holds_dtype(target):
        raise ValueError(f"{target} has no Spyre device representation; give another dtype")
    return target


def _dma_to_spyre_dim_order_swapped(weight, target_dtype=None, device=DEVICE_NAME):
    """A 2-D tensor on the device with its sticks along dimension 0."""
    dtype = _checked_dtype(weight, target_dtype)
    source = weight.detach().to(dtype).contiguous()
    layout = _C.SpyreTensorLayout(list(source.shape), list(source.stride()), dtype, [1, 0])
    return source.to(device, device_layout=layout)


def _moved(tensor, dtype, is_weight, device):
    if is_weight and tensor.dim() == 2:
        return _dma_to_spyre_dim_order_swapped(tensor, dtype, device)
    return tensor.detach().to(_checked_dtype(tensor, dtype)).to(device)


def _is_done(tensor, dtype, device):
    return tensor.device == device and tensor.dtype == _checked_dtype(tensor, dtype)


def _target(device):
    """With an index: the current device where none is given."""
    device = torch.device(DEVICE_NAME if device is None else device)
    if device.index is not None:
        return device
    return torch.device(DEVICE_NAME, torch.spyre.current_device())


def load_model_to_spyre(model, dtype=None, device=None):
    """Moves all parameters and buffers in place and returns ``model``. Tied tensors stay tied,
    parameters stay the objects they were (an optimiser keeps them) unless autograd holds them, and
    what is there already stays."""
    weights = {
        id(module.weight) for module in model.modules() if isinstance(module, torch.nn.Linear)
    }
    everything = [*model.parameters(), *model.buffers()]
    for tensor in everything:
        _checked_dtype(tensor, dtype)  # all of it before the first one moves
    device = _target(device)
    with torch.no_grad():
        for tensor in everything:
            if not _is_done(tensor, dtype, device):
                moved = _moved(tensor, dtype, id(tensor) in weights, device)
                if isinstance(tensor, torch.nn.Parameter):
                    moved = torch.nn.Parameter(moved, tensor.requires_grad)
                    if tensor.grad is not None:
                        moved.grad = _moved(tensor.grad, dtype, id(tensor) in weights, device)
                _put(model, tensor, moved)
    return model


def _put(model, tensor, moved):
    """``moved`` in the place of ``tensor``: as the same object, or, where a computation on the host
    still holds that one, as another, which is what ``nn.Module.to`` does across devices."""
    try:
        torch.utils.swap_tensors(tensor, moved)
    except RuntimeError:
        for module in model.modules():
            for table in (module._parameters, module._buffers):
                for name in [name for name, held in table.items() if held is tensor]:
                    table[name] = moved


def patch_module_to_for_spyre():
    """``nn.Module.to("spyre")`` becomes :func:`load_model_to_spyre`; idempotent."""
    original = torch.nn.Module.to
    if getattr(original, "_spyre_patched", False):
        return

    @functools.wraps(original)
    def to(self, *args, **kwargs):
        device, dtype, _, memory_format = torch._C._nn._parse_to(*args, **kwargs)
        if device is None or device.type != DEVICE_NAME or memory_format is not None:
            return original(self, *args, **kwargs)
        return load_model_to_spyre(self, dtype, device)

    def spyre(self, device=None):
        """``to("spyre")``, with the layouts of products."""
        if isinstance(device, int):
            device = torch.device(DEVICE_NAME, device)
        return self.to(device or DEVICE_NAME)

    to._spyre_patched = True
    torch.nn.Module.to = to
    torch.nn.Module.spyre = spyre
    torch.nn.Module._apply = _keep_ties(torch.nn.Module._apply)


def _places(model):
    """Parameter -> where it is, of parameters in several places, if the model is on the device."""
    places = {}
    on_device = False
    for module in model.modules():
        for name, parameter in module._parameters.items():
            if parameter is not None:
                on_device |= parameter.device.type == DEVICE_NAME
                places.setdefault(parameter, []).append((module, name))
    return [spots for spots in places.values() if len(spots) > 1] if on_device else []


def _keep_ties(original):
    """Between this device and another torch makes a parameter anew in each place that has it."""
    active = threading.local()

    @functools.wraps(original)
    def _apply(self, fn, recurse=True):
        if getattr(active, "inside", False):
            return original(self, fn, recurse)
        active.inside = True
        try:
            tied = _places(self)
            result = original(self, fn, recurse)
        finally:
            active.inside = False
        for (first, key), *others in tied:
            for module, name in others:
                module._parameters[name] = first._parameters[key]
        return result

    return _apply
