"""The operations of the differential tests: how torch is asked for them, and with which numbers.

Names are those of the operation table (torch_spyre/ops/table.py); test_operation_table.py fails when a row of it has no
entry here. Each entry draws operands for a shape.
"""

import math

import torch
import torch.nn.functional as F
from differential import ALL, BF16, BOOL, F16, F32, FLOATS, I32, NUMBERS, WORDS, Spec

aten, spyre = torch.ops.aten, torch.ops.spyre
HALVES = (F16, BF16)
SPECS = []
_IDS = set()


def add(name, call, operands, **more):
    spec = Spec(name, call, operands, **more)
    if spec.id in _IDS:
        raise ValueError(f"there are two entries {spec.id}: give one a label of its own, or drop it")
    _IDS.add(spec.id)
    SPECS.append(spec)


def numbers(count=1, **how):
    """So many tensors of one shape."""
    return lambda draw, shape: [draw.numbers(shape, **how) for _ in range(count)]


def linear(low, high, count=1):
    return lambda draw, shape: [draw.linear(shape, low, high) for _ in range(count)]


def at_least(rank):
    return lambda shape: len(shape) >= rank


def full(shape):
    return math.prod(shape) > 0


def full_and(rank, most=1 << 30):
    return lambda shape: full(shape) and len(shape) >= rank and math.prod(shape) <= most


# --------------------------------------------------------------------------------------------------
# Element by element: one operand

_POSITIVE = {"signed": False, "low": 2.0**-6, "high": 2.0**6}
ONE = {
    "abs": (torch.abs, numbers(), NUMBERS),
    "ceil": (torch.ceil, numbers(), FLOATS),
    "exp": (torch.exp, linear(-9, 9), FLOATS),
    "floor": (torch.floor, numbers(), FLOATS),
    "log": (torch.log, numbers(**_POSITIVE), FLOATS),
    "logical_not": (torch.logical_not, linear(-3, 3), FLOATS),
    "mish": (F.mish, linear(-8, 8), FLOATS),
    "neg": (torch.neg, numbers(), NUMBERS),
    "reciprocal": (torch.reciprocal, numbers(), FLOATS),
    "relu": (torch.relu, numbers(), NUMBERS),
    "relu6": (aten.relu6.default, numbers(), FLOATS),
    "rsqrt": (torch.rsqrt, numbers(**_POSITIVE), FLOATS),
    "sigmoid": (torch.sigmoid, linear(-9, 9), FLOATS),
    "sign": (torch.sign, numbers(), NUMBERS),
    "silu": (F.silu, linear(-9, 9), FLOATS),
    "sqrt": (torch.sqrt, numbers(**_POSITIVE), FLOATS),
    "square": (torch.square, numbers(), FLOATS),
    "tanh": (torch.tanh, linear(-4, 4), FLOATS),
    "isnan": (torch.isnan, numbers(), FLOATS),
    "round": (torch.round, linear(-9, 9), FLOATS),
    "trunc": (torch.trunc, linear(-9, 9), FLOATS),
    "acos": (torch.acos, linear(-1, 1), FLOATS),
    "acosh": (torch.acosh, linear(1, 9), FLOATS),
    "asin": (torch.asin, linear(-1, 1), FLOATS),
    "asinh": (torch.asinh, numbers(), FLOATS),
    "atan": (torch.atan, numbers(), FLOATS),
    "atanh": (torch.atanh, linear(-0.99, 0.99), FLOATS),
    "cos": (torch.cos, linear(-30, 30), FLOATS),
    "cosh": (torch.cosh, linear(-9, 9), FLOATS),
    "erf": (torch.erf, linear(-4, 4), FLOATS),
    "erfc": (torch.erfc, linear(-3, 3), FLOATS),
    "exp2": (torch.exp2, linear(-12, 12), FLOATS),
    "expm1": (torch.expm1, linear(-9, 9), FLOATS),
    "log10": (torch.log10, numbers(**_POSITIVE), FLOATS),
    "log1p": (torch.log1p, linear(-0.9, 20), FLOATS),
    "log2": (torch.log2, numbers(**_POSITIVE), FLOATS),
    "sin": (torch.sin, linear(-30, 30), FLOATS),
    "sinh": (torch.sinh, linear(-9, 9), FLOATS),
    "tan": (torch.tan, linear(-30, 30), FLOATS),
    "bitwise_not": (torch.bitwise_not, numbers(), (*WORDS, BOOL)),
}
for _name, (_call, _operands, _dtypes) in ONE.items():
    add(f"aten.{_name}.default", _call, _operands, dtypes=_dtypes)

