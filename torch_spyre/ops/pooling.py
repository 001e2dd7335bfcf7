"""Pooling by maximum and mean, forwards and backwards, from operations the device has.

The windows of the input are taken once per place of the kernel, as convolutions do. A maximum remembers the number of its
element in the input; its gradient asks every place of the kernel whether it was the one. Sums are of all places at once, in
fp32, rounded once.
"""

import itertools
import math

import torch

# One copy of the input for each; beyond that the CPU is no slower.
_MAX_PLACES = 64


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
        few = math.prod(self.kernel) <= _MAX_PLACES
        return few and x.is_floating_point() and x.numel() > 0 and min(self.counts) > 0

    def places(self):
        return itertools.product(*(range(k) for k in self.kernel))

    def pad(self, x, value):
        pads = [n for p, e in zip(reversed(self.padding), reversed(self.ends)) for n in (p, e)]
        return torch.constant_pad_nd(x, pads, value) if any(pads) else x

    def take(self, padded, place):
        """The element of all windows at one place of the kernel."""
        first = padded.dim() - len(self.size)
        for i, at in enumerate(place):
            start = at * self.dilation[i]
            end = start + (self.counts[i] - 1) * self.stride[i] + 1
            padded = torch.ops.aten.slice.Tensor(padded, first + i, start, end, self.stride[i])
        return padded

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
        total = torch.ones([1] * len(self.size), device=device)
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
        if not w.is_supported(x):
            return NotImplemented
        padded = w.pad(x, -math.inf)
        best = number = None
        for place in w.places():
            value, numbers = w.take(padded, place), w.numbers(place, x.device)
            if best is None:
                best, number = value, numbers.expand(value.shape)
                continue
            takes = (value > best) | (value != value)
            number = torch.where(takes, numbers, number)
            best = torch.maximum(best, value)
        return best, number.clone()

    return pool


def max_pool_backward(dims):
    def gradient(grad, x, kernel, stride, padding, dilation, ceil_mode, indices):
        w = _Windows(_spatial(x, dims), kernel, stride, padding, dilation, ceil_mode)
        if not w.is_supported(x):
            return NotImplemented
        none = torch.zeros_like(grad)
        parts = [
            w.put(torch.where(indices == w.numbers(place, x.device), grad, none), place)
            for place in w.places()
        ]
        return w.unpad(torch.stack(parts).sum(0))

    return gradient


def _divided(x, w, count_padding, divisor):
    divisors = w.divisors(count_padding, x.device) if divisor is None else divisor
    return (x.float() / divisors).to(x.dtype)


def avg_pool(dims):
    def pool(x, kernel, stride=(), padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        w = _Windows(_spatial(x, dims), kernel, stride, padding, 1, ceil_mode)
        if not w.is_supported(x):
            return NotImplemented
        padded = w.pad(x, 0.0)
        total = torch.stack([w.take(padded, place) for place in w.places()]).sum(0, dtype=torch.float32)
        return _divided(total, w, count_include_pad, divisor_override).to(x.dtype)

    return pool


def avg_pool_backward(dims):
    def gradient(grad, x, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override):
        w = _Windows(_spatial(x, dims), kernel, stride, padding, 1, ceil_mode)
        if not w.is_supported(x):
            return NotImplemented
        share = _divided(grad, w, count_include_pad, divisor_override)
        return w.unpad(torch.stack([w.put(share, place) for place in w.places()]).sum(0))

    return gradient


def _cells(size, count, device, dtype):
    """Which of ``size`` elements are in which of ``count`` cells of an adaptive pooling: [count, size] of 0 and 1."""
    cell, at = torch.arange(count, device=device)[:, None], torch.arange(size, device=device)[None]
    begin = torch.div(cell * size, count, rounding_mode="floor")
    end = torch.div((cell + 1) * size + count - 1, count, rounding_mode="floor")
    return ((at >= begin) & (at < end)).to(dtype)


def _cell_sizes(rows, columns):
    return rows.float().sum(1)[:, None] * columns.float().sum(1)[None]


def adaptive_avg_pool2d(x, output_size):
    """A sum over rows and one over columns, as products with matrices of 0 and 1."""
    if not x.is_floating_point() or x.numel() == 0 or 0 in output_size:
        return NotImplemented
    (height, width), (rows, columns) = x.shape[-2:], output_size
    down, across = (
        _cells(size, count, x.device, x.dtype) for size, count in ((height, rows), (width, columns))
    )
    total = torch.matmul(torch.matmul(down, x), across.t())
    return (total.float() / _cell_sizes(down, across)).to(x.dtype)


def adaptive_avg_pool2d_backward(grad, x):
    if not x.is_floating_point() or x.numel() == 0 or grad.numel() == 0:
        return NotImplemented
    (height, width), (rows, columns) = x.shape[-2:], grad.shape[-2:]
    down, across = (
        _cells(size, count, x.device, x.dtype) for size, count in ((height, rows), (width, columns))
    )
    share = (grad.float() / _cell_sizes(down, across)).to(x.dtype)
    return torch.matmul(torch.matmul(down.t(), share), across)


def _even_kernel(size, counts):
    """Of cells that are all alike; None where they are not."""
    alike = all(count > 0 and s % count == 0 for s, count in zip(size, counts))
    return [s // count for s, count in zip(size, counts)] if alike else None


def adaptive_max_pool2d(x, output_size):
    if x.is_floating_point() and list(output_size) == [1, 1] and x.numel() > 0:
        values, numbers = x.flatten(-2).max(-1)
        return values[..., None, None], numbers[..., None, None]
    kernel = _even_kernel(x.shape[-2:], output_size)
    return NotImplemented if kernel is None else max_pool(2)(x, kernel)


def adaptive_max_pool2d_backward(grad, x, indices):
    if list(grad.shape[-2:]) == [1, 1] and x.is_floating_point() and x.numel() > 0:
        at = torch.arange(x.shape[-2] * x.shape[-1], device=x.device).reshape(x.shape[-2:])
        return torch.where(indices == at, grad, torch.zeros_like(x))
    kernel = _even_kernel(x.shape[-2:], grad.shape[-2:])
    if kernel is None:
        return NotImplemented
    return max_pool_backward(2)(grad, x, kernel, kernel, 0, 1, False, indices)
