"""Products along a dimension, in fp32 on the device, rounded once."""

import pytest
import torch
from tolerances import relative_error, tolerance, ulp_distance


def numbers(*shape, dtype=torch.float16):
    """Near 1, exact in all formats."""
    generator = torch.Generator().manual_seed(5)
    return (1 + torch.randint(-4, 5, shape, generator=generator) / 16).to(dtype)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_along_a_dimension(dim, on_device):
    x = numbers(5, 7, 9)
    with on_device():
        got = torch.prod(x.to("spyre"), dim), torch.prod(x.to("spyre"), dim, keepdim=True)
    for mine, keep in zip(got, (False, True)):
        wanted = torch.prod(x.float(), dim, keepdim=keep)
        assert mine.shape == wanted.shape and mine.dtype == torch.float16
        assert ulp_distance(mine.cpu().float().numpy(), wanted.numpy()) <= 1


def test_of_all_and_compiled(on_device):
    x = numbers(3, 21)
    with on_device():
        got = torch.compile(lambda x: (x.prod(), x.t().prod(0)), backend="spyre")(x.to("spyre"))
    assert ulp_distance(got[0].cpu().float().numpy(), x.float().prod().numpy()) <= 1
    assert ulp_distance(got[1].cpu().float().numpy(), x.float().prod(1).numpy()) <= 1


def test_in_fp32(on_device):
    x = numbers(4, 33, dtype=torch.float32)
    with on_device():
        got = x.to("spyre").prod(1)
    error = relative_error(got.cpu().numpy(), x.double().prod(1).numpy())
    assert error <= tolerance("chain", torch.float32, 33)
