"""Infinities of 16 bits, which the device has no pattern for: docs/numerics.md, "Range and infinity", sentence by sentence."""

import io
import itertools
import math
import operator
import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as F

INF, NAN = math.inf, math.nan
F16, BF16, F32 = torch.float16, torch.bfloat16, torch.float32
HALVES = (F16, BF16)
FLOATS = (F16, BF16, F32)
#: The largest numbers that read back finite (docs/adr/0083).
LARGEST = {F16: 65472.0, BF16: 8556380160.0}
HELD = 8573157376.0

kinds = pytest.mark.parametrize("kind", FLOATS, ids=str)
halves = pytest.mark.parametrize("kind", HALVES, ids=str)
both_ways = pytest.mark.parametrize("how", ["eager", "compiled"])


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def way(function, how):
    return torch.compile(function, backend="spyre") if how == "compiled" else function


#: Factors that take 16 bits beyond their range, by different distances.
FACTORS = {F16: (2.0, 2.5, 64.0), BF16: (1.0, 1.25, 4.0), F32: (1e20, 1e25, 1e30)}


def edges(kind):
    """On the device: infinities that were brought there and such that were computed there, NaN, and finite numbers; and all
    of them as they are read."""
    largest = LARGEST.get(kind, 1e19)
    brought = torch.tensor([INF, -INF, NAN, 0.0, -0.0, 1.0, -2.5, 2.0**-14], dtype=kind).to("spyre")
    one = torch.tensor([largest, -largest], dtype=kind).to("spyre")
    x = torch.cat([brought, one, *(one * factor for factor in FACTORS[kind])])
    return x, x.cpu()


def is_same(got, want):
    """Whether all elements are equal; NaN equals NaN."""
    got, want = got.cpu(), want.cpu()
    same_kind = got.dtype == want.dtype and got.shape == want.shape
    return same_kind and bool(((got == want) | (got.isnan() & want.isnan())).all())


def as_brought(x):
    """The numbers that come back from the device."""
    return x.to("spyre").cpu()


# --------------------------------------------------------------------------------------------------
# What an infinity is


@halves
def test_what_is_read_says_where_infinity_begins(kind):
    """The largest finite number, and the next one of the device."""
    largest = LARGEST[kind]
    x = torch.tensor([largest], dtype=F32).to("spyre").to(kind)
    after = (x * (1 + 2.0**-8)).cpu() if kind == BF16 else (x + 64).cpu()
    assert x.cpu().tolist() == [largest] and after.tolist() == [INF]


QUESTIONS = (torch.isinf, torch.isfinite, torch.isposinf, torch.isneginf, torch.isnan)


@kinds
@both_ways
def test_questions_are_answered_as_what_is_read(how, kind, on_device):
    x, read = edges(kind)
    function = lambda x: [question(x) for question in QUESTIONS]  # noqa: E731
    with on_device():
        got = way(function, how)(x)
    for question, one, want in zip(QUESTIONS, got, function(read), strict=True):
        assert one.cpu().tolist() == want.tolist(), question


