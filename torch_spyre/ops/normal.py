"""The normal distribution and the inverse of the error function, in fp32, rounded once.

The device's gelu is x times the distribution, to the last place also where the distribution is nearly nothing. Its inverse is
a polynomial in the middle; in the tails an estimate that one step of Newton's makes right.
"""

import math

import torch

from torch_spyre.ops import pairs
from torch_spyre.ops.functions import _ERF, _ERF_SLOPE, _horner, expm1, log1p, one_of, product, quotient

_ROOT_HALF = math.sqrt(0.5)
# Half of erf(x / sqrt(2)) / x in x^2.
_MIDDLE = [c * 0.5**n * (_ROOT_HALF / 2) for n, c in enumerate((_ERF_SLOPE, *_ERF))]


def _tail(size):
    """The part beyond size >= 0, as a pair: near 0 what half of all is more than the middle; far off it is nothing."""
    near = torch.clamp_max(size, _ROOT_HALF)
    middle = pairs.times((near, 0.0), pairs.polynomial(near * near, _MIDDLE))
    near, near_rest = pairs.total(-middle[0], torch.full_like(size, 0.5))
    far = torch.clamp(size, _ROOT_HALF, 20)
    far, far_rest = quotient(torch.nn.functional.gelu(-far), -far)
    is_near = size < _ROOT_HALF
    return torch.where(is_near, near, far), torch.where(is_near, near_rest - middle[1], far_rest)


# Factors of 1 / s^2: (ln of the tail beyond s, and of s sqrt(2 pi), + s^2 / 2) s^2, for s >= 6.
_FAR_TAIL = (-0.9999979644581733, 2.4975322611129913, -11.856355393187574, 56.84052058847645)
_FAR = 6.0
# Beyond it, the square is all there is.
_VERY_FAR = 1e10


def _far_log_ndtr(size):
    """-s^2 / 2 - ln(s sqrt(2 pi)), and a little."""
    size = torch.clamp(size, _FAR, _VERY_FAR)
    square, lost = product(size, size)
    few = _horner(1 / square, _FAR_TAIL) / square
    high, rest = pairs.total(square * -0.5, -torch.log(size))
    return high + (rest + (few - (lost * 0.5 + math.log(2 * math.pi) / 2)))


def log_ndtr(x):
    """ln of the part below for x < 0, of 1 - the part above otherwise."""
    size = torch.abs(x)
    tail, rest = _tail(size)
    below = torch.log(tail) + rest / tail
    below = torch.where(size > _FAR, _far_log_ndtr(size), below)
    below = torch.where(size > _VERY_FAR, size * size * -0.5, below)
    above = torch.where(tail == 0, -tail, log1p(-tail, -rest))
    return torch.where(x > 0, above, torch.where(x == x, below, x))


# Of (1 + x) e^(x^2) erfc(x) in (x - 3) / (x + 3), x >= 0.
_ERFCX = (
    0.7160046046892198,
    -0.23092731396433736,
    0.09902075099554006,
    -0.010235921623552897,
    -0.023803817937792533,
    0.02196200764238925,
    -0.00975138709561496,
    0.0016039567078540166,
    0.0006478210530223238,
    -0.0003422794180582073,
    -2.317832309727939e-05,
    3.434198185568706e-05,
)


def erfcx(x):
    """e^(x^2) erfc(x); of x < 0 it is 2 e^(x^2) less that of -x."""
    size = torch.abs(x)
    near = torch.clamp_max(size, 1e30)
    value = pairs.polynomial((near - 3) / (near + 3), _ERFCX)
    above = pairs.total(near, torch.full_like(near, 1.0))
    right = torch.where(size < 1e30, pairs.whole(pairs.over(value, above)), pairs.whole(value) / size)
    inside = torch.clamp(x, -10, 0)
    square, lost = product(inside, inside)
    is_small = square < 0.5
    grown = torch.where(is_small, expm1(square), torch.exp(square))
    high, rest = pairs.total(2 * grown, one_of(is_small, 2.0, 0.0) - right)
    left = torch.where(grown < 1e38, high + (rest + 2 * torch.exp(square) * lost), grown)
    return torch.where(x < 0, left, torch.where(x == x, right, x))


# Of erfinv(x) / x in x^2, |x| <= 1/2.
_ERF_INVERSE = (
    0.8862269261409387,
    0.23201340326842218,
    0.12757254993440123,
    0.08617322232535714,
    0.06907355590555372,
    0.029487082789149334,
    0.09797297531595751,
)
# Of y / s in (s - 1) / (s + 1), where y is the quantile's size and s = sqrt(-2 ln p), p <= 1/4.
_QUANTILE = (
    -0.2707548325831301,
    3.702364931552706,
    -5.09424135811926,
    5.677813658438616,
    -6.161202889943495,
    5.913787070708739,
    -4.397652729026872,
    2.1061136464459906,
    -0.4758098882407839,
)


def _far_quantile(p):
    """y > 0 with the part p <= 1/4 beyond it, as a pair: what the estimate's tail is off, by the density there."""
    s = torch.sqrt(torch.log(p) * -2)
    y = s * _horner((s - 1) / (s + 1), _QUANTILE)
    tail, rest = quotient(torch.nn.functional.gelu(-y), -y)
    # Of the least numbers there is no difference: the estimate is all there is.
    density = torch.exp(y * y * -0.5) * (1 / math.sqrt(2 * math.pi))
    step = ((tail - p) + rest) / density
    return pairs.total(y, torch.where(p > 2.0**-132, step, 0.0))


def _near_erfinv(x, x_rest, factor):
    """Times a factor, for |x| <= 1/2, as a pair."""
    return pairs.times((x, x_rest), pairs.polynomial(x * x, [c * factor for c in _ERF_INVERSE]))


def erfinv(x):
    size = torch.abs(x)
    inside = torch.clamp(x, -0.5, 0.5)
    near = torch.where(x == 0, x, pairs.whole(_near_erfinv(inside, 0.0, 1.0)))
    far, few = _far_quantile(torch.clamp((1 - size) * 0.5, 2.0**-26, 0.25))
    high, lost = product(far, _ROOT_HALF)
    far = high + (lost + few * _ROOT_HALF)
    far = torch.where(size < 1, far, one_of(size == 1, math.inf, math.nan))
    return torch.where(size <= 0.5, near, torch.where(x < 0, -far, far))


def ndtri(p):
    """The number below which the part p is."""
    other = torch.minimum(p, 1 - p)
    near, near_rest = pairs.total(torch.clamp(p, 0.25, 0.75) * 2, torch.full_like(p, -1.0))
    middle = pairs.whole(_near_erfinv(near, near_rest, math.sqrt(2)))
    far = pairs.whole(_far_quantile(torch.where(other > 0, torch.clamp_max(other, 0.25), 0.25)))
    far = torch.where(other > 0, far, one_of(other == 0, math.inf, math.nan))
    return torch.where(other >= 0.25, middle, torch.where(p < 0.5, -far, far))
