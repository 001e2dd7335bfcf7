"""Elementary functions from operations the device has.

All compute in fp32 and round once to the type of the argument. The device has exp, log, tanh, gelu, sqrt
and division, each within one unit of the last place; the others are these, or a polynomial after the argument
was reduced. Where one rounding would be too much, a product keeps what it lost (``product``). What an
entry does not cover (integers, float64) stays as it is: NotImplemented.
"""

import math
import struct

import torch

WIDE = torch.float32
FLOATS = {torch.float16, torch.bfloat16, WIDE}


def is_float(*values):
    """Every tensor is of a type the device computes with."""
    tensors = [v for v in values if isinstance(v, torch.Tensor)]
    return bool(tensors) and all(t.dtype in FLOATS for t in tensors)


def of_float(function):
    """A function of one fp32 tensor as one of any floating point type."""

    def decomposed(x):
        return function(x.to(WIDE)).to(x.dtype) if is_float(x) else NotImplemented

    return decomposed


def of_floats(function):
    """The same of two arguments, one of which may be a number."""

    def decomposed(x, y):
        if not is_float(x, y):
            return NotImplemented
        kind = torch.result_type(x, y)
        a, b = (v.to(WIDE) if isinstance(v, torch.Tensor) else float(v) for v in (x, y))
        return function(a, b).to(kind)

    return decomposed


def _horner(x, factors):
    """Factors of powers 0, 1, ... of x."""
    result = x * factors[-1] + factors[-2]
    for factor in reversed(factors[:-2]):
        result = result * x + factor
    return result


def _odd(x, factors):
    """x + x^3 p(x^2): the first term is exact."""
    square = x * x
    return x + x * (square * _horner(square, factors))


_SPLITTER = float(2**12 + 1)


def _halves(x):
    """Two numbers of 12 bits each that sum up to x (Veltkamp); below 2^115."""
    scaled = x * _SPLITTER
    high = scaled - (scaled - x)
    return high, x - high


def _number_halves(number):
    """The upper 12 bits of the number in fp32, the other 12, and what fp32 has no room for."""
    (bits,) = struct.unpack("<I", struct.pack("<f", number))
    (rounded,) = struct.unpack("<f", struct.pack("<I", bits))
    (high,) = struct.unpack("<f", struct.pack("<I", bits & 0xFFFFF000))
    return high, rounded - high, number - rounded


def product(x, y):
    """x * y, and what its rounding lost (Dekker); y is a tensor or a number of any precision."""
    high, low = _halves(x)
    if isinstance(y, torch.Tensor):
        (y_high, y_low), rest = _halves(y), None
        rounded = x * y
    else:
        y_high, y_low, rest = _number_halves(y)
        rounded = x * (y_high + y_low)
    lost = ((high * y_high - rounded) + high * y_low + low * y_high) + low * y_low
    return rounded, lost if rest is None else lost + x * rest


# --------------------------------------------------------------------------------------------------
# Sine, cosine, tangent

# pi in four parts; products of the first three with multiples of 1/2 below 2^15 are exact in fp32.
_PI = (3.140625, 0.000965118408203125, 2.5331974029541016e-06, 1.984187159361081e-09)
_SINE = (
    -0.16666666625728532,
    0.008333331090276942,
    -0.00019840865748204335,
    2.7525255004158352e-06,
    -2.3886578512983642e-08,
)


def _sine(x, shift):
    """sin(x + shift * pi) for shift 0 and 1/2: the nearest multiple of pi is taken off, which turns the
    sign once each."""
    turns = torch.floor(x * (1 / math.pi) + (0.5 + shift))
    multiple = turns - shift if shift else turns
    rest = x
    for part in _PI:
        rest = rest - multiple * part
    is_odd = turns - torch.floor(turns * 0.5) * 2
    return _odd(rest, _SINE) * (1 - is_odd * 2)


def sin(x):
    return _sine(x, 0)


def cos(x):
    return _sine(x, 0.5)


def tan(x):
    return sin(x) / cos(x)


# --------------------------------------------------------------------------------------------------
# Their inverses

_ARC_TANGENT = (
    -0.3333331533925117,
    0.19998478425426838,
    -0.14243626530598819,
    0.10594263232483332,
    -0.06078826211148158,
)
_ARC_SINE = (
    0.16666659776406406,
    0.07500517018469553,
    0.04451447025858148,
    0.03182867366348375,
    0.014358548280193485,
    0.03763000765612542,
)
_TAN_EIGHTH = math.tan(math.pi / 8)


def _arc_of_unit(t):
    """atan on [0, 1]: above tan(pi / 8) as pi / 4 and the rest."""
    is_far = t > _TAN_EIGHTH
    near = torch.where(is_far, (t - 1) / (t + 1), t)
    return _odd(near, _ARC_TANGENT) + torch.where(is_far, math.pi / 4, 0.0)


