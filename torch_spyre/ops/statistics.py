"""The three operations of a layer norm on the CPU, and in eager mode. Programs pass mean and mean of squares in lanes 0
and 1 of a stick, of which a tensor shows the first; here they are side by side in memory, and a tensor shows the first, too."""

import torch


def _is_pair(shown):
    """Is the mean of squares behind what is shown? Not in a copy of it."""
    like = _shown(shown.shape, shown)
    has_both = shown.untyped_storage().nbytes() == like.untyped_storage().nbytes()
    return has_both and shown.storage_offset() == 0 and shown.stride() == like.stride()


def _shown(shape, like):
    """The first of two numbers per row; strides of 2 tell it from a copy."""
    return like.new_empty((*shape, 2))[..., 0]


def exx2(x, scale, use_zero_mean=False):
    """Sum and sum of squares of each row, times the scale."""
    wide = x.float()
    pair = _shown((*x.shape[:-1], 1), x)
    shown = torch.zeros_like(wide[..., :1]) if use_zero_mean else wide.sum(-1, keepdim=True) * scale
    pair.copy_(shown)
    _behind(pair).copy_((wide * wide).sum(-1, keepdim=True) * scale)
    return pair


def fake_exx2(x, scale, use_zero_mean=False):
    return _shown((*x.shape[:-1], 1), x) if x.device.type == "cpu" else x.new_empty((*x.shape[:-1], 1))


def _behind(shown):
    return shown.as_strided(shown.shape, shown.stride(), 1)


def layernormscale(x, eps):
    """What rows are multiplied by."""
    if not _is_pair(x):
        raise ValueError(
            "SPYRE-E1602: spyre.layernormscale takes the result of spyre.exx2 itself: a copy has no mean of squares; "
            "hand it on as it is, or use layer_norm"
        )
    mean = x.float()
    return torch.rsqrt(_behind(x).float() - mean * mean + eps).to(x.dtype)


def layernormnorm(x, mean, norm_mean, weight=None, bias=None):
    result = (x.float() - mean.float()) * norm_mean.float()
    result = result if weight is None else result * weight.float()
    result = result if bias is None else result + bias.float()
    return result.to(x.dtype)