# Truth values and integers beside the types above.
add("aten.logical_not.default", torch.logical_not, numbers(), dtypes=(BOOL, *WORDS), label="words")
for _name in ("exp", "sqrt", "sigmoid", "reciprocal", "tanh", "log", "sin", "rsqrt"):
    add(
        f"aten.{_name}.default",
        getattr(torch, _name),
        lambda d, s: [d.integers(s, 1, 9, d.dtype)],
        dtypes=WORDS,
        label="integers",
    )

# With numbers of their own.
add("aten.clamp.default", lambda x: torch.clamp(x, -2, 3), numbers(), dtypes=NUMBERS)
add("aten.clamp_max.default", lambda x: torch.clamp_max(x, 3), numbers(), dtypes=NUMBERS)
add("aten.clamp_min.default", lambda x: torch.clamp_min(x, -2), numbers(), dtypes=NUMBERS)
add("aten.clamp.Tensor", lambda x, a, b: torch.clamp(x, a, b), numbers(3), dtypes=NUMBERS)
add("aten.hardtanh.default", F.hardtanh, numbers())
add("aten.leaky_relu.default", lambda x: F.leaky_relu(x, 0.125), numbers())
add("aten.elu.default", F.elu, linear(-4, 4))
add("aten.gelu.default", F.gelu, linear(-3, 6))
add("aten.gelu.default", lambda x: F.gelu(x, approximate="tanh"), linear(-2, 6), label="tanh")
add("aten.softplus.default", lambda x: F.softplus(x, 1.5, 10), linear(-9, 9))
for _name in ("cummax", "cummin"):
    add(
        f"spyre.{_name}.default",
        lambda x, c=getattr(spyre, _name): c(x, -1),
        numbers(),
        dtypes=NUMBERS,
        rule="exact",
        accepts=full_and(1, 1 << 14),
    )
add("spyre.clamp.default", lambda x: spyre.clamp(x, -2.0, 3.0), numbers())
add("spyre.gelu.default", lambda x: spyre.gelu(x), linear(-3, 6))
add("spyre.silu.default", lambda x: spyre.silu(x), linear(-9, 9))
add("spyre.softplus.default", lambda x: spyre.softplus(x), linear(-9, 9))
add("spyre.logical_not.default", lambda x: spyre.logical_not(x), linear(-3, 3))
for _power in (2, 3, -1, 0.5, 1.5):
    add(
        "aten.pow.Tensor_Scalar",
        lambda x, p=_power: torch.pow(x, p),
        numbers(low=0.25, high=4.0, signed=False),
        label=str(_power),
    )
add("aten.pow.Scalar", lambda x: torch.pow(2.5, x), linear(-4, 4))

# --------------------------------------------------------------------------------------------------
# Element by element: more operands


def broadcast(draw, shape):
    """The second has size 1 where the first has an odd dimension."""
    other = [1 if d % 2 else size for d, size in enumerate(shape)]
    return [draw.numbers(shape), draw.numbers(other)]


TWO = {
    "aten.add.Tensor": (torch.add, NUMBERS),
    "aten.sub.Tensor": (torch.sub, NUMBERS),
    "aten.mul.Tensor": (torch.mul, NUMBERS),
    "aten.div.Tensor": (torch.div, FLOATS),
    "aten.maximum.default": (torch.maximum, NUMBERS),
    "aten.minimum.default": (torch.minimum, NUMBERS),
    "aten.rsub.Tensor": (torch.rsub, NUMBERS),
    "aten.copysign.Tensor": (torch.copysign, FLOATS),
    "aten.fmax.default": (torch.fmax, FLOATS),
    "aten.fmin.default": (torch.fmin, FLOATS),
    "aten.hypot.default": (torch.hypot, FLOATS),
    "aten.atan2.default": (torch.atan2, FLOATS),
    "aten.logical_and.default": (torch.logical_and, ALL),
    "aten.logical_or.default": (torch.logical_or, ALL),
    "aten.logical_xor.default": (torch.logical_xor, ALL),
    "aten.bitwise_and.Tensor": (torch.bitwise_and, (*WORDS, BOOL)),
    "aten.bitwise_or.Tensor": (torch.bitwise_or, (*WORDS, BOOL)),
    "aten.bitwise_xor.Tensor": (torch.bitwise_xor, (*WORDS, BOOL)),
}
for _name, (_call, _dtypes) in TWO.items():
    add(_name, _call, numbers(2), dtypes=_dtypes)
    if _name in ("aten.add.Tensor", "aten.mul.Tensor", "aten.div.Tensor", "aten.maximum.default"):
        add(_name, _call, broadcast, dtypes=_dtypes, label="broadcast")
