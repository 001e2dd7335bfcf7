"""Products along a dimension. The device sums and compares along a dimension, but does not multiply: the
first half of the elements is multiplied with the second until one is left. In fp32, rounded once."""

import torch


def _halved(x, dim):
    count = x.shape[dim]
    half = count // 2
    product = x.narrow(dim, 0, half) * x.narrow(dim, half, half)
    if count % 2:
        product = torch.cat([product, x.narrow(dim, count - 1, 1)], dim)
    return product


def _is_supported(x, dtype):
    kind = dtype or x.dtype
    return x.is_floating_point() and kind in (torch.float16, torch.bfloat16, torch.float32)


def dim_int(x, dim, keepdim=False, *, dtype=None):
    if not _is_supported(x, dtype) or x.numel() == 0:
        return NotImplemented
    wide = x.float()
    if x.dim() == 0:
        return wide.to(dtype or x.dtype).clone()
    dim %= x.dim()
    while wide.shape[dim] > 1:
        wide = _halved(wide, dim)
    return (wide if keepdim else wide.squeeze(dim)).to(dtype or x.dtype)


def default(x, *, dtype=None):
    if not _is_supported(x, dtype) or x.numel() == 0:
        return NotImplemented
    return dim_int(x.reshape(-1), 0, dtype=dtype)
