"""The operations that torch composes of others, or that are made of comparisons: more entries of the differential tests.
SPECS has these and those of differential_ops.py."""

import math

import torch
import torch.nn.functional as F
from differential import ALL, BOOL, FLOATS, NUMBERS, WORDS
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
    moved,
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
    # Of a call of torch.addcdiv Dynamo captures the three operations it is made of.
    lambda x, y, z: torch.ops.aten.addcdiv.default(x, y, z, value=0.5),
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
    "xlogy": lambda x: torch.xlogy(x, x * 0 + 2.5),
}.items():
    add(f"aten.{_name}.default", _call, linear(-3, 3))
# Of whole numbers the reference is what float64 has for the sine of so many pi.
add("aten.sinc.default", torch.sinc, linear(-3, 3), rule=lambda x: torch.full_like(x, 2.0**-30))
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


# Factors of the largest magnitude 2, so that products of few stay exact.
add(
    "aten.scatter_reduce.two",
    lambda x, i, y: x.scatter_reduce(0, i, y, "prod"),
    lambda d, s: [d.integers(s, -2, 3, d.dtype), d.integers(s, 0, s[0]), d.integers(s, 1, 3, d.dtype)],
    dtypes=NUMBERS,
    rule="exact",
    accepts=full_and(1, 16),
    label="prod",
)
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


# --------------------------------------------------------------------------------------------------
# Powers of integers, parts with gaps, diagonals

add(
    "aten.pow.Tensor_Tensor",
    torch.pow,
    lambda d, s: [d.integers(s, -7, 8, d.dtype), d.integers(s, -3, 10, d.dtype)],
    dtypes=WORDS,
    rule="exact",
    label="integers",
)
for _base in (2, -3):
    add(
        "aten.pow.Scalar",
        lambda x, b=_base: torch.pow(b, x),
        lambda d, s: [d.integers(s, -2, 19, d.dtype)],
        dtypes=WORDS,
        rule="exact",
        label=str(_base),
    )


def _every(step):
    return lambda x, y: torch.slice_scatter(x, y, 0, 1, x.shape[0], step)


for _step in (2, 3):
    moved(
        "aten.slice_scatter.default",
        _every(_step),
        lambda d, s, n=_step: [d.numbers(s), d.numbers((len(range(1, s[0], n)), *s[1:]))],
        lambda s: full(s) and len(s) >= 1 and s[0] > 1,
        label=f"every {_step}",
    )
for _offset in (0, 1, -1):
    moved(
        "aten.diagonal_scatter.default",
        lambda x, y, o=_offset: torch.diagonal_scatter(x, y, o, -2, -1),
        lambda d, s, o=_offset: [d.numbers(s), d.numbers(torch.empty(s, device="meta").diagonal(o, -2, -1).shape)],
        lambda s: full(s) and len(s) >= 2 and min(s[-2:]) > 1,
        label=str(_offset),
    )
add(
    "aten.masked_scatter_backward.default",
    lambda g, m: torch.ops.aten.masked_scatter_backward(g, m, g.shape),
    lambda d, s: [d.numbers(s), d.numbers(s, dtype=BOOL)],
    rule="exact",
    accepts=_SMALL,
)
for _overload, _value in (("int_Scalar", lambda x: 2), ("int_Tensor", lambda x: x.new_ones(()))):
    moved(
        f"aten.index_fill.{_overload}",
        lambda x, i, v=_value: x.index_fill(0, i, v(x)),
        lambda d, s: [d.numbers(s), d.integers((3,), -s[0], s[0])],
        full_and(1, 1 << 14),
    )
add(
    "aten.hardshrink_backward.default",
    lambda g, x: torch.ops.aten.hardshrink_backward(g, x, 0.5),
    numbers(2),
    rule="exact",
)
add(
    "aten.softshrink_backward.default",
    lambda g, x: torch.ops.aten.softshrink_backward(g, x, 0.5),
    numbers(2),
    rule="exact",
)

# --------------------------------------------------------------------------------------------------
# Functions of fractions, asked of integers and truth values

for _name in ("ceil", "floor", "round", "trunc", "isnan"):
    add(f"aten.{_name}.default", getattr(torch, _name), numbers(), dtypes=WORDS, rule="exact", label="integers")
for _name in ("sign", "sgn", "signbit", "isnan"):
    add(f"aten.{_name}.default", getattr(torch, _name), numbers(), dtypes=(BOOL,), rule="exact", label="truths")
for _name in ("amax", "amin", "max", "min"):
    _call = getattr(torch, _name)
    add(f"aten.{_name}.default", _call, numbers(), dtypes=(BOOL,), rule="exact", accepts=full, label="truths")
for _name in ("fmax", "fmin"):
    _call = getattr(torch, _name)
    add(f"aten.{_name}.default", _call, numbers(2), dtypes=(*WORDS, BOOL), rule="exact", label="integers")
add(
    "aten.nansum.default",
    lambda x: torch.nansum(x, -1),
    numbers(),
    dtypes=WORDS,
    rule="exact",
    accepts=at_least(1),
    label="integers",
)
add(
    "aten.pow.Tensor_Scalar",
    lambda x: torch.pow(x, 1.5),
    lambda d, s: [d.integers(s, 0, 2 if d.dtype == BOOL else 9, d.dtype)],
    dtypes=(*WORDS, BOOL),
    label="of integers",
)
add(
    "aten.logit.default",
    lambda x: torch.logit(x, 0.25),
    lambda d, s: [d.integers(s, 0, 2, d.dtype)],
    dtypes=WORDS,
    rule=lambda x: torch.ones_like(x, dtype=torch.float64),
    label="integers",
)
