"""The gamma function's logarithm and the derivatives of it, in fp32, rounded once.

From 1 to 3 a polynomial of (y - c) / (y + c), from there Stirling's series; below 1 the function of 1 + x, and below 0 that of
1 - x and the function's reflection, which has its poles at whole numbers.
"""

import functools
import math

import torch

from torch_spyre.ops import pairs
from torch_spyre.ops.functions import ALL_WHOLE, _horner, _parts, logarithm_pair, one_of

_NEAR = 3.0
# Beyond it, what is added to the largest part is nothing, and products lose what they would make up for.
_LARGE = 2.0**100


def _turned(size):
    """The distance to the nearest whole number, with its sign: exact."""
    return torch.where(size < ALL_WHOLE, size - torch.floor(size + 0.5), 0.0)


def _inverse_square(y):
    return 1 / (y * y)


# --------------------------------------------------------------------------------------------------
# Its logarithm

# Of ln gamma(y) / ((y - 1) (y - 2)) in (y - 3/2) / (y + 3/2).
_LOG_GAMMA = (
    0.4831289525447178,
    -0.4378796417973101,
    0.12832204123705848,
    -0.15080998648984814,
    0.08536488830853459,
    -0.0929401723592725,
    0.062472032338728625,
    -0.07279671808931741,
    0.06312498820649114,
    -0.008267003984130779,
    0.009134643621019223,
    -0.19770630250989218,
)
# Of what Stirling's formula lacks, times y, in 1 / y^2; the constant part comes first.
_FAR_LOG_GAMMA = (0.08333333272965703, -0.0027775952505125837, 0.0007849327209663187, -0.00045570610100745295)
# Of sin(pi r) / (pi r) in r^2, less 1.
_SINE = (
    -1.6449340665575545,
    0.8117423682973203,
    -0.19075002258702384,
    0.026127807366780484,
    -0.0022545617195178953,
)


def _near_log_gamma(x, is_small):
    """Of 1 + x where x is small, else of x: the factors that have the roots are exact. From 1 down to 3/4 the logarithm of x
    would be as large as the result."""
    x = torch.clamp(x, 0, _NEAR)
    y = torch.where(is_small, 1 + x, x)
    value = pairs.polynomial((y - 1.5) / (y + 1.5), _LOG_GAMMA)
    roots = pairs.product(torch.where(is_small, x, x - 1), torch.where(is_small, x - 1, x - 2))
    return pairs.times(roots, value)


def _far_log_gamma(y):
    """Stirling: y (ln y - 1) - ln(y) / 2, and the series."""
    y = torch.clamp(y, _NEAR, _LARGE)
    log, few = logarithm_pair(y, torch.log(y))
    less, lost = pairs.total(log, torch.full_like(log, -1.0))
    few = few + lost
    series = _horner(_inverse_square(y), _FAR_LOG_GAMMA) / y
    high, rest = pairs.times((y, 0.0), (less, few))
    high, lost = pairs.total(high, log * -0.5)
    return pairs.plus((high, lost + (rest + series)), pairs.constant(y, math.log(2 * math.pi) / 2))


def lgamma(x):
    size = torch.abs(x)
    is_small = x < 0.75
    y = torch.where(is_small, 1 + size, size)
    is_near = y < _NEAR
    near, far = _near_log_gamma(size, is_small), _far_log_gamma(y)
    high, rest = (torch.where(is_near, a, b) for a, b in zip(near, far))
    # ln gamma(x) = ln gamma(1 + x) - ln x, and ln gamma(1 + s) + ln gamma(-s) = -ln(sin(pi s) / pi).
    r = torch.abs(_turned(size))
    square = r * r
    pole = torch.where(x < 0, r + r * (square * _horner(square, _SINE)), size)
    pole = torch.where(is_small, pole, 1.0)
    log = torch.log(torch.where(pole > 0, pole, 1.0))
    sign = one_of(x < 0, -1.0, 1.0)
    result, lost = pairs.total(-log, high * sign)
    result = result + (lost + rest * sign)
    # Far off, y (ln y - 1) is all there is.
    result = torch.where(size < _LARGE, result, size * (torch.log(size) - 1))
    return torch.where(x != x, x, torch.where(pole > 0, result, math.inf))