COMPARISONS = {name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")}
#: 1e6 is infinite in fp16 and a number in other types.
NUMBERS = (INF, -INF, 1e6, -1e6, 1e39, -1e39, 1.0)


@kinds
@both_ways
def test_comparisons_with_numbers_agree_with_what_is_read(how, kind, on_device):
    x, read = edges(kind)
    cases = list(itertools.product(COMPARISONS.values(), NUMBERS))

    def function(x):
        return [compare(x, number) for compare, number in cases] + [compare(number, x) for compare, number in cases]

    with on_device():
        got = way(function, how)(x)
    for case, one, want in zip(cases * 2, got, function(read), strict=True):
        assert one.cpu().tolist() == want.tolist(), case


@pytest.mark.parametrize("pair", [(F16, F16), (BF16, BF16), (F32, F32), (F16, F32), (F32, BF16), (F16, BF16)], ids=str)
@both_ways
def test_comparisons_of_tensors_agree_with_what_is_read(pair, how, on_device):
    (x, read_x), (y, read_y) = (edges(kind) for kind in pair)

    def function(x, y):
        return [compare(x[:, None], y) for compare in COMPARISONS.values()]

    with on_device():
        got = way(function, how)(x, y)
    for name, one, want in zip(COMPARISONS, got, function(read_x, read_y), strict=True):
        assert one.cpu().tolist() == want.tolist(), name


def test_tensors_of_infinities_are_equal():
    x = torch.full((4,), 60000.0, dtype=F16).to("spyre")
    assert torch.equal(x * 2, x * 4) and torch.equal(x * 2, torch.full_like(x, INF))
    assert torch.allclose(x * 2, x * 4) and not torch.equal(x * 2, x * -2)


@both_ways
@pytest.mark.parametrize("kind", HALVES)
def test_a_number_without_dimensions_compares_like_a_number(kind, how, on_device):
    x, read = edges(kind)
    infinity = torch.tensor(INF, dtype=kind)

    def function(x, number):
        return x == number, x < number, number > x

    with on_device():
        got = way(function, how)(x, infinity.to("spyre"))
    assert [g.cpu().tolist() for g in got] == [w.tolist() for w in function(read, infinity)]


REPLACED = ({}, {"nan": 1.0}, {"posinf": 2.0, "neginf": -2.0}, {"nan": NAN, "posinf": INF})


@kinds
@both_ways
def test_nan_to_num_replaces_what_is_read_as_infinity(how, kind, on_device):
    x, read = edges(kind)
    function = lambda x: [torch.nan_to_num(x, **named) for named in REPLACED]  # noqa: E731
    with on_device():
        got = way(function, how)(x)
    for one, want in zip(got, function(read), strict=True):
        assert is_same(one, as_brought(want))
    assert bool(got[0].cpu().isfinite().all())


BOUNDS = ((None, INF), (-INF, None), (-INF, INF), (INF, None), (None, -INF), (-1.0, INF), (-INF, 1.0))


@kinds
@both_ways
def test_bounds_keep_and_give_infinities(how, kind, on_device):
    x, read = edges(kind)
    function = lambda x: [torch.clamp(x, low, high) for low, high in BOUNDS]  # noqa: E731
    with on_device():
        got = way(function, how)(x)
    for bounds, one, want in zip(BOUNDS, got, function(read), strict=True):
        assert is_same(one, want), bounds


@halves
@both_ways
def test_bounds_of_the_type_leave_finite_numbers(how, kind, on_device):
    limits = torch.finfo(kind)
    x, read = edges(kind)
    with on_device():
        got = way(lambda x: torch.clamp(x, limits.min, limits.max), how)(x)
    assert is_same(got, as_brought(read.clamp(limits.min, limits.max)))


@kinds
@both_ways
def test_extremes_are_those_of_what_is_read(how, kind, on_device):
    x, read = edges(kind)
    x, read = (torch.where(torch.isnan(t), 0.0, t) for t in (x, read))

    def function(x):
        rows = torch.stack([x, -x, torch.zeros_like(x)])
        found = [rows.amax(1), rows.amin(1), rows.max(), rows.max(1).values, torch.maximum(x, -x), torch.minimum(x, -x)]
        return [*found, torch.sort(x).values, torch.topk(x, 3).values, rows.abs().amax(0)]

    with on_device():
        got = way(function, how)(x)
    for index, (one, want) in enumerate(zip(got, function(read), strict=True)):
        assert is_same(one, want), index


def test_of_infinities_the_one_that_is_held_as_the_larger_number_is_first(on_device):
    x = torch.tensor([1.0, 60000.0, 60000.0, -60000.0], dtype=F16).to("spyre") * torch.tensor(
        [1.0, 2.0, 4.0, 2.0], dtype=F16
    ).to("spyre")
    with on_device():
        places = torch.argmax(x).item(), torch.argmin(x).item(), torch.sort(x).indices.tolist(), torch.topk(x, 2).indices.tolist()
    assert x.cpu().tolist() == [1, INF, INF, -INF]
    assert places == (2, 3, [3, 0, 1, 2], [2, 1])


# --------------------------------------------------------------------------------------------------
# Finite numbers stay finite


def every_pattern(kind):
    bits = torch.from_numpy(np.arange(1 << 16, dtype=np.uint16).view(np.int16).copy())
    return bits.view(kind)


@halves
@pytest.mark.parametrize("elements", [1 << 16, 3, 1])
def test_every_finite_number_of_the_host_stays_finite(kind, elements):
    x = every_pattern(kind)
    x = x if elements > 3 else torch.tensor([torch.finfo(kind).min, INF, 1.0], dtype=kind)[:elements]
    for got in (x.to("spyre").cpu(), x.float().to("spyre", kind).cpu(), x.to("spyre")[None].t().cpu()[:, 0]):
        assert torch.equal(got.isfinite(), x.isfinite()) and torch.equal(got.isinf(), x.isinf())
    strided = torch.stack([x, x], 1)[:, 0]
    assert torch.equal(strided.to("spyre").cpu().isfinite(), x.isfinite())


@halves
def test_the_limits_of_a_type_become_the_largest_finite_numbers(kind):
    limits = torch.finfo(kind)
    x = torch.tensor([limits.min, limits.max], dtype=kind)
    assert x.to("spyre").cpu().tolist() == [-LARGEST[kind], LARGEST[kind]]
    assert as_brought(torch.tensor([LARGEST[kind]], dtype=kind)).item() == LARGEST[kind]


@halves
@both_ways
def test_numbers_in_fills_and_constants_stay_finite(kind, how, on_device):
    least, mask = torch.finfo(kind).min, torch.tensor([True, False, True])

    def function(x, mask):
        return [
            torch.full_like(x, least),
            x.masked_fill(mask, least),
            torch.where(mask, least, x),
            x + least,
            x * 0 + -least,
            torch.zeros_like(x) + least,
            (1.0 - mask.to(x.dtype)) * least,
            F.pad(x, (1, 1), value=least),
            torch.clamp(x, least, -least),
            torch.maximum(x, torch.full((), least, dtype=x.dtype, device=x.device)),
            x - torch.tensor(least, dtype=x.dtype),
        ]

    x = torch.tensor([0.0, 1.0, -1.0], dtype=kind)
    with on_device():
        got = way(function, how)(x.to("spyre"), mask.to("spyre"))
    for index, (one, want) in enumerate(zip(got, function(x, mask), strict=True)):
        assert bool(one.cpu().isfinite().all()), index
        assert is_same(one, as_brought(want)), index


@halves
def test_fills_in_place_stay_finite(kind):
    least = torch.finfo(kind).min
    x = torch.zeros(4, 70, dtype=kind, device="spyre")
    fills = [
        torch.full((4, 70), least, dtype=kind, device="spyre"),
        x.clone().fill_(least),
        x.clone().fill_(torch.tensor(least, dtype=kind)),
        x.new_full((4, 70), least),
    ]
    x[:, 3] = least
    x[1].fill_(least)
    assert all(f.cpu().eq(-LARGEST[kind]).all() for f in fills)
    assert bool(x.cpu().isfinite().all()) and x.cpu().min().item() == -LARGEST[kind]
    x[0, 0] = -INF
    assert x.cpu()[0, 0].item() == -INF and x[0, 0].item() == -INF


def test_numbers_that_change_from_call_to_call_follow_the_rule():
    """After some calls eager operations take a number as a tensor."""
    x = torch.tensor([0.0, 2.0**-14], dtype=F16).to("spyre")
    for number in range(1, 20):
        x + float(number), x * float(number)
    assert (x + 65504.0).cpu().tolist() == [65472.0, 65472.0]
    assert (x * INF).cpu().tolist()[1] == INF


# --------------------------------------------------------------------------------------------------
# Infinite numbers in operations

WITH_INFINITY = {
    "x * inf": lambda x: x * INF,
    "x * -inf": lambda x: x * -INF,
    "inf * x": lambda x: INF * x,
    "x + inf": lambda x: x + INF,
    "x - inf": lambda x: x - INF,
    "inf - x": lambda x: INF - x,
    "x / inf": lambda x: x / INF,
    "x / -inf": lambda x: x / -INF,
    "rsub": lambda x: torch.rsub(x, INF),
    "add, alpha": lambda x: torch.add(x, 1.0, alpha=INF),
    "in place": lambda x: x.clone().mul_(INF),
    "tensor of the CPU": lambda x: x * torch.tensor(INF, dtype=x.dtype),
    "where": lambda x: torch.where(x > 0, INF, x),
    "masked_fill": lambda x: x.masked_fill(x > 0, -INF),
    "maximum": lambda x: torch.maximum(x, torch.full((), INF, dtype=x.dtype, device=x.device)),
    "fill": lambda x: torch.full_like(x, -INF) + torch.zeros_like(x),
    "pad": lambda x: F.pad(x, (0, 2), value=-INF),
    "fmod": lambda x: torch.fmod(torch.clamp(x, -8, 8), INF),
    "x / 0": lambda x: x / 0.0,
    "log of 0": lambda x: torch.log(torch.zeros_like(x) * x.sign()),
    "reciprocal of 0": lambda x: torch.reciprocal(torch.zeros_like(x) * x.sign().abs()),
}


@kinds
@both_ways
def test_infinite_numbers_are_applied_before_saturation(how, kind, on_device):
    x, read = edges(kind)
    function = lambda x: [apply(x) for apply in WITH_INFINITY.values()]  # noqa: E731
    with on_device():
        got = way(function, how)(x)
    for name, one, want in zip(WITH_INFINITY, got, function(read), strict=True):
        assert is_same(one, want), (name, one.cpu().tolist(), want.tolist())


# --------------------------------------------------------------------------------------------------
# Operations on tensors take the number that the device holds


@halves
@both_ways
def test_operations_on_tensors_take_the_number_that_is_held(kind, how, on_device):
    x = torch.tensor([INF, -INF], dtype=kind).to("spyre")
    zero = torch.zeros(2, dtype=kind).to("spyre")

    def function(x, zero):
        return x - x, x / x, x * zero, torch.log(x[:1]), torch.fmod(x, zero + 1), torch.sqrt(x[:1]), x.sum(), x.mean()

    with on_device():
        got = way(function, how)(x, zero)
    got = [g.cpu().tolist() for g in got]
    assert got[:3] == [[0, 0], [1, 1], [0, 0]]
    assert got[3] == [22.875] and got[4] == [0, 0] and got[6:] == [0, 0]
    assert got[5] == ([INF] if kind == F16 else [92672.0])


def test_a_result_that_comes_back_into_the_range_is_finite(on_device):
    """The device's range is wider: what is beyond half of the way is not lost."""
    x = torch.tensor([60000.0], dtype=F16).to("spyre")
    with on_device():
        y = x * 2
        z = y / 4
    assert y.cpu().item() == INF and z.cpu().item() == 30016.0


@halves
@both_ways
def test_functions_that_overflow_give_infinity(kind, how, on_device):
    x = torch.tensor([12.0, 88.0, -88.0, 1.0], dtype=kind)
    with on_device():
        got = way(lambda x: (torch.exp(x), torch.exp(x).isinf()), how)(x.to("spyre"))
    assert got[1].cpu().tolist() == got[0].cpu().isinf().tolist() == [kind == F16, True, False, False]


@kinds
@both_ways
def test_reductions_over_infinities(kind, how, on_device):
    rows = torch.tensor([[INF, 1.0, 2.0], [-INF, 1.0, 2.0], [1.0, 2.0, 3.0]], dtype=kind)

    def function(x):
        return x.sum(1), x.mean(1), x.cumsum(1), torch.logsumexp(x, 1), x.amax(1), torch.softmax(x[1:], 1)

    with on_device():
        got = way(function, how)(rows.to("spyre"))
    sums, means, running, logarithms, most, weights = (g.cpu() for g in got)
    third = 2852126720.0  # of the number that is held
    assert sums.tolist() == [INF, -INF, 6] and means.tolist() == ([third, -third, 2] if kind == BF16 else [INF, -INF, 2])
    assert running[:2].tolist() == [[INF] * 3, [-INF] * 3]
    assert logarithms[0].item() == INF and most.tolist() == [INF, 2, 3] and weights[0, 0].item() == 0


@kinds
@both_ways
def test_rows_of_a_softmax_that_are_masked_everywhere(kind, how, on_device):
    """Equal weights in 16 bits, NaN in fp32 as on the CPU; attention gives 0 everywhere."""
    scores = torch.full((2, 4), -INF, dtype=kind)
    q = torch.ones(1, 1, 2, 64, dtype=kind)
    mask = torch.zeros(2, 2, dtype=torch.bool)

    def function(scores, q, mask):
        return torch.softmax(scores, 1), F.scaled_dot_product_attention(q, q, q, mask)

    with on_device():
        weights, attended = way(function, how)(scores.to("spyre"), q.to("spyre"), mask.to("spyre"))
    assert attended.cpu().eq(0).all()
    assert weights.cpu().isnan().all() if kind == F32 else weights.cpu().eq(0.25).all()


# --------------------------------------------------------------------------------------------------
# Conversions


@both_ways
def test_conversions_on_the_device_keep_the_number(how, on_device):
    half = torch.tensor([60000.0, INF, -INF, NAN, 1.0], dtype=F16).to("spyre")
    half = half * torch.tensor([2.0, 1.0, 1.0, 1.0, 1.0], dtype=F16).to("spyre")
    wide = torch.tensor([3e38, INF, -INF, 65504.0, 1e6, 65472.0]).to("spyre")

    def function(half, wide):
        return half.float(), half.bfloat16(), half.bfloat16().half(), wide.half(), wide.bfloat16(), wide.bfloat16().half()

    with on_device():
        got = [g.cpu() for g in way(function, how)(half, wide)]
    assert torch.equal(got[0][:3], torch.tensor([120064.0, HELD, -HELD])) and got[0][3].isnan()
    assert is_same(got[1], torch.tensor([119808.0, INF, -INF, NAN, 1.0], dtype=BF16))
    assert is_same(got[2], half)
    assert got[3].tolist() == [INF, INF, -INF, INF, INF, 65472.0]
    assert got[4].tolist() == [INF, INF, -INF, 65536.0, 999424.0, 65536.0]
    assert got[5].tolist() == [INF, INF, -INF, INF, INF, 65472.0]


@halves
def test_reading_in_another_type_gives_the_number_that_is_held(kind):
    x = torch.tensor([INF, -1.0], dtype=kind).to("spyre")
    assert x.cpu().tolist() == [INF, -1] and x.to("cpu", F32).tolist() == [HELD, -1] == x.float().tolist()


@kinds
def test_numbers_texts_and_files_have_what_is_read(kind):
    x, read = edges(kind)
    assert [v for v in x.tolist() if v == v] == [v for v in read.tolist() if v == v]
    items = [x[i].item() for i in range(len(x))]
    assert all(a == b or (a != a and b != b) for a, b in zip(items, read.tolist(), strict=True))
    assert repr(x).replace(", device='spyre:0'", "") == repr(read)
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    assert is_same(torch.load(file), read)


def test_gradients_that_read_as_infinite_are_found():
    """Scaling of gradients asks the same question."""
    gradient = torch.tensor([60000.0], dtype=F16).to("spyre") * 2
    found, scale = torch.zeros(1).to("spyre"), torch.ones(1).to("spyre")
    torch._amp_foreach_non_finite_check_and_unscale_([gradient], found, scale)
    assert found.item() == 1


# --------------------------------------------------------------------------------------------------
# Cost


def lane_operations(function, *inputs):
    function(*inputs)
    torch.spyre.reset_counters()
    function(*inputs)
    counters = torch.spyre.counters()
    assert counters["fallback_ops"] == 0
    return counters["sfp_lane_ops"], counters["programs_launched"]


def test_comparisons_with_infinity_cost_what_other_comparisons_do():
    x = torch.ones(64, 64, dtype=F16).to("spyre")
    plain = lane_operations(lambda x: x == 1.0, x)
    for compare in (operator.eq, operator.lt, operator.le, operator.gt, operator.ge):
        assert lane_operations(lambda x, c=compare: c(x, INF), x) == plain
    two = lane_operations(lambda x: torch.abs(x).eq(1.0), x)[0]
    assert lane_operations(torch.isinf, x) == lane_operations(torch.isfinite, x) == (two, 1)


def test_masks_cost_what_other_numbers_do():
    x, mask = torch.ones(64, 64, dtype=F16).to("spyre"), torch.ones(64, 64, dtype=torch.bool).to("spyre")
    costs = {lane_operations(lambda x, m, v=value: x.masked_fill(m, v), x, mask) for value in (1.0, -INF, torch.finfo(F16).min)}
    assert len(costs) == 1


def test_pairs_of_types_have_all_edges():
    """The inputs of this file hold what they are said to hold."""
    for kind, number in itertools.product(FLOATS, (INF, -INF)):
        assert edges(kind)[1].eq(number).sum() >= 2
