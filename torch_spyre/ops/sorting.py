"""Sorted elements and running extremes, from operations the device has (docs/adr/0066).

An element's place in the order is the number of elements that come before it, so every pair of a row is compared once; a
second comparison of places asks who stands where. Elements are then gathered, so that values are exact. Long rows are
compared in blocks.
"""

import math

import torch
from torch._prims_common import canonicalize_dim

from torch_spyre._inductor.integer_decompositions import INTEGERS
from torch_spyre.ops import limits
from torch_spyre.ops.functions import FLOATS as _FLOATS

#: Dimensions of tensors whose pairs of elements are compared as they are.
_MOST_DIMS = 4
#: The device's own search finds so many.
_MOST_FOUND = 64
#: Longer rows are searched in parts of so many.
_SEARCHED_AT_ONCE, _PART = 2048, 512


def _is_before(a, b, descending):
    """1 where a stands before b, else 0, in fp32. No number is larger than NaN."""
    larger, smaller = (a, b) if descending else (b, a)
    before = larger > smaller
    if a.dtype in _FLOATS:
        before = torch.logical_or(before, torch.logical_and(larger != larger, smaller == smaller))
    return before.to(torch.float32)


def _is_same(a, b):
    same = a == b
    if a.dtype in _FLOATS:
        same = torch.logical_or(same, torch.logical_and(a != a, b != b))
    return same.to(torch.float32)


def _numbers(count, like, shape):
    return torch.arange(count, device=like.device).to(torch.float32).reshape(shape)


def _order(x, descending, wanted):
    """Places of the first so many elements of the last dimension in their order; equal ones as they stood."""
    count = x.shape[-1]
    rows, column = _numbers(count, x, [count, 1]), _numbers(count, x, [1, count])

    def ranks(first, last):
        mine, others = x.narrow(-1, first, last - first).unsqueeze(-1), x.unsqueeze(-2)
        is_earlier = (column < rows.narrow(0, first, last - first)).to(torch.float32)
        before = _is_before(others, mine, descending) + _is_same(others, mine) * is_earlier
        return torch.sum(before, -1)

    def standing(first, last):
        # [.., place in the order, element]: of each row one is named, so the sum is exact.
        stands = torch.where(rank.unsqueeze(-2) == rows.narrow(0, first, last - first), column, 0.0)
        return torch.sum(stands, -1)

    rank = limits.in_blocks(count, x.numel(), ranks, dim=-1)
    return limits.in_blocks(wanted, x.numel(), standing, dim=-1).to(torch.int64)


def _in_three(function, x, dim, *rest):
    """Of a tensor of many dimensions as one of three: pairs of elements have one more."""
    before, behind = x.shape[:dim], x.shape[dim + 1 :]
    found = function(x.reshape(math.prod(before), x.shape[dim], math.prod(behind)), 1, *rest)
    if found is None or found is NotImplemented:
        return found
    return tuple(t.reshape([*before, t.shape[1], *behind]) for t in found)


def _sorted(x, dim, descending, count=None):
    """Values and places of the first so many, or None where that is the CPU's."""
    if x.dtype not in {*_FLOATS, *INTEGERS, torch.bool} or x.numel() == 0:
        return None
    dim = canonicalize_dim(x.dim(), dim)
    if x.dim() == 0:
        return x.clone(), torch.zeros((), dtype=torch.int64, device=x.device)
    if limits.SORTED.refuses(x.numel() * x.shape[dim]):
        return None
    if x.dim() > _MOST_DIMS:
        return _in_three(_sorted, x, dim, descending, count)
    row = x.movedim(dim, -1)
    key = row.to(torch.float16) if x.dtype == torch.bool else row
    places = _order(key, descending, x.shape[dim] if count is None else count)
    places = places.movedim(-1, dim).contiguous()
    return torch.gather(x, dim, places), places


def sort_stable(x, *, stable=None, dim=-1, descending=False):
    del stable  # it always is
    result = _sorted(x, dim, descending)
    return NotImplemented if result is None else result


def sort(x, dim=-1, descending=False):
    return sort_stable(x, dim=dim, descending=descending)


def kthvalue(x, k, dim=-1, keepdim=False):
    """The element with k - 1 before it, and its place."""
    result = _sorted(x, dim, False)
    if result is None:
        return NotImplemented
    if x.dim() == 0:
        return result
    values, places = (t.narrow(dim, k - 1, 1) for t in result)
    return (values, places) if keepdim else (values.squeeze(dim), places.squeeze(dim))


