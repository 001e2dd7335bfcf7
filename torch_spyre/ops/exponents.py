"""Exponents and mantissas, in fp32, without looking at bits: every step is exact."""

import math

import torch

from torch_spyre.ops.functions import WIDE, _power_of_two

# Of fp32: bits of a mantissa, and the least exponent of one.
_BITS, _LEAST = 24, -125


def times_power(x, exponent):
    """x 2^exponent for whole exponents up to 290, by three factors, the last of which may leave the range of numbers."""
    first = torch.floor(exponent * (1 / 3) + 0.5)
    return x * _power_of_two(first) * _power_of_two(first) * _power_of_two(exponent - 2 * first)


def _parts(size):
    """Mantissa and exponent of size > 0; the logarithm may be one off, next to powers of 2."""
    exponent = torch.floor(torch.log(size) * (1 / math.log(2))) + 1
    mantissa = times_power(size, -exponent)
    for is_off, factor, step in ((mantissa >= 1, 0.5, 1.0), (mantissa < 0.5, 2.0, -1.0)):
        mantissa = torch.where(is_off, mantissa * factor, mantissa)
        exponent = torch.where(is_off, exponent + step, exponent)
    return mantissa, exponent


def _is_proper(size):
    return torch.logical_and(size > 0, size < math.inf)


def frexp(x):
    """Mantissas from 1/2 to 1; of 0, infinities and NaN these themselves, with the exponent 0."""
    if x.dtype not in (torch.float16, torch.bfloat16, WIDE):
        return NotImplemented
    wide = x.to(WIDE)
    size = torch.abs(wide)
    is_proper = _is_proper(size)
    mantissa, exponent = _parts(torch.where(is_proper, size, 1.0))
    mantissa = torch.where(wide < 0, -mantissa, mantissa)
    mantissa, exponent = torch.where(is_proper, mantissa, wide), torch.where(is_proper, exponent, 0.0)
    return mantissa.to(x.dtype), exponent.to(torch.int32)


def nextafter(x, y):
    """The neighbour of x on the side of y, in fp32: the device's numbers of 16 bits are not the host's."""
    if x.dtype != WIDE or y.dtype != WIDE:
        return NotImplemented
    x, y = torch.broadcast_tensors(x, y)
    size = torch.abs(x)
    mantissa, exponent = _parts(torch.where(_is_proper(size), size, 1.0))
    step = times_power(torch.full_like(size, 1.0), torch.clamp_min(exponent, _LEAST) - _BITS)
    step = torch.where(_is_proper(size), step, 2.0**-149)
    # Below a power of 2 numbers are closer.
    is_edge = torch.logical_and(mantissa == 0.5, exponent > _LEAST)
    is_out = torch.logical_or(size == 0, (y > x) == (x > 0))
    out, back = size + step, size - torch.where(is_edge, step * 0.5, step)
    moved = torch.where(is_out, out, torch.where(size == math.inf, torch.finfo(WIDE).max, back))
    moved = torch.where(torch.where(x == 0, y, x) < 0, -moved, moved)
    return torch.where(x == y, y, torch.where(x < y, moved, torch.where(x > y, moved, x + y)))