# --------------------------------------------------------------------------------------------------
# The derivatives

_ROOT = 1.4616321449683623412626595423257
# Of psi(y) / (y - root), and of psi'(y) y, in (y - 7/4) / (y + 7/4).
_DIGAMMA = (
    0.8581832207958903,
    -1.1418912147698173,
    0.782827670317062,
    -0.820436997874226,
    0.7713132791289877,
    -0.7931927300866352,
    0.7647699784943803,
    -0.7718239632858014,
    0.9370690878859192,
    -0.9802646232935055,
)
_TRIGAMMA = (
    1.3371782775520853,
    -0.7672349301093909,
    0.9283256665262026,
    -1.0373098424915763,
    1.0984387055259894,
    -1.1271623310091465,
    1.1219550445293425,
    -1.1122048988053541,
    1.37411583494622,
    -1.466842120392574,
)
# Of (ln y - 1 / (2 y) - psi(y)) y^2, and of (psi'(y) y - 1 - 1 / (2 y)) y^2, in 1 / y^2.
_FAR_DIGAMMA = (0.083333328406618, -0.008331829605704288, 0.0038955836518599733, -0.002978683082855593)
_FAR_TRIGAMMA = (
    0.166666663879603,
    -0.03333198863445453,
    0.02370462761219743,
    -0.03035660440348632,
    0.03733084804907297,
)
# Of pi cot(pi r), less its poles at -1, 0 and 1, by r, and of pi^2 / sin^2(pi r) less the same, in r^2.
_COTANGENT = (
    -1.2898681336784832,
    -0.16464647256866569,
    -0.034685885691798465,
    -0.008158731049437574,
    -0.0019587557298002224,
    -0.0005960459801288052,
)
_COSECANT = (
    1.2898681334625595,
    0.4939394698153949,
    0.17342747519887836,
    0.05713619534932432,
    0.01749952101390625,
    0.006786778987518716,
)


def _near_digamma(x, is_small):
    high, low = _parts(_ROOT)
    y = torch.clamp(torch.where(is_small, 1 + x, x), 1, _NEAR)
    value = pairs.polynomial((y - 1.75) / (y + 1.75), _DIGAMMA)
    x = torch.clamp(x, 0, _NEAR)
    distance = torch.where(is_small, x - (high - 1), x - high) - low
    return pairs.times((distance, 0.0), value)


def _cotangent(size):
    """pi cot(pi size) and what rounding it lost; at the poles there is none."""
    r = _turned(size)
    square = r * r
    few = r * (_horner(square, _COTANGENT) - 2 / (1 - square))
    return pairs.total(1 / torch.where(r == 0, math.nan, r), few)


def digamma(x):
    size = torch.abs(x)
    is_small = x < 1
    y = torch.where(is_small, 1 + size, size)
    far = torch.clamp_min(y, _NEAR)
    far = torch.log(far) - (0.5 / far + _horner(_inverse_square(far), _FAR_DIGAMMA) * _inverse_square(far))
    near = _near_digamma(size, is_small)
    value, rest = (torch.where(y < _NEAR, a, b) for a, b in zip(near, (far, torch.zeros_like(far))))
    # psi(x) = psi(1 + x) - 1 / x, and psi(-s) = psi(1 + s) + pi cot(pi s).
    below, below_rest = _cotangent(size)
    added = torch.where(x < 0, below, torch.where(is_small, -1 / size, 0.0))
    result, lost = pairs.total(added, value)
    result = result + (lost + rest + torch.where(x < 0, below_rest, 0.0))
    result = torch.where(size < 1e-30, -1 / x, result)
    return torch.where(size < math.inf, result, torch.where(x > 0, x, math.nan))


