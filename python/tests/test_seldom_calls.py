"""Calls that models make seldom and torch allows all the same: along a dimension of tensors that have none, of integers and
truth values where fractions are meant, writes of rows by a mask. Eager and compiled, on the device, against the CPU.

Operands are whole numbers unless a case needs others, so that results are exact.
"""

import math

import pytest
import torch
import torch.nn.functional as F
from tolerances import tolerance

F16, F32, I8, I32, I64, BOOL = torch.float16, torch.float32, torch.int8, torch.int32, torch.int64, torch.bool
WAYS = ("eager", "compiled")


def whole(*shape, low=-6, high=7, dtype=F32, seed=3):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(low, high, shape, generator=generator).to(dtype)


def leaves(value):
    return list(value) if isinstance(value, (tuple, list)) else [value]


def check(function, operands, how, on_device, allowed=0.0):
    """The CPU's values, types and shapes."""
    wanted = leaves(function(*operands))
    asked = function if how == "eager" else torch.compile(function)
    device = [t.to("spyre") for t in operands]
    with on_device():
        results = leaves(asked(*device))
        torch.spyre.synchronize()
    for number, (result, want) in enumerate(zip(results, wanted, strict=True)):
        assert result.dtype == want.dtype and result.shape == want.shape, (number, result, want)
        torch.testing.assert_close(result.cpu(), want, rtol=allowed, atol=0, equal_nan=True)


ONE = torch.tensor(3.0)
PLACE, PLACES = torch.tensor(0), torch.tensor([0])
SINGLE = {
    "extremes": (lambda x: (*torch.max(x, 0), *torch.min(x, -1, True)), [ONE]),
    "places": (lambda x: (torch.argmax(x), torch.argmin(x, 0)), [ONE]),
    "first": (lambda x: torch.topk(x, 1), [ONE]),
    "sums": (lambda x: (torch.sum(x, 0), torch.mean(x, -1, True), torch.prod(x, 0), torch.amax(x, 0)), [ONE]),
    "sums of two bytes": (lambda x: (torch.sum(x, 0), torch.mean(x, -1, True)), [ONE.half()]),
    "shares": (lambda x: (torch.softmax(x, 0), torch.log_softmax(x, 0)), [ONE]),
    "norms": (lambda x: (torch.linalg.vector_norm(x, 1, 0), torch.linalg.vector_norm(x, 2)), [ONE]),
    "choices": (lambda x, i: (torch.index_select(x, 0, i), torch.take(x, i)), [ONE, PLACES]),
    "gathers": (lambda x, i: torch.gather(x, 0, i), [ONE, PLACE]),
    "fills": (lambda x, i: (torch.index_fill(x, 0, i, 2), torch.index_fill(x, 0, i, x * 2)), [ONE, PLACES]),
    "sums of rows": (lambda x, i: torch.index_add(x, 0, i, x), [ONE, PLACES]),
    "extremes of rows": (lambda x, i: torch.index_reduce(x, 0, i, x + 1, "amax"), [ONE, PLACES]),
    "scatters": (lambda x, i: (torch.scatter(x, 0, i, 2.0), torch.scatter_add(x, 0, i, x)), [ONE, PLACE]),
    "named reductions": (lambda x, i: (x.scatter(0, i, x, reduce="add"), x.scatter(0, i, 5, reduce="multiply")), [ONE, PLACE]),
    "reductions": (lambda x, i: torch.scatter_reduce(x, 0, i, x, "sum"), [ONE, PLACE]),
    "windows": (lambda x: (x.unfold(0, 1, 1), torch.flip(x, [0])), [ONE]),
}