add(
    "aten.logaddexp.default",
    torch.logaddexp,
    numbers(2),
    rule=lambda x, y: torch.maximum(x.abs(), y.abs()) + 1,  # a sum, which may be near 0
)
for _name in ("eq", "ne", "gt", "ge", "lt", "le"):
    _call = getattr(torch, _name)
    _few = lambda d, s: [d.integers(s, 0 if d.dtype == BOOL else -2, 3).to(d.dtype) for _ in range(2)]  # noqa: E731
    add(f"aten.{_name}.Tensor", _call, _few, dtypes=ALL)
    add(f"aten.{_name}.Scalar", lambda x, c=_call: c(x, 1), lambda d, s: _few(d, s)[:1], dtypes=ALL)


def _dividends(draw, shape):
    """Divisors that are not 0."""
    if draw.dtype in WORDS:
        divisor = draw.integers(shape, 1, 9, draw.dtype)
        sign = draw.integers(shape, 0, 2, draw.dtype) * 2 - 1
        return [draw.integers(shape, -99, 100, draw.dtype), divisor * sign]
    return [draw.numbers(shape), draw.numbers(shape, low=0.5, high=4.0)]


for _name in ("fmod", "remainder"):
    _call = getattr(torch, _name)
    add(f"aten.{_name}.Tensor", _call, _dividends, dtypes=NUMBERS)
    add(f"aten.{_name}.Scalar", lambda x, c=_call: c(x, 3), numbers(), dtypes=NUMBERS)
for _mode in ("floor", "trunc"):
    add(
        "aten.div.Tensor_mode",
        lambda x, y, m=_mode: torch.div(x, y, rounding_mode=m),
        _dividends,
        dtypes=NUMBERS,
        label=_mode,
    )
    add(
        "aten.div.Scalar_mode",
        lambda x, m=_mode: torch.div(x, 3, rounding_mode=m),
        numbers(),
        dtypes=NUMBERS,
        label=_mode,
    )
add("aten.floor_divide.default", torch.floor_divide, _dividends, dtypes=NUMBERS)
add("spyre.floordiv.default", lambda x, y: spyre.floordiv(x, y), _dividends, dtypes=WORDS)
add("spyre.truncdiv.default", lambda x, y: spyre.truncdiv(x, y), _dividends, dtypes=WORDS)
add("spyre.floormod.default", lambda x, y: spyre.floormod(x, y), _dividends, dtypes=WORDS)
add("spyre.truncmod.default", lambda x, y: spyre.truncmod(x, y), _dividends, dtypes=WORDS)
add("aten.div.Tensor", torch.div, _dividends, dtypes=WORDS, label="integers")
for _name in ("bitwise_left_shift", "bitwise_right_shift"):
    add(
        f"aten.{_name}.Tensor",
        getattr(torch, _name),
        lambda d, s: [d.integers(s, -99, 100, d.dtype), d.integers(s, 0, 12, d.dtype)],
        dtypes=WORDS,
    )
for _name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    _packet = getattr(aten, _name)
    add(f"aten.{_name}.Scalar", lambda x, c=_packet.Scalar: c(x, 5), numbers(), dtypes=WORDS)
    add(f"aten.{_name}.Scalar_Tensor", lambda x, c=_packet.Scalar_Tensor: c(5, x), numbers(), dtypes=WORDS)
_few_bits = lambda d, s: [d.integers(s, 0, 9, d.dtype)]  # noqa: E731
for _name in ("bitwise_left_shift", "bitwise_right_shift"):
    _packet = getattr(aten, _name)
    add(f"aten.{_name}.Tensor_Scalar", lambda x, c=_packet.Tensor_Scalar: c(x, 3), numbers(), dtypes=WORDS)
    add(f"aten.{_name}.Scalar_Tensor", lambda x, c=_packet.Scalar_Tensor: c(77, x), _few_bits, dtypes=WORDS)
