"""Kernels of layers that torch hands to a device as a whole and has no way around.

Convolutions of fp16 and bf16 are one program each, made of what ops/convolution says; others run on
the CPU, which is said like any other fallback. Batch norm is composed of operations
the device has: its schema does not say that it writes the running statistics, so nothing but a
kernel of its own keeps them.
"""

import functools

import torch

from torch_spyre.ops import convolution, fallbacks

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


@functools.cache
def _on_cpu(name):
    function = {
        "convolution": aten.convolution.default,
        "convolution_backward": convolution.told_bias_sizes(aten.convolution_backward.default),
    }[name]
    op = getattr(aten, f"{name}_overrideable").default
    return fallbacks.kernel_for(op, function, said=f"aten.{name}.default")


def batch_norm(x, weight, bias, running_mean, running_var, training, momentum, eps):
    """The normalised tensor, and mean and reciprocal deviation of the batch in training."""
    dims = [0, *range(2, x.dim())]
    shape = [1, -1] + [1] * (x.dim() - 2)
    wide = x.float()
    if training:
        mean = wide.mean(dims)
        rest = wide - mean.reshape(shape)
        var = (rest * rest).mean(dims)
        count = x.numel() // x.shape[1]
        if running_mean is not None:
            running_mean.mul_(1 - momentum).add_(mean * momentum)
        if running_var is not None:
            unbiased = var * (momentum * count / max(count - 1, 1))
            running_var.mul_(1 - momentum).add_(unbiased)
    else:
        mean, var = running_mean.float(), running_var.float()
        rest = wide - mean.reshape(shape)
    scale = torch.rsqrt(var + eps)
    out = rest * scale.reshape(shape)
    out = out if weight is None else out * weight.reshape(shape)
    out = out if bias is None else out + bias.reshape(shape)
    saved = (mean, scale) if training else (wide.new_empty(0), wide.new_empty(0))
    return out.to(x.dtype), *saved


_kernels = None


def install():
    """Registers the kernels of the device; once."""
    global _kernels
    if _kernels is not None:
        return
    _kernels = torch.library.Library("aten", "IMPL")
    _kernels.impl("native_batch_norm", batch_norm, "PrivateUse1")
    # Torch would fill two tensors from a helper that has no functional form.
    for name in ("cummax", "cummin"):
        _kernels.impl(name, getattr(torch.ops.spyre, name).default, "PrivateUse1")
    _kernels.impl("convolution_overrideable", _convolve, "PrivateUse1")
    _kernels.impl("convolution_backward_overrideable", _convolve_backward, "PrivateUse1")
