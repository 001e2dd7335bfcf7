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


def _written(rows, part, sizes, strides):
    """``part`` at the beginning of rows of memory: each of its outer elements begins a row of ``strides[0]`` elements."""
    if not sizes:
        return torch.cat([part.unsqueeze(-1), rows.narrow(-1, 1, rows.shape[-1] - 1)], -1)
    last, count = rows.dim() - 1, sizes[0] * strides[0]
    inside = min(count, rows.shape[-1])
    region = _padded(rows.narrow(-1, 0, inside), last, 0, count - inside)
    region = _written(_split(region, last, sizes[:1] + strides[:1]), part, sizes[1:], strides[1:])
    region = region.flatten(last).narrow(-1, 0, inside)
    return torch.cat([region, rows.narrow(-1, inside, rows.shape[-1] - inside)], -1)


def as_strided_scatter(x, part, size, stride, storage_offset=None):
    """``x`` with new elements at places of its memory, outer ones further apart than what is inside of them reaches."""
    start = storage_offset or 0
    order = sorted(range(x.dim()), key=lambda d: -x.stride(d))
    memory = x.permute(order)
    if not memory.is_contiguous() or x.storage_offset() != 0 or part.numel() == 0 or x.dtype not in _TYPES:
        return NotImplemented
    dims = sorted((d for d in range(len(size)) if size[d] > 1), key=lambda d: -stride[d])
    sizes, strides = [size[d] for d in dims], [stride[d] for d in dims]
    reach = 1
    for count, step in zip(reversed(sizes), reversed(strides)):
        if step < reach:
            return NotImplemented  # elements that are written twice
        reach += (count - 1) * step
    part = part.to(x.dtype).permute([*(d for d in range(len(size)) if d not in dims), *dims]).reshape(sizes)
    flat = memory.reshape(-1)
    rest = _written(flat.narrow(0, start, flat.numel() - start), part, sizes, strides)
    written = torch.cat([flat.narrow(0, 0, start), rest]).reshape(memory.shape)
    return written.permute([order.index(d) for d in range(x.dim())])


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
