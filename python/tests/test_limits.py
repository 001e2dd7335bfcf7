"""Blocks of comparisons give what one table of them would, and what is too large says so (docs/adr/0079)."""

import math

import pytest
import torch
import torch.nn.functional as F
from tolerances import tolerance

from torch_spyre.ops import limits
from torch_spyre.ops.fallbacks import FallbackWarning

WAYS = ["eager", "compiled"]


@pytest.fixture(autouse=True)
def _seen_for_the_first_time():
    """Programs of other tests were made of other blocks."""
    import torch_spyre._C as extension

    extension.clear_eager_cache()
    yield
    extension.clear_eager_cache()


def whole(*shape, seed=0, most=9):
    """Few whole numbers, so that many are equal."""
    return torch.randint(-most, most, shape, generator=torch.Generator().manual_seed(seed)).half()


def places(count, size, seed=1):
    return torch.randint(0, size, (count,), generator=torch.Generator().manual_seed(seed))


def run(function, inputs, how):
    function = torch.compile(function, backend="spyre") if how == "compiled" else function
    result = function(*[t.to("spyre") for t in inputs])
    return [t.cpu() for t in (result if isinstance(result, tuple) else (result,))]


def same(got, wanted):
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    for mine, other in zip(got, wanted, strict=True):
        assert mine.dtype == other.dtype
        torch.testing.assert_close(mine, other, rtol=0, atol=0, equal_nan=True)


def pooled(x):
    x = x.detach().requires_grad_()
    F.max_pool2d(x, 9, 9).sum().backward()
    return x.grad


