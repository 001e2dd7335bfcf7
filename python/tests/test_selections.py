"""topk, max and min with their places, argmax and argmin on the device, against the CPU.

Elements are exact in the device's formats, so values and places must be the CPU's. Torch leaves open
which of equal elements topk names; where its places are compared, all elements of a column differ.
"""

import pytest
import torch

from torch_spyre.ops.fallbacks import FallbackWarning

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


def test_views_are_searched_in_place(on_device):
    x = distinct(12, 70)
    device = x.to("spyre")
    with on_device():
        same(torch.topk(device[2:9, 3:60], 2, 0), torch.topk(x[2:9, 3:60], 2, 0))
        same(torch.max(device.t(), 1), torch.max(x.t(), 1))
        same(torch.max(device[:, :1].expand(12, 5), 0), torch.max(x[:, :1].expand(12, 5), 0))


@pytest.mark.filterwarnings("ignore::torch_spyre.ops.fallbacks.FallbackWarning")
def test_gradients():
    """Values are scattered back to their places, which the CPU does."""
    x = distinct(5, 30)
    leaves = [x.to("spyre").requires_grad_(), x.float().requires_grad_()]
    for leaf in leaves:
        (torch.topk(leaf, 2)[0] * 3).sum().backward()
        torch.max(leaf, 0)[0].sum().backward()
    assert torch.equal(leaves[0].grad.cpu().float(), leaves[1].grad)


def test_integers_are_searched_by_the_cpu():
    x = torch.tensor([[3, 1, 2], [5, 9, 4]])
    torch.spyre.reset_counters()
    with pytest.warns(FallbackWarning, match="aten.max.dim"):
        same(torch.max(x.to("spyre"), 1), torch.max(x, 1))
    assert torch.spyre.counters()["fallback_ops"] == 1
