"""Pooling by maximum and mean, forwards and backwards, from operations the device has.

The windows of the input are taken once per place of the kernel, as convolutions do. A maximum remembers the number of its
element in the input; its gradient asks every place of the kernel whether it was the one. Sums are of all places at once, in
fp32, rounded once.
"""

import itertools
import math

import torch

from torch_spyre._inductor.integer_decompositions import INTEGERS
from torch_spyre.ops import limits

#: Places of a kernel of which each is one copy of the input.
_MOST_COPIES = 64
_TYPES = frozenset({torch.float16, torch.bfloat16, torch.float32, *INTEGERS})


def _per_dimension(given, count):
    given = [given] if isinstance(given, int) else list(given)
    return [int(v) for v in (given * count if len(given) == 1 else given)]


class _Windows:
    """Sizes of one pooling; all lists have an entry per spatial dimension."""

    def __init__(self, size, kernel, stride, padding, dilation, ceil_mode):
        count = len(size)
        self.size = [int(s) for s in size]
        self.kernel = _per_dimension(kernel, count)
        self.stride = _per_dimension(stride, count) if stride else self.kernel
        self.padding, self.dilation = _per_dimension(padding, count), _per_dimension(dilation, count)
        self.counts = [self._count(i, ceil_mode) for i in range(count)]
        self.ends = [
            max(self._reach(i) - s - p, 0) for i, (s, p) in enumerate(zip(self.size, self.padding))
        ]
        self.padded = [s + p + e for s, p, e in zip(self.size, self.padding, self.ends)]

    def _reach(self, i):
        """One past the last element that a window covers, counted with the padding before."""
        return (self.counts[i] - 1) * self.stride[i] + self.dilation[i] * (self.kernel[i] - 1) + 1

    def _count(self, i, ceil_mode):
        free = self.size[i] + 2 * self.padding[i] - self.dilation[i] * (self.kernel[i] - 1) - 1
        count = (free + (self.stride[i] - 1 if ceil_mode else 0)) // self.stride[i] + 1
        # No window begins behind the input.
        starts_behind = ceil_mode and (count - 1) * self.stride[i] >= self.size[i] + self.padding[i]
        return count - 1 if starts_behind else count

    def is_supported(self, x):
        return x.dtype in _TYPES and x.numel() > 0 and min(self.counts) > 0

    def has_few_places(self):
        return math.prod(self.kernel) <= _MOST_COPIES

    def has_short_sides(self):
        return not limits.WINDOWS.refuses(sum(self.kernel))

    def places(self):
        return itertools.product(*(range(k) for k in self.kernel))

    def pad(self, x, value):
        pads = [n for p, e in zip(reversed(self.padding), reversed(self.ends)) for n in (p, e)]
        return torch.constant_pad_nd(x, pads, value) if any(pads) else x

    def take(self, padded, place):
        """The element of all windows at one place of the kernel."""
        for i, at in enumerate(place):
            padded = self.take_along(padded, i, at)
        return padded

    def take_along(self, padded, i, at):
        """The same along one dimension only."""
        start = at * self.dilation[i]
        end = start + (self.counts[i] - 1) * self.stride[i] + 1
        dim = padded.dim() - len(self.size) + i
        return torch.ops.aten.slice.Tensor(padded, dim, start, end, self.stride[i])

    def all_numbers(self, device):
        """Of the elements of the padded input, in the input of one channel."""
        total = torch.zeros([1] * len(self.size), dtype=torch.int64, device=device)
        for i, padded in enumerate(self.padded):
            shape = [1] * len(self.size)
            shape[i] = padded
            along = torch.arange(padded, device=device) - self.padding[i]
            total = total * self.size[i] + along.reshape(shape)
        return total

    def first_numbers(self, device):
        """Of the first element of each window that is in the input."""
        total = torch.zeros([1] * len(self.size), dtype=torch.int64, device=device)
        for i, count in enumerate(self.counts):
            begin = torch.arange(count, device=device) * self.stride[i] - self.padding[i]
            begin = torch.where(begin < 0, torch.remainder(begin, self.dilation[i]), begin)
            shape = [1] * len(self.size)
            shape[i] = count
            total = total * self.size[i] + begin.reshape(shape)
        return total

    def members(self, i, device, dtype):
        """Which elements of the padded input are in which window along one dimension: [windows, elements] of 0 and 1."""
        begin = (torch.arange(self.counts[i], device=device) * self.stride[i])[:, None]
        at = torch.arange(self.padded[i], device=device)[None]
        return ((at >= begin) & (at < begin + self.kernel[i])).to(dtype)

    def put(self, part, place):
        """The reverse of take: zeros elsewhere."""
        first = part.dim() - len(self.size)
        for i, at in enumerate(place):
            dim, step, start = first + i, self.stride[i], at * self.dilation[i]
            if step > 1:
                zeros = part.new_zeros([*part.shape[: dim + 1], step - 1, *part.shape[dim + 1 :]])
                part = torch.cat([part.unsqueeze(dim + 1), zeros], dim + 1).flatten(dim, dim + 1)
            end = self.padded[i] - start
            part = part.narrow(dim, 0, end) if part.shape[dim] > end else part
            pads = [0] * (2 * (part.dim() - dim))
            pads[-2], pads[-1] = start, end - part.shape[dim]
            part = torch.constant_pad_nd(part, pads)
        return part

    def unpad(self, x):
        first = x.dim() - len(self.size)
        for i, padding in enumerate(self.padding):
            x = x.narrow(first + i, padding, self.size[i])
        return x

    def numbers(self, place, device):
        """Of the elements take() returns, in the input of one channel."""
        total = torch.zeros([1] * len(self.size), dtype=torch.int64, device=device)
        for i, at in enumerate(place):
            start = at * self.dilation[i] - self.padding[i]
            along = torch.arange(self.counts[i], device=device) * self.stride[i] + start
            shape = [1] * len(self.size)
            shape[i] = self.counts[i]
            total = total * self.size[i] + along.reshape(shape)
        return total

    def divisors(self, count_padding, device):
        """How many elements the mean of each window is of."""
        total = torch.ones([1] * len(self.size), dtype=torch.float32, device=device)
        for i, kernel in enumerate(self.kernel):
            begin = torch.arange(self.counts[i], device=device) * self.stride[i] - self.padding[i]
            last = self.size[i] + self.padding[i]
            end = torch.clamp(begin + kernel, max=last if count_padding else self.size[i])
            begin = begin if count_padding else torch.clamp(begin, min=0)
            shape = [1] * len(self.size)
            shape[i] = self.counts[i]
            total = total * (end - begin).float().reshape(shape)
        return total


