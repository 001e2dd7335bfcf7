"""Reversed dimensions. The compiler copies slices, as many as the largest prime factor of a dimension; where those are too
many the rows are read by index, the last one first."""

import torch

_MOST_SLICES = 256


def _largest_factor(number):
    factor = 2
    while factor * factor <= number:
        if number % factor == 0:
            number //= factor
        else:
            factor += 1
    return number


def flip(x, dims):
    if x.dim() == 0:
        return x.clone()
    dims = {dim % x.dim() for dim in dims}
    if any(isinstance(x.shape[dim], torch.SymInt) for dim in dims):
        return NotImplemented  # asked again when the size is known
    by_index = sorted(dim for dim in dims if _largest_factor(x.shape[dim]) > _MOST_SLICES)
    if not by_index:
        return NotImplemented
    for dim in by_index:
        count = x.shape[dim]
        x = torch.index_select(x, dim, count - 1 - torch.arange(count, device=x.device))
    rest = sorted(dims.difference(by_index))
    return torch.flip(x, rest) if rest else x


__all__ = ["flip"]
