"""Writes at places that are data: index_put, scatter and their like (docs/adr/0060).

The device reads rows by number but writes only where the program says. So every place of the result
asks who writes it: of the numbers that name it the last, or all of them when they are added up. The
comparison is one integer per place and number; what would be too many of them is done in blocks of places,
each with a result of its own, so that no number is rounded otherwise.

A number outside of the dimension is an error of the device, as in a gather: numbers choose from zeros,
as many as there are places, before anything else is done with them.
"""

import math

import torch

from torch_spyre._inductor.integer_decompositions import INTEGERS
from torch_spyre.ops import limits
from torch_spyre.ops.functions import FLOATS as _FLOATS
from torch_spyre.ops.functions import HALVES as _HALVES

_TYPES = {*_FLOATS, *INTEGERS, torch.bool}


def _numbers(count, like):
    return torch.arange(count, dtype=torch.int64, device=like.device)


def checked(index, size, from_end):
    """The numbers, counted from the front; one that is no place is an error of the device."""
    zeros, flat = torch.zeros([size], dtype=torch.int64, device=index.device), index.reshape(-1)
    if not from_end:
        return index + torch.index_select(zeros, 0, flat).reshape(index.shape)
    known = index + zeros[flat].reshape(index.shape)
    return known + torch.clamp(-known, 0, 1) * size


def _distance(index, size):
    """0 where a number names a place, else 1: [size, *index.shape], integers."""
    places = _numbers(size, index).reshape([size] + [1] * index.dim())
    return torch.clamp_max(torch.abs(places - index.unsqueeze(0)), 1)


def _last_writer(index, size):
    """For each place the number that writes it last, counted from 1, or less: [size, rest]."""
    count = index.shape[0]
    order = (_numbers(count, index) + 1).reshape([count] + [1] * (index.dim() - 1))
    return torch.amax(order - _distance(index, size) * (count + 1), 1)


def _spread(x, dims):
    """With dimensions of size 1 behind the others."""
    return x.reshape([*x.shape, *([1] * (dims - x.dim()))])


def _chosen(condition, x, y):
    if y.dtype != torch.bool:
        return torch.where(condition, x, y)
    return torch.where(condition, x.to(torch.float16), y.to(torch.float16)).to(torch.bool)


def _from(index, first):
    """Numbers of places, counted from another one."""
    return index - first if first else index


def _put_rows(x, index, rows):
    """Row index[n] of x becomes rows[n]; of equal numbers the last one counts."""
    writer = limits.in_blocks(
        x.shape[0], index.shape[0], lambda first, last: _last_writer(_from(index, first), last - first)
    )
    written = torch.index_select(rows, 0, torch.clamp_min(writer - 1, 0))
    return _chosen(_spread(writer > 0, x.dim()), written, x)


def _add_rows(x, index, rows):
    """rows[n] is added to row index[n] of x: in fp32, integers wrap."""
    size, count = x.shape[0], index.shape[0]
    is_product = x.dtype in _HALVES and x.dim() > 1
    each = count if is_product else rows.numel()
    if limits.INDEX_WRITES.refuses(size * each):
        return NotImplemented
    add = _add_product if is_product else _add_terms
    return limits.in_blocks(
        size, each, lambda first, last: add(x.narrow(0, first, last - first), _from(index, first), rows)
    )


def _add_product(x, index, rows):
    flat = (1 - _distance(index, x.shape[0])).to(x.dtype) @ rows.reshape(index.shape[0], -1)
    return x + flat.reshape(x.shape)


def _add_terms(x, index, rows):
    is_named = 1 - _distance(index, x.shape[0])
    wide = torch.float32 if x.dtype in _FLOATS else x.dtype
    zero = torch.zeros((), dtype=wide, device=x.device)
    terms = torch.where(_spread(is_named > 0, x.dim() + 1), rows.to(wide).unsqueeze(0), zero)
    return (x.to(wide) + torch.sum(terms, 1)).to(x.dtype)


