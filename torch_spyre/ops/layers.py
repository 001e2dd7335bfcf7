"""Kernels of layers that torch hands to a device as a whole and has no way around.

Convolutions are one program each, made of what ops/convolution says; others run on
the CPU, which is said like any other fallback.
"""

import functools
import math

import torch

from torch_spyre.ops import convolution, fallbacks, index_writes, margins, normalisations, sums
from torch_spyre.ops.functions import FLOATS

aten = torch.ops.aten


def _convolve(x, weight, bias, *shape):
    if convolution.runs_on_device(x, weight, *shape):
        return torch.ops.spyre.convolution(x, weight, bias, *shape)
    return _on_cpu("convolution")(x, weight, bias, *shape)


def _convolve_backward(grad, x, weight, *shape):
    *sizes, output_mask = shape
    if grad.dtype == x.dtype and convolution.runs_on_device(x, weight, *sizes):
        return torch.ops.spyre.convolution_backward(grad, x, weight, *sizes, output_mask)
    return _on_cpu("convolution_backward")(grad, x, weight, *shape)


def _masked_scatter_backward(grad, mask, sizes):
    result = index_writes.masked_scatter_backward(grad, mask, sizes)
    if result is NotImplemented:
        return _on_cpu("masked_scatter_backward")(grad, mask, sizes)
    return result


def _prod(x, *, dtype=None):
    """Along one dimension, which has a gradient that looks for no zeros."""
    return torch.prod(x.reshape(-1), 0, dtype=dtype)


def _renorm(x, p, dim, maxnorm):
    """Made of operations with gradients: torch's asks for float64."""
    fallbacks.check(aten.renorm.default, x, p, dim, maxnorm)
    others = [d for d in range(x.dim()) if d != dim % x.dim()]
    norm = torch.linalg.vector_norm(x.float(), p, others, keepdim=True)
    scale = torch.where(norm > maxnorm, maxnorm / (norm + 1e-7), 1.0)
    return (x.float() * scale).to(x.dtype)


def _rrelu(x, lower=1 / 8, upper=1 / 3, training=False, generator=None):
    """Random slopes while it is trained, then their mean."""
    for name, bound in (("lower", lower), ("upper", upper)):
        if not math.isfinite(bound):
            raise RuntimeError(f"rrelu: {name} bound must be finite, got {bound}")
    if lower > upper:
        raise RuntimeError(f"Lower bound should be less than or equal to the upper bound, got {lower} and {upper}")
    if training:
        return aten.rrelu_with_noise(x, torch.empty_like(x), lower, upper, training, generator)
    return torch.nn.functional.leaky_relu(x, (lower + upper) / 2)


#: Types whose elements the device compares.
_COMPARED = (*FLOATS, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool)


def _equal(one, other):
    """Compared on the device; one truth value goes to the host."""
    if one.dtype != other.dtype or one.device != other.device or one.dtype not in _COMPARED:
        return NotImplemented
    return one.shape == other.shape and bool((one == other).all())


@functools.cache
def _on_cpu(name):
    if name == "masked_scatter_backward":
        op = aten.masked_scatter_backward.default
        return fallbacks.kernel_for(op, op)
    function = {
        "convolution": aten.convolution.default,
        "convolution_backward": convolution.told_bias_sizes(aten.convolution_backward.default),
    }[name]
    op = getattr(aten, f"{name}_overrideable").default
    return fallbacks.kernel_for(op, function, said=f"aten.{name}.default")


_kernels = None


def install():
    """Registers the kernels of the device; once."""
    global _kernels
    if _kernels is not None:
        return
    _kernels = torch.library.Library("aten", "IMPL")
    _kernels.impl("native_batch_norm", normalisations.native_batch_norm, "PrivateUse1")
    for key in ("PrivateUse1", "AutogradPrivateUse1"):
        _kernels.impl("instance_norm", normalisations.instance_norm, key)
    # Torch would fill two tensors from a helper that has no functional form.
    for name in ("cummax", "cummin"):
        _kernels.impl(name, getattr(torch.ops.spyre, name).default, "PrivateUse1")
    # Torch's would select by a mask, and look for zeros: sizes that depend on values.
    _kernels.impl("masked_scatter_backward", _masked_scatter_backward, "PrivateUse1")
    # Torch's sums of the places of a kernel are rounded one by one.
    _kernels.impl("conv_tbc", convolution.conv_tbc, "PrivateUse1")
    _kernels.impl("renorm", _renorm, "AutogradPrivateUse1")
    for key in ("PrivateUse1", "AutogradPrivateUse1"):
        _kernels.impl("rrelu", _rrelu, key)
        _kernels.impl("cdist", sums.cdist, key)
        for op in sums.COMPOSED:
            _kernels.impl(op.name().removeprefix("aten::"), sums.whole_in_fp32(op), key)
    _kernels.impl("equal", fallbacks.otherwise_on_cpu(_equal, aten.equal.default), "PrivateUse1")
    # Torch's forms of these round, and overflow, in between.
    for op, function in (
        (aten.soft_margin_loss.default, margins.soft_margin_loss),
        (aten.soft_margin_loss_backward.default, margins.soft_margin_loss_backward),
    ):
        _kernels.impl(op.name().removeprefix("aten::"), fallbacks.otherwise_on_cpu(function, op), "PrivateUse1")
    _kernels.impl("prod", _prod, "AutogradPrivateUse1")
    _kernels.impl("convolution_overrideable", _convolve, "PrivateUse1")
    _kernels.impl("convolution_backward_overrideable", _convolve_backward, "PrivateUse1")
