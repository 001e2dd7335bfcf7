"""Moves a model to the device with the layouts matmuls want.

The weight of a linear layer is the second operand of a product after a transposition: its sticks run
along ``out_features`` (``dim_order=[1, 0]``), so that no product has to rearrange it.
"""

import functools
import threading

import torch
from torch.nn.parameter import is_lazy

from torch_spyre import _C
from torch_spyre._inductor.propagate_named_dims import give_names, take_names
from torch_spyre.constants import DEVICE_NAME


def _checked_dtype(tensor, dtype):
    """The type a tensor gets: integers and truth values keep theirs."""
    target = dtype if dtype is not None and tensor.is_floating_point() else tensor.dtype
    if not _C.holds_dtype(target):
        raise ValueError(
            f"SPYRE-E6502: {target} has no Spyre device representation; convert the model on the CPU first, as "
            'with .to("spyre", torch.float32)'
        )
    return target


def _dma_to_spyre_dim_order_swapped(weight, target_dtype=None, device=DEVICE_NAME):
    """A 2-D tensor on the device with its sticks along dimension 0."""
    dtype = _checked_dtype(weight, target_dtype)
    source = weight.detach().to(dtype).contiguous()
    layout = _C.SpyreTensorLayout(list(source.shape), list(source.stride()), dtype, [1, 0])
    return source.to(device, device_layout=layout)


def _has_swapped_order(tensor):
    """Lies on the device as :func:`_dma_to_spyre_dim_order_swapped` puts it."""
    layout = tensor.device_tensor_layout() if tensor.dim() == 2 else None
    return layout is not None and layout == _C.SpyreTensorLayout(
        list(tensor.shape), list(tensor.stride()), tensor.dtype, [1, 0]
    )


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
    lazy = [t for t in (*model.parameters(), *model.buffers()) if is_lazy(t)]
    everything = [t for t in (*model.parameters(), *model.buffers()) if not is_lazy(t)]
    for tensor in everything:
        _checked_dtype(tensor, dtype)  # all of it before the first one moves
    device = _target(device)
    with torch.no_grad():
        for tensor in everything:
            if not _is_done(tensor, dtype, device):
                moved = _moved(tensor, dtype, id(tensor) in weights, device)
                if isinstance(tensor, torch.nn.Parameter):
                    moved = _as_parameter(moved, tensor)
                    if tensor.grad is not None:
                        moved.grad = _moved(tensor.grad, dtype, id(tensor) in weights, device)
                _put(model, tensor, moved)
        for tensor in lazy:
            target = tensor.dtype if dtype is None else dtype
            made = type(tensor)(tensor.requires_grad, device=device, dtype=target)
            _replace(model, tensor, made)
        _apply_overrides(model, dtype, device)
    return model


def _as_parameter(moved, tensor):
    """A parameter like ``tensor``: its class, its attributes and its hooks."""
    moved = torch.Tensor._make_subclass(type(tensor), moved, tensor.requires_grad)
    moved.__dict__.update(tensor.__dict__)
    moved._backward_hooks = tensor._backward_hooks
    moved._post_accumulate_grad_hooks = tensor._post_accumulate_grad_hooks
    return moved


def _apply_overrides(model, dtype, device):
    """Modules with an ``_apply`` of their own hold more than parameters and buffers."""

    def convert(tensor):
        return tensor.to(device, dtype if tensor.is_floating_point() else None)

    for module in model.modules():
        if type(module)._apply is not torch.nn.Module._apply:
            module._apply(convert)


def _put(model, tensor, moved):
    """``moved`` in the place of ``tensor``: as the same object, or, where a computation on the host
    still holds that one, as another, which is what ``nn.Module.to`` does across devices."""
    names = take_names(tensor)
    try:
        torch.utils.swap_tensors(tensor, moved)
    except RuntimeError:
        _replace(model, tensor, moved)
        give_names(moved, names)
    else:
        give_names(tensor, names)


def _replace(model, tensor, other):
    for module in model.modules():
        for table in (module._parameters, module._buffers):
            for name in [name for name, held in table.items() if held is tensor]:
                table[name] = other


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
    torch.nn.Module._apply = _keep_parameters(torch.nn.Module._apply)


def _places(model):
    """Parameters with where they are, if the model is on the device. Those that wait for their
    first input have nothing to keep."""
    places = {}
    on_device = False
    for module in model.modules():
        for name, parameter in module._parameters.items():
            if parameter is not None and not is_lazy(parameter):
                on_device |= parameter.device.type == DEVICE_NAME
                places.setdefault(parameter, []).append((module, name))
    return list(places.items()) if on_device else []


def _keep_identity(parameter, places):
    """``parameter`` in its places again, with the contents torch made another one for."""
    (first, key), *_ = places
    made = first._parameters[key]
    if made is parameter or made is None:
        return
    moved = _as_parameter(made.detach(), parameter)
    moved.grad = made.grad
    try:
        torch.utils.swap_tensors(parameter, moved)
    except RuntimeError:  # a computation holds it
        parameter = moved
    for module, name in places:
        module._parameters[name] = parameter


def _keep_order(places):
    """A weight of products that got another type on the device lies as it did."""
    (first, key), *_ = places
    weight = first._parameters[key]
    if weight is not None and weight.device.type == DEVICE_NAME and not _has_swapped_order(weight):
        weight.data = _dma_to_spyre_dim_order_swapped(weight, device=weight.device)


def _keep_parameters(original):
    """Between this device and another torch makes a parameter anew in each place that has it;
    optimisers, ties, attributes and hooks belong to the old one. So does its layout when only the
    type changes."""
    active = threading.local()

    @functools.wraps(original)
    def _apply(self, fn, recurse=True):
        # A graph has no layouts to keep, and its parameters are not the model's.
        if torch.compiler.is_compiling() or getattr(active, "inside", False):
            return original(self, fn, recurse)
        active.inside = True
        try:
            kept = _places(self)
            swapped = [places for parameter, places in kept if _has_swapped_order(parameter)]
            result = original(self, fn, recurse)
        finally:
            active.inside = False
        for parameter, places in kept:
            _keep_identity(parameter, places)
        for places in swapped:
            _keep_order(places)
        return result

    return _apply
