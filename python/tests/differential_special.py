"""The functions of mathematics beyond the elementary ones: more entries of the differential tests. SPECS has these and those
of differential_structures.py."""

import torch
from differential import F32, WORDS, exact
from differential_layers import add, linear, numbers
from differential_structures import SPECS  # noqa: F401 - the tests take it from here

special = torch.special


def in_fp32(call):
    """Of 16 bits, where the CPU has no kernel for them; integers stay with it."""

    def function(*operands):
        halves = [t for t in operands if t.device.type == "cpu" and t.dtype in (torch.float16, torch.bfloat16)]
        if not halves:
            return call(*operands)
        return call(*(t.float() for t in operands)).to(halves[0].dtype)

    return function


def one(name, call, operands, **more):
    add(f"aten.{name}", in_fp32(call), operands, **more)


def whole(low, high, count=1):
    return lambda draw, shape: [draw.integers(shape, low, high, draw.dtype) for _ in range(count)]


# --------------------------------------------------------------------------------------------------
# The normal distribution


one("erfinv.default", torch.erfinv, linear(-1, 1))
one("special_erfcx.default", special.erfcx, linear(-4, 9))
one("special_log_ndtr.default", special.log_ndtr, linear(-9, 3))
one("special_ndtri.default", special.ndtri, linear(0.001, 0.999))

# --------------------------------------------------------------------------------------------------
# The gamma function


def _reflected(x):
    """The logarithm of the sine, and the logarithm it is taken from."""
    pole = torch.log(torch.abs(torch.sin(torch.pi * x)) / torch.pi)
    return torch.where(x < 0, pole.abs() + torch.lgamma(1 - x).abs(), 0.0)


def _cotangents(n):
    """Powers of the poles on both sides, which cancel between them."""

    def rule(x):
        distance = torch.abs(x - torch.round(x))
        return torch.where(x < 0, 8 * distance ** -(n + 1.0), 0.0)

    return rule


def _below(draw, shape):
    """Negative ones, away from whole numbers."""
    return [exact(draw.integers(shape, -9, 0) + draw.uniform(shape, 0.125, 0.875), draw.dtype)]


one("lgamma.default", torch.lgamma, numbers(signed=False, low=2.0**-9, high=2.0**9))
one("lgamma.default", torch.lgamma, _below, rule=_reflected, label="negative")
one("lgamma.default", torch.lgamma, whole(1, 9), dtypes=WORDS, label="integers")
one("digamma.default", torch.digamma, numbers(signed=False, low=2.0**-9, high=2.0**9))
one("digamma.default", torch.digamma, _below, rule=_cotangents(0), label="negative")
for _n in (0, 1, 2, 3, 6):
    _call = lambda x, n=_n: torch.polygamma(n, x)  # noqa: E731
    one("polygamma.default", _call, numbers(signed=False, low=0.25, high=32.0), label=str(_n))
for _n in (1, 2):
    _call = lambda x, n=_n: torch.polygamma(n, x)  # noqa: E731
    one("polygamma.default", _call, _below, dtypes=(F32,), rule=_cotangents(_n), label=f"negative {_n}")
one("special_zeta.other_scalar", lambda x: special.zeta(x, 1.5), linear(1.25, 9))
one(
    "mvlgamma.default",
    lambda x: torch.mvlgamma(x, 2),
    lambda d, s: [d.linear(s, 2, 30)],
    # A sum of three, each rounded.
    between=lambda x: [torch.lgamma(x), torch.lgamma(x - 0.5) + 1, torch.mvlgamma(x, 2) + 1, x],
    rule=lambda x: torch.lgamma(x).abs() + 2,
)
_POSITIVE = numbers(signed=False, low=2.0**-6, high=2.0**6)
one("special_entr.default", special.entr, _POSITIVE)
one("special_xlog1py.default", special.xlog1py, numbers(2, signed=False))
one("logaddexp2.default", torch.logaddexp2, numbers(2), rule=lambda x, y: torch.maximum(x.abs(), y.abs()) + 1)
one("nan_to_num.default", torch.nan_to_num, numbers(), rule="exact")
one("rad2deg.default", torch.rad2deg, numbers())

# --------------------------------------------------------------------------------------------------
# Bessel's functions

for _name in ("i0", "special_i0e", "special_i1", "special_i1e"):
    _call = getattr(special, _name.removeprefix("special_"))
    one(f"{_name}.default", _call, linear(-20, 20))
for _name in ("modified_bessel_i0", "modified_bessel_i1"):
    one(f"special_{_name}.default", getattr(special, _name), linear(-10, 10))
for _name in ("modified_bessel_k0", "modified_bessel_k1", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1"):
    one(f"special_{_name}.default", getattr(special, _name), numbers(signed=False, low=2.0**-9, high=16.0))
one("special_spherical_bessel_j0.default", special.spherical_bessel_j0, linear(-30, 30))
for _decimals in (1, -1):
    # Where the middle between two is decided by fp32, which the reference may be wider than.
    _call = lambda x, d=_decimals: torch.round(x.float() if x.dtype == torch.float64 else x, decimals=d)  # noqa: E731
    one("round.decimals", _call, linear(-90, 90), label=str(_decimals))

# --------------------------------------------------------------------------------------------------
# Exponents, and divisors of integers

add("aten.frexp.Tensor", torch.frexp, numbers(low=2.0**-12, high=2.0**12), rule="exact")
add(
    "aten.ldexp.Tensor",
    torch.ldexp,
    lambda d, s: [d.numbers(s), d.integers(s, -6, 7, torch.int32)],
)
# Neighbours are those of fp32, also where the reference is wider.
add(
    "aten.nextafter.default",
    lambda x, y: torch.nextafter(x.to(F32), y.to(F32)),
    numbers(2),
    dtypes=(F32,),
    rule="exact",
)
for _name in ("gcd", "lcm"):
    add(f"aten.{_name}.default", getattr(torch, _name), whole(-99, 100, 2), dtypes=WORDS, rule="exact")
    add(
        f"aten.{_name}.default",
        getattr(torch, _name),
        whole(0, 1 << 30, 2),
        dtypes=(torch.int32,),
        rule="exact",
        label="large",
    )

# --------------------------------------------------------------------------------------------------
# Orthogonal polynomials


_DEGREE = 5


def _terms_of(name):
    """Magnitudes of the powers it has, found from its values at so many places; the shifted ones have those of 2 x - 1."""
    places = torch.arange(_DEGREE + 1, dtype=torch.float64)
    values = getattr(special, name.removeprefix("shifted_"))(places, _DEGREE)
    factors = torch.linalg.solve(torch.vander(places, increasing=True), values).abs()
    size = (lambda x: 2 * x.abs() + 1) if name.startswith("shifted_") else torch.abs
    return lambda x: sum(factor * size(x) ** power for power, factor in enumerate(factors))


for _kind in (
    "chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w hermite_polynomial_h "
    "hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p shifted_chebyshev_polynomial_t "
    "shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w"
).split():
    _call = lambda x, c=getattr(special, _kind): c(x, _DEGREE)  # noqa: E731
    one(f"special_{_kind}.n_scalar", _call, linear(-2, 2), rule=_terms_of(_kind))
