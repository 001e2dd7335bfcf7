"""Numbers of twice fp32's precision: a rounded value and what its rounding lost."""

import torch

from torch_spyre.ops.functions import _horner, _parts, product, total

__all__ = ["constant", "over", "plus", "polynomial", "product", "times", "total", "whole"]


def whole(pair):
    """Rounded once."""
    return pair[0] + pair[1]


def times(a, b):
    """The product of two pairs."""
    high, lost = product(a[0], b[0])
    return high, lost + (a[0] * b[1] + a[1] * b[0])


def plus(a, b):
    high, lost = total(a[0], b[0])
    return high, lost + (a[1] + b[1])


def over(a, b):
    """The quotient of two pairs."""
    rounded = a[0] / b[0]
    taken, lost = product(rounded, b[0])
    return rounded, (((a[0] - taken) - lost) + (a[1] - rounded * b[1])) / b[0]


def constant(x, number):
    """A number of any precision as a pair like x."""
    high, low = _parts(number)
    return torch.full_like(x, high), low


def polynomial(x, factors, mended=1):
    """A pair, of the factors of powers 0, 1, ... of x, a tensor or a pair: so many of the last steps keep what their roundings
    lose; the others are to be small beside them."""
    x, x_rest = x if isinstance(x, tuple) else (x, None)
    high, low = _horner(x, factors[mended:]), None
    for factor in reversed(factors[:mended]):
        value, rest = product(high, x)
        rest = rest if low is None else rest + low * x
        rest = rest if x_rest is None else rest + high * x_rest
        high, low = plus((value, rest), constant(x, factor))
    return high, low
