"""Powers with exponents that are tensors or fractions, from operations the device has.

A power is exp(b * log(a)) in fp32 with the roundings of logarithm and product made up for, rounded once. Powers of
integers are products of squares, one for each bit of the exponent, and wrap.
"""

import math

import torch

from torch_spyre._inductor.integer_decompositions import INTEGERS
from torch_spyre.ops import functions

# Whole exponents up to this are products; of fp32 the first few are the compiler's, the roundings of others count.
_MOST_PRODUCTS, _FEW_PRODUCTS = 16, 3


def _of_negative(base, size, exponent):
    """With the sign of a negative base: whole exponents have a power, others none but of infinity.
    Infinite exponents count as even."""
    finite = torch.clamp(exponent, -1e30, 1e30)
    is_odd = finite - torch.floor(finite * 0.5) * 2
    is_whole = torch.floor(finite) == finite
    otherwise = torch.where(base == -math.inf, size, math.nan)
    return torch.where(is_whole, size * (1 - is_odd * 2), otherwise)


def _power(base, exponent):
    """Of fp32 tensors."""
    base, exponent = torch.broadcast_tensors(base, exponent)
    size = functions.power_of_size(torch.abs(base), exponent)
    result = torch.where(base < 0, _of_negative(base, size, exponent), size)
    return torch.where(torch.logical_or(exponent == 0, base == 1), 1.0, result)


def _times(a, b):
    """The product of two pairs, as a pair."""
    high, lost = functions.product(a[0], b[0])
    return high, lost + (a[0] * b[1] + a[1] * b[0])


def _whole_power(x, exponent):
    """x^exponent by squares, with what their roundings lost; where that is beyond fp32, plainly."""
    square, result, plain_square, plain = (x, torch.zeros_like(x)), None, x, None
    while exponent:
        if exponent % 2:
            result = square if result is None else _times(result, square)
            plain = plain_square if plain is None else plain * plain_square
        exponent //= 2
        if exponent:
            square, plain_square = _times(square, square), plain_square * plain_square
    mended = result[0] + result[1]
    is_mended = torch.logical_and(torch.abs(plain) < 2.0**100, torch.abs(mended) > 0)
    return torch.where(is_mended, mended, plain)


# Bits of an exponent that is not negative.
_EXPONENT_BITS = 31


def _low_word(number):
    """The low 32 bits, with their sign."""
    return (number + 2**31) % 2**32 - 2**31


def _integer_power(base, exponent):
    """Of integers of 32 bits: the factor of a bit is the square, or 1. The base may be a number."""
    result, square = torch.ones_like(exponent), base
    for bit in range(_EXPONENT_BITS):
        if isinstance(square, int) and square == 1:
            break
        is_set = torch.bitwise_and(torch.bitwise_right_shift(exponent, bit), 1)
        result = result * (is_set * (square - 1) + 1)
        square = _low_word(square * square) if isinstance(square, int) else square * square
    return _of_negative_exponent(base, exponent, result)


def _of_negative_exponent(base, exponent, result):
    """The reciprocal, cut: of 1 and -1 themselves, of others nothing."""
    if not isinstance(base, torch.Tensor):
        base = torch.full_like(exponent, base)
    is_negative = torch.bitwise_and(torch.bitwise_right_shift(exponent, _EXPONENT_BITS), 1)
    is_unit = 1 - torch.clamp_max(torch.abs(torch.abs(base) - 1), 1)
    sign = 1 - torch.bitwise_and(exponent, 1) * (1 - base)
    return result * (1 - is_negative) + is_negative * is_unit * sign


def _are_integers(*values):
    return all(v.dtype in {*INTEGERS, torch.bool} for v in values if isinstance(v, torch.Tensor))


def tensor_tensor(base, exponent):
    kind = torch.result_type(base, exponent)
    if kind in INTEGERS and _are_integers(base, exponent):
        wide = torch.promote_types(kind, torch.int32)
        base, exponent = torch.broadcast_tensors(base.to(wide), exponent.to(wide))
        return _integer_power(base, exponent).to(kind)
    known = {*functions.FLOATS, *functions.WHOLE}
    if kind not in functions.FLOATS or not {base.dtype, exponent.dtype} <= known:
        return NotImplemented
    return _power(base.float(), exponent.float()).to(kind)


def tensor_scalar(base, exponent):
    """What the compiler does not have: fp32 to fractions and to large exponents."""
    if base.dtype != torch.float32:
        return NotImplemented
    is_root = abs(exponent) == 0.5
    is_product = abs(exponent) <= _MOST_PRODUCTS and exponent == math.floor(exponent)
    if is_root or (is_product and abs(exponent) <= _FEW_PRODUCTS):
        return NotImplemented
    if is_product:
        power = _whole_power(base, int(abs(exponent)))
        return power if exponent > 0 else torch.reciprocal(power)
    return _power(base, torch.full_like(base, exponent))


def scalar(base, exponent):
    kind = torch.result_type(base, exponent)
    if kind in INTEGERS and _are_integers(exponent):
        wide = torch.promote_types(kind, torch.int32)
        return _integer_power(_low_word(int(base)), exponent.to(wide)).to(kind)
    if kind not in functions.FLOATS or isinstance(base, complex):
        return NotImplemented
    wide = exponent.float()
    if kind in functions.HALVES and 0 < base < math.inf and base != 1:  # 1 to no number is 1
        return torch.exp(wide * math.log(base)).to(kind)
    return _power(torch.full_like(wide, base), wide).to(kind)
