"""Pooling by maximum of windows that random samples place (fractional_max_pool), from operations the device has.

Where a window begins is data: the element of all windows at one place of the kernel is a gather. The gradient is a sum at
the places that were found (ops/index_writes).
"""

import itertools
import math

import torch

from torch_spyre.ops import limits, pooling
from torch_spyre.ops.functions import is_float


class _Windows:
    """Samples are [batch, channels, dimensions], of which the plane's come in the reverse order."""

    def __init__(self, size, kernel, counts, samples):
        self.size, self.kernel, self.counts = list(size), list(kernel), list(counts)
        order = [1, 0] if len(size) == 2 else [0, 1, 2]
        self.starts = [
            self._starts(number, samples.select(-1, column).float()) for number, column in enumerate(order)
        ]

    def _starts(self, number, sample):
        """[batch, channels, windows]: the last one ends where the input does."""
        count, free = self.counts[number], self.size[number] - self.kernel[number]
        at = torch.arange(count, dtype=torch.float32, device=sample.device)
        sample = sample.unsqueeze(-1)
        step = free / (count - 1) if count > 1 else 0.0
        found = torch.floor((at + sample) * step) - torch.floor(sample * step)
        return torch.where(at == count - 1, torch.full_like(found, free), found).to(torch.int64)

    def places(self):
        return itertools.product(*(range(k) for k in self.kernel))

    def numbers(self, place, device):
        """Of the elements take() returns, in the input of one channel: [batch, channels, *windows]."""
        total = None
        for number, at in enumerate(place):
            along = self.starts[number] + at
            shape = [*along.shape[:2], *[1] * len(place)]
            shape[2 + number] = self.counts[number]
            along = along.reshape(shape)
            total = along if total is None else total * self.size[number] + along
        return total

    def take(self, x, place):
        numbers = self.numbers(place, x.device)
        return torch.gather(x.flatten(2), 2, numbers.flatten(2)).reshape(numbers.shape)


def max_pool(dims):
    def pool(x, kernel_size, output_size, random_samples):
        is_plain = is_float(x) and x.numel() > 0 and math.prod(output_size) > 0
        if not is_plain or limits.CELLS.refuses(math.prod(kernel_size)):
            return NotImplemented
        batched = x if x.dim() == dims + 2 else x.unsqueeze(0)
        w = _Windows(batched.shape[2:], kernel_size, output_size, random_samples)
        results = pooling.largest(pooling.candidates(w, batched))
        return tuple(t if x.dim() == dims + 2 else t.squeeze(0) for t in results)

    return pool


def max_pool_backward(dims):
    def gradient(grad, x, kernel_size, output_size, indices):
        size = math.prod(x.shape[-dims:])
        if not is_float(grad, x) or x.numel() == 0 or limits.INDEX_WRITES.refuses(size * grad.numel()):
            return NotImplemented
        flat = torch.zeros_like(x).flatten(-dims)
        return torch.scatter_add(flat, -1, indices.flatten(-dims), grad.flatten(-dims)).reshape(x.shape)

    return gradient


def decompositions():
    """Operator overload -> function."""
    table = {}
    for dims in (2, 3):
        name = f"fractional_max_pool{dims}d"
        table[getattr(torch.ops.aten, name).default] = max_pool(dims)
        table[getattr(torch.ops.aten, f"{name}_backward").default] = max_pool_backward(dims)
    return table
