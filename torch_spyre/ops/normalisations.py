"""Normalisations from operations the device has: in fp32, with the statistics that their gradients read, rounded once.

In eager mode each is one program (ADR 0087).
"""

import functools

import torch

from torch_spyre.ops import functions

aten = torch.ops.aten


def _inner_dims(x, normalized_shape):
    return list(range(x.dim() - len(normalized_shape), x.dim()))


def rms_norm(x, normalized_shape, weight=None, eps=None):
    """The rows of x over the root of the mean of their squares, and the reciprocal of that root."""
    if not functions.is_float(x):
        return NotImplemented
    eps = torch.finfo(torch.float32).eps if eps is None else eps
    wide = x.float()
    scale = torch.rsqrt(torch.mean(wide * wide, _inner_dims(x, normalized_shape), keepdim=True) + eps)
    result = wide * scale
    result = result if weight is None else result * weight
    return result.to(x.dtype).contiguous(), scale


def rms_norm_backward(grad, x, normalized_shape, scale, weight, output_mask):
    """Gradients of x and of the weight; None for those that the mask leaves out."""
    if not functions.is_float(x):
        return NotImplemented
    inner = _inner_dims(x, normalized_shape)
    outer = list(range(x.dim() - len(normalized_shape)))
    wide, normal = grad.float(), x.float() * scale.float()
    scaled = wide if weight is None else wide * weight
    along = torch.mean(scaled * normal, inner, keepdim=True)
    of_x = ((scaled - normal * along) * scale.float()).to(x.dtype) if output_mask[0] else None
    if weight is None or not output_mask[1]:
        return of_x, None
    of_weight = wide * normal
    return of_x, (torch.sum(of_weight, outer) if outer else of_weight).to(weight.dtype)


def _per_channel(x, statistic):
    """A value per channel, as x is broadcast."""
    return statistic.reshape([1, -1] + [1] * (x.dim() - 2))


def _affine(x, normal, weight, bias):
    normal = normal if weight is None else normal * _per_channel(x, weight)
    normal = normal if bias is None else normal + _per_channel(x, bias)
    return normal.to(x.dtype)


def _moments(wide, dims):
    """Mean and variance with these dimensions of size 1, and what is left without the mean."""
    mean = torch.mean(wide, dims, keepdim=True)
    rest = wide - mean
    return mean, torch.mean(rest * rest, dims, keepdim=True), rest