def _masked(x, mask, value, accumulate):
    """A mask as index: what is written is the same for all places it names, or has a row for each."""
    if x.shape[: mask.dim()] != mask.shape:
        return NotImplemented
    rest = x.shape[mask.dim() :]
    condition, value = _spread(mask, x.dim()), value.to(x.dtype)
    if value.dim() == 1 + len(rest) and value.shape[0] != 1:
        value = _rows_in_order(mask, value.expand([value.shape[0], *rest]))
    if not accumulate:
        return _chosen(condition, value, x)
    zero = torch.zeros((), dtype=x.dtype, device=x.device)
    return x + torch.where(condition, value, zero)


def _rows_in_order(mask, rows):
    """A row for each place of the mask: those that it names get the rows one after the other. There must be as many."""
    named = mask.reshape(-1)
    order = torch.cumsum(named, 0)
    # A number that is not 0 is an error of the device.
    surplus = checked(order[-1:] - rows.shape[0], 1, False)
    at = torch.clamp(order - 1, 0, rows.shape[0] - 1) + surplus
    return torch.index_select(rows, 0, at).reshape([*mask.shape, *rows.shape[1:]])


def _is_index(index):
    return index.dtype in INTEGERS


def _joined(indices, sizes):
    """Several numbers as one over the joined dimensions, and what they broadcast to."""
    numbers = [checked(i, size, True) for i, size in zip(indices, sizes)]
    shape = torch.broadcast_shapes(*(i.shape for i in numbers))
    joined = numbers[0]
    for index, size in zip(numbers[1:], sizes[1:]):
        joined = joined * size + index
    return joined.expand(shape).reshape(-1), list(shape)


def index_put(x, indices, values, accumulate=False):
    """``x[indices] = values`` in a copy of x."""
    given = [(dim, index) for dim, index in enumerate(indices) if index is not None]
    if x.dtype not in _TYPES or x.numel() == 0 or not given:
        return NotImplemented
    if any(_is_index(index) and index.numel() == 0 for _, index in given):
        return x.clone()
    if values.numel() == 0:
        return NotImplemented
    first_dim, first_index = given[0]
    if len(given) == 1 and first_dim == 0 and first_index.dtype == torch.bool:
        return _masked(x, first_index, values, accumulate)
    if accumulate and x.dtype == torch.bool:
        sums = index_put(x.to(torch.int32), indices, values.to(torch.int32), True)
        return sums if sums is NotImplemented else sums != 0
    if not all(_is_index(index) for _, index in given):
        return NotImplemented
    dims = [dim for dim, _ in given]
    others = [d for d in range(x.dim()) if d not in dims]
    sizes = [x.shape[d] for d in dims]
    count = math.prod(torch.broadcast_shapes(*(index.shape for _, index in given)))
    if limits.INDEX_WRITES.refuses(math.prod(sizes) * count):
        return NotImplemented
    index, shape = _joined([index for _, index in given], sizes)
    # Values stand where the dimensions were when these are neighbours, else in front.
    first = dims[0] if dims[-1] - dims[0] + 1 == len(dims) else 0
    rest = [x.shape[d] for d in others]
    values = values.to(x.dtype).expand([*rest[:first], *shape, *rest[first:]])
    order = list(range(first, first + len(shape)))
    order += [d for d in range(values.dim()) if d not in order]
    rows = values.permute(order).reshape([count, *rest])
    table = x.permute([*dims, *others]).reshape([math.prod(sizes), *rest])
    result = (_add_rows if accumulate else _put_rows)(table, index, rows)
    if result is NotImplemented:
        return NotImplemented
    order = [*dims, *others]
    return result.reshape([x.shape[d] for d in order]).permute(
        [order.index(d) for d in range(x.dim())]
    ).contiguous()


def from_front(write):
    """For what torch makes of index_put, where numbers below 0 count from the end: here they are wrong."""

    def decomposed(x, dim, index, *args, **kwargs):
        size = x.shape[dim] if x.dim() else 1
        if size and index.numel() and _is_index(index):
            index = checked(index, size, False)
        return write(x, dim, index, *args, **kwargs)

    return decomposed