def atan(x):
    size = torch.abs(x)
    is_large = size > 1
    arc = _arc_of_unit(torch.where(is_large, 1 / size, size))
    return copysign(torch.where(is_large, math.pi / 2 - arc, arc), x)


def atan2(y, x):
    """The angle of (x, y). Infinities count as the quarters and eighths they are the limits of."""
    y, x = torch.broadcast_tensors(y, x)
    a, b = torch.abs(x), torch.abs(y)
    is_steep = b > a
    larger, smaller = torch.where(is_steep, b, a), torch.where(is_steep, a, b)
    quotient = smaller / larger
    quotient = torch.where(larger == 0, larger, quotient)
    quotient = torch.where(smaller == math.inf, 1.0, quotient)
    arc = _arc_of_unit(quotient)
    arc = torch.where(is_steep, math.pi / 2 - arc, arc)
    arc = torch.where(is_negative(x), math.pi - arc, arc)
    is_number = torch.logical_and(x == x, y == y)
    return torch.where(is_number, copysign(arc, y), math.nan)


def asin(x):
    size = torch.abs(x)
    is_far = size > 0.5
    near = torch.where(is_far, torch.sqrt((1 - size) * 0.5), size)
    arc = _odd(near, _ARC_SINE)
    return copysign(torch.where(is_far, math.pi / 2 - 2 * arc, arc), x)


def acos(x):
    size = torch.abs(x)
    is_far = size > 0.5
    near = torch.where(is_far, torch.sqrt((1 - size) * 0.5), x)
    arc = _odd(near, _ARC_SINE)
    far = torch.where(x < 0, math.pi - 2 * arc, 2 * arc)
    return torch.where(is_far, far, math.pi / 2 - arc)


# --------------------------------------------------------------------------------------------------
# Powers of e

_HYPERBOLIC_SINE = (
    0.16666666667079302,
    0.008333333275187527,
    0.0001984129644249669,
    2.7552011050609156e-06,
    2.553222991984769e-08,
)


def _half_powers(x):
    """e^|x| / 2 and e^-|x| / 2, as squares of powers that do not overflow."""
    root = torch.exp(torch.abs(x) * 0.5)
    return root * 0.5 * root, 0.5 / root / root


def sinh(x):
    up, down = _half_powers(x)
    near = torch.clamp(x, -1, 1)
    far = copysign(up - down, x)
    return torch.where(torch.abs(x) < 1, _odd(near, _HYPERBOLIC_SINE), far)


def cosh(x):
    up, down = _half_powers(x)
    return up + down


def exp2(x):
    """The exponent's rounding is made up for."""
    power, lost = product(torch.clamp(x, -200, 200), math.log(2))
    result = torch.exp(power)
    return torch.where(result == math.inf, result, result + result * lost)


def expm1(x):
    """Near 0 by way of tanh, which loses nothing there."""
    near = torch.tanh(torch.clamp(x, -1, 1) * 0.5)
    return torch.where(torch.abs(x) < 1, 2 * near / (1 - near), torch.exp(x) - 1)


def log1p(x):
    """The factor x / (u - 1) makes up for what the sum u = 1 + x lost."""
    u = x + 1
    rest = u - 1
    is_lost = rest == 0
    near = torch.where(is_lost, x, torch.log(u) * (x / torch.where(is_lost, 1.0, rest)))
    return torch.where(torch.abs(x) < 1, near, torch.log(u))


def logarithm(base):
    def function(x):
        return torch.log(x) * (1 / math.log(base))

    return function


def asinh(x):
    """ln(a + sqrt(a^2 + 1)) as ln(1 + (a + a^2 / (1 + sqrt(a^2 + 1)))); far off ln(2 a)."""
    size = torch.abs(x)
    near = torch.clamp(size, max=1e10)
    root = torch.sqrt(near * near + 1)
    result = torch.where(
        size < 1e10, log1p(near + near * near / (root + 1)), torch.log(size) + math.log(2)
    )
    return copysign(result, x)


def acosh(x):
    """ln(1 + t) with t = (x - 1) + sqrt((x - 1)^2 + 2 (x - 1)); far off ln(2 x)."""
    rest = torch.clamp(x, max=1e10) - 1
    near = log1p(rest + torch.sqrt(rest * rest + 2 * rest))
    return torch.where(x < 1e10, near, torch.log(x) + math.log(2))


def atanh(x):
    size = torch.abs(x)
    return copysign(0.5 * log1p(2 * size / (1 - size)), x)


def logaddexp(x, y):
    largest = torch.maximum(x, y)
    distance = torch.abs(x - y)
    result = largest + log1p(torch.exp(-distance))
    return torch.where(x == y, largest + math.log(2), result)


# --------------------------------------------------------------------------------------------------
# The error function

