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
HALVES = (torch.float16, torch.bfloat16)
FLOATS = {*HALVES, WIDE}


def is_float(*values):
    """Every tensor is of a type the device computes with."""
    tensors = [v for v in values if isinstance(v, torch.Tensor)]
    return bool(tensors) and all(t.dtype in FLOATS for t in tensors)


WHOLE = {torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.bool}


def _kind(*values):
    """The type of a function's result, or None for what the device does not compute with: of integers and truth values it
    is torch's default."""
    tensors = [v for v in values if isinstance(v, torch.Tensor)]
    if not all(t.dtype in FLOATS or t.dtype in WHOLE for t in tensors):
        return None
    kind = torch.result_type(*values) if len(values) == 2 else values[0].dtype
    kind = torch.get_default_dtype() if kind in WHOLE else kind
    return kind if kind in FLOATS else None


def one_of(condition, x, y):
    """One of two numbers in fp32, whatever torch's default type is."""
    return torch.where(condition, torch.full((), x, dtype=WIDE, device=condition.device), y)


def of_float(function):
    """A function of one fp32 tensor as one of any type."""

    def decomposed(x):
        kind = _kind(x)
        return function(x.to(WIDE)).to(kind) if kind else NotImplemented

    return decomposed


def of_floats(function, of_integers=False):
    """The same of two arguments, one of which may be a number; functions that stay among integers are not for these."""

    def decomposed(x, y):
        kind = _kind(x, y)
        if kind is None or (not of_integers and torch.result_type(x, y) in WHOLE):
            return NotImplemented
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


#: From here on every fp32 number is whole.
ALL_WHOLE = 2.0**23

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


def total(x, y):
    """x + y, and what its rounding lost (Knuth)."""
    rounded = x + y
    of_y = rounded - x
    return rounded, (x - (rounded - of_y)) + (y - of_y)


def quotient(x, y, y_rest=0.0):
    """x / (y + y_rest), and what its rounding lost."""
    rounded = x / y
    taken, lost = product(rounded, y)
    return rounded, (((x - taken) - lost) - rounded * y_rest) / y


def root(x, x_rest=0.0):
    """The square root of x + x_rest, and what its rounding lost; of 0 that is nothing."""
    rounded = torch.sqrt(x)
    taken, lost = product(rounded, rounded)
    rest = ((x - taken) - lost + x_rest) / (2 * rounded)
    return rounded, torch.where(x > 0, rest, 0.0)


def _parts(number):
    """A number as one of fp32 and the rest."""
    (rounded,) = struct.unpack("<f", struct.pack("<f", number))
    return rounded, number - rounded


# --------------------------------------------------------------------------------------------------
# Sine, cosine, tangent

# pi / 2 in five parts; products of the first four with whole numbers below 2^16 are exact in fp32.
_QUARTER = (
    1.5703125,
    0.0004825592041015625,
    1.2665987014770508e-06,
    9.89530235528946e-10,
    2.563344151594519e-12,
)
_SINE = (-1 / 6, 1 / 120, -1 / 5040, 1 / 362880)
_COSINE = (1 / 24, -1 / 720, 1 / 40320, -1 / 3628800)


def _sine(x, quarters):
    """sin(x + quarters * pi / 2), and what rounding it lost: the nearest multiple of pi / 2 is taken off. What is left, a and
    the few that it lost, is at most pi / 4; every other quarter is a cosine, every other half has the other sign."""
    multiple = torch.floor(x * (2 / math.pi) + 0.5)
    high, few = x, None
    for part in _QUARTER[:4]:
        high, lost = total(high, multiple * -part)
        few = lost if few is None else few + lost
    a, few = total(high, few - multiple * _QUARTER[4])
    # Beyond the range of the parts it would be anything.
    a, few = torch.clamp(a, -0.8, 0.8), torch.clamp(few, -1e-6, 1e-6)
    square = a * a
    half = square * 0.5
    sine_few = a * (square * _horner(square, _SINE)) + few * (1 - half)
    below = 1 - half
    cosine_few = ((1 - below) - half) + (square * square * _horner(square, _COSINE) - a * few)
    turns = multiple + quarters if quarters else multiple
    is_cosine = turns - torch.floor(turns * 0.5) * 2 > 0
    is_turned = turns - torch.floor(turns * 0.25) * 4 > 1
    sign = one_of(is_turned, -1.0, 1.0)
    result, lost = total(torch.where(is_cosine, below, a), torch.where(is_cosine, cosine_few, sine_few))
    return result * sign, lost * sign


def sin(x):
    return torch.where(x == 0, x, _sine(x, 0)[0])


