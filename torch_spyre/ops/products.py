"""Products along a dimension. The device sums and compares along a dimension, but does not multiply: the
first half of the elements is multiplied with the second until one is left. In fp32, rounded once;
integers wrap."""

import torch

from torch_spyre._inductor.integer_decompositions import INTEGERS
from torch_spyre.ops.functions import FLOATS as _FLOATS


def _halved(x, dim):
    count = x.shape[dim]
    half = count // 2
    product = x.narrow(dim, 0, half) * x.narrow(dim, half, half)
    if count % 2:
        product = torch.cat([product, x.narrow(dim, count - 1, 1)], dim)
    return product


def _kinds(x, dtype):
    """What is multiplied, and what becomes of it; None for types the device has not."""
    if x.dtype in INTEGERS or x.dtype == torch.bool:
        kind = dtype or torch.int64
        return (kind, kind) if kind in INTEGERS else (torch.float32, kind) if kind in _FLOATS else None
    kind = dtype or x.dtype
    return (torch.float32, kind) if x.dtype in _FLOATS and kind in _FLOATS else None


def dim_int(x, dim, keepdim=False, *, dtype=None):
    kinds = _kinds(x, dtype)
    if kinds is None or x.numel() == 0:
        return NotImplemented
    wide = x.to(kinds[0])
    if x.dim() == 0:
        return wide.to(kinds[1]).clone()
    dim %= x.dim()
    while wide.shape[dim] > 1:
        wide = _halved(wide, dim)
    return (wide if keepdim else wide.squeeze(dim)).to(kinds[1])


def default(x, *, dtype=None):
    if _kinds(x, dtype) is None or x.numel() == 0:
        return NotImplemented
    return dim_int(x.reshape(-1), 0, dtype=dtype)