for _name in ("__lshift__", "__rshift__"):
    _packet = getattr(aten, _name)
    add(f"aten.{_name}.Scalar", lambda x, c=_packet.Scalar: c(x, 3), _few_bits, dtypes=WORDS)
    add(
        f"aten.{_name}.Tensor",
        lambda x, y, c=_packet.Tensor: c(x, y),
        lambda d, s: [*_few_bits(d, s), *_few_bits(d, s)],
        dtypes=WORDS,
    )
add("aten.copysign.Scalar", lambda x: torch.copysign(x, -2.0), numbers())
add("aten.div.Scalar_mode", lambda x: aten.div.Scalar_mode(x, 3, rounding_mode="floor"), numbers(), dtypes=WORDS)
add("aten.floor_divide.Scalar", lambda x: aten.floor_divide.Scalar(x, 3), numbers(), dtypes=WORDS)
add(
    "aten.remainder.Scalar_Tensor",
    lambda x: aten.remainder.Scalar_Tensor(77, x),
    lambda d, s: [d.integers(s, 1, 9, d.dtype)],
    dtypes=WORDS,
)
add("aten.add.Scalar", lambda x: aten.add.Scalar(x, 3, 2), numbers(), dtypes=NUMBERS)
add("aten.sub.Scalar", lambda x: aten.sub.Scalar(x, 3, 2), numbers(), dtypes=NUMBERS)
add("aten.mul.Scalar", lambda x: aten.mul.Scalar(x, 3), numbers(), dtypes=NUMBERS)
add("aten.div.Scalar", lambda x: aten.div.Scalar(x, 3), numbers(), dtypes=NUMBERS)
add("aten.rsub.Scalar", lambda x: torch.rsub(x, 3), numbers(), dtypes=NUMBERS)
add("aten.pow.Tensor_Tensor", torch.pow, lambda d, s: [d.linear(s, 0.25, 4), d.linear(s, -3, 3)])
add(
    "aten.where.self",
    lambda c, x, y: torch.where(c, x, y),
    lambda d, s: [d.numbers(s, dtype=BOOL), d.numbers(s), d.numbers(s)],
    dtypes=ALL,
    rule="exact",
)
add(
    "aten.masked_fill.Scalar",
    lambda x, m: torch.masked_fill(x, m, 2),
    lambda d, s: [d.numbers(s), d.numbers(s, dtype=BOOL)],
    dtypes=ALL,
    rule="exact",
)
add(
    "aten.isin.Tensor_Tensor",
    torch.isin,
    lambda d, s: [d.integers(s, -4, 5).to(d.dtype), d.integers((5,), -4, 5).to(d.dtype)],
    dtypes=NUMBERS,
    accepts=full_and(0, 1 << 16),
)
add(
    "aten.isin.Tensor_Scalar",
    lambda x: torch.isin(x, 2),
    lambda d, s: [d.integers(s, -4, 5).to(d.dtype)],
    dtypes=NUMBERS,
)

# --------------------------------------------------------------------------------------------------
# Types


for _to in ALL:
    add(
        "prims.convert_element_type.default",
        lambda x, t=_to: torch.ops.prims.convert_element_type(x, t),
        # Whole numbers that every format holds.
        lambda d, s: [d.integers(s, 0 if d.dtype == BOOL else -99, 2 if d.dtype == BOOL else 100, d.dtype)],
        dtypes=tuple(t for t in ALL if t != _to),
        rule="exact",
        copies=True,
        label=str(_to).replace("torch.", ""),
    )
add("aten._to_copy.default", lambda x: x.to(F32), numbers(), dtypes=HALVES, rule="exact", copies=True)

# --------------------------------------------------------------------------------------------------
# Reductions


def reduced(name, call, rule, dtypes=FLOATS, operands=None, accepts=at_least(1)):
    """Over the last dimension, the first, and a pair; sizes of 0 are left to those that have a value there."""
    operands = operands or numbers()
    add(name, lambda x: call(x, -1), operands, dtypes=dtypes, rule=rule and rule(-1), accepts=accepts)
    add(
        name,
        lambda x: call(x, 0, True),
        operands,
        dtypes=dtypes,
        rule=rule and rule(0, True),
        accepts=accepts,
        label="first",
    )