def trigamma(x):
    size = torch.abs(x)
    is_small = x < 1
    y = torch.where(is_small, 1 + size, size)
    near = torch.clamp_max(y, _NEAR)
    near = pairs.polynomial((near - 1.75) / (near + 1.75), _TRIGAMMA)
    far = torch.clamp_min(y, _NEAR)
    few = 0.5 / far + _horner(_inverse_square(far), _FAR_TRIGAMMA) * _inverse_square(far)
    far = pairs.total(torch.full_like(y, 1.0), few)
    value, rest = (torch.where(y < _NEAR, a, b) for a, b in zip(near, far))
    value = torch.where(y < _LARGE, pairs.whole(pairs.over((value, rest), (y, 0.0))), 1 / y)
    # psi'(x) = psi'(1 + x) + 1 / x^2, and psi'(-s) = pi^2 / sin^2(pi s) - psi'(1 + s).
    r = torch.where(x < 0, _turned(size), size)
    pole = pairs.over(pairs.constant(r, 1.0), (r, 0.0))
    pole, pole_rest = pairs.times(pole, pole)
    square = r * r
    few = _horner(square, _COSECANT) + (2 + 2 * square) / ((1 - square) * (1 - square))
    few = torch.where(x < 0, few - value, torch.where(is_small, value, 0.0))
    high, lost = pairs.total(pole, few)
    few = torch.where(torch.abs(r) > 1e-10, lost + pole_rest, 0.0)
    result = torch.where(is_small, high + few, value)
    return torch.where(r == 0, math.inf, torch.where(x == -math.inf, math.nan, result))


# Bernoulli's numbers of even places, by the factorials of these.
_BERNOULLI = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600)


def _rising(s):
    """The factors of y^-(s + 1), y^-(s + 3), ... in what Euler and Maclaurin add to an integral of y^-s."""
    factors, factor = [], s
    for j, bernoulli in enumerate(_BERNOULLI):
        factors.append(bernoulli * factor)
        factor *= (s + 2 * j + 1) * (s + 2 * j + 2)
    return factors


def _sum_of_powers(s, y):
    """(y / (y + k))^s summed over k >= 0, for numbers."""
    end = y + 30
    total = sum((y / (y + k)) ** s for k in range(30))
    few = sum(factor * end ** (-1 - 2 * j) for j, factor in enumerate(_rising(s)))
    return total + (y / end) ** s * (end / (s - 1) + 0.5 + few)


def _interpolated(function, end, degree):
    """Factors of powers of u, for a function on -end to end: of Chebyshev's polynomials, by their recursion."""
    angles = [math.pi * (k + 0.5) / (degree + 1) for k in range(degree + 1)]
    values = [function(end * math.cos(angle)) for angle in angles]
    factors, now, after = [0.0] * (degree + 1), [1.0], [0.0, 1 / end]
    for j in range(degree + 1):
        share = sum(v * math.cos(j * angle) for v, angle in zip(values, angles)) * (2 if j else 1) / (degree + 1)
        for power, factor in enumerate(now):
            factors[power] += share * factor
        following = [0.0, *(2 / end * factor for factor in after)]
        for power, factor in enumerate(now):
            following[power] -= factor
        now, after = after, following
    return factors


def _near_range(n):
    """Where Euler's and Maclaurin's sum is not yet of fp32's precision: up to the first; the second is its middle."""
    end = float(n + 4)
    return end, math.floor(8 * math.sqrt(end)) / 8