def _spatial(x, dims):
    return x.shape[x.dim() - dims :]


def max_pool(dims):
    def pool(x, kernel, stride=(), padding=0, dilation=1, ceil_mode=False):
        w = _Windows(_spatial(x, dims), kernel, stride, padding, dilation, ceil_mode)
        if not w.is_supported(x) or not w.has_short_sides():
            return NotImplemented
        return _largest_in_windows(w, w.pad(x, _lowest(x.dtype)))

    return pool


def _lowest(dtype):
    return -math.inf if dtype.is_floating_point else max(torch.iinfo(dtype).min, -(2**31))


def _largest_in_windows(w, padded):
    """One dimension after the other, the last one first: of equal elements the first of a row is found, and then the first
    of these."""
    best, number = padded, w.all_numbers(padded.device)
    number = number.expand(padded.shape)
    for i in reversed(range(len(w.size))):
        best, number = largest((w.take_along(t, i, at) for t in (best, number)) for at in range(w.kernel[i]))
    if any(w.padding):  # which comes first where nothing is larger
        number = torch.where(best == _lowest(best.dtype), w.first_numbers(best.device), number)
    return best.clone(), number.clone()


def _named_gradient(grad, x, indices, dims):
    """Every element of the input asks who has its number."""
    size = math.prod(_spatial(x, dims))
    if limits.INDEX_WRITES.refuses(size * grad.numel()):
        return NotImplemented
    named, numbers = indices.flatten(-dims).unsqueeze(-1), torch.arange(size, device=x.device)
    each, none = grad.flatten(-dims).unsqueeze(-1), torch.zeros((), dtype=grad.dtype, device=x.device)

    def summed(first, last):
        return torch.where(named == numbers[first:last], each, none).sum(-2)

    return limits.in_blocks(size, grad.numel(), summed, dim=-1).reshape(x.shape)


