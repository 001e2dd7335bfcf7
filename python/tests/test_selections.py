"""topk, max and min with their places, argmax and argmin on the device, against the CPU.

Elements are exact in the device's formats, so values and places must be the CPU's. Torch leaves open
which of equal elements topk names; where its places are compared, all elements of a column differ.
"""

import math

import pytest
import torch


WAYS = ["eager", "compiled"]


def run(function, *inputs, how="eager"):
    function = torch.compile(function, backend="spyre") if how == "compiled" else function
    return function(*[t.to("spyre") for t in inputs])


def distinct(*shape, seed=0, dtype=torch.float16):
    """Whole numbers, none twice; all of them exact in 10 bits."""
    count = torch.Size(shape).numel()
    assert count <= 1024 or dtype == torch.float32
    order = torch.randperm(count, generator=torch.Generator().manual_seed(seed))
    return (order - count // 2).reshape(shape).to(dtype)


def few(*shape, seed=0, dtype=torch.float16):
    """Many equal elements."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-2, 3, shape, generator=generator).to(dtype)


def same(got, wanted):
    for mine, other in zip(got, wanted):
        assert mine.device.type == "spyre" and mine.dtype == other.dtype
        assert mine.shape == other.shape
        torch.testing.assert_close(mine.cpu(), other, rtol=0, atol=0, equal_nan=True)


TOPK = {
    # shape, k, dim, largest
    "rows": ((5, 67), 2, 0, True),
    "columns": ((5, 67), 3, 1, True),
    "smallest": ((5, 67), 4, -1, False),
    "all of them": ((3, 64), 3, 0, True),
    "vector": ((70,), 4, 0, True),
    "one": ((1, 9), 1, 1, True),
    "in the middle": ((3, 7, 33), 2, 1, True),
    "outermost": ((4, 3, 65), 1, 0, False),
    "four dimensions": ((2, 3, 4, 10), 5, -1, True),
    "many": ((2, 200), 64, 1, True),
}


COMPILED = ["rows", "columns", "vector", "one", "in the middle", "four dimensions"]


@pytest.mark.parametrize(
    "name, how", [*((name, "eager") for name in TOPK), *((name, "compiled") for name in COMPILED)]
)
def test_topk(name, how, on_device):
    shape, k, dim, largest = TOPK[name]
    x = distinct(*shape)
    with on_device():
        got = run(lambda x: torch.topk(x, k, dim, largest), x, how=how)
    same(got, torch.topk(x, k, dim, largest))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_other_types(dtype, on_device):
    x = distinct(3, 70).to(dtype)
    with on_device():
        got = run(lambda x: torch.topk(x, 3), x)
    if dtype is torch.bfloat16:
        assert torch.equal(got[0].cpu(), torch.topk(x, 3)[0])
    else:
        same(got, torch.topk(x, 3))


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_extremes_with_their_first_place(dim, keep, how, on_device):
    x = few(6, 5, 67)

    def function(x):
        return *torch.max(x, dim, keep), *torch.min(x, dim, keep)

    with on_device():
        got = run(function, x, how=how)
    same(got, function(x))


@pytest.mark.parametrize("dim", [None, 0, 1])
def test_arguments(dim, on_device):
    x = few(7, 66)

    def function(x):
        return torch.argmax(x, dim), torch.argmin(x, dim, keepdim=True)

    with on_device():
        got = run(function, x)
    same(got, function(x))


def test_arguments_compiled(on_device):
    x = few(7, 66)

    def function(x):
        y = x * 2
        return torch.argmax(y), torch.argmin(y, 1), torch.argmax(y.t(), 0)

    with on_device():
        got = run(function, x, how="compiled")
    same(got, function(x))


def test_numbers_and_truth_values(on_device):
    number, truth = torch.tensor(3.5).half(), few(4, 9) > 0
    with on_device():
        same(run(lambda x: torch.max(x, 0), number), torch.max(number, 0))
        same(run(lambda x: torch.topk(x, 1), number), torch.topk(number, 1))
        same(run(lambda x: torch.max(x, 1), truth), torch.max(truth, 1))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_nan_and_infinity(dtype, on_device):
    nan, inf = float("nan"), float("inf")
    x = torch.tensor([[1, nan, 3, nan], [-inf, -inf, -inf, -inf], [inf, 2, inf, 1]], dtype=dtype)
    with on_device():
        got = run(lambda x: (*torch.max(x, 1), *torch.min(x, 1)), x)
    if dtype is torch.float32:
        same(got, (*torch.max(x, 1), *torch.min(x, 1)))
    else:  # infinities saturate and come back as such
        same(got[1::2], (torch.max(x, 1)[1], torch.min(x, 1)[1]))


def test_places_are_indices(on_device):
    x, table = distinct(6, 67), distinct(67, 8, seed=1)

    def function(x, table):
        place = torch.argmax(x, 1)
        return table[place], torch.nn.functional.embedding(place, table)

    with on_device():
        got = run(function, x, table, how="compiled")
    same(got, function(x, table))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_one_place_is_an_index(dtype, on_device):
    """A vector is searched one element per stick: the lanes beside it are nobody's places."""
    x, table = distinct(32, dtype=dtype), distinct(32, 24, seed=1, dtype=dtype)

    def function(x, table):
        place = torch.min(torch.ceil(x), 0, keepdim=True)[1]
        return torch.nn.functional.embedding(place, table).flip(0), table[torch.topk(x, 5)[1]]

    with on_device():
        got = run(function, x, table, how="compiled")
    same(got, function(x, table))


def test_views_are_searched_in_place(on_device):
    x = distinct(12, 70)
    device = x.to("spyre")
    with on_device():
        same(torch.topk(device[2:9, 3:60], 2, 0), torch.topk(x[2:9, 3:60], 2, 0))
        same(torch.max(device.t(), 1), torch.max(x.t(), 1))
        same(torch.max(device[:, :1].expand(12, 5), 0), torch.max(x[:, :1].expand(12, 5), 0))


@pytest.mark.parametrize("how", WAYS)
def test_gradients(how):
    """The device finds the values, and scatters their gradients back to their places."""
    x = distinct(5, 30)

    def function(x):
        largest, first = torch.topk(x, 2)[0], torch.max(x, 0)[0]
        return (largest * 3).sum() + first.sum() + torch.min(x, 1, keepdim=True)[0].sum() * 2

    leaves = [x.to("spyre").requires_grad_(), x.float().requires_grad_()]
    torch.spyre.reset_counters()
    run_on = torch.compile(function, backend="spyre") if how == "compiled" else function
    run_on(leaves[0]).backward()
    counters = torch.spyre.counters()
    function(leaves[1]).backward()
    assert torch.equal(leaves[0].grad.cpu().float(), leaves[1].grad)
    assert counters["programs_launched"] > 0
    assert counters["fallback_ops"] + counters["graph_fallback_nodes"] == 0, (
        counters,
        torch.spyre.fallback_counts(),
    )


def test_sorted_or_not(on_device):
    """Torch promises no order; ours is the same."""
    x = distinct(4, 67)
    with on_device():
        same(run(lambda x: torch.topk(x, 5, sorted=False), x), torch.topk(x, 5))


def test_equal_elements_come_in_their_order(on_device):
    x = few(3, 70)
    with on_device():
        values, places = run(lambda x: torch.topk(x, 9, 1), x)
        low, low_places = run(lambda x: torch.topk(x, 9, 1, largest=False), x)
    for mine, largest in (((values, places), True), ((low, low_places), False)):
        wanted, order = torch.sort(x, dim=1, descending=largest, stable=True)
        same(mine, (wanted[:, :9], order[:, :9]))


def test_not_a_number_comes_first(on_device):
    """Also among the smallest, where the CPU has it last (docs/numerics.md)."""
    nan = float("nan")
    x = torch.tensor([[1, nan, 3, 2], [4, 2, nan, nan]]).half()
    with on_device():
        high = run(lambda x: torch.topk(x, 3), x)
        low = run(lambda x: torch.topk(x, 3, largest=False), x)
    same(high, (torch.tensor([[nan, 3, 2], [nan, nan, 4]]).half(), torch.tensor([[1, 2, 3], [2, 3, 0]])))
    same(low, (torch.tensor([[nan, 1, 2], [nan, nan, 2]]).half(), torch.tensor([[1, 0, 3], [2, 3, 1]])))


OUT = {
    "topk": (lambda x, out=None: torch.topk(x, 3, 1, out=out)),
    "max": (lambda x, out=None: torch.max(x, 0, out=out)),
    "min": (lambda x, out=None: torch.min(x, 1, keepdim=True, out=out)),
}


@pytest.mark.parametrize("name", OUT)
def test_results_go_where_they_are_wanted(name, on_device):
    function, x = OUT[name], distinct(5, 67)
    wanted = function(x)
    device = x.to("spyre")
    right = [torch.empty(t.shape, dtype=t.dtype, device="spyre") for t in wanted]
    none = [torch.empty(0, dtype=t.dtype, device="spyre") for t in wanted]
    parts = [torch.zeros(9, 80, dtype=t.dtype).to("spyre") for t in wanted]
    with on_device():
        for out in (right, none):
            got = function(device, out=tuple(out))
            assert got[0] is out[0] and got[1] is out[1]
            same(out, wanted)
        strides = (80, 1)[2 - wanted[0].dim() :]
        places = [p.as_strided(t.shape, strides, 83) for p, t in zip(parts, wanted)]
        function(device, out=tuple(places))
        same(places, wanted)
    assert all(p.cpu()[0].count_nonzero() == 0 for p in parts)


def test_one_place_goes_where_it_is_wanted(on_device):
    x = distinct(5, 67)
    out = torch.empty(5, dtype=torch.int64, device="spyre")
    with on_device():
        torch.argmax(x.to("spyre"), 1, out=out)
    same([out], [torch.argmax(x, 1)])


@pytest.mark.filterwarnings("ignore::torch_spyre.ops.fallbacks.FallbackWarning")
def test_wrong_arguments_are_refused_in_torchs_words():
    x = distinct(5, 67).to("spyre")
    values = torch.empty(5, 3, dtype=torch.float16, device="spyre")
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype"):
        torch.topk(x, 3, out=(values, torch.empty(5, 3, dtype=torch.int32, device="spyre")))
    with pytest.raises((RuntimeError, ValueError), match="same device|cpu"):
        torch.topk(x, 3, out=(values, torch.empty(5, 3, dtype=torch.int64)))
    with pytest.raises(RuntimeError, match="k not in range|out of range"):
        torch.topk(x, 68)
    with pytest.raises(IndexError, match="Dimension out of range"):
        torch.max(x, 2)
    with pytest.raises(IndexError, match="non-zero size|reduction"):
        torch.max(torch.empty(3, 0, dtype=torch.float16, device="spyre"), 1)


def test_nothing_to_find():
    x = torch.empty(0, 5).half()
    same(torch.topk(x.to("spyre"), 2), torch.topk(x, 2))
    same(torch.max(x.to("spyre"), 1), torch.max(x, 1))


# Longer lists than the device finds, lists of integers, and all elements in order.
LISTS = {
    "long": (lambda x: torch.topk(x, 65), torch.float16),
    "integers": (lambda x: torch.topk(x, 3), torch.int64),
    "smallest integers": (lambda x: torch.topk(x, 3, 0, largest=False), torch.int32),
    "many integers": (lambda x: torch.topk(x, 66), torch.int64),
    "sorted": (torch.sort, torch.float32),
    "backwards": (lambda x: torch.sort(x, 0, True), torch.bfloat16),
    "places": (lambda x: (torch.argsort(x, -1),), torch.float16),
}


@pytest.mark.parametrize("how", ["eager", "compiled"])
@pytest.mark.parametrize("name", LISTS)
def test_lists_in_order(name, how, on_device):
    function, dtype = LISTS[name]
    x = distinct(4, 70).to(dtype)
    run = torch.compile(function) if how == "compiled" else function
    with on_device():
        got = run(x.to("spyre"))
    same(got, function(x))


def test_sorting_puts_what_is_no_number_last_and_keeps_equals_in_order(on_device):
    x = torch.tensor([[2.0, math.nan, -1, 2, -math.inf, math.nan, -1, 7]])
    with on_device():
        values, places = torch.sort(x.to("spyre"), stable=True)
    wanted, order = torch.sort(x, stable=True)
    assert torch.equal(places.cpu(), order)
    assert torch.equal(values.cpu().nan_to_num(99, 1, -5), wanted.nan_to_num(99, 1, -5))


@pytest.mark.parametrize("how", ["eager", "compiled"])
@pytest.mark.parametrize("name", ["cummax", "cummin"])
def test_running_extremes(name, how, on_device):
    """Of equal elements the last; what is no number stays."""
    x = torch.tensor([[1.0, 3, 3, 2, math.nan, 9], [5, 5, -2, -2, 6, -7]])
    function = getattr(torch, name)
    run = torch.compile(lambda x: function(x, 1)) if how == "compiled" else lambda x: function(x, 1)
    with on_device():
        values, places = run(x.to("spyre"))
    wanted, order = function(x, 1)
    assert torch.equal(places.cpu(), order)
    assert torch.equal(values.cpu().nan_to_num(99), wanted.nan_to_num(99))


@pytest.mark.parametrize("row", [(0, 1, 0), (1, 0, 1), (0, 0, 1), (2, 0, 1, 3), (0, 1)], ids=str)
def test_the_least_number_is_above_minus_infinity(row, on_device):
    values = torch.tensor([float("-inf"), torch.finfo(torch.float32).min, 1.0, 2.0])
    x = values[torch.tensor([row])]

    def function(x):
        return (torch.argmax(x, 1), *torch.topk(x, 2), *torch.max(x, 1))

    for asked in (function, torch.compile(function)):
        with on_device():
            results = asked(x.to("spyre"))
        for result, right in zip(results, function(x), strict=True):
            assert torch.equal(result.cpu(), right)