def cos(x):
    return _sine(x, 1)[0]


def entr(x):
    """-x ln x: 0 of 0, and below that there is none."""
    rest = torch.where(x == x, one_of(x == 0, 0.0, -math.inf), x)
    return torch.where(x > 0, -x * torch.log(x), rest)


def sinc(x):
    """sin(pi x) / (pi x): whole turns are taken off before anything is rounded."""
    turns = torch.floor(x + 0.5)
    is_odd = turns - torch.floor(turns * 0.5) * 2
    angle, lost = product(x - turns, math.pi)
    square = angle * angle
    cosine = 1 - square * (0.5 - square / 24)  # near enough for what the product lost
    sine, few = _sine(angle, 0)
    whole, whole_rest = product(x, math.pi)
    high, rest = quotient(sine, whole, whole_rest)
    result = (high + (rest + (few + lost * cosine) / whole)) * (1 - is_odd * 2)
    # Beyond these all numbers are whole turns, and of an infinity there is none.
    result = torch.where(torch.abs(x) < ALL_WHOLE, result, x - x)
    return torch.where(x == 0, 1.0, result)


def tan(x):
    (sine, sine_rest), (cosine, cosine_rest) = _sine(x, 0), _sine(x, 1)
    high, rest = quotient(sine, cosine, cosine_rest)
    return torch.where(x == 0, x, high + (rest + sine_rest / cosine))


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


def _arc_of_unit(t, rest=0.0):
    """atan(t + rest) on [0, 1], and what rounding it lost: above tan(pi / 8) as pi / 4 and the rest."""
    is_far = t > _TAN_EIGHTH
    above, above_rest = total(t, torch.full_like(t, 1.0))
    below, below_rest = total(t, torch.full_like(t, -1.0))
    near, near_rest = quotient(torch.where(is_far, below, t), torch.where(is_far, above, 1.0))
    mend = (below_rest - near * above_rest) / above + rest * (2 / (above * above))
    near_rest = torch.where(is_far, near_rest + mend, rest)
    square = near * near
    few = near * (square * _horner(square, _ARC_TANGENT)) + near_rest * (1 - square)
    eighth, eighth_rest = _parts(math.pi / 4)
    arc, lost = total(one_of(is_far, eighth, 0.0), near)
    return total(arc, lost + few + one_of(is_far, eighth_rest, 0.0))


def _minus(number, value):
    """number - (a pair of value and rest), rounded once; the number has any precision."""
    high, low = _parts(number)
    result, lost = total(-value[0], torch.full_like(value[0], high))
    return result + (lost + low - value[1])


def atan(x):
    size = torch.abs(x)
    is_large = size > 1
    arc = _arc_of_unit(torch.where(is_large, 1 / size, size))
    return copysign(torch.where(is_large, _minus(math.pi / 2, arc), arc[0]), x)


def atan2(y, x):
    """The angle of (x, y). Infinities count as the quarters and eighths they are the limits of."""
    y, x = torch.broadcast_tensors(y, x)
    a, b = torch.abs(x), torch.abs(y)
    is_steep = b > a
    larger, smaller = torch.where(is_steep, b, a), torch.where(is_steep, a, b)
    slope = smaller / larger
    slope = torch.where(larger == 0, larger, slope)
    slope = torch.where(smaller == math.inf, 1.0, slope)
    arc, rest = _arc_of_unit(slope)
    steep = _minus(math.pi / 2, (arc, rest))
    is_left = is_negative(x)
    # A steep line to the left has pi / 2 and the arc.
    left = torch.where(is_steep, -_minus(-math.pi / 2, (arc, rest)), _minus(math.pi, (arc, rest)))
    arc = torch.where(is_left, left, torch.where(is_steep, steep, arc))
    is_number = torch.logical_and(x == x, y == y)
    return torch.where(is_number, copysign(arc, y), math.nan)


def _far_arc(size):
    """asin(sqrt((1 - size) / 2)) and what rounding it lost, for sizes above 1/2."""
    near, near_rest = root(torch.clamp_min((1 - size) * 0.5, 0))
    square = near * near
    few = near * (square * _horner(square, _ARC_SINE)) + near_rest / torch.sqrt(1 - square)
    return near, few


def asin(x):
    size = torch.abs(x)
    near, few = _far_arc(torch.clamp(size, 0.5, 1))
    far = _minus(math.pi / 2, (2 * near, 2 * few))
    arc = torch.where(size > 0.5, far, _odd(torch.clamp(size, 0, 0.5), _ARC_SINE))
    return copysign(torch.where(size <= 1, arc, math.nan), x)


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
    """e^|x| / 2 with what it lost, and e^-|x| / 2: half a power is one whose exponent is less by ln 2."""
    high, low = _parts(math.log(2))
    exponent, lost = total(torch.abs(x), torch.full_like(x, -high))
    up = torch.exp(exponent)
    lost = torch.where(up < math.inf, up * (lost - low), 0.0)
    return up, lost, 0.25 / up