_ERF_SLOPE = 2 / math.sqrt(math.pi)
_ERF = (
    -0.3761263863810044,
    0.11283776589090103,
    -0.026863379783081735,
    0.005201357573352212,
    -0.0007708147318670044,
)


def _near_erf(x):
    """On [-1/2, 1/2]."""
    x = torch.clamp(x, -0.5, 0.5)
    square = x * x
    return x + x * (square * _horner(square, _ERF) + (_ERF_SLOPE - 1))


def _tail(size):
    """1 - erf(a) for a >= 1/2. gelu(-s) is -s times the normal distribution's tail beyond s, with
    s = sqrt(2) a; what rounding s lost changes the tail by the hazard rate."""
    size = torch.clamp(size, 0.5, 20)
    s, lost = product(size, math.sqrt(2))
    rate = (s + torch.sqrt(s * s + 8 / math.pi)) * 0.5
    tail = torch.nn.functional.gelu(-s) * -2 / s
    return tail - tail * (rate * lost)


def erf(x):
    size = torch.abs(x)
    return torch.where(size < 0.5, _near_erf(x), copysign(1 - _tail(size), x))


def erfc(x):
    size = torch.abs(x)
    tail = _tail(size)
    far = torch.where(x < 0, 2 - tail, tail)
    return torch.where(size < 0.5, 1 - _near_erf(x), far)


# --------------------------------------------------------------------------------------------------
# Signs, extremes, remainders


def is_negative(x):
    """Of -0, too: its reciprocal is below 0."""
    return torch.where(x == 0, 1 / x, x) < 0


def copysign(x, y):
    if not isinstance(y, torch.Tensor):
        size = torch.abs(x)
        return -size if math.copysign(1, y) < 0 else size
    size = torch.abs(x)
    return torch.where(is_negative(y), -size, size)


def _extreme(extreme):
    """Of the arguments that are numbers."""

    def function(x, y):
        result = torch.where(x != x, y, extreme(x, y))
        return torch.where(y != y, x, result)

    return function


fmax, fmin = _extreme(torch.maximum), _extreme(torch.minimum)


def _rest_of(size, divisor):
    """size - floor(size / divisor) * divisor of numbers that are not negative; the quotient may be
    rounded up, or down by one."""
    times = torch.floor(size / divisor)
    taken, lost = product(times, divisor)
    rest = (size - taken) - lost
    rest = torch.where(rest < 0, rest + divisor, rest)
    rest = torch.where(rest >= divisor, rest - divisor, rest)
    is_whole = size < divisor
    return torch.where(is_whole, size, rest)


def fmod(x, y):
    divisor = torch.abs(y) if isinstance(y, torch.Tensor) else torch.full_like(x, abs(y))
    x, divisor = torch.broadcast_tensors(
        x if isinstance(x, torch.Tensor) else torch.full_like(divisor, x), divisor
    )
    return copysign(_rest_of(torch.abs(x), divisor), x)


def remainder(x, y):
    """With the sign of the divisor."""
    rest = fmod(x, y)
    divisor = y if isinstance(y, torch.Tensor) else torch.full_like(rest, y)
    is_turned = torch.logical_and(rest != 0, is_negative(rest) != is_negative(divisor))
    return torch.where(is_turned, rest + divisor, rest)


def hypot(x, y):
    a, b = torch.abs(x), torch.abs(y)
    larger, smaller = torch.maximum(a, b), torch.minimum(a, b)
    quotient = torch.where(larger == smaller, 1.0, smaller / larger)
    result = larger * torch.sqrt(quotient * quotient + 1)
    is_infinite = torch.logical_or(a == math.inf, b == math.inf)
    return torch.where(is_infinite, math.inf, torch.where(larger == 0, larger, result))


# --------------------------------------------------------------------------------------------------
# Powers

# Beyond these the reciprocal of a base leaves the range in which the logarithm can be mended.
_MENDED = (2.0**-60, 2.0**60)


def power_of_size(size, exponent):
    """size^exponent of tensors, size >= 0: exp(exponent * log(size)), where the logarithm's rounding and
    the product's are made up for."""
    log = torch.log(size)
    near = torch.clamp(size, *_MENDED)
    unit, lost = product(near, torch.exp(-torch.log(near)))
    mend = torch.where(size == near, (unit - 1) + lost, 0.0)
    is_finite = torch.abs(log) < math.inf
    finite, few = torch.where(is_finite, log, 0.0), torch.clamp(exponent, -1e30, 1e30)
    whole, rest = product(finite, few)
    power = torch.exp(torch.where(is_finite, whole, log * exponent))
    mended = power + power * (rest + few * mend)
    is_plain = torch.logical_and(is_finite, torch.abs(whole) < 85)
    return torch.where(is_plain, mended, power)
