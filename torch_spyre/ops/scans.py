"""Running sums and products, triangles, and membership, from operations the device has.

A running sum is made in steps of 1, 2, 4, ..: after each, an element has the sum of twice as many
before it. In fp32, rounded once; integers wrap.
"""

import math

import torch
from torch._prims_common import canonicalize_dim

from torch_spyre._inductor.integer_decompositions import INTEGERS
from torch_spyre.ops import functions, index_writes, limits
from torch_spyre.ops.functions import FLOATS as _FLOATS


def _kinds(x, dtype):
    """What is computed in, and the type of the result; None for types the device has not."""
    if x.dtype in _FLOATS:
        kind = dtype or x.dtype
    elif x.dtype in INTEGERS or x.dtype == torch.bool:
        kind = dtype or torch.int64
    else:
        return None
    return (torch.float32, kind) if kind in _FLOATS else (kind, kind) if kind in INTEGERS else None


def _running(operation):
    def decomposed(x, dim, *, dtype=None):
        dim, kinds = canonicalize_dim(x.dim(), dim), _kinds(x, dtype)
        if kinds is None or x.numel() == 0:
            return NotImplemented
        y = x.to(kinds[0])
        if x.dim() == 0:
            return y.to(kinds[1]).clone()
        count, step = x.shape[dim], 1
        while step < count:
            both = operation(y.narrow(dim, step, count - step), y.narrow(dim, 0, count - step))
            y = torch.cat([y.narrow(dim, 0, step), both], dim)
            step *= 2
        y = y.to(kinds[1])
        return y.clone() if y is x else y

    return decomposed


cumsum = _running(torch.add)
cumprod = _running(torch.mul)


def logcumsumexp(x, dim):
    """In fp32, rounded once."""
    if x.dtype not in _FLOATS:
        return NotImplemented
    return _running(_joined)(x, dim)


def _joined(x, y):
    """Of two infinities the distance is no number, and neither adds to the other."""
    both = functions.logaddexp(x, y)
    return torch.where(torch.isinf(x) | torch.isinf(y), torch.maximum(x, y), both)


def _triangle(keeps):
    def decomposed(x, diagonal=0):
        if x.dim() < 2 or x.numel() == 0 or x.dtype not in {*_FLOATS, *INTEGERS, torch.bool}:
            return NotImplemented
        rows = torch.arange(x.shape[-2], device=x.device).unsqueeze(1)
        columns = torch.arange(x.shape[-1], device=x.device)
        mask = keeps(columns - rows, diagonal)
        if x.dtype == torch.bool:
            return torch.logical_and(x, mask)
        return torch.where(mask, x, torch.zeros((), dtype=x.dtype, device=x.device))

    return decomposed


tril = _triangle(lambda distance, diagonal: distance <= diagonal)
triu = _triangle(lambda distance, diagonal: distance >= diagonal)


def isin(elements, candidates, *, assume_unique=False, invert=False):
    """Whether an element is one of the candidates."""
    del assume_unique  # it is no faster when they are
    kinds = {*_FLOATS, *INTEGERS}
    if elements.dtype not in kinds or candidates.dtype not in kinds:
        return NotImplemented
    compared = elements.numel() * candidates.numel()
    if not compared or limits.SEARCHED.refuses(compared):
        return NotImplemented
    elements, candidates = (t.to(torch.int32) if t.dtype == torch.uint8 else t for t in (elements, candidates))
    row, flat = elements.reshape(-1), candidates.reshape(-1)

    def differ(first, last):
        """0 where an element is one of the candidates."""
        mine = row.narrow(0, first, last - first).unsqueeze(-1)
        if elements.dtype in INTEGERS and candidates.dtype in INTEGERS:
            rest = mine - flat
            # The sign of one of them is set unless both are 0: -1 where elements differ, else 0.
            return torch.amax((rest | -rest) >> 31, -1)
        return 1 - torch.amax((mine == flat).to(torch.float16), -1)

    differs = limits.in_blocks(row.shape[0], flat.shape[0], differ).reshape(elements.shape)
    return differs != 0 if invert else differs == 0


def isin_number(elements, candidate, *, assume_unique=False, invert=False):
    del assume_unique
    return elements != candidate if invert else elements == candidate