def sinh(x):
    up, lost, down = _half_powers(x)
    near = torch.clamp(x, -1, 1)
    far = copysign(up - (down - lost), x)
    return torch.where(torch.abs(x) < 1, _odd(near, _HYPERBOLIC_SINE), far)


def cosh(x):
    up, lost, down = _half_powers(x)
    return up + (down + lost)


def exp2(x):
    """The exponent's rounding is made up for."""
    power, lost = product(torch.clamp(x, -200, 200), math.log(2))
    result = torch.exp(power)
    return torch.where(result == math.inf, result, result + result * lost)


_EXPONENTIAL = tuple(1 / math.factorial(n) for n in range(2, 11))


def expm1(x):
    """Near 0 the series; further off the subtraction loses nothing."""
    near = torch.clamp(x, -0.5, 0.5)
    series = near + near * (near * _horner(near, _EXPONENTIAL))
    series = torch.where(x == 0, x, series)
    return torch.where(torch.abs(x) < 0.5, series, torch.exp(x) - 1)


def log1p(x, rest=-0.0):
    """ln(1 + x + rest): what the sum u = 1 + x lost counts 1 / u. Near 0 the series."""
    u, lost = total(x, torch.full_like(x, 1.0))
    lost = lost + rest
    mend = lost / u
    far = torch.log(u)
    # Of infinities and of nothing there is nothing to mend.
    far = torch.where(torch.logical_and(torch.abs(mend) < math.inf, u > 0), far + mend, far)
    near = torch.clamp(x, -0.001, 0.001)
    series = near + (rest - near * near * (0.5 - near * (1 / 3 - near * 0.25)))
    series = torch.where(x == 0, x + rest, series)
    return torch.where(torch.abs(x) < 0.001, series, far)


def logarithm(base):
    def function(x):
        natural = torch.log(x)
        is_finite = torch.abs(natural) < math.inf
        high, lost = product(torch.where(is_finite, natural, 0.0), 1 / math.log(base))
        return torch.where(is_finite, high + lost, natural)

    return function


def asinh(x):
    """ln(a + sqrt(a^2 + 1)) as ln(1 + (a + a^2 / (1 + sqrt(a^2 + 1)))); far off ln(2 a)."""
    size = torch.abs(x)
    near = torch.clamp(size, max=1e10)
    square = near * near
    above, lost = total(near, square / (torch.sqrt(square + 1) + 1))
    result = torch.where(size < 1e10, log1p(above, lost), torch.log(size) + math.log(2))
    return copysign(result, x)


def acosh(x):
    """ln(1 + t) with t = (x - 1) + sqrt((x - 1)^2 + 2 (x - 1)); far off ln(2 x)."""
    rest = torch.clamp(x, max=1e10) - 1
    above, above_lost = total(rest, torch.full_like(rest, 2.0))
    square, lost = product(rest, above)
    side, side_lost = root(square, lost + rest * above_lost)
    t, lost = total(rest, side)
    near = torch.where(x < 1, math.nan, log1p(t, lost + side_lost))
    return torch.where(x < 1e10, near, torch.log(x) + math.log(2))


def atanh(x):
    size = torch.abs(x)
    below, lost = total(-size, torch.full_like(size, 1.0))
    inside = torch.clamp_max(size, 0.99999994)
    high, rest = quotient(2 * inside, torch.clamp_min(below, 2.0**-24), lost)
    result = torch.where(size == 1, math.inf, 0.5 * log1p(high, rest))
    return copysign(torch.where(size <= 1, result, math.nan), x)


def logaddexp(x, y):
    largest = torch.maximum(x, y)
    distance = torch.abs(x - y)
    result = largest + log1p(torch.exp(-distance))
    return torch.where(x == y, largest + math.log(2), result)


def logaddexp2(x, y):
    largest = torch.maximum(x, y)
    distance = torch.abs(x - y)
    result = largest + log1p(torch.exp(distance * -math.log(2))) * (1 / math.log(2))
    return torch.where(x == y, largest + 1, result)


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