_M = whole(5, 3, dtype=I64)
_B = whole(2, 5, 3, dtype=I64, seed=4)
_C = whole(2, 3, 4, dtype=I64, seed=5)
WHOLE = {
    # A fraction beside integers is cut, as torch does.
    "products added": (
        lambda x, y: (
            torch.addmm(x[:3], x.t(), x, beta=0.6, alpha=2.7),
            torch.addmv(x[:, 0], x, x[0], beta=0.2, alpha=3),
            torch.addbmm(x[:, :1], y, y.transpose(1, 2)[..., :4], beta=2),
        ),
        [_M, _B],
    ),
    "batches added": (lambda b, c: torch.baddbmm(b[..., :1], b, c, beta=0.2, alpha=-2), [_B, _C]),
    "bytes added": (lambda x: torch.addmm(x[:3], x.t(), x), [_M.to(I8)]),
    "products": (lambda x: torch.addcmul(x, x, x, value=2.9), [_M]),
    "bounds": (lambda x: (F.hardtanh(x, -0.5, 2.5), F.relu6(x)), [_M]),
    "largest of windows": (lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True), [whole(2, 3, 9, 7, dtype=I64)]),
    "largest of bytes": (lambda x: F.max_pool2d(x, 2), [whole(2, 3, 8, 6, dtype=I8)]),
    "means of windows": (lambda x: F.avg_pool2d(x, 3, 2, 1), [whole(2, 3, 9, 7, dtype=I64, high=40)]),
    "means of places": (
        lambda x, i: (
            torch.scatter_reduce(x, 0, i, -x, "mean"),
            torch.scatter_reduce(x, 0, i, -x, "mean", include_self=False),
        ),
        [whole(5, dtype=I64), torch.tensor([0, 0, 3, 3, 3])],
    ),
    "no infinities": (lambda x: (torch.isinf(x), torch.angle(x)), [_M]),
    "logarithms of sums": (lambda x: torch.logsumexp(x, 0), [torch.zeros(1, 4, dtype=I64)]),
}

_TRUTHS = whole(6, low=0, high=2, dtype=BOOL)
_AT = torch.tensor([0, 0, 1, 3, 3, 5])
TRUTHS = {
    "sums": (lambda x, i: torch.scatter_add(x, 0, i, ~x), [_TRUTHS, _AT]),
    **{
        f"reduced by {name}": (
            lambda x, i, name=name: torch.scatter_reduce(x, 0, i, ~x, name, include_self=False),
            [_TRUTHS, _AT],
        )
        for name in ("sum", "prod", "amax", "amin")
    },
    "put": (lambda x, i: x.clone().put_(i, ~x, accumulate=True), [_TRUTHS, _AT]),
    "index_put": (lambda x, i: torch.index_put(x, [i], ~x, True), [_TRUTHS, _AT]),
}


def _store(x, mask, rows):
    y = x.clone()
    y[mask] = rows
    return y


_MASK = torch.tensor([True, False, True, True])
_ROWS = {
    "a row for each": whole(3, 6),
    "one row": whole(1, 6),
    "one row without a dimension": whole(6),
    "a number for each": whole(3, 1),
    "a number": torch.tensor(1.0),
}
MASKS = {
    f"{name} {str(dtype)[6:]}": (_store, [whole(4, 6, dtype=dtype, seed=9), _MASK, rows.to(dtype)])
    for name, rows in _ROWS.items()
    for dtype in (F32, F16, I64, BOOL)
}
MASKS["elements"] = (lambda x, v: _store(x, x > 2, v[: int((x > 2).sum())]), [whole(4, 6), whole(24)])
MASKS["added"] = (lambda x, m, v: torch.index_put(x, [m], v, True), [whole(4, 6), _MASK, whole(3, 6)])

_TABLE = whole(10, 3).clone()


def _renormed(table, numbers, order):
    table = table.clone()
    return F.embedding(numbers, table, max_norm=2.0, norm_type=order), table