aten = torch.ops.aten
BLOCKS = {
    "put": (lambda x, i, s: aten.index_put(x, [i], s), whole(37, 5), places(20, 37), whole(20, 5, seed=2)),
    "put of two": (lambda x, i, j, s: aten.index_put(x, [i, j], s), whole(9, 7), places(20, 9), places(20, 7, 2), whole(20)),
    "add rows": (lambda x, i, s: x.index_add(0, i, s), whole(37, 5), places(20, 37), whole(20, 5, seed=2)),
    "add elements": (lambda x, i, s: x.index_add(0, i, s), whole(37).float(), places(20, 37), whole(20, seed=2).float()),
    "copy": (lambda x, i, s: x.index_copy(1, i, s), whole(3, 37), torch.randperm(37)[:20], whole(3, 20, seed=2)),
    "fill": (lambda x, i: x.index_fill(0, i, 3.0), whole(37, 5), places(20, 37)),
    "scatter": (lambda x, i, s: x.scatter(1, i.reshape(2, 10), s), whole(3, 37), places(20, 37), whole(2, 10, seed=2)),
    "scatter_add": (lambda x, i, s: x.scatter_add(0, i.reshape(10, 2), s), whole(37, 3), places(20, 37), whole(10, 2)),
    "scatter_reduce": (
        lambda x, i, s: x.scatter_reduce(0, i, s, "amax", include_self=False), whole(37), places(20, 37), whole(20)
    ),
    "sort": (lambda x: torch.sort(x, stable=True), whole(2, 41)),
    "descending": (lambda x: torch.sort(x, dim=0, descending=True, stable=True), whole(41, 3)),
    "integers": (lambda x: torch.sort(x.int(), stable=True), whole(41)),
    "kthvalue": (lambda x: torch.kthvalue(x, 30)[0], whole(2, 41)),
    "mode": (lambda x: torch.mode(x)[0], whole(2, 41)),
    "isin": (lambda x, y: torch.isin(x, y), whole(3, 17), whole(20, seed=2, most=4)),
    "isin integers": (lambda x, y: torch.isin(x.int(), y.int(), invert=True), whole(3, 17), whole(20, seed=2, most=4)),
    "searchsorted": (lambda x, y: torch.searchsorted(x, y), whole(41).sort()[0], whole(5, 9, seed=2)),
    "searchsorted rows": (lambda x, y: torch.searchsorted(x, y, right=True), whole(3, 41).sort()[0], whole(3, 9, seed=2)),
    "histc": (lambda x: torch.histc(x, 18, -9, 9), whole(41).float()),
    "pooling": (pooled, whole(1, 2, 18, 18, most=300)),
}


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_give_what_the_whole_would(name, how, on_device, monkeypatch):
    """At most 150 comparisons at once: several blocks, of which the last is shorter."""
    function, *inputs = BLOCKS[name]
    monkeypatch.setattr(limits, "COMPARED_AT_ONCE", 150)
    blocks = []
    original = limits.in_blocks

    def counted(count, each, compute, dim=0):
        blocks.append(-(-count // max(1, 150 // each)))
        return original(count, each, compute, dim)

    monkeypatch.setattr(limits, "in_blocks", counted)
    with on_device():
        got = run(function, inputs, how)
    assert max(blocks) > 1
    same(got, function(*inputs))


def test_rows_into_a_long_cache(on_device):
    """2,049 rows into 8,192: more than 2^24 comparisons; some places are named twice."""
    cache, rows = whole(8192, 4), whole(2049, 4, seed=3)
    index = torch.randperm(8192, generator=torch.Generator().manual_seed(4))[:2049]
    with on_device():
        got = run(lambda x, i, s: x.index_copy(0, i, s), (cache, index, rows), "eager")
    same(got, cache.index_copy(0, index, rows))


def backward(function):
    def gradient(x, *others):
        x = x.detach().requires_grad_()
        function(x, *others).sum().backward()
        return x.grad

    return gradient


def square(count):
    return torch.eye(count) * 2 + 0.25


LINE = torch.linspace(-1, 1, 18)
GRID = torch.stack(torch.broadcast_tensors(LINE[:3], LINE[3:6, None]), -1).reshape(1, 3, 3, 2)
#: Of each limit a call, and what it counts: one less than that is too few.
COUNTED = {
    "INDEX_WRITES": (lambda x, i: x.index_fill(0, i, 3.0), [whole(11, 2), places(3, 11)], 33),
    "SORTED": (lambda x: torch.sort(x)[0], [whole(2, 7)], 98),
    "SEARCHED": (torch.isin, [whole(9), whole(7, seed=1)], 63),
    "COUNTED": (lambda x: torch.histc(x, 6, -9, 9), [whole(11).float()], 66),
    "BAGS": (lambda w, i, o: F.embedding_bag(i, w, o), [whole(9, 4).float(), places(6, 9), torch.tensor([0, 3])], 12),
    "GRIDS": (backward(lambda x, g: F.grid_sample(x, g, align_corners=True)), [whole(1, 1, 4, 4).float(), GRID], 144),
    "CLASSES": (F.multilabel_margin_loss, [whole(3, 5).float(), torch.tensor([[1, -1, 0, 0, 0]] * 3)], 75),
    "DISTANCES": (lambda x, y: torch.cdist(x, y, p=1), [whole(3, 2).float(), whole(5, 2).float()], 30),
    "COLUMNS": (torch.linalg.cholesky, [square(5)], 5),
    "MATRICES": (torch.linalg.cholesky, [square(5)], 25),
    "CELLS": (lambda x: F.adaptive_max_pool2d(x, (3, 2)), [whole(1, 1, 7, 5)], 9),
    "WINDOWS": (lambda x: F.max_pool2d(x, (3, 4)), [whole(1, 1, 8, 8)], 7),
    "DERIVATIVES": (lambda x: torch.polygamma(3, x), [whole(5).float().abs() + 1], 3),
    "DECIMALS": (lambda x: torch.round(x, decimals=2), [whole(5).float()], 2),
}
#: Tested with the numbers they have, below.
OTHERS = {"INTEGER_MEANS", "RANK"}


def test_every_limit_is_tested():
    named = {name for name, value in vars(limits).items() if isinstance(value, limits.Limit)}
    assert named == set(COUNTED) | set(IN_GRAPHS) | OTHERS and len(limits.table()) == len(named)


def says_why(limit):
    return rf"falling back to cpu: gate 4 \(shape\): {limit.counted}: [\d,]+ of at most {limit.most:,}; {limit.advice}"


@pytest.mark.parametrize("name", COUNTED)
def test_on_both_sides_of_a_limit(name, on_device, monkeypatch):
    """As many as the limit says are the device's, one more is the CPU's."""
    function, inputs, count = COUNTED[name]
    limit = getattr(limits, name)
    monkeypatch.setattr(limit, "most", count)
    with on_device():
        got = run(function, inputs, "eager")
    torch.testing.assert_close(got[0].float(), function(*inputs).float(), rtol=0, atol=tolerance("chain", torch.float32, 64))
    import torch_spyre._C as extension

    extension.clear_eager_cache()
    monkeypatch.setattr(limit, "most", count - 1)
    torch.spyre.reset_counters()
    for _ in range(2):
        with pytest.warns(FallbackWarning, match=says_why(limit)):
            run(function, inputs, "eager")
    assert torch.spyre.counters()["fallback_ops"] >= 2


IN_GRAPHS = {
    "SORTED": (lambda x: torch.sort(x)[0], [whole(2, 7)], 98),
    "INDEX_WRITES": (lambda x, i, s: aten.index_put(x, [i], s), [whole(11, 2), places(3, 11), whole(3, 2)], 33),
    "GROUPS": (torch._grouped_mm, [whole(8, 16).bfloat16(), whole(2, 16, 8).bfloat16(), torch.tensor([3, 8]).int()], 128),
    "COLUMNS_IN_GRAPHS": (lambda x: torch.linalg.cholesky_ex(x)[0], [square(5)], 5),
}


@pytest.mark.parametrize("name", IN_GRAPHS)
def test_on_both_sides_in_a_graph(name, on_device, monkeypatch):
    """The warning of the graph names the limit under the nodes that run on the CPU."""
    function, inputs, count = IN_GRAPHS[name]
    limit = getattr(limits, name)
    monkeypatch.setattr(limit, "most", count)
    with on_device():
        run(function, inputs, "compiled")
    torch._dynamo.reset()
    monkeypatch.setattr(limit, "most", count - 1)
    torch.spyre.reset_counters()
    with pytest.warns(FallbackWarning, match=says_why(limit).replace("falling back to cpu", "beyond a limit")):
        run(function, inputs, "compiled")
    assert torch.spyre.counters()["graph_fallback_nodes"] >= 1


def test_what_the_compiler_limits(on_device):
    """One dimension more than tensors have."""
    few = whole(2, 5)
    fits, exceeds = few.reshape([1] * 6 + [2, 5]), few.reshape([1] * 7 + [2, 5])
    with on_device():
        same(run(lambda x: x + 1, [fits], "eager"), fits + 1)
    with pytest.warns(FallbackWarning, match=rf"gate 4 \(shape\): .*{limits.RANK.most}"):
        same(run(lambda x: x + 1, [exceeds], "eager"), exceeds + 1)


@pytest.mark.parametrize("how", ["eager", "compiled", "dynamic"])
@pytest.mark.parametrize("count", [251, 257, 2 * 521])
def test_dimensions_of_any_size_are_reversed(how, count, on_device):
    """Sizes with large prime factors, of which nothing is copied at once."""
    x = whole(2, count, 3)
    for dims in ((1,), (0, -2), (0, 1, 2)):
        function = lambda x, dims=dims: torch.flip(x, dims)  # noqa: E731
        asked = function if how == "eager" else torch.compile(function, dynamic=how == "dynamic")
        with on_device():
            result = asked(x.to("spyre"))
        assert torch.equal(result.cpu(), function(x))


@pytest.mark.parametrize(("side", "is_on_device"), [(8, True), (9, False)])
@pytest.mark.filterwarnings("ignore::torch_spyre.ops.fallbacks.FallbackWarning")
def test_means_of_integers(side, is_on_device):
    x = whole(1, 1, 18, 18).long().to("spyre")
    torch.spyre.reset_counters()
    F.avg_pool2d(x, side)
    assert (torch.spyre.counters()["fallback_ops"] == 0) == is_on_device


def distinct(*shape):
    count = math.prod(shape)
    order = torch.randperm(count, generator=torch.Generator().manual_seed(5))
    return (order - count // 2).float().reshape(shape)


@pytest.mark.parametrize("how", WAYS)
def test_hundreds_of_the_largest_of_long_rows(how, on_device):
    x = distinct(2, 5000)
    with on_device():
        got = run(lambda x: torch.topk(x, 130), (x,), how)
    same(got, torch.topk(x, 130))


def test_rows_of_a_length_that_is_a_symbol(on_device):
    """One capture for all lengths: parts are found when the length is known."""
    function = torch.compile(lambda x: (torch.topk(x, 70), torch.sort(x[:, :9], stable=True)), backend="spyre", dynamic=True)
    for count in (3000, 2500):
        x = distinct(2, count)
        with on_device(), torch._dynamo.config.patch(error_on_recompile=True):
            got = function(x.to("spyre"))
        same([t.cpu() for t in got[0]], torch.topk(x, 70))


@pytest.mark.parametrize(("rows", "k", "largest"), [(1, 64, True), (3, 5, False)])
def test_rows_of_a_vocabulary(rows, k, largest, on_device):
    """More than lie in the scratchpads at once."""
    x = distinct(rows, 70001)
    with on_device():
        got = run(lambda x: torch.topk(x, k, -1, largest), (x,), "eager")
    same(got, torch.topk(x, k, -1, largest))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_equal_elements_are_named_once_and_in_order(dtype, on_device):
    x = whole(2, 3000).to(dtype)
    with on_device():
        values, named = run(lambda x: torch.topk(x, 200), (x,), "eager")
    same([values, named], tuple(t.narrow(1, 0, 200) for t in torch.sort(x, stable=True, descending=True)))


def test_infinities_and_what_is_no_number(on_device):
    """Most elements are -inf, which is what elements look like that were found before."""
    x = torch.full((2, 3000), -math.inf)
    x[0, 5:90:3] = torch.arange(29.0)
    x[1, 2000], x[1, 7], x[1, 8] = math.nan, math.inf, -3.0
    with on_device():
        values, named = run(lambda x: torch.topk(x, 150), (x,), "eager")
    same([values, named], tuple(t.narrow(1, 0, 150) for t in torch.sort(x, stable=True, descending=True)))


@pytest.mark.parametrize("how", WAYS)
def test_places_of_extremes_of_a_vocabulary(how, on_device):
    """Rows longer than the device searches; of equal elements the first, and what is no number before all others."""
    x = whole(3, 70001).float()
    x[0, 60000], x[0, 60001], x[1, 65000], x[1, 66000] = 20.0, 20.0, math.nan, math.nan
    with on_device():
        got = run(lambda x: (torch.argmax(x, 1), torch.argmin(x), *torch.max(x, 1), *torch.min(x, 1)), (x,), how)
    same(got, (torch.argmax(x, 1), torch.argmin(x), *torch.max(x, 1), *torch.min(x, 1)))