def gelu(x, *, approximate="none"):
    """x / (1 + exp(-z)) with z = 2 sqrt(2 / pi) (x + 0.044715 x^3), in fp32: what z and the sum lost counts in the quotient. The
    device has the other form, and the compiler this one of 16 bits."""
    if x.dtype != WIDE or approximate != "tanh":
        return NotImplemented
    near = torch.clamp(x, -20, 20)
    slope, slope_rest = _parts(2 * math.sqrt(2 / math.pi))
    square, square_lost = product(near, near)
    cubic = 0.044715 * 2 * math.sqrt(2 / math.pi)
    bend, bend_lost = product(square, cubic)
    factor, lost = total(bend, torch.full_like(bend, slope))
    z, z_lost = product(near, factor)
    z_lost = z_lost + near * (lost + bend_lost + square_lost * cubic + slope_rest)
    power = torch.exp(-torch.clamp_min(z, -80))  # larger ones have no halves
    below, below_lost = total(torch.ones_like(power), power)
    share, rest = quotient(near, below, below_lost - power * z_lost)
    share = torch.where(z < -80, near * torch.sigmoid(z), share + rest)
    return torch.where(x > 20, x, share)


# --------------------------------------------------------------------------------------------------
# Signs, extremes, remainders


def is_negative(x):
    """Of -0, too: its reciprocal is below 0."""
    return torch.where(x == 0, 1 / x, x) < 0


def signbit(x):
    if not is_float(x):
        return x < 0 if x.dtype in WHOLE - {torch.bool} else NotImplemented
    return is_negative(x.to(WIDE))


def angle(x):
    """Of numbers that are not complex."""
    return torch.where(x == x, one_of(x < 0, math.pi, 0.0), x)


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


# Beyond it, products lose what they would make up for.
_LARGE = 2.0**100


def hypot(x, y):
    a, b = torch.abs(x), torch.abs(y)
    larger, smaller = torch.maximum(a, b), torch.minimum(a, b)
    slope, slope_lost = quotient(smaller, larger)
    slope = torch.where(larger == smaller, 1.0, slope)
    square, lost = product(slope, slope)
    above, above_lost = total(square, torch.full_like(square, 1.0))
    side, side_lost = root(above, above_lost + lost + 2 * slope * slope_lost)
    plain = larger * side
    high, lost = product(larger, side)
    mended = high + (lost + larger * side_lost)
    is_mended = torch.logical_and(larger < _LARGE, larger > 1 / _LARGE)
    result = torch.where(torch.logical_and(is_mended, mended == mended), mended, plain)
    is_infinite = torch.logical_or(a == math.inf, b == math.inf)
    return torch.where(is_infinite, math.inf, torch.where(larger == 0, larger, result))


# --------------------------------------------------------------------------------------------------
# Powers

_POWER_SPLITTER = float(2**22 + 1)


def _power_of_two(exponent):
    """Exact for whole exponents up to 100: e^(k ln 2) is near it, and has two bits left after the cut."""
    power = torch.exp(exponent * math.log(2))
    scaled = power * _POWER_SPLITTER
    return scaled - (scaled - power)


# Of (2 atanh(z) - 2 z) / z^3 in z^2, where 1 + z is at most sqrt(2) (1 - z).
_LOGARITHM = (0.6666666655316549, 0.4000012284221597, 0.2855071305172705, 0.23333290562995518)


def logarithm_pair(size, log):
    """ln of size > 0, whose rounded logarithm is known, and what its rounding lost: k ln 2 and 2 atanh((n - 1) / (n + 1)) of
    the rest n, which is near 1."""
    k = torch.floor(log * (1 / math.log(2)) + 0.5)
    first = torch.floor(k * 0.5)
    near = size * _power_of_two(-first) * _power_of_two(first - k)
    above, above_lost = total(near, torch.full_like(near, 1.0))
    z, z_lost = quotient(near - 1, above, above_lost)
    square = z * z
    few = z * (square * _horner(square, _LOGARITHM)) + 2 * z_lost
    whole, whole_lost = product(k, math.log(2))
    high, lost = total(whole, 2 * z)
    return total(high, lost + (whole_lost + few))


def power_of_size(size, exponent):
    """size^exponent of tensors, size >= 0: exp(exponent * log(size)), where the roundings of both are made up for."""
    log = torch.log(size)
    is_finite = torch.abs(log) < math.inf
    high, low = logarithm_pair(torch.where(is_finite, size, 1.0), torch.where(is_finite, log, 0.0))
    few = torch.clamp(exponent, -1e30, 1e30)
    whole, rest = product(high, few)
    power = torch.exp(torch.where(is_finite, whole, log * exponent))
    mended = power + power * (rest + few * low)
    is_plain = torch.logical_and(is_finite, torch.abs(whole) < 104)
    return torch.where(torch.logical_and(is_plain, power < math.inf), mended, power)