@functools.cache
def _near_polygamma(n):
    """Factors of powers of (y - c) / (y + c) for the sum of powers, where y is near and c its middle."""
    end, c = _near_range(n)
    function = lambda u: _sum_of_powers(n + 1.0, c * (1 + u) / (1 - u))  # noqa: E731
    return _interpolated(function, (end - c) / (end + c), 13 + n // 3)


def _power(x, s, log_factor):
    """x^-s e^log_factor as a pair, of tensors and a pair of them."""
    high, rest = pairs.plus(pairs.times(logarithm_pair(x, torch.log(x)), (-s, 0.0)), log_factor)
    power = torch.exp(high)
    return power, torch.where(power < math.inf, power * rest, 0.0)


def _far_polygamma(n, y):
    """n y^n / (y + k)^(n + 1) summed over k >= 0: 1 and little else, as a pair."""
    square = _inverse_square(y)
    few = n * 0.5 / y + square * _horner(square, [n * factor for factor in _rising(n + 1.0)])
    return pairs.total(torch.full_like(y, 1.0), few)


def _product(a, b):
    """Of pairs; of the least and the largest numbers rounded before."""
    high, lost = pairs.times(a, b)
    is_exact = torch.logical_and(a[0] < _LARGE, a[0] > 1 / _LARGE)
    return torch.where(is_exact, high, pairs.whole(a) * pairs.whole(b)), torch.where(is_exact, lost, 0.0)


def _derivative_of_cotangent(n):
    """Factors of powers of q, with which the n-th derivative of q = -pi cot(pi x) is q's polynomial."""
    factors = [0.0, 1.0]
    for _ in range(n):
        slope = [power * factor for power, factor in enumerate(factors)][1:]
        factors = [math.pi**2 * c for c in slope] + [0.0, 0.0]
        for power, factor in enumerate(slope):
            factors[power + 2] += factor
    return factors


def polygamma(n, x):
    """The n-th derivative of psi: of x > 0 it is n! sum (x + k)^-(n + 1), with a sign."""
    if n < 2:
        return trigamma(x) if n else digamma(x)
    size = torch.abs(x)
    is_small = x < 1
    y = torch.clamp(torch.where(is_small, 1 + size, size), 1, _LARGE)
    end, c = _near_range(n)
    near = torch.clamp_max(y, end)
    u = pairs.over(pairs.total(near, torch.full_like(y, -c)), pairs.total(near, torch.full_like(y, c)))
    near = pairs.polynomial(u, _near_polygamma(n), 2)
    far = _far_polygamma(n, torch.clamp_min(y, end))
    is_near = y < end
    sums = [torch.where(is_near, *both) for both in zip(near, far)]
    # The near ones are by n! x^-(n + 1), the far by (n - 1)! x^-n.
    near_factor, far_factor = (pairs.constant(y, math.lgamma(n + 1 - i)) for i in range(2))
    factor = [torch.where(is_near, *both) for both in zip(near_factor, far_factor)]
    value, rest = _product(_power(y, torch.where(is_near, n + 1.0, float(n)), factor), sums)
    high, few = _power(torch.where(size > 0, size, 1.0), torch.full_like(y, n + 1.0), near_factor)
    high, lost = pairs.total(high, value)
    first = high + torch.where(high < math.inf, lost + (few + rest), 0.0)
    value = value + rest
    above = torch.where(is_small, first, value)
    # Below 0 it is the derivative of psi(1 + s) + pi cot(pi s).
    below = _horner(pairs.whole(_cotangent(size)), _derivative_of_cotangent(n)) - value
    sign = 1.0 if n % 2 else -1.0
    result = torch.where(x < 0, below, above * sign)
    result = torch.where(size < 1e-20, math.inf if n % 2 else x * -math.inf, result)
    is_pole = torch.logical_and(x <= 0, _turned(size) == 0)
    return torch.where(is_pole, sign * math.inf, result)


# --------------------------------------------------------------------------------------------------
# Riemann's and Hurwitz's zeta function

_FIRST_TERMS = 8


def _number_power(number, s):
    """number^-s as a pair."""
    high, few = pairs.product(s, -math.log(number))
    power = torch.exp(high)
    return power, torch.where(power < math.inf, power * few, 0.0)


def zeta(s, q):
    """(q + k)^-s summed over k >= 0, for a number q: the first terms, and Euler's and Maclaurin's sum of the others."""
    few = torch.clamp(s, 1, 300)
    end = q + _FIRST_TERMS
    factor, rest = few, 0.0
    for j, bernoulli in enumerate(_BERNOULLI):
        rest = rest + factor * (bernoulli * end ** (-1 - 2 * j))
        factor = factor * (few + (2 * j + 1)) * (few + (2 * j + 2))
    others = pairs.plus(pairs.over(pairs.constant(s, end), (few - 1, 0.0)), (rest + 0.5, 0.0))
    result = pairs.times(_number_power(end, few), others)
    for k in range(_FIRST_TERMS - 1, -1, -1):
        result = pairs.plus(_number_power(q + k, few), result)
    # Far off, or where it is too large for a number, the first term is all there is.
    first = pairs.whole(_number_power(q, torch.clamp(s, 1, 1e6)))
    is_plain = torch.logical_and(s < 300, first < math.inf)
    result = torch.where(s == 1, math.inf, torch.where(is_plain, pairs.whole(result), first))
    return torch.where(s >= 1, result, math.nan)