OTHERS = {
    "margins of large numbers": (
        lambda x, t: F.soft_margin_loss(x, t, reduction="none"),
        [torch.tensor([-8.0, 3, 1, 60, 0]), torch.tensor([4.0, 1, -1, -1, 1])],
    ),
    "named sums": (
        lambda x, i: (x.scatter(0, i, x, reduce="add"), x.scatter(0, i, 2.0, reduce="multiply")),
        [whole(5), torch.tensor([0, 0, 3, 3, 1])],
    ),
    "places that are not 0": (lambda x: torch.nonzero_static(x, size=7), [whole(3, 4)]),
    "more places than there are": (lambda x: torch.nonzero_static(x, size=20, fill_value=-7), [whole(3, 4) > 2]),
    "bins": (lambda x: (torch.histc(x, 10, -4, 4), torch.histc(x, 4)), [whole(40)]),
    "one bin": (lambda x: torch.histc(x, 5), [torch.ones(4)]),
    "decimals": (lambda x: (torch.round(x / 8, decimals=1), torch.round(x, decimals=-1)), [whole(50, high=99)]),
    "angles": (torch.angle, [torch.tensor([1.0, -2.0, 0.0, -math.inf, math.nan])]),
    "taken": (torch.take, [whole(3, 4), torch.tensor([[0, -1], [5, 2]])]),
    "copies of views": (
        lambda x: (*torch.unbind_copy(x), torch.unfold_copy(x, 1, 2, 1), torch.as_strided_copy(x, (3,), (2,))),
        [whole(3, 4)],
    ),
    "narrow copies": (lambda x: torch.narrow_copy(x, 1, 1, 2), [whole(3, 4)]),
    "bags without gradients of rows": (
        lambda w, i, o: F.embedding_bag(i, w, o, mode="sum", sparse=True),
        [_TABLE, torch.tensor([1, 2, 2, 7]), torch.tensor([0, 2])],
    ),
    "long windows": (lambda x: F.max_pool2d(x, 13, 1, 6, return_indices=True), [whole(1, 2, 15, 14)]),
    "windows of nothing": (
        lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True),
        [torch.full((1, 1, 6, 6), -math.inf)],
    ),
}

CASES = {"single": SINGLE, "whole": WHOLE, "truths": TRUTHS, "masks": MASKS, "others": OTHERS}
ALL = [(kind, name) for kind, cases in CASES.items() for name in cases]


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("kind,name", ALL, ids=lambda value: value)
def test_call(kind, name, how, on_device):
    function, operands = CASES[kind][name]
    check(function, operands, how, on_device, tolerance("function", F32))


@pytest.mark.parametrize("dtype", [F16, I64, I8, BOOL], ids=str)
def test_single_elements_of_other_types(dtype, on_device):
    one = torch.tensor(1).to(dtype)
    check(lambda x: (*torch.max(x, 0), torch.index_select(x, 0, x.new_zeros(1).long())), [one], "eager", on_device)


@pytest.mark.parametrize("order", [1.0, 2.0, math.inf])
@pytest.mark.parametrize("how", WAYS)
def test_renormed_tables(order, how, on_device):
    """Rows that are named and too large get the norm; the table itself is written."""
    numbers = torch.tensor([[1, 2], [2, 7]])
    check(lambda w, i: _renormed(w, i, order), [_TABLE, numbers], how, on_device, tolerance("chain", F32, 8))


@pytest.mark.parametrize("base", [2.0, 10.0])
def test_powers_in_order(base, on_device):
    with on_device():
        result = torch.logspace(-2, 3, 9, base=base, device="spyre")
    wanted = torch.logspace(-2, 3, 9, base=base)
    torch.testing.assert_close(result.cpu(), wanted, rtol=tolerance("chain", F32, 8), atol=0)


def test_long_windows_are_averaged_forwards_and_backwards(on_device):
    def gradient(x):
        x = x.detach().requires_grad_()
        mean = F.avg_pool2d(x, 9, 2, 4, count_include_pad=False)
        (mean * mean.shape[-1]).sum().backward()
        return mean.detach(), x.grad

    x = whole(2, 3, 17, 19)
    wanted = gradient(x)
    device = x.to("spyre")
    with on_device():
        results = gradient(device)
    for result, want in zip(results, wanted):
        allowed = tolerance("sum", F32, 81) * float(want.abs().max())
        torch.testing.assert_close(result.cpu(), want, rtol=0, atol=allowed)


def test_as_many_rows_as_the_mask_names():
    """Torch looks; the device says it at the next synchronisation, and the tensor keeps its contents."""
    x, mask = torch.zeros(4, 6).to("spyre"), _MASK.to("spyre")
    with pytest.raises(RuntimeError, match="SPYRE-E7017.*index_put.*holds the index 1"):
        x[mask] = torch.ones(2, 6).to("spyre")
        torch.spyre.synchronize()
    assert x.cpu().eq(0).all()