def _region(x, index, dim):
    """The part of x that an index of its rank speaks of, with the dimension in front."""
    for d in range(x.dim()):
        if d != dim and index.shape[d] < x.shape[d]:
            x = x.narrow(d, 0, index.shape[d])
    return x.movedim(dim, 0)


def _stored(x, region, dim):
    """x with new contents in that part."""
    region = region.movedim(0, dim)
    for d in reversed(range(x.dim())):
        if region.shape[d] < x.shape[d]:
            inside = x
            for outer in range(d):
                if region.shape[outer] < x.shape[outer]:
                    inside = inside.narrow(outer, 0, region.shape[outer])
            region = torch.slice_scatter(inside, region, d, 0, region.shape[d])
    return region.contiguous()


def _is_scatter(x, dim, index):
    is_plain = x.dtype in _TYPES and x.dim() == index.dim() > 0 and _is_index(index)
    compared = x.shape[dim] * index.numel() if is_plain else 0
    return compared > 0 and not limits.INDEX_WRITES.refuses(compared)


def _scattered(x, dim, index, source, combine):
    """``combine`` takes the part of x, the numbers and the source, all with the dimension in front."""
    if not _is_scatter(x, dim, index):
        return NotImplemented
    dim %= x.dim()
    numbers = checked(index, x.shape[dim], False).movedim(dim, 0)
    if isinstance(source, torch.Tensor) and source.dim():
        for d in range(x.dim()):
            source = source.narrow(d, 0, index.shape[d])
        source = source.movedim(dim, 0)
    region = _region(x, index, dim)
    written = limits.in_blocks(
        region.shape[0],
        index.numel(),
        lambda first, last: combine(region.narrow(0, first, last - first), _from(numbers, first), source),
    )
    return _stored(x, written, dim)


def _put_elements(region, index, source):
    writer = _last_writer(index, region.shape[0])
    count = index.shape[0]
    if not isinstance(source, torch.Tensor):
        source = torch.full((), source, dtype=region.dtype, device=region.device)
    elif source.dim():
        numeric = source.to(torch.float16) if source.dtype == torch.bool else source
        order = (_numbers(count, index) + 1).reshape([count] + [1] * (index.dim() - 1))
        zero = torch.zeros((), dtype=numeric.dtype, device=region.device)
        # One term is not zero, so the sum is exact.
        terms = torch.where(writer.unsqueeze(1) == order.unsqueeze(0), numeric.unsqueeze(0), zero)
        source = torch.sum(terms, 1, dtype=terms.dtype).to(region.dtype)
    return _chosen(writer > 0, source, region)


def _add_elements(region, index, source):
    wide = torch.float32 if region.dtype in _FLOATS else region.dtype
    is_named = _distance(index, region.shape[0]) == 0
    zero = torch.zeros((), dtype=wide, device=region.device)
    terms = torch.where(is_named, source.to(wide).unsqueeze(0), zero)
    return (region.to(wide) + torch.sum(terms, 1, dtype=wide)).to(region.dtype)


def scatter(x, dim, index, source):
    return _scattered(x, dim, index, source, _put_elements)


def _of_truths(write):
    """Truth values are counted, or multiplied, as numbers."""

    def decomposed(x, dim, index, source, *args, **named):
        if x.dtype != torch.bool:
            return write(x, dim, index, source, *args, **named)
        result = write(x.to(torch.int32), dim, index, source.to(torch.int32), *args, **named)
        return result if result is NotImplemented else result != 0

    return decomposed


@_of_truths
def scatter_add(x, dim, index, source):
    return _scattered(x, dim, index, source, _add_elements)


def _extreme_elements(reduce, lowest):
    """The largest or smallest of what is written and, if asked for, of what was there."""

    def combine(region, index, source, include_self):
        is_named = _distance(index, region.shape[0]) == 0
        bound = torch.full((), lowest(region.dtype), dtype=region.dtype, device=region.device)
        terms = torch.where(is_named, source.unsqueeze(0), bound)
        found = reduce(terms, 1)
        own = region if include_self else torch.where(_is_written(is_named), bound, region)
        return reduce(torch.stack([own, found], 1), 1)

    return combine