def _terms(factor=lambda x: 1.0):
    """Sum of the terms' magnitudes."""

    def rule(dim, keep=False):
        return lambda x: torch.sum(x.abs().double(), dim, keepdim=keep) * 1.0

    return rule


def _average(dim, keep=False):
    return lambda x: torch.mean(x.abs().double(), dim, keepdim=keep)


def _exact(dim, keep=False):
    return "exact"


def _ends(call):
    return lambda x, dim, keep=False: call(x, dim, keepdim=keep)


reduced("aten.sum.dim_IntList", _ends(torch.sum), _terms(), NUMBERS)
reduced("aten.mean.dim", _ends(torch.mean), _average, accepts=full_and(1))
reduced("aten.amax.default", _ends(torch.amax), _exact, NUMBERS, accepts=full_and(1))
reduced("aten.amin.default", _ends(torch.amin), _exact, NUMBERS, accepts=full_and(1))
reduced("aten.max.dim", _ends(torch.max), _exact, NUMBERS, accepts=full_and(1))
reduced("aten.min.dim", _ends(torch.min), _exact, NUMBERS, accepts=full_and(1))
reduced("aten.argmax.default", _ends(torch.argmax), _exact, NUMBERS, accepts=full_and(1))
reduced("aten.argmin.default", _ends(torch.argmin), _exact, NUMBERS, accepts=full_and(1))
reduced("aten.any.dim", _ends(torch.any), _exact, ALL)
reduced("aten.all.dim", _ends(torch.all), _exact, ALL)
add("aten.sum.default", torch.sum, numbers(), dtypes=NUMBERS, rule=lambda x: x.abs().double().sum())
add("aten.mean.default", torch.mean, numbers(), rule=lambda x: x.abs().mean(), accepts=full)
add("aten.max.default", torch.max, numbers(), dtypes=NUMBERS, rule="exact", accepts=full)
add("aten.min.default", torch.min, numbers(), dtypes=NUMBERS, rule="exact", accepts=full)
add("aten.any.default", torch.any, numbers(), dtypes=ALL, rule="exact")
add("aten.all.default", torch.all, numbers(), dtypes=ALL, rule="exact")
add(
    "aten.any.dims",
    lambda x: aten.any.dims(x, [0, -1]),
    numbers(),
    dtypes=ALL,
    rule="exact",
    accepts=at_least(2),
)
add(
    "aten.all.dims",
    lambda x: aten.all.dims(x, [0, -1]),
    numbers(),
    dtypes=ALL,
    rule="exact",
    accepts=at_least(2),
)
add(
    "aten.sum.dim_IntList",
    lambda x: torch.sum(x, [0, -1], keepdim=True),
    numbers(),
    dtypes=NUMBERS,
    rule=lambda x: x.abs().double().sum([0, -1], keepdim=True),
    accepts=at_least(2),
    label="pair",
)
add(
    "aten.amax.default",
    lambda x: torch.amax(x, [0, -1]),
    numbers(),
    dtypes=NUMBERS,
    rule="exact",
    accepts=full_and(2),
    label="pair",
)


def _deviations(dim):
    """Squares of the rest, of which the mean is a part."""
    return lambda x: ((x - x.mean(dim, keepdim=True)) ** 2).mean(dim) + x.abs().mean(dim) ** 2


def _more(rank, count):
    return lambda shape: full_and(rank)(shape) and shape[-1] >= count


