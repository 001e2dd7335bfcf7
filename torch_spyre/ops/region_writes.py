"""Writes to parts with gaps, and to diagonals: the gradients of strided slices and of diagonals.

The compiler writes parts without gaps. A gap is a dimension of its own: of each group of ``step``
elements the first is new, the others stay.
"""

import torch

from torch_spyre._inductor.integer_decompositions import INTEGERS

_TYPES = {torch.float16, torch.bfloat16, torch.float32, torch.bool, *INTEGERS}


def _split(x, dim, sizes):
    return x.reshape([*x.shape[:dim], *sizes, *x.shape[dim + 1 :]])


def _padded(x, dim, before, after):
    if not before and not after:
        return x
    pads = [0] * (2 * (x.dim() - dim))
    pads[-2:] = [before, after]
    return torch.constant_pad_nd(x, pads)


def slice_scatter(x, part, dim=0, start=None, end=None, step=1):
    """``x[start:end:step] = part`` along one dimension, in a copy of x."""
    if step == 1 or x.numel() == 0 or part.numel() == 0 or x.dtype not in _TYPES:
        return NotImplemented
    dim %= x.dim()
    size, count = x.shape[dim], part.shape[dim]
    start = range(size)[slice(start, end, step)].start
    # The last group may lack elements behind the one that is new.
    stop = min(start + count * step, size)
    lacking = start + count * step - stop
    region = _padded(x.narrow(dim, start, stop - start), dim, 0, lacking)
    groups = _split(region, dim, [count, step])
    new = part.to(x.dtype).unsqueeze(dim + 1)
    joined = torch.cat([new, groups.narrow(dim + 1, 1, step - 1)], dim + 1)
    region = joined.flatten(dim, dim + 1).narrow(dim, 0, stop - start)
    return torch.slice_scatter(x, region, dim, start, stop, 1)


def diagonal_scatter(x, part, offset=0, dim1=0, dim2=1):
    """``x`` with a new diagonal: its elements stand in the columns they go to, for all rows."""
    if x.numel() == 0 or part.numel() == 0 or x.dtype not in _TYPES:
        return NotImplemented
    dims = [dim1 % x.dim(), dim2 % x.dim()]
    order = [d for d in range(x.dim()) if d not in dims] + dims
    moved = x.permute(order)
    rows, columns = moved.shape[-2:]
    before = max(offset, 0)
    spread = _padded(part.to(x.dtype), part.dim() - 1, before, columns - before - part.shape[-1])
    places = torch.arange(columns, device=x.device) - torch.arange(rows, device=x.device)[:, None]
    is_new = places == offset
    if x.dtype == torch.bool:
        kept = torch.logical_and(moved, torch.logical_not(is_new))
        result = torch.logical_or(kept, torch.logical_and(spread.unsqueeze(-2), is_new))
    else:
        result = torch.where(is_new, spread.unsqueeze(-2), moved)
    return result.permute([order.index(d) for d in range(x.dim())]).contiguous()