def index_fill(x, dim, index, value):
    """One number, or a tensor of one, at the places of a dimension that the numbers name."""
    if x.dtype not in _TYPES or x.dim() == 0 or not _is_index(index) or x.numel() == 0 or index.numel() == 0:
        return NotImplemented
    dim %= x.dim()
    size = x.shape[dim]
    if limits.INDEX_WRITES.refuses(size * index.numel()):
        return NotImplemented
    index = checked(index.reshape(-1), size, True)
    away = limits.in_blocks(
        size, index.shape[0], lambda first, last: torch.amin(_distance(_from(index, first), last - first), 1)
    )
    shape = [1] * x.dim()
    shape[dim] = size
    if not isinstance(value, torch.Tensor):
        value = torch.full((), value, dtype=x.dtype, device=x.device)
    return _chosen((away == 0).reshape(shape), value.to(x.dtype), x)


def _is_written(is_named):
    return torch.sum(is_named.to(torch.float32), 1) > 0


def _mean_elements(region, index, source, include_self):
    if region.dtype in INTEGERS:
        return _mean_integers(region, index, source, include_self)
    is_named = _distance(index, region.shape[0]) == 0
    total = torch.sum(torch.where(is_named, source.float().unsqueeze(0), 0.0), 1)
    count = torch.sum(is_named.to(torch.float32), 1)
    if include_self:
        return ((region.float() + total) / (count + 1)).to(region.dtype)
    return torch.where(count > 0, (total / torch.clamp_min(count, 1)).to(region.dtype), region)


def _mean_integers(region, index, source, include_self):
    """Rounded down."""
    is_named = _distance(index, region.shape[0]) == 0
    count = torch.sum(is_named.to(region.dtype), 1, dtype=region.dtype)
    count = count + 1 if include_self else torch.clamp_min(count, 1)
    total = _sum_elements(region, index, source, include_self)
    return torch.div(total, count, rounding_mode="floor")


def _sum_elements(region, index, source, include_self):
    if include_self:
        return _add_elements(region, index, source)
    is_named = _distance(index, region.shape[0]) == 0
    zero = torch.zeros((), dtype=region.dtype, device=region.device)
    return _add_elements(torch.where(_is_written(is_named), zero, region), index, source)


def _product_elements(region, index, source, include_self):
    """In fp32, rounded once; integers wrap."""
    wide = torch.float32 if region.dtype in _FLOATS else region.dtype
    is_named = _distance(index, region.shape[0]) == 0
    one = torch.ones((), dtype=wide, device=region.device)
    factors = torch.where(is_named, source.to(wide).unsqueeze(0), one)
    own = region.to(wide)
    own = own if include_self else torch.where(_is_written(is_named), one, own)
    return (own * torch.prod(factors, 1, dtype=wide)).to(region.dtype)


def _lowest(dtype):
    return -math.inf if dtype.is_floating_point else -(2**31)


def _highest(dtype):
    return math.inf if dtype.is_floating_point else 2**31 - 1


_REDUCTIONS = {
    "sum": _sum_elements,
    "mean": _mean_elements,
    "prod": _product_elements,
    "amax": _extreme_elements(torch.amax, _lowest),
    "amin": _extreme_elements(torch.amin, _highest),
}


@_of_truths
def scatter_reduce(x, dim, index, source, reduce, *, include_self=True):
    combine = _REDUCTIONS.get(reduce)
    if combine is None or x.dim() == 0:
        return NotImplemented
    return _scattered(x, dim, index, source, lambda r, i, s: combine(r, i, s, include_self))


def scatter_by_name(x, dim, index, source, *, reduce):
    """The older form: sums and products with what was there; the source may be a number."""
    if not isinstance(source, torch.Tensor):
        source = torch.full(index.shape, source, dtype=x.dtype, device=x.device)
    name = {"add": "sum", "multiply": "prod"}.get(reduce)
    return NotImplemented if name is None else scatter_reduce(x, dim, index, source, name)


