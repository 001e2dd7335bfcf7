"""Bessel's functions, in fp32, rounded once.

The modified ones: near 0 their power series, with the logarithm where they have one; far off a polynomial of 1 / x by
e^x / sqrt(x), or by e^-x / sqrt(x).
"""

import math

import torch

from torch_spyre.ops import pairs
from torch_spyre.ops.functions import _horner, _sine, logarithm_pair, one_of, root

# Beyond it, products lose what they would make up for.
_LARGEST = 2.0**100

# --------------------------------------------------------------------------------------------------
# Modified, of the first kind

# Of (I0(x) - 1) / x^2 and (I1(x) / x - 1 / 2) / x^2 in x^2, up to 5; from there of sqrt(x) e^-x times the function in 1 / x.
_FIRST_FAR = 5.0
_NEAR_I0 = (
    0.24999999882627236,
    0.015625002086811172,
    0.00043402658979926217,
    6.781995356968748e-06,
    6.777341882860519e-08,
    4.743662404708527e-10,
    2.2517490682795617e-12,
    1.2829932957042624e-14,
)
_NEAR_I1 = (
    0.062499999906821646,
    0.002604166814334052,
    5.425339532894873e-05,
    6.781871826684819e-07,
    5.6489283087486105e-09,
    3.382525220735996e-11,
    1.422559986960048e-13,
    6.966870463451823e-16,
)
_FAR_I0 = (
    0.3989422836349126,
    0.049865925944653236,
    0.028227864168402835,
    0.023181460605313554,
    0.12963890410149123,
    -0.2311811085354183,
    -3.266575618740243,
    35.78987811343038,
    -79.21815020369343,
)
_FAR_I1 = (
    0.3989422768300777,
    -0.14960136158267703,
    -0.046935259573777775,
    -0.03489555515010285,
    -0.13471166220644268,
    0.03173221380225111,
    5.01841279518135,
    -44.1950843196929,
    92.81708430439177,
)

# e^x is made e^8 smaller, and then 2^20, so that its products stay numbers as long as the result is one.
_LESS, _SCALE = 8.0, 2.0**20


def _near_first(size, order):
    """As a pair."""
    near = torch.clamp_max(size, _FIRST_FAR)
    square = pairs.product(near, near)
    if order:
        return pairs.times((near, 0.0), pairs.polynomial(square, (0.5, *_NEAR_I1), 2))
    return pairs.polynomial(square, (1.0, *_NEAR_I0), 2)


def _far_first(size, order, factor):
    """e^-x times the function and a factor, as a pair."""
    far = torch.clamp(size, _FIRST_FAR, _LARGEST)
    factors = [c * factor for c in (_FAR_I1 if order else _FAR_I0)]
    return pairs.over(pairs.polynomial(1 / far, factors), root(far))


def _very_far(value, size):
    """The value at the largest size, by the root of how many times that it is."""
    return torch.where(size > _LARGEST, value * torch.rsqrt(size * (1 / _LARGEST)), value)


def _first(order, is_scaled):
    def function(x):
        size = torch.abs(x)
        near, far = _near_first(size, order), _far_first(size, order, 1.0 if is_scaled else math.exp(_LESS))
        if is_scaled:
            near = pairs.times(near, (torch.exp(-torch.clamp_max(size, _FIRST_FAR)), 0.0))
            far = _very_far(pairs.whole(far), size)
        else:
            grown = torch.exp(torch.clamp(size, _FIRST_FAR, 96) - _LESS) * (1 / _SCALE)
            far = pairs.whole(pairs.times(far, (grown, 0.0))) * _SCALE
            far = torch.where(size > 96, size * math.inf, far)
        result = torch.where(size < _FIRST_FAR, pairs.whole(near), far)
        result = torch.where(x == x, result, x)
        return torch.where(x < 0, -result, result) if order else result

    return function


i0, i0e, i1, i1e = _first(0, False), _first(0, True), _first(1, False), _first(1, True)
modified_bessel_i0, modified_bessel_i1 = i0, i1

# --------------------------------------------------------------------------------------------------
# Modified, of the second kind

# Of K0(x) + ln(x / 2) I0(x), and of ((K1(x) - ln(x / 2) I1(x)) x - 1) / x^2 in x^2, up to 1; from there of sqrt(x) e^x times
# the function in (1 - 2 x) / (1 + 2 x).
_SECOND_FAR = 1.0
_NEAR_K0 = (
    -0.5772156640113565,
    0.10569606187657424,
    0.014418637313023843,
    0.0005448772512512926,
    1.053212404332263e-05,
)
_NEAR_K1 = (
    0.038607832147999295,
    -0.042049016897788456,
    -0.0028371298365899053,
    -7.489572341169557e-05,
    -1.1199882755106785e-06,
)
_FAR_K0 = (
    1.0778361076776173,
    -0.22240948568399044,
    -0.07819984450554233,
    -0.023194409027930196,
    0.0506640030520173,
    0.10166044879592942,
    0.09794197941129185,
    0.05003713648084078,
    0.011165578911793725,
)
_FAR_K1 = (
    1.9308880288914028,
    1.0742458436314766,
    0.7182223420905418,
    0.5398218098727016,
    0.32724471666759314,
    0.12365973185790442,
    -0.0023960307322123224,
    -0.025688906264685948,
    -0.008606436645323798,
)


def _near_second(x, order):
    """As a pair."""
    near = torch.where(x > 0, torch.clamp_max(x, _SECOND_FAR), _SECOND_FAR)
    half = near * 0.5
    log = logarithm_pair(half, torch.log(half))
    share = pairs.times(log, _near_first(near, order))
    square = near * near
    if order:
        pole = pairs.over(pairs.constant(near, 1.0), (near, 0.0))
        few = near * _horner(square, _NEAR_K1)
        return pairs.plus(pairs.plus(pole, share), (few, 0.0))
    return pairs.plus((-share[0], -share[1]), pairs.polynomial(square, _NEAR_K0))


def _second(order, is_scaled):
    def function(x):
        near = _near_second(x, order)
        far = torch.clamp(x, _SECOND_FAR, _LARGEST)
        factors = _FAR_K1 if order else _FAR_K0
        double, one = far * 2, torch.full_like(far, 1.0)
        u = pairs.over(pairs.total(-double, one), pairs.total(double, one))
        value = pairs.polynomial(u, factors, 2)
        value = pairs.over(value, root(far))
        if is_scaled:
            near = pairs.times(near, (torch.exp(torch.clamp_max(x, _SECOND_FAR)), 0.0))
        else:
            value = pairs.times(value, (torch.exp(-far), 0.0))
        result = torch.where(x < _SECOND_FAR, pairs.whole(near), _very_far(pairs.whole(value), x))
        if order:
            result = torch.where(x < 1e-30, 1 / x, result)
        return torch.where(x > 0, result, one_of(x == 0, math.inf, math.nan))

    return function


modified_bessel_k0, modified_bessel_k1 = _second(0, False), _second(1, False)
scaled_modified_bessel_k0, scaled_modified_bessel_k1 = _second(0, True), _second(1, True)

# --------------------------------------------------------------------------------------------------
# Spherical


def spherical_bessel_j0(x):
    """sin(x) / x; its roots are those of the sine, of which nothing is lost."""
    sine = pairs.over(_sine(x, 0), (x, torch.zeros_like(x)))
    size = torch.abs(x)
    result = torch.where(size < 1e-10, 1.0, pairs.whole(sine))
    return torch.where(size == math.inf, 0.0, torch.where(x == x, result, x))
