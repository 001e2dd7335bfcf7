"""The operations that torch composes of others, or that are made of comparisons: more entries of the differential tests.
SPECS has these and those of differential_ops.py."""

import math

import torch
import torch.nn.functional as F
from differential import ALL, FLOATS, NUMBERS, WORDS
from differential_ops import (
    SPECS,  # noqa: F401 - the tests take it from here
    _APART,
    _SMALL,
    _deviations,
    _distinct,
    _matrices,
    _more,
    add,
    at_least,
    full,
    full_and,
    linear,
    numbers,
    product,
)


def _magnitude_of(dim):
    return lambda x: x.abs().double().sum(dim)


add(
    "aten.logsumexp.default",
    lambda x: torch.logsumexp(x, -1),
    linear(-4, 4),
    accepts=full_and(1),
    rule=lambda x: torch.logsumexp(x, -1).abs() + x.abs().amax(-1) + 1,
    # Eager torch composes it: the difference to the largest, the sum and its logarithm are rounded.
    between=lambda x: [x.amax(-1) * 4 + 8, torch.logsumexp(x, -1), x.amax(-1) + 4],
)
add("aten.nansum.default", lambda x: torch.nansum(x, -1), numbers(), rule=_magnitude_of(-1), accepts=full_and(1))
add("aten.nanmean.default", lambda x: torch.nanmean(x, -1), numbers(), rule=_magnitude_of(-1), accepts=full_and(1))
add(
    "aten.count_nonzero.dim_IntList",
    lambda x: torch.count_nonzero(x, -1),
    lambda d, s: [d.integers(s, 0, 2).to(d.dtype)],
    dtypes=ALL,
    rule="exact",
    accepts=at_least(1),
)
add("aten.std.correction", lambda x: torch.std(x, -1), linear(-3, 3), rule=_deviations(-1), accepts=_more(1, 2))
add(
    "aten.var_mean.correction",
    lambda x: torch.var_mean(x, -1)[0],
    linear(-3, 3),
    rule=_deviations(-1),
    accepts=_more(1, 2),
)
add("aten.aminmax.default", lambda x: torch.aminmax(x), numbers(), dtypes=NUMBERS, rule="exact", accepts=full)
add(
    "aten.norm.ScalarOpt_dim",
    lambda x: torch.norm(x, dim=0),
    numbers(),
    rule=lambda x: torch.linalg.vector_norm(x, 2, 0),
    accepts=full_and(1),
)
add(
    "aten.linalg_matrix_norm.default",
    lambda x: torch.linalg.matrix_norm(x),
    numbers(),
    rule=lambda x: torch.linalg.matrix_norm(x),
    accepts=full_and(2),
)
product(
    "aten.einsum.default",
    lambda x, y: torch.einsum("mk,kn->mn", x, y),
    _matrices,
    accepts=full_and(2, 1 << 14),
)
add(
    "aten.addcmul.default",
    lambda x, y, z: torch.addcmul(x, y, z, value=0.5),
    numbers(3),
    rule=lambda x, y, z: x.abs() + (y * z).abs(),
)
add(
    "aten.addcdiv.default",
    lambda x, y, z: torch.addcdiv(x, y, z, value=0.5),
    numbers(3),
    rule=lambda x, y, z: x.abs() + (y / z).abs(),
)
add(
    "aten.lerp.Scalar",
    lambda x, y: torch.lerp(x, y, 0.25),
    numbers(2),
    rule=lambda x, y: x.abs() + y.abs(),
)
add(
    "aten.lerp.Tensor",
    torch.lerp,
    lambda d, s: [d.numbers(s), d.numbers(s), d.linear(s, 0, 1)],
    rule=lambda x, y, w: x.abs() + y.abs(),
)
for _name in ("isinf", "isfinite", "signbit"):
    add(f"aten.{_name}.default", getattr(torch, _name), numbers(), rule="exact")
for _name, _call in {
    "hardswish": F.hardswish,
    "hardsigmoid": F.hardsigmoid,
    "softsign": F.softsign,
    "selu": F.selu,
    "celu": F.celu,
    "frac": torch.frac,
    "deg2rad": torch.deg2rad,
    "sgn": torch.sgn,
    "positive": lambda x: torch.positive(x) + 0,
    "heaviside": lambda x: torch.heaviside(x, x),
    "threshold": lambda x: F.threshold(x, 0.5, 0.25),
    "hardshrink": F.hardshrink,
    "softshrink": F.softshrink,
    "sinc": torch.sinc,
    "xlogy": lambda x: torch.xlogy(x, x * 0 + 2.5),
}.items():
    add(f"aten.{_name}.default", _call, linear(-3, 3))
# Differences that may be near 0.
add("aten.logit.default", torch.logit, linear(0.05, 0.95), rule=lambda x: torch.ones_like(x))
add("aten.tanhshrink.default", F.tanhshrink, linear(-3, 3), rule=torch.abs, between=lambda x: [torch.tanh(x)])
_TAIL = lambda x: torch.exp(-x.abs())  # noqa: E731
add(
    "aten.log_sigmoid_forward.default",
    F.logsigmoid,
    linear(-3, 3),
    rule=lambda x: torch.ones_like(x),
    between=lambda x: [_TAIL(x), torch.log1p(_TAIL(x))],
)


def _few_pairs(shape):
    return full_and(1)(shape) and math.prod(shape) * shape[-1] < 1 << 20


_ORDERED = {"dtypes": NUMBERS, "rule": "exact", "forms": _APART}
add(
    "aten.sort.stable",
    lambda x: torch.sort(x, stable=True),
    _distinct,
    accepts=_few_pairs,
    **_ORDERED,
)
add(
    "aten.sort.default",
    lambda x: torch.sort(x, 0, True),
    _distinct,
    accepts=lambda s: len(s) == 1 and full(s),
    **_ORDERED,
)
add(
    "aten.topk.default",
    lambda x: torch.topk(x, 65, 0),
    lambda d, s: [_distinct(d, s[::-1])[0].movedim(-1, 0).contiguous()],
    accepts=lambda s: s == (67, 71),
    label="long",
    **_ORDERED,
)
for _name in ("cummax", "cummin"):
    add(
        f"aten.{_name}.default",
        lambda x, c=getattr(torch, _name): c(x, -1),
        numbers(),
        dtypes=NUMBERS,
        rule="exact",
        accepts=full_and(1, 1 << 14),
    )


def _sums(x, i, y):
    return x.abs().scatter_add(0, i, y.abs()).double()


for _name in ("sum", "amax", "amin", "mean"):
    add(
        "aten.scatter_reduce.two",
        lambda x, i, y, r=_name: x.scatter_reduce(0, i, y, r),
        lambda d, s: [d.numbers(s), d.integers(s, 0, s[0]), d.numbers(s)],
        dtypes=NUMBERS if _name != "mean" else FLOATS,
        rule=_sums if _name in ("sum", "mean") else "exact",
        accepts=_SMALL,
        label=_name,
    )
product(
    "aten.mm.default",
    torch.mm,
    lambda d, s: [d.integers((s[-2], s[-1]), -9, 10, d.dtype), d.integers((s[-1], 37), -9, 10, d.dtype)],
    accepts=full_and(2, 1 << 14),
    dtypes=WORDS,
    label="integers",
)