add(
    "aten.var.correction",
    lambda x: torch.var(x, -1),
    linear(-3, 3),
    rule=_deviations(-1),
    accepts=_more(1, 2),
)
add(
    "aten.linalg_vector_norm.default",
    lambda x: torch.linalg.vector_norm(x, 2, -1),
    numbers(),
    rule=lambda x: torch.linalg.vector_norm(x, 2, -1),
    accepts=full_and(1),
)
add(
    "aten.linalg_vector_norm.default",
    lambda x: torch.linalg.vector_norm(x, 1, -1),
    numbers(),
    rule=lambda x: x.abs().sum(-1),
    accepts=full_and(1),
    label="1",
)
# Products of numbers around 1, few at a time.
add("aten.prod.default", torch.prod, linear(0.9, 1.1), accepts=full_and(0, 256), rule=lambda x: 4 * x.prod())
add(
    "aten.prod.dim_int",
    lambda x: torch.prod(x, 0),
    linear(0.9, 1.1),
    accepts=full_and(1, 1 << 16),
    rule=lambda x: 4 * x.prod(0),
)
add(
    "aten.cumsum.default",
    lambda x: torch.cumsum(x, -1),
    numbers(),
    dtypes=(*NUMBERS, BOOL),
    rule=lambda x: x.abs().double().cumsum(-1),
    accepts=full_and(1, 1 << 16),
)
add(
    "aten.cumprod.default",
    lambda x: torch.cumprod(x, 0),
    linear(0.9, 1.1),
    rule=lambda x: 4 * x.abs().cumprod(0),
    accepts=full_and(1, 1 << 16),
)