def _median(x, dim, keepdim, ignores_nan):
    """The lower of two; what is no number comes last, and is the median where there is one."""
    if x.dim() > _MOST_DIMS:
        dim = canonicalize_dim(x.dim(), dim)
        found = _in_three(_median, x, dim, True, ignores_nan)
        return found if keepdim or found is NotImplemented else tuple(t.squeeze(dim) for t in found)
    result = _sorted(x, dim, False)
    if result is None or x.dim() == 0:
        return NotImplemented if result is None else result
    values, places = result
    count = x.shape[dim]
    at = torch.full([1], (count - 1) // 2, dtype=torch.int64, device=x.device)
    if x.dtype in _FLOATS:
        numbers = torch.sum((values == values).to(torch.float32), dim, keepdim=True).to(torch.int64)
        middle = torch.div(torch.clamp_min(numbers - 1, 0), 2, rounding_mode="floor")
        at = middle if ignores_nan else torch.where(numbers < count, numbers, middle)
    at = at.expand([1 if d == dim % x.dim() else n for d, n in enumerate(x.shape)]).contiguous()
    found = [torch.gather(t, dim, at) for t in (values, places)]
    return tuple(found) if keepdim else tuple(t.squeeze(dim) for t in found)


def median_of(ignores_nan):
    """Along a dimension, and of all elements."""

    def along(x, dim, keepdim=False):
        return _median(x, dim, keepdim, ignores_nan)

    def of_all(x):
        result = _median(x.reshape(-1), 0, False, ignores_nan)
        return result if result is NotImplemented else result[0]

    return along, of_all


def mode(x, dim=-1, keepdim=False):
    """The most frequent element, of several the smallest, and where it stands last; what is no number equals no other."""
    if x.dtype not in {*_FLOATS, *INTEGERS, torch.bool} or x.numel() == 0:
        return NotImplemented
    dim = canonicalize_dim(x.dim(), dim)
    if x.dim() == 0:
        return x.clone(), torch.zeros((), dtype=torch.int64, device=x.device)
    count = x.shape[dim]
    if limits.SORTED.refuses(x.numel() * count):
        return NotImplemented
    if x.dim() > _MOST_DIMS:
        found = _in_three(mode, x, dim, True)
        return found if keepdim or found is NotImplemented else tuple(t.squeeze(dim) for t in found)
    row = x.movedim(dim, -1)
    row = row.to(torch.float16) if x.dtype == torch.bool else row

    def frequency(first, last):
        mine = row.narrow(-1, first, last - first).unsqueeze(-1)
        return torch.sum((mine == row.unsqueeze(-2)).to(torch.float32), -1)

    times = limits.in_blocks(count, x.numel(), frequency, dim=-1)
    is_most = torch.logical_and(times == torch.amax(times, -1, keepdim=True), row == row)
    highest = math.inf if row.dtype in _FLOATS else torch.iinfo(row.dtype).max
    bound = torch.full((), highest, dtype=row.dtype, device=x.device)
    smallest = torch.amin(torch.where(is_most, row, bound), -1, keepdim=True)
    at = _numbers(count, x, [count])
    place = torch.amax(torch.where(row == smallest, at, torch.zeros_like(at)), -1, keepdim=True)
    place = place.movedim(-1, dim).to(torch.int64).contiguous()
    found = torch.gather(x, dim, place), place
    return found if keepdim else tuple(t.squeeze(dim) for t in found)


#: Integers that are found one after the other.
_FEW = 8


def _found(x, k, dim, largest):
    """The first few integers, each time the best of those that were not named yet."""
    count = x.shape[dim]
    reduce, worst = (torch.amax, -(2**31)) if largest else (torch.amin, 2**31 - 1)
    shape = [1] * x.dim()
    shape[dim] = count
    numbers = torch.arange(count, device=x.device).reshape(shape)
    none = torch.full((), count, device=x.device)
    left, values, places = numbers.expand(x.shape), [], []
    for _ in range(k):
        open_ones = left < none
        bound = torch.full((), worst, dtype=x.dtype, device=x.device)
        best = reduce(torch.where(open_ones, x, bound), [dim], keepdim=True)
        place = torch.amin(torch.where(x == best, left, none), [dim], keepdim=True)
        left = torch.where(numbers == place, none, left)
        values.append(best)
        places.append(place)
    return torch.cat(values, dim), torch.cat(places, dim)


def _best(rows, k, largest):
    """Values and places of the first so many of each row, at most those the device finds. Long rows are cut: what is best of
    all is best of its part, and parts lie in lanes beside each other. Equal elements keep their order."""
    count = rows.shape[-1]
    if count <= _SEARCHED_AT_ONCE:
        return torch.topk(rows, k, -1, largest)
    rest = -count % _PART
    worst = -math.inf if largest else math.inf
    padded = torch.constant_pad_nd(rows, [0, rest], worst) if rest else rows  # behind all that are equal
    values, places = torch.topk(padded.reshape(-1, _PART), k, -1, largest)
    parts = (count + rest) // _PART
    starts = torch.arange(parts, device=rows.device).reshape(1, parts, 1) * _PART
    places = (places.reshape(-1, parts, k) + starts).reshape(-1, parts * k)
    values, at = _best(values.reshape(-1, parts * k), k, largest)
    return values, torch.gather(places, -1, at)


def _largest(rows, k):
    """Places of longer lists: each search is among what comes after the last one found. Rows are fp32 without -inf that
    matters: it stands for what was found before."""
    numbers = _numbers(rows.shape[-1], rows, [1, rows.shape[-1]])
    left, places = rows, []
    for first in range(0, k, _MOST_FOUND):
        if first:
            value, place = values[:, -1:], places[-1][:, -1:].to(torch.float32)
            is_open = _is_before(value, rows, True) + _is_same(value, rows) * (numbers > place).to(torch.float32)
            left = torch.where(is_open > 0, rows, -math.inf)
        values, at = _best(left, min(_MOST_FOUND, k - first), True)
        places.append(at)
    return torch.cat(places, -1)


def _largest_places(rows, k):
    """Of rows of any float type."""
    wide = rows.to(torch.float32)
    places = _largest(wide, k)
    if rows.dtype != torch.float32:
        return places  # infinities of 16 bits are finite
    # Behind all others the places of -inf, which what was found before looks like.
    lowest = wide == -math.inf
    numbers = _numbers(rows.shape[-1], rows, [1, rows.shape[-1]])
    in_order = _largest(torch.where(lowest, -numbers, -math.inf), k)
    others = rows.shape[-1] - torch.sum(lowest.to(torch.float32), -1, keepdim=True)
    behind = _numbers(k, rows, [1, k]) - others
    of_lowest = torch.gather(in_order, -1, torch.clamp_min(behind, 0).to(torch.int64))
    return torch.where(behind >= 0, of_lowest, places)


def _best_floats(x, k, dim, largest):
    rows = x.movedim(dim, -1)
    flat = rows.reshape(-1, x.shape[dim])
    places = _best(flat, k, largest)[1] if k <= _MOST_FOUND else _largest_places(flat, k)
    places = places.reshape([*rows.shape[:-1], k]).movedim(-1, dim).contiguous()
    return torch.gather(x, dim, places), places


def topk(x, k, dim=-1, largest=True, sorted=True):
    """Integers, longer lists and longer rows than the device searches."""
    del sorted  # they always are
    if x.dim() == 0 or x.numel() == 0 or not 0 < k <= x.shape[dim]:
        return NotImplemented
    is_short = x.shape[dim] <= _SEARCHED_AT_ONCE
    is_ordered = is_short and x.numel() * x.shape[dim] <= limits.COMPARED_AT_ONCE  # at once, where the list is long
    if x.dtype in _FLOATS and (k <= _MOST_FOUND or (largest and not is_ordered)):
        is_row = k <= _MOST_FOUND and is_short
        # Parts of a size that is a symbol are found when it is known (_inductor/expansion.py).
        is_symbol = any(isinstance(size, torch.SymInt) for size in (k, *x.shape))
        return NotImplemented if is_row or is_symbol else _best_floats(x, k, dim % x.dim(), largest)
    if x.dtype in INTEGERS and k <= _FEW:
        return _found(x, k, dim % x.dim(), largest)
    result = _sorted(x, dim, largest, k)
    return NotImplemented if result is None else result


def _running_extreme(takes_later):
    """In steps of 1, 2, 4, ..: of equal elements the last is named, and what is no number stays."""

    def decomposed(x, dim):
        if x.dtype == torch.bool:  # the device holds truths as numbers
            found = decomposed(x.to(torch.float16), dim)
            return found if found is NotImplemented else (found[0].to(torch.bool), found[1])
        if x.dtype not in {*_FLOATS, *INTEGERS} or x.numel() == 0:
            return NotImplemented
        dim = canonicalize_dim(x.dim(), dim)
        if x.dim() == 0:
            return x.clone(), torch.zeros((), dtype=torch.int64, device=x.device)
        count, step = x.shape[dim], 1
        shape = [1] * x.dim()
        shape[dim] = count
        values, places = x, torch.arange(count, device=x.device).reshape(shape).expand(x.shape)
        while step < count:
            rest = count - step
            earlier, later = values.narrow(dim, 0, rest), values.narrow(dim, step, rest)
            is_later = takes_later(later, earlier)
            if x.dtype in _FLOATS:
                is_later = torch.logical_and(is_later, earlier == earlier)
                is_later = torch.logical_or(is_later, later != later)
            joined = []
            for each in (values, places):
                both = torch.where(is_later, each.narrow(dim, step, rest), each.narrow(dim, 0, rest))
                joined.append(torch.cat([each.narrow(dim, 0, step), both], dim))
            values, places = joined
            step *= 2
        return values.clone(), places.clone()

    return decomposed


cummax = _running_extreme(torch.ge)
cummin = _running_extreme(torch.le)