def index_reduce(x, dim, index, source, reduce, *, include_self=True):
    """Rows of the source, each to the row its number names."""
    if x.dim() == 0 or index.dim() > 1 or source.numel() == 0:
        return NotImplemented
    shape = [1] * x.dim()
    shape[dim] = -1
    return scatter_reduce(x, dim, index.reshape(shape).expand(source.shape), source, reduce, include_self=include_self)


def put(x, index, source, accumulate=False):
    """Elements at places that are numbered as if x had one dimension."""
    if x.numel() == 0 or index.numel() == 0:
        return NotImplemented
    result = index_put(x.reshape(-1), [index.reshape(-1)], source.reshape(-1), accumulate)
    return result if result is NotImplemented else result.reshape(x.shape)


def take(x, index):
    """Elements whose numbers are those of a tensor with one dimension."""
    if x.dtype not in _TYPES or not _is_index(index) or x.numel() == 0 or index.numel() == 0:
        return NotImplemented
    return torch.ops.aten.index.Tensor(x.reshape(-1), [index])


#: Of an index with more places beside the dimension the compiler would make as many gathers.
_MOST_GATHERS = 256


def gather(x, dim, index, *, sparse_grad=False):
    """One gather from all elements in a row, where the compiler would make too many."""
    del sparse_grad
    if x.dim() == 0 or x.dim() != index.dim() or x.dtype not in _TYPES or not _is_index(index):
        return NotImplemented
    dim %= x.dim()
    others = [n for d, n in enumerate(index.shape) if d != dim and index.stride(d) != 0]
    if math.prod(others) <= _MOST_GATHERS or x.numel() == 0 or index.numel() == 0:
        return NotImplemented
    place, step = checked(index, x.shape[dim], False), 1
    flat = torch.zeros((), dtype=index.dtype, device=x.device)
    for d in reversed(range(x.dim())):
        shape = [1] * x.dim()
        shape[d] = index.shape[d]
        number = place if d == dim else _numbers(index.shape[d], index).reshape(shape)
        flat = flat + number * step
        step *= x.shape[d]
    return torch.index_select(x.reshape(-1), 0, flat.reshape(-1)).reshape(index.shape)


def max_unpool(x, indices, output_size, *_):
    """Each plane by itself: a number outside of it is no place of the next one."""
    planes = x.shape[: x.dim() - len(output_size)]
    count, size = math.prod(planes), math.prod(output_size)
    whole = torch.zeros([count, size], dtype=x.dtype, device=x.device)
    if whole.numel() and x.numel():
        whole = torch.scatter(whole, 1, indices.reshape(count, -1), x.reshape(count, -1))
    return whole.reshape([*planes, *output_size])


def masked_scatter(x, mask, source):
    """Elements of the source in the order of the places the mask names."""
    if x.dtype not in _TYPES or source.numel() == 0 or x.numel() == 0:
        return NotImplemented
    mask, x = torch.broadcast_tensors(mask, x)
    order = torch.cumsum(mask.reshape(-1), 0) - 1
    # Where the source has too few elements the device finds none.
    taken = torch.clamp_min(order, 0)
    chosen = torch.index_select(source.reshape(-1), 0, taken).reshape(x.shape)
    return _chosen(mask, chosen, x)


def masked_scatter_backward(grad, mask, sizes):
    """The gradient of the source: its element n was taken where the mask has n places before, and is true."""
    count = math.prod(sizes)
    mask, grad = torch.broadcast_tensors(mask, grad)
    if grad.dtype not in _FLOATS or not count * grad.numel() or limits.INDEX_WRITES.refuses(count * grad.numel()):
        return NotImplemented
    order = torch.cumsum(mask.reshape(-1), 0)

    def placed(first, last):
        """So many places come before the one that has n + 1 of them up to itself."""
        missing = torch.clamp_min(_numbers(last - first, grad)[:, None] + 1 + first - order, 0)
        return torch.sum(torch.clamp_max(missing, 1), 1)

    place = limits.in_blocks(count, grad.numel(), placed)
    taken = torch.index_select(grad.reshape(-1), 0, torch.clamp_max(place, grad.numel() - 1))
    zero = torch.zeros((), dtype=grad.dtype, device=grad.device)
    return torch.where(place < grad.numel(), taken, zero).reshape(sizes)
