"""NaN, infinities and zeros with a sign; types that meet, numbers, tensors without dimensions, in place and out=: as on the
CPU, or as docs/numerics.md says.
"""

import itertools
import math
import warnings

import pytest
import torch
import torch.nn.functional as F
from tolerances import tolerance

INF, NAN = math.inf, math.nan
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, INF, -INF, NAN, 3.0, -3.0]
F16, BF16, F32 = torch.float16, torch.bfloat16, torch.float32
I32, I64, BOOL = torch.int32, torch.int64, torch.bool
TYPES = (F16, BF16, F32, I32, I64, BOOL)

ONE = {
    name: getattr(torch, name)
    for name in (
        "abs acos acosh asin asinh atan atanh ceil cos cosh erf erfc exp exp2 expm1 floor isfinite isinf isnan log log10 "
        "log1p log2 neg reciprocal relu round rsqrt sigmoid sign signbit sin sinh sqrt square tan tanh trunc"
    ).split()
}
ONE |= {
    name: getattr(F, name)
    for name in "elu gelu hardtanh hardswish leaky_relu logsigmoid mish relu6 selu silu softplus".split()
}
ONE |= {name: getattr(torch.special, name) for name in "digamma erfcx erfinv gammaln i0 i0e i1 i1e log_ndtr ndtri".split()}
ONE |= {f"power {p}": lambda x, p=p: torch.pow(x, p) for p in (2, 3, -1, 0.5, -0.5, 0, 1.5, 7)}
TWO = (
    "add sub mul div maximum minimum fmod remainder atan2 hypot logaddexp pow copysign eq ne lt le gt ge"
).split()

# What docs/numerics.md lists: the limit where the CPU has no number, next to a root the absolute error, and zeros without
# their sign.
LIMITS_AT = {"gammaln": [-2.5], "i0": [INF, -INF], "i1": [INF, -INF], "silu": [-INF], "gelu": [INF, -INF], "mish": [-INF]}
UNSIGNED = {"relu", "relu6", "elu", "selu", "round", "pow"}


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def is_same(got, want, kind, keeps_sign):
    """Element by element; a few units of the last place for those that are finite."""
    got, want = got.cpu(), want.cpu()
    if not kind.is_floating_point:
        return got == want
    got, want = got.double(), want.double()
    near = (got - want).abs() <= 2 * tolerance("function", kind) * want.abs()
    same = (got == want) | near | (got.isnan() & want.isnan())
    zeros = (got == 0) & (want == 0)
    return same & (~zeros | (torch.signbit(got) == torch.signbit(want))) if keeps_sign else same


def compare(name, function, inputs, exempt=None):
    torch.spyre.reset_counters()
    got = function(*(x.to("spyre") for x in inputs))
    assert torch.spyre.counters()["fallback_ops"] == 0, torch.spyre.fallback_counts()
    kind = function(*inputs).dtype
    want = function(*(x.double() for x in inputs))
    assert got.dtype == kind and got.shape == want.shape
    want = want.to(kind)
    same = is_same(got, want, want.dtype, name not in UNSIGNED)
    same = same if exempt is None else same | exempt
    places = [[x[i].item() for x in (*inputs, got.cpu(), want)] for i in range(len(same)) if not same[i]]
    assert not places, places


@pytest.mark.parametrize("name", ONE)
def test_special_numbers_in_fp32(name):
    x = torch.tensor(EDGES)
    exempt = torch.zeros(len(EDGES), dtype=torch.bool)
    for edge in LIMITS_AT.get(name, ()):
        exempt |= x == edge
    compare(name, ONE[name], [x], exempt)


@pytest.mark.parametrize("name", TWO)
def test_pairs_of_special_numbers_in_fp32(name):
    pairs = torch.tensor(list(itertools.product(EDGES, EDGES)))
    compare(name, getattr(torch, name), [pairs[:, 0].contiguous(), pairs[:, 1].contiguous()])


@pytest.mark.parametrize("kind", [F16, BF16])
@pytest.mark.parametrize("name", ONE)
def test_no_number_stays_none_in_16_bits(name, kind):
    """Infinities are the largest number there; NaN, and what has no result, is as on the CPU in fp32."""
    x = torch.tensor([0.5, NAN, -0.5, 1.5, NAN])
    want = ONE[name](x)
    got = ONE[name](x.to(kind).to("spyre")).cpu()
    assert torch.equal(got.isnan(), want.isnan()) if want.is_floating_point() else torch.equal(got, want)


@pytest.mark.parametrize("kind", [F16, BF16])
def test_infinities_are_the_largest_number_in_16_bits(kind):
    """docs/numerics.md: they saturate on their way to the device, so their difference is 0, not NaN."""
    x = torch.tensor([INF, -INF], dtype=kind).to("spyre")
    assert (x - x).tolist() == [0, 0] and (x / x).tolist() == [1, 1]
    assert (x > 60000).tolist() == [True, False] and torch.isinf(x).tolist() == [True, True]


def test_reductions_of_special_numbers(on_device):
    x = torch.tensor([[1, NAN, 2, -1], [INF, 1, 2, 3], [-INF, 1, 2, 3], [INF, -INF, 1, 2], [1.0, 2, 3, 4], [INF] * 4, [-INF] * 4])
    for name in ("sum", "mean", "amax", "amin", "prod", "cumsum", "logsumexp", "softmax", "var", "nansum"):
        function = getattr(torch, name)
        with on_device():
            got = function(x.to("spyre"), 1)
        assert bool(is_same(got, function(x, 1), F32, True).all()), name