def searchsorted(sequence, values, *, out_int32=False, right=False, side=None, sorter=None):
    """How many of a sorted row come before a value; those that equal it, too, if it goes to the right of them."""
    right = right or side == "right"
    kinds = {*_FLOATS, *INTEGERS}
    if sequence.dtype != values.dtype or sequence.dtype not in kinds or sequence.dim() == 0:
        return NotImplemented
    compared = sequence.shape[-1] * values.numel()
    if not compared or limits.SEARCHED.refuses(compared):
        return NotImplemented
    if sorter is not None:
        sequence = torch.gather(sequence, -1, sorter)
    shape = values.shape
    row = sequence if sequence.dim() == 1 else sequence.unsqueeze(-2)
    values = values.reshape(1) if values.dim() == 0 else values

    def before(first, last):
        value = values.narrow(-1, first, last - first).unsqueeze(-1)
        # What is no number comes after all others.
        is_behind = row > value if right else row >= value
        return sequence.shape[-1] - torch.sum(is_behind.to(torch.float32), -1)

    count = limits.in_blocks(values.shape[-1], compared // values.shape[-1], before, dim=-1).reshape(shape)
    return count.to(torch.int32 if out_int32 else torch.int64)


def _beside_integers(value, dtype):
    """(the integer with as many integers before it as the number, whether those that equal it are before the number)."""
    bounds = torch.iinfo(torch.int32 if dtype == torch.int64 else dtype)
    if not value <= bounds.max:  # larger than all, or no number, which comes after all
        return bounds.max, True
    return (bounds.min, False) if value < bounds.min else (math.ceil(value), None)


def searchsorted_number(sequence, value, *, out_int32=False, right=False, side=None, sorter=None):
    if sequence.dtype in INTEGERS:
        is_whole = isinstance(value, int) or value.is_integer()
        value, is_behind = _beside_integers(value, sequence.dtype)
        if is_behind is not None or not is_whole:
            right, side = bool(is_behind), None
    value = torch.full((), value, dtype=sequence.dtype, device=sequence.device)
    return searchsorted(sequence, value, out_int32=out_int32, right=right, side=side, sorter=sorter)


def bucketize_number(value, boundaries, *, out_int32=False, right=False):
    if boundaries.dim() != 1:
        return NotImplemented
    return searchsorted_number(boundaries, value, out_int32=out_int32, right=right)


def bucketize(values, boundaries, *, out_int32=False, right=False):
    if boundaries.dim() != 1:
        return NotImplemented
    return searchsorted(boundaries, values, out_int32=out_int32, right=right)


def nonzero_static(x, *, size, fill_value=-1):
    """Places of the first ``size`` elements that are not 0: every one asks who has so many before it."""
    if x.dtype not in {*_FLOATS, *INTEGERS, torch.bool} or not x.dim() or not size * x.numel():
        return NotImplemented
    if limits.SEARCHED.refuses(size * x.numel()):
        return NotImplemented
    named = (x if x.dtype == torch.bool else x != 0).reshape(-1).to(torch.int64)
    order = torch.cumsum(named, 0)
    wanted = torch.arange(size, device=x.device).unsqueeze(1) + 1
    numbers = torch.arange(x.numel(), device=x.device)

    def placed(first, last):
        is_it = torch.logical_and(order == wanted.narrow(0, first, last - first), named > 0)
        return torch.sum(torch.where(is_it, numbers, torch.zeros((), dtype=torch.int64, device=x.device)), 1)

    place = limits.in_blocks(size, x.numel(), placed)
    columns = []
    for count in reversed(x.shape):
        rest = torch.div(place, count, rounding_mode="floor")
        columns.append(place - rest * count)
        place = rest
    places = torch.stack(columns[::-1], 1)
    return torch.where(wanted <= order[-1], places, torch.full((), fill_value, device=x.device))


def _finite(x):
    """The same number; what is none, or an infinity, is an error of the device."""
    is_bad = torch.logical_not(torch.abs(x) < math.inf)
    return x + index_writes.checked(is_bad.to(torch.int64).reshape(1), 1, False).reshape([]).to(x.dtype)


def histc(x, bins=100, min=0, max=0):
    """How many elements fall into each of the bins; what is beyond them, or no number, into none."""
    if x.dtype not in _FLOATS or bins <= 0 or not x.numel() or not -math.inf < min <= max < math.inf:
        return NotImplemented
    if limits.COUNTED.refuses(bins * x.numel()):
        return NotImplemented
    wide = x.reshape(-1).float()
    if min == max:  # torch asks the elements
        low, high = _finite(torch.amin(wide, 0)), _finite(torch.amax(wide, 0))
        is_one = low == high
        low, high = torch.where(is_one, low - 1, low), torch.where(is_one, high + 1, high)
    else:
        low, high = float(min), float(max)
    at = torch.clamp_max(torch.floor((wide - low) * bins / (high - low)), bins - 1)
    inside = torch.logical_and(wide >= low, wide <= high)
    at = torch.where(inside, at, -1.0)
    numbers = torch.arange(bins, device=x.device).float().unsqueeze(1)

    def counted(first, last):
        return torch.sum((at == numbers.narrow(0, first, last - first)).float(), 1)

    return limits.in_blocks(bins, x.numel(), counted).to(x.dtype)