def _distinct(draw, shape):
    """Along the last dimension all are different, so that places are."""
    count = shape[-1]
    rows = torch.argsort(torch.rand(shape, generator=draw.generator), -1)
    return [(rows - count // 2).to(draw.dtype)]


# Of equal elements any may be named.
_APART = ("contiguous", "transposed", "sliced")
for _k in (1, 3):
    add(
        "aten.topk.default",
        lambda x, k=_k: torch.topk(x, k, -1),
        _distinct,
        dtypes=NUMBERS,
        rule="exact",
        accepts=_more(1, 3),
        forms=_APART,
        label=str(_k),
    )
add(
    "spyre.topkvalue.default",
    lambda x: spyre.topkvalue(x, 3),
    _distinct,
    rule="exact",
    accepts=_more(1, 3),
    forms=_APART,
)
add(
    "spyre.topkindex.default",
    lambda x: spyre.topkindex(x, 3),
    _distinct,
    rule="exact",
    accepts=_more(1, 3),
    forms=_APART,
)

# --------------------------------------------------------------------------------------------------
# Matrix products


def _magnitudes(call):
    return lambda *operands: call(*(t.abs() for t in operands))


def product(name, call, operands, **more):
    more.setdefault("dtypes", FLOATS)
    add(name, call, operands, rule=_magnitudes(call), **more)


def _matrices(draw, shape):
    """[m, k] and [k, n], where k is the last dimension; their products nearly cancel."""
    k, m = shape[-1], shape[-2]
    return [draw.opposed((m, k), 1), draw.doubled((k, 37), 0)]


def _batches(draw, shape):
    return [draw.opposed((3, *shape[-2:]), 2), draw.doubled((3, shape[-1], 37), 1)]


def _matrix_and_vector(draw, shape):
    return [draw.opposed(shape[-2:], 1), draw.doubled(shape[-1:], 0)]


def _vectors(draw, shape):
    return [draw.opposed(shape, 0), draw.doubled(shape, 0)]


product("aten.mm.default", torch.mm, _matrices, accepts=full_and(2, 1 << 14))
product("aten.mv.default", torch.mv, _matrix_and_vector, accepts=full_and(2, 1 << 14), dtypes=(*FLOATS, I32))
product("aten.dot.default", torch.dot, _vectors, accepts=lambda s: len(s) == 1, dtypes=(*FLOATS, I32))
product(
    "aten.addmm.default",
    torch.addmm,
    lambda d, s: [d.numbers((37,)), *_matrices(d, s)],
    between=lambda b, x, y: [x @ y],
    accepts=full_and(2, 1 << 14),
)
product(
    "aten.bmm.default",
    torch.bmm,
    _batches,
    accepts=full_and(2, 1 << 14),
)
product(
    "aten.baddbmm.default",
    torch.baddbmm,
    lambda d, s: [d.numbers((3, 1, 37)), *_batches(d, s)],
    between=lambda b, x, y: [x @ y],
    accepts=full_and(2, 1 << 14),
)
product(
    "aten.matmul.default",
    torch.matmul,
    lambda d, s: [d.opposed(s, -1), d.doubled((s[-1], 37), 0)],
    accepts=full_and(1, 1 << 14),
)
product(
    "aten.matmul.default",
    torch.matmul,
    lambda d, s: [d.opposed((2, 67, 71), 2), d.doubled((71, 256), 0)],
    accepts=lambda s: s == (67, 71, 256),
    dtypes=HALVES,
    label="large",
)


def _whole_if_integers(draw, shape):
    return draw.integers(shape, -9, 10, draw.dtype) if draw.dtype in WORDS else draw.numbers(shape)


for _n in (1, 63, 64, 65, 256):
    product(
        "aten.mm.default",
        torch.mm,
        lambda d, s, n=_n: [_whole_if_integers(d, s), _whole_if_integers(d, (s[-1], n))],
        accepts=lambda s: s == (67, 71),
        dtypes=NUMBERS,
        label=f"67x71x{_n}",
    )
product(
    "spyre.batched_matmul.default",
    lambda x, y: spyre.batched_matmul(x, y),
    _batches,
    accepts=full_and(2, 1 << 14),
)
product(
    "aten.linear.default",
    F.linear,
    lambda d, s: [d.opposed(s, -1), d.doubled((37, s[-1]), 1), d.numbers((37,))],
    between=lambda x, w, b: [F.linear(x, w)],
    accepts=full_and(1, 1 << 14),
)
product(
    "aten.addmv.default",
    torch.addmv,
    lambda d, s: [d.numbers(s[-2:-1]), *_matrix_and_vector(d, s)],
    between=lambda b, x, y: [x @ y],
    accepts=full_and(2, 1 << 20),
)
product(
    "aten.convolution.default",
    lambda x, w, b: F.conv2d(x, w, b, stride=2, padding=1),
    lambda d, s: [d.opposed((2, 6, 11, 9), 1), d.doubled((7, 6, 3, 3), 1), d.numbers((7,))],
    between=lambda x, w, b: [F.conv2d(x, w, stride=2, padding=1)],
    accepts=lambda s: s == (2, 3, 4, 5),
)

# --------------------------------------------------------------------------------------------------
# Elements are moved


def moved(name, call, operands=None, accepts=lambda shape: True, label="", dtypes=ALL):
    operands = operands or numbers()
    add(name, call, operands, dtypes=dtypes, rule="exact", accepts=accepts, label=label, copies=True)


def seen(name, call, accepts=at_least(1), dtypes=ALL):
    """Views are read by an operation, or there would be nothing to do."""
    moved(name, lambda x: call(x).clone(), accepts=accepts, label="view", dtypes=dtypes)


moved("aten.clone.default", lambda x: x.clone(memory_format=torch.contiguous_format), label="view")
moved("aten.flip.default", lambda x: torch.flip(x, [0, -1]) if x.dim() > 1 else x.flip(0), accepts=at_least(1))
moved("aten.cat.default", lambda x, y: torch.cat([x, y], -1), numbers(2), at_least(1))
moved("aten.cat.default", lambda x, y: torch.cat([x, y], 0), numbers(2), at_least(1), "first")
moved("aten.stack.default", lambda x, y: torch.stack([x, y], -1), numbers(2), lambda s: len(s) < 6)
moved(
    "aten.constant_pad_nd.default",
    lambda x: F.pad(x, (1, 2), value=1),
    numbers(),
    lambda s: len(s) >= 1 and full(s),
)
moved("aten.repeat.default", lambda x: x.repeat(*([2] * max(x.dim(), 1))), accepts=lambda s: math.prod(s) < 1 << 16)
moved("aten.tril.default", lambda x: torch.tril(x, 1), accepts=at_least(2))
moved("aten.triu.default", lambda x: torch.triu(x, -1), accepts=at_least(2))
moved("aten.roll.default", lambda x: torch.roll(x, 3, 0), accepts=at_least(1))
moved(
    "aten.slice_scatter.default",
    lambda x, y: torch.slice_scatter(x, y, 0, 1, 1 + y.shape[0]),
    lambda d, s: [d.numbers(s), d.numbers((s[0] // 2, *s[1:]))],
    lambda s: full(s) and len(s) >= 1 and s[0] > 1,
)
moved(
    "aten.select_scatter.default",
    lambda x, y: torch.select_scatter(x, y, 0, 0),
    lambda d, s: [d.numbers(s), d.numbers(s[1:])],
    full_and(1),
)
seen("aten.transpose.int", lambda x: x.transpose(0, -1))
seen("aten.permute.default", lambda x: x.permute(*reversed(range(x.dim()))))
seen("aten.unsqueeze.default", lambda x: x.unsqueeze(0), lambda s: len(s) < 6)
seen("aten.squeeze.default", lambda x: x.squeeze())
seen("aten.slice.Tensor", lambda x: x[..., 1::2], full_and(1))
seen("aten.select.int", lambda x: x[0], full_and(1))
seen("aten.view.default", lambda x: x.reshape(-1))
seen("aten.diagonal.default", lambda x: x.diagonal(0, 0, 1), full_and(2))
seen("aten.unfold.default", lambda x: x.unfold(-1, 2, 1), lambda s: full(s) and 1 <= len(s) < 6 and s[-1] >= 2)
seen("aten.expand.default", lambda x: x.unsqueeze(0).expand(3, *x.shape), lambda s: len(s) < 6)
seen("aten.split.Tensor", lambda x: x.split(2, 0)[0], full_and(1))
seen("aten.unbind.int", lambda x: x.unbind(0)[-1], full_and(1))
seen("aten.narrow.default", lambda x: x.narrow(0, 0, 1), full_and(1))

# --------------------------------------------------------------------------------------------------
# Places that are data


def _rows(count=7):
    return lambda d, s: [d.numbers(s), d.integers((count,), 0, s[0])]


moved("aten.index_select.default", lambda x, i: torch.index_select(x, 0, i), _rows(), full_and(1, 1 << 16))
moved("aten.index.Tensor", lambda x, i: x[i], _rows(), full_and(1, 1 << 16))
moved(
    "aten.embedding.default",
    lambda x, i: F.embedding(i, x),
    lambda d, s: [d.numbers(s[-2:]), d.integers((3, 7), 0, s[-2])],
    full_and(2),
    dtypes=FLOATS,
)
moved(
    "aten.gather.default",
    lambda x, i: torch.gather(x, 0, i),
    lambda d, s: [d.numbers(s), d.integers(s, 0, s[0])],
    full_and(1, 1 << 14),
)


def _places(draw, shape):
    """Rows that are written: each number once."""
    order = torch.randperm(shape[0], generator=draw.generator)[: max(shape[0] // 2, 1)]
    return [draw.numbers(shape), order, draw.numbers((len(order), *shape[1:]))]


def _elements(draw, shape):
    index = torch.argsort(torch.rand(shape, generator=draw.generator), 0)
    return [draw.numbers(shape), index, draw.numbers(shape)]


_SMALL = full_and(1, 1 << 12)
moved("aten.index_put.default", lambda x, i, y: x.index_put([i], y), _places, _SMALL)
moved("aten.index_copy.default", lambda x, i, y: x.index_copy(0, i, y), _places, _SMALL)
moved("aten.scatter.src", lambda x, i, y: x.scatter(0, i, y), _elements, _SMALL)
moved("aten.scatter.value", lambda x, i, y: x.scatter(0, i, 1), _elements, _SMALL)
add(
    "aten.index_add.default",
    lambda x, i, y: x.index_add(0, i, y),
    _places,
    dtypes=NUMBERS,
    rule=lambda x, i, y: x.abs().index_add(0, i, y.abs()).double(),
    accepts=_SMALL,
)
add(
    "aten.scatter_add.default",
    lambda x, i, y: x.scatter_add(0, i, y),
    lambda d, s: [d.numbers(s), d.integers(s, 0, s[0]), d.numbers(s)],
    dtypes=NUMBERS,
    rule=lambda x, i, y: x.abs().scatter_add(0, i, y.abs()).double(),
    accepts=_SMALL,
)
add(
    "aten.masked_scatter.default",
    lambda x, m, y: torch.masked_scatter(x, m, y),
    lambda d, s: [d.numbers(s), d.numbers(s, dtype=BOOL), d.numbers(s)],
    dtypes=NUMBERS,
    rule="exact",
    accepts=_SMALL,
)

# --------------------------------------------------------------------------------------------------
# Tensors of one number


def filled(name, call, dtypes=ALL):
    moved(name, call, dtypes=dtypes, label="view")


filled("aten.full_like.default", lambda x: torch.full_like(x, 1))
filled("aten.zeros_like.default", torch.zeros_like)
filled("aten.ones_like.default", torch.ones_like)
filled("aten.new_full.default", lambda x: x.new_full((3, 65), 1))
filled("aten.new_zeros.default", lambda x: x.new_zeros((3, 65)))
filled("aten.new_ones.default", lambda x: x.new_ones((3, 65)))