def max_pool_backward(dims):
    def gradient(grad, x, kernel, stride, padding, dilation, ceil_mode, indices):
        w = _Windows(_spatial(x, dims), kernel, stride, padding, dilation, ceil_mode)
        if not w.is_supported(x):
            return NotImplemented
        if not w.has_few_places():
            return _named_gradient(grad, x, indices, dims)
        none = torch.zeros_like(grad)
        parts = [
            w.put(torch.where(indices == w.numbers(place, x.device), grad, none), place)
            for place in w.places()
        ]
        return w.unpad(torch.stack(parts).sum(0))

    return gradient


def _divided(x, w, count_padding, divisor):
    if not x.is_floating_point():
        divisors = w.divisors(count_padding, x.device).to(x.dtype) if divisor is None else divisor
        return torch.div(x, divisors, rounding_mode="trunc")
    divisors = w.divisors(count_padding, x.device) if divisor is None else divisor
    return (x.float() / divisors).to(x.dtype)


def avg_pool(dims):
    def pool(x, kernel, stride=(), padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        w = _Windows(_spatial(x, dims), kernel, stride, padding, 1, ceil_mode)
        if not w.is_supported(x):
            return NotImplemented
        padded = w.pad(x, 0)
        wide = torch.float32 if x.is_floating_point() else x.dtype
        if w.has_few_places():
            total = torch.stack([w.take(padded, place) for place in w.places()]).sum(0, dtype=wide)
        elif x.is_floating_point():
            total = _summed(padded.float(), [w.members(i, x.device, wide) for i in range(dims)])
        else:
            limits.INTEGER_MEANS.refuses(math.prod(w.kernel))
            return NotImplemented
        return _divided(total, w, count_include_pad, divisor_override).to(x.dtype)

    return pool


def avg_pool_backward(dims):
    def gradient(grad, x, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override):
        w = _Windows(_spatial(x, dims), kernel, stride, padding, 1, ceil_mode)
        if not w.is_supported(x):
            return NotImplemented
        if not w.has_few_places():
            share = _divided(grad.float(), w, count_include_pad, divisor_override)
            matrices = [w.members(i, x.device, torch.float32).t() for i in range(dims)]
            return w.unpad(_summed(share, matrices)).to(x.dtype)
        share = _divided(grad, w, count_include_pad, divisor_override)
        return w.unpad(torch.stack([w.put(share, place) for place in w.places()]).sum(0))

    return gradient


def _bounds(size, count, device):
    """Where the cells of an adaptive pooling begin and end."""
    cell = torch.arange(count, device=device)
    begin = torch.div(cell * size, count, rounding_mode="floor")
    return begin, torch.div((cell + 1) * size + count - 1, count, rounding_mode="floor")


def _cells(size, count, device, dtype):
    """Which of ``size`` elements are in which of ``count`` cells of an adaptive pooling: [count, size] of 0 and 1."""
    begin, end = (bound[:, None] for bound in _bounds(size, count, device))
    at = torch.arange(size, device=device)[None]
    return ((at >= begin) & (at < end)).to(dtype)


def _all_cells(x, counts):
    """One matrix for each spatial dimension."""
    return [_cells(size, count, x.device, x.dtype) for size, count in zip(_spatial(x, len(counts)), counts)]


def _cell_sizes(cells):
    total = None
    for number, matrix in enumerate(cells):
        along = matrix.float().sum(1).reshape([-1] + [1] * (len(cells) - 1 - number))
        total = along if total is None else total * along
    return total


def _summed(x, matrices):
    """Sums along the last dimensions, as products with matrices of 0 and 1."""
    for number, matrix in enumerate(reversed(matrices)):
        dim = x.dim() - 1 - number
        if number == 0:
            x = torch.matmul(x, matrix.t())
            continue
        shape = [*x.shape[:dim], matrix.shape[0], *x.shape[dim + 1 :]]
        x = torch.matmul(matrix, x.flatten(dim + 1)).reshape(shape)
    return x


def adaptive_avg_pool(x, output_size):
    if not x.is_floating_point() or x.numel() == 0 or 0 in output_size:
        return NotImplemented
    cells = _all_cells(x, output_size)
    return (_summed(x, cells).float() / _cell_sizes(cells)).to(x.dtype)


def adaptive_avg_pool_backward(dims):
    def gradient(grad, x):
        if not x.is_floating_point() or x.numel() == 0 or grad.numel() == 0:
            return NotImplemented
        cells = _all_cells(x, _spatial(grad, dims))
        share = (grad.float() / _cell_sizes(cells)).to(x.dtype)
        return _summed(share, [matrix.t() for matrix in cells])

    return gradient


class _Cells:
    """Cells of an adaptive pooling that may overlap, and differ by an element: as many places as the largest has, of which
    the last may be named twice."""

    def __init__(self, sizes, counts):
        self.sizes, self.counts = list(sizes), list(counts)
        self.kernel = [
            max(-(-(cell + 1) * s // c) - cell * s // c for cell in range(c)) for s, c in zip(sizes, counts)
        ]

    def places(self):
        return itertools.product(*(range(k) for k in self.kernel))

    def _at(self, number, place, device):
        begin, end = _bounds(self.sizes[number], self.counts[number], device)
        return torch.minimum(begin + place, end - 1)

    def take(self, x, place):
        for number, at in enumerate(place):
            x = torch.index_select(x, x.dim() - len(place) + number, self._at(number, at, x.device))
        return x

    def numbers(self, place, device):
        """Of the elements take() returns, in the input of one channel."""
        total = torch.zeros([1] * len(place), dtype=torch.int64, device=device)
        for number, at in enumerate(place):
            shape = [1] * len(place)
            shape[number] = self.counts[number]
            total = total * self.sizes[number] + self._at(number, at, device).reshape(shape)
        return total


def candidates(taker, x):
    """Elements of x and their numbers, for each place."""
    return ((taker.take(x, place), taker.numbers(place, x.device)) for place in taker.places())


def largest(pairs):
    """The largest of elements that come with their numbers: the first of equal ones, and what is no number before all."""
    best = number = None
    for value, numbers in pairs:
        if best is None:
            best, number = value, numbers.expand(value.shape)
            continue
        takes = value > best
        takes = takes | (value != value) if value.is_floating_point() else takes
        number = torch.where(takes, numbers, number)
        best = torch.maximum(best, value)
    return best, number.clone()


def _even_kernel(size, counts):
    """Of cells that are all alike; None where they are not."""
    alike = all(count > 0 and s % count == 0 for s, count in zip(size, counts))
    return [s // count for s, count in zip(size, counts)] if alike else None


def adaptive_max_pool(dims):
    def pool(x, output_size):
        size, output_size = _spatial(x, dims), (list(output_size) * dims)[:dims]
        if not x.is_floating_point() or x.numel() == 0 or 0 in output_size:
            return NotImplemented
        if math.prod(output_size) == 1:
            values, numbers = x.flatten(-dims).max(-1)
            return tuple(t.reshape([*t.shape, *[1] * dims]) for t in (values, numbers))
        kernel = _even_kernel(size, output_size)
        if kernel is not None:
            return max_pool(dims)(x, kernel)
        cells = _Cells(size, output_size)
        if limits.CELLS.refuses(math.prod(cells.kernel)):
            return NotImplemented
        return largest(candidates(cells, x))

    return pool


def adaptive_max_pool_backward(dims):
    def gradient(grad, x, indices):
        size, counts = _spatial(x, dims), _spatial(grad, dims)
        if not x.is_floating_point() or x.numel() == 0 or grad.numel() == 0:
            return NotImplemented
        kernel = _even_kernel(size, counts)
        if kernel is not None and math.prod(counts) > 1:
            return max_pool_backward(dims)(grad, x, kernel, kernel, 0, 1, False, indices)
        return _named_gradient(grad, x, indices, dims)

    return gradient