# --------------------------------------------------------------------------------------------------
# Types that meet

MIXED = (
    "add sub mul div maximum minimum fmod remainder floor_divide eq lt logical_and logical_or logical_xor atan2 "
    "copysign fmax"
).split()
#: The CPU's, by its types: integers in floating point functions, powers of integers.
ON_CPU = {("fmax", I32), ("fmax", I64), ("fmax", BOOL)}


def some(kind, *shape):
    numbers = torch.arange(math.prod(shape)).reshape(shape) % 5 + 1
    return (numbers * 0 + 1).bool() if kind == BOOL else numbers.to(kind)


def outcome(function, *operands):
    try:
        return function(*operands)
    except (RuntimeError, TypeError) as error:
        return str(error).splitlines()[0]


def agree(function, operands, label):
    want = outcome(function, *operands)
    torch.spyre.reset_counters()
    got = outcome(function, *(x.to("spyre") if isinstance(x, torch.Tensor) else x for x in operands))
    if isinstance(want, str):  # refused there: refused here, or computed
        return isinstance(got, str) or "not implemented for" in want or label
    ran_here = torch.spyre.counters()["fallback_ops"] == 0
    same = not isinstance(got, str) and got.dtype == want.dtype and got.shape == want.shape
    return bool(same and ran_here and is_same(got, want, want.dtype, False).all()) or label


def forms(first, second):
    """Both with dimensions, one without, none."""
    for left, right in (((3, 5), (3, 5)), ((3, 5), ()), ((), (3, 5)), ((), ())):
        yield some(first, *left), some(second, *right)


@pytest.mark.parametrize("name", MIXED)
def test_types_that_meet(name):
    function = getattr(torch, name)
    wrong = []
    for first, second in itertools.product(TYPES, TYPES):
        if torch.promote_types(first, second) in {kind for op, kind in ON_CPU if op == name}:
            continue
        for operands in forms(first, second):
            label = (first, second, *(list(x.shape) for x in operands))
            wrong.append(agree(function, operands, label))
    assert [w for w in wrong if w is not True] == []


TENSORS_ONLY = ("maximum", "minimum", "fmax", "logical_and", "logical_or", "logical_xor", "atan2")


@pytest.mark.parametrize("name", [name for name in MIXED if name not in TENSORS_ONLY])
def test_numbers_beside_tensors(name):
    wrong = []
    function = getattr(torch, name)
    for kind, number in itertools.product(TYPES, (2, 2.5, True)):
        wrong.append(agree(lambda x: function(x, number), [some(kind, 3, 5)], (kind, number)))  # noqa: B023
    assert [w for w in wrong if w is not True] == []


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "remainder", "eq", "atan2", "pow"])
def test_in_place_and_out(name):
    """The same results, types and refusals."""

    def in_place(x, y):
        return getattr(x.clone(), f"{name}_")(y)

    def out(x, y):
        result = torch.empty(0, dtype=x.dtype, device=x.device)
        assert getattr(torch, name)(x, y, out=result) is result
        return result

    kinds = [(F16, F16), (F32, F16), (F16, F32), (F32, I64), (I64, F32), (I32, I32), (BOOL, F32), (I32, I64)]
    wrong = []
    for first, second in kinds:
        if name == "pow" and not torch.promote_types(first, second).is_floating_point:
            continue
        for function in (in_place, out):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                operands = [some(first, 3, 5), some(second, 3, 5)]
                wrong.append(agree(function, operands, (function.__name__, first, second)))
    assert [w for w in wrong if w is not True] == []


@pytest.mark.parametrize("how", ["eager", "compiled"])
def test_truth_values_beside_numbers_that_are_none(how, on_device):
    """They were compared with whether the number is 0."""
    x = torch.tensor([True, False, True])

    def function(x):
        return x == 2, x < 2, x >= 0.5, x != 1, x == True  # noqa: E712

    run = torch.compile(function) if how == "compiled" else function
    with on_device():
        got = run(x.to("spyre"))
    assert [g.tolist() for g in got] == [w.tolist() for w in function(x)]


def test_a_form_that_is_not_covered_does_not_end_the_others(on_device):
    """Numbers beyond the device's are the CPU's; others after them are the device's still."""
    x = torch.ones(3, dtype=torch.int64).to("spyre")
    assert (x == 2**40).tolist() == [False] * 3
    with on_device():
        result = x == 1
    assert result.tolist() == [True] * 3


@pytest.mark.parametrize("how", ["eager", "compiled"])
def test_one_bound_bounds_one_side(how, on_device):
    """An infinity beyond the other side stays."""

    def function(x):
        return (
            torch.clamp_min(x, 5.0),
            torch.clamp_max(x, -3.0),
            x.clamp(min=-3),
            x.clamp(max=5),
            x.clamp(-INF, 2.0),
            torch.nn.functional.hardtanh(x, -2.0, INF),
            torch.relu(x),
        )

    x = torch.tensor([INF, -INF, NAN, 1.0, 7.0])
    device = x.to("spyre")
    with on_device():
        results = (function if how == "eager" else torch.compile(function))(device)
    for result, want in zip(results, function(x), strict=True):
        torch.testing.assert_close(result.cpu(), want, rtol=0, atol=0, equal_nan=True)
