"""Running sums and products, triangles, membership, numbers in order: on the device."""

import pytest
import torch
import torch.nn.functional as F
from tolerances import relative_error, tolerance


def values(*shape, dtype=torch.float16, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-4, 5, shape, generator=generator).to(dtype)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float32, torch.int32, torch.int64, torch.bool]
)
def test_running_sums(dtype, dim, compiled, on_device):
    def function(x):
        return x.cumsum(dim)

    x = values(3, 67, 5, dtype=dtype)
    with on_device():
        result = (torch.compile(function) if compiled else function)(x.to("spyre"))
    wanted = function(x.float() if x.is_floating_point() else x)
    assert result.dtype == function(x).dtype
    assert torch.equal(result.cpu().float(), wanted.to(result.dtype).float())  # small and whole


def test_running_sums_of_fractions(on_device):
    x = torch.randn(200, generator=torch.Generator().manual_seed(1)).half()
    with on_device():
        result = x.to("spyre").cumsum(0)
    wanted = x.float().cumsum(0)
    scale = x.float().abs().cumsum(0)
    bound = tolerance("sum", torch.float16, 200) * scale
    assert torch.all((result.cpu().float() - wanted).abs() <= bound)


def test_running_products(on_device):
    x = 1 + values(4, 20, dtype=torch.float32) / 16
    with on_device():
        results = x.to("spyre").cumprod(1), x.to("spyre").half().cumprod(0)
    error = relative_error(results[0].cpu().numpy(), x.double().cumprod(1).numpy())
    assert error <= tolerance("chain", torch.float32, 20)
    error = relative_error(results[1].cpu().float().numpy(), x.cumprod(0).numpy())
    assert error <= tolerance("pointwise", torch.float16)


def test_running_sums_have_gradients(on_device):
    x = values(3, 40)
    device = x.to("spyre").requires_grad_()
    with on_device():
        (device.cumsum(1) * device).sum().backward()
    wanted = x.float().requires_grad_()
    (wanted.cumsum(1) * wanted).sum().backward()
    error = relative_error(device.grad.cpu().float().numpy(), wanted.grad.numpy())
    assert error <= tolerance("sum", torch.float16, 40)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("diagonal", [0, -2, 3, 80])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.int64, torch.bool], ids=str)
def test_triangles(dtype, diagonal, compiled, on_device):
    def function(x):
        return torch.tril(x, diagonal), torch.triu(x, diagonal)

    x = values(2, 33, 67, dtype=dtype)
    with on_device():
        results = (torch.compile(function) if compiled else function)(x.to("spyre"))
    for result, wanted in zip(results, function(x)):
        assert torch.equal(result.cpu(), wanted)


def test_a_causal_mask(on_device):
    def function(scores):
        mask = torch.triu(torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device), 1)
        return scores.masked_fill(mask, -float("inf")).softmax(-1)

    x = values(2, 20, 20)
    with on_device():
        result = torch.compile(function)(x.to("spyre"))
    wanted = function(x.float())
    assert torch.all((result.cpu().float() - wanted).abs() <= tolerance("chain", torch.float16, 6))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.int32, torch.int64], ids=str)
def test_membership(dtype, on_device):
    def function(x, y):
        return torch.isin(x, y), torch.isin(x, y, invert=True), torch.isin(x, 3)

    x, y = values(5, 67, dtype=dtype), torch.tensor([1, -3, 7]).to(dtype)
    with on_device():
        eager = function(x.to("spyre"), y.to("spyre"))
        compiled = torch.compile(function)(x.to("spyre"), y.to("spyre"))
    for mine, graph, wanted in zip(eager, compiled, function(x, y)):
        assert torch.equal(mine.cpu(), wanted) and torch.equal(graph.cpu(), wanted)


def test_membership_of_numbers_far_apart(on_device):
    x = torch.tensor([-(2**31), 2**31 - 1, 0, -1], dtype=torch.int32)
    with on_device():
        result = torch.isin(x.to("spyre"), x[1:3].flip(0).contiguous().to("spyre"))
    assert result.cpu().tolist() == [False, True, True, False]


def test_one_hot(on_device):
    x = torch.tensor([[0, 3, 2], [1, 1, 0]])
    with on_device():
        result = torch.compile(lambda x: F.one_hot(x, 5))(x.to("spyre"))
    assert result.dtype == torch.int64 and torch.equal(result.cpu(), F.one_hot(x, 5))


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.float32, torch.float16], ids=str)
def test_numbers_in_order(dtype, on_device):
    with on_device():
        results = [
            torch.arange(130, dtype=dtype, device="spyre"),
            torch.arange(3, 20, 4, dtype=dtype, device="spyre"),
            torch.arange(5, -6, -1, dtype=dtype, device="spyre"),
        ]
    wanted = (torch.arange(130), torch.arange(3, 20, 4), torch.arange(5, -6, -1))
    for result, numbers in zip(results, wanted):
        assert torch.equal(result.cpu(), numbers.to(dtype))


@pytest.mark.filterwarnings("ignore")
def test_numbers_in_order_that_are_none_or_far_apart():
    assert torch.arange(0, device="spyre").shape == (0,)
    far = torch.arange(2**31 - 2, 2**31 + 1, device="spyre")
    assert far.shape == (3,) and far[0].item() == 2**31 - 2