def group_norm(x, weight, bias, batch, channels, size, groups, eps):
    """The normalised tensor, and mean and reciprocal deviation of each group."""
    if not functions.is_float(x):
        return NotImplemented
    wide = x.float().reshape(batch, groups, channels // groups * size)
    mean, var, rest = _moments(wide, [2])
    scale = torch.rsqrt(var + eps)
    result = _affine(x, (rest * scale).reshape(x.shape), weight, bias)
    return result, mean.reshape(batch, groups), scale.reshape(batch, groups)


def batch_norm_of_batch(x, weight, bias, training, momentum, eps):
    """Normalises with the statistics of this batch: the result, mean and reciprocal deviation of each channel."""
    if not functions.is_float(x) or not training:
        return NotImplemented
    return _of_batch(x, weight, bias, eps)[:3]


def _of_batch(x, weight, bias, eps):
    mean, var, rest = _moments(x.float(), [0, *range(2, x.dim())])
    scale = torch.rsqrt(var + eps)
    result = _affine(x, rest * scale, weight, bias)
    return result, mean.reshape(-1), scale.reshape(-1), var.reshape(-1)


def batch_norm_updating(x, weight, bias, running_mean, running_var, training, momentum, eps):
    """Like :func:`batch_norm_of_batch`, and the running statistics moved by ``momentum`` towards those of this batch."""
    if not functions.is_float(x):
        return NotImplemented
    if not training:
        kept = running_mean.clone(), running_var.clone()
        return *batch_norm_of_others(x, weight, bias, running_mean, running_var, momentum, eps), *kept
    result, mean, scale, var = _of_batch(x, weight, bias, eps)
    count = x.numel() // x.shape[1]
    unbiased = var * (count / max(count - 1, 1))

    def moved(running, new):
        return (running.float() * (1 - momentum) + new * momentum).to(running.dtype)

    return result, mean, scale, moved(running_mean, mean), moved(running_var, unbiased)


def batch_norm_of_others(x, weight, bias, running_mean, running_var, momentum, eps):
    """Normalises with the statistics of earlier batches. Torch returns an empty mean and deviation here; programs take no
    empty tensors, so the backward pass gets those that were used."""
    if not functions.is_float(x):
        return NotImplemented
    mean, scale = running_mean.float(), torch.rsqrt(running_var.float() + eps)
    normal = (x.float() - _per_channel(x, mean)) * _per_channel(x, scale)
    return _affine(x, normal, weight, bias), mean.clone(), scale


def _through_moments(grad, normal, dims):
    """The gradient of a tensor that was normalised with its own mean and deviation, but for the scale."""
    along = torch.mean(grad * normal, dims, keepdim=True)
    return grad - torch.mean(grad, dims, keepdim=True) - normal * along


def _of_affine(grad, normal, x, weight, output_mask):
    """Gradients of weight and bias."""
    dims = [0, *range(2, x.dim())]
    of_weight, of_bias = None, None
    if weight is not None and output_mask[1]:
        of_weight = torch.sum(grad * normal, dims).to(weight.dtype)
    if output_mask[2]:
        of_bias = torch.sum(grad, dims).to(x.dtype)
    return of_weight, of_bias


def group_norm_backward(grad, x, mean, scale, weight, batch, channels, size, groups, output_mask):
    """Gradients of x, weight and bias; None for those that the mask leaves out."""
    if not functions.is_float(x):
        return NotImplemented
    shape = [batch, groups, channels // groups * size]
    wide, scale = grad.float(), scale.float().reshape(batch, groups, 1)
    normal = (x.float().reshape(shape) - mean.float().reshape(batch, groups, 1)) * scale
    scaled = (wide if weight is None else wide * _per_channel(x, weight)).reshape(shape)
    of_x = None
    if output_mask[0]:
        of_x = (_through_moments(scaled, normal, [2]) * scale).reshape(x.shape).to(x.dtype)
    return of_x, *_of_affine(wide, normal.reshape(x.shape), x, weight, output_mask)


def batch_norm_backward(
    grad, x, weight, running_mean, running_var, mean, scale, training, eps, output_mask
):
    """Gradients of x, weight and bias of a batch norm; the statistics of earlier batches are constants."""
    if not functions.is_float(x):
        return NotImplemented
    if not training:
        mean, scale = running_mean, torch.rsqrt(running_var.float() + eps)
    wide, scale = grad.float(), _per_channel(x, scale.float())
    normal = (x.float() - _per_channel(x, mean.float())) * scale
    scaled = wide if weight is None else wide * _per_channel(x, weight)
    of_x = None
    if output_mask[0]:
        inner = _through_moments(scaled, normal, [0, *range(2, x.dim())]) if training else scaled
        of_x = (inner * scale).to(x.dtype)
    return of_x, *_of_affine(wide, normal, x, weight, output_mask)


def eager_decompositions():
    """Operator overload -> function, in eager mode."""
    return {
        aten._fused_rms_norm.default: rms_norm,
        aten._fused_rms_norm_backward.default: rms_norm_backward,
        aten._native_batch_norm_legit.no_stats: batch_norm_of_batch,
        aten._native_batch_norm_legit_functional.default: batch_norm_updating,
        aten._native_batch_norm_legit_no_training.default: batch_norm_of_others,
        aten.native_batch_norm_backward.default: batch_norm_backward,
        aten.native_group_norm.default: group_norm,
        aten.native_group_norm_backward.default: group_norm_backward,
    }


@functools.lru_cache(maxsize=8)
def _calls_with(momentum):
    """Counts the calls with a momentum, in a list of one number, for the momenta that were used last."""
    return [0]


def _is_repeated(momentum):
    """True if the momentum was used before, so that a program with this number pays. A cumulative average has another momentum
    at every step."""
    calls = _calls_with(momentum)
    calls[0] += 1
    return calls[0] > 1


def native_batch_norm(x, weight, bias, running_mean, running_var, training, momentum, eps):
    """A kernel of its own, because the schema does not say that it writes the running statistics."""
    if not training and not x.numel():
        return torch.empty_like(x), running_mean.float(), torch.rsqrt(running_var.float() + eps)
    if not training:
        return aten._native_batch_norm_legit_no_training(x, weight, bias, running_mean, running_var, momentum, eps)
    if not x.numel():
        raise RuntimeError(f"input tensor must have at least one element, but got input_sizes = {list(x.shape)}")
    if running_mean is None and running_var is None:
        return aten._native_batch_norm_legit.no_stats(x, weight, bias, True, momentum, eps)
    # One of the two may be missing: what is kept of it goes nowhere.
    running_mean = torch.zeros_like(running_var) if running_mean is None else running_mean
    running_var = torch.zeros_like(running_mean) if running_var is None else running_var
    if _is_repeated(momentum):
        return aten._native_batch_norm_legit.default(
            x, weight, bias, running_mean, running_var, True, momentum, eps
        )
    *results, mean, var = aten._native_batch_norm_legit_functional(
        x, weight, bias, running_mean, running_var, True, 1.0, eps
    )
    for running, new in ((running_mean, mean), (running_var, var)):
        running.mul_(1 - momentum).add_(new * momentum)
    return tuple(results)


def instance_norm(x, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled):
    """A group per channel. Torch repeats weights and statistics for every row of the batch instead."""
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
    if not use_input_stats:
        return torch.batch_norm(x, weight, bias, running_mean, running_var, False, momentum, eps, cudnn_enabled)
    if running_mean is not None or running_var is not None:
        _note_instances(x.detach(), running_mean, running_var, momentum)
    return torch.group_norm(x, x.shape[1], weight, bias, eps, cudnn_enabled)


def _note_instances(x, running_mean, running_var, momentum):
    var, mean = torch.var_mean(x.float(), list(range(2, x.dim())))
    with torch.no_grad():
        for running, new in ((running_mean, mean), (running_var, var)):
            if running is not None:
                running.mul_(1 - momentum).add_(new.mean(0) * momentum)