def test_states_are_frozen_within_a_graph_break():
    """Suites put the state of random numbers back where no tensor may be made."""
    from torch.utils._mode_utils import no_dispatch

    state = torch.spyre.get_rng_state()

    def function(x):
        y = torch.rand_like(x)
        with no_dispatch():
            torch.spyre.set_rng_state(state)
        return y + torch.rand_like(x)

    x = torch.zeros(5).to("spyre")
    result = torch.compile(function)(x)
    torch.spyre.set_rng_state(state)
    assert result.shape == x.shape and torch.equal(torch.spyre.get_rng_state(), state)


def test_gradients_of_long_windows(on_device):
    def gradient(x):
        x = x.detach().requires_grad_()
        F.max_pool2d(x, 9, 2, 4).square().sum().backward()
        return x.grad

    x = torch.randperm(2 * 3 * 17 * 19, generator=torch.Generator().manual_seed(0)).reshape(2, 3, 17, 19).float() / 64
    device = x.to("spyre")
    with on_device():
        result = gradient(device)
    torch.testing.assert_close(result.cpu(), gradient(x), rtol=tolerance("sum", F32, 81), atol=0)


BESIDE = {
    "filled": lambda x, s: x.masked_fill(x > 0, s),
    "chosen": lambda x, s: torch.where(x > 0, x, s),
    "rests": lambda x, s: (torch.remainder(x, s), torch.fmod(x, s), torch.floor_divide(x, s)),
    "signs": lambda x, s: torch.copysign(x, s),
    "between": lambda x, s: torch.lerp(x, x * 2, s),
    "stored": lambda x, s: _store(x, x > 0, s),
    "at places": lambda x, s: torch.index_fill(x, 0, torch.tensor([0, 2]).to(x.device), s),
}


@pytest.mark.parametrize("dtype", [F32, F16], ids=str)
@pytest.mark.parametrize("name", BESIDE)
def test_single_elements_of_the_cpu_are_numbers(name, dtype, on_device):
    """As everywhere in torch, they may stand beside tensors of a device."""
    x, single = whole(3, 4, dtype=dtype), torch.tensor(-2.0, dtype=dtype)
    device = x.to("spyre")
    with on_device():
        results = leaves(BESIDE[name](device, single))
    for result, want in zip(results, leaves(BESIDE[name](x, single)), strict=True):
        assert result.dtype == want.dtype and torch.equal(result.cpu(), want)


@pytest.mark.parametrize("value", [2.5, 2.0, 2, -7.5, 1e12, -1e12, float("inf"), float("-inf"), float("nan")])
@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("dtype", [I8, I32, I64], ids=str)
def test_fractions_are_searched_among_integers(value, right, dtype, on_device):
    row = torch.tensor([-3, 1, 2, 2, 3, 90], dtype=dtype)

    def function(row):
        return torch.searchsorted(row, value, right=right), torch.bucketize(value, row, right=right)

    check(function, [row], "eager", on_device)


@pytest.mark.parametrize("how", WAYS)
def test_bytes_among_bytes(how, on_device):
    elements = torch.tensor([0, 1, 127, 128, 255, 200], dtype=torch.uint8)
    check(torch.isin, [elements, torch.tensor([255, 128, 3], dtype=torch.uint8)], how, on_device)


@pytest.mark.parametrize("how", WAYS)
def test_parts_of_one_row_are_parts_of_one_memory(how):
    """The stride of a dimension of one element says nothing about where the others lie."""

    def function(x):
        y = x * 2
        return y, y[:, 1:], y.transpose(0, 1)[2:]

    x = whole(1, 6)
    y, tail, column = (torch.compile(function) if how == "compiled" else function)(x.to("spyre"))
    assert torch.equal(tail.cpu(), function(x)[1]) and torch.equal(column.cpu(), function(x)[2])
    assert tail.untyped_storage().data_ptr() == y.untyped_storage().data_ptr() == column.untyped_storage().data_ptr()
