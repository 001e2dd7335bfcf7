"""Powers with exponents that are tensors, from operations the device has.

A power is exp(b * log(a)) in fp32, rounded once to 16 bits. The error of the logarithm grows with the
exponent to some 2^-18 of the result: nothing in 16 bits, too much in 32. So powers of fp32 tensors
stay on the CPU.
"""

import math

import torch

HALVES = (torch.float16, torch.bfloat16)


def _of_negative(size, exponent):
    """With the sign of a negative base: whole exponents have a power, others none."""
    is_odd = exponent - torch.floor(exponent * 0.5) * 2
    is_whole = torch.floor(exponent) == exponent
    return torch.where(is_whole, size * (1 - is_odd * 2), math.nan)


def _power(base, exponent):
    """Of fp32 tensors."""
    size = torch.exp(exponent * torch.log(torch.abs(base)))
    result = torch.where(base < 0, _of_negative(size, exponent), size)
    return torch.where(torch.logical_or(exponent == 0, base == 1), 1.0, result)


def tensor_tensor(base, exponent):
    kind = torch.result_type(base, exponent)
    if kind not in HALVES or not (base.is_floating_point() and exponent.is_floating_point()):
        return NotImplemented
    return _power(base.float(), exponent.float()).to(kind)


def scalar(base, exponent):
    kind = torch.result_type(base, exponent)
    if kind not in HALVES or isinstance(base, complex):
        return NotImplemented
    wide = exponent.float()
    if 0 < base < math.inf and base != 1:  # 1 to no number is 1
        return torch.exp(wide * math.log(base)).to(kind)
    return _power(torch.full_like(wide, base), wide).to(kind)
