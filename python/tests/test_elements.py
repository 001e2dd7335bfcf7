"""Few elements of a large tensor are read and written without moving the tensor."""

import random

import pytest
import torch

SHAPES = [(300, 700), (40, 33, 129), (70000,), (3, 5, 7, 11, 65), (2, 3, 5, 7, 3, 65)]


def _small_view(tensor, rng):
    """Of at most a few hundred elements."""
    while tensor.dim() > 0 and (tensor.numel() > 200 or rng.random() < 0.5):
        dim = rng.randrange(tensor.dim())
        extent = tensor.size(dim)
        if rng.random() < 0.5:
            tensor = tensor.select(dim, rng.randrange(extent))
        else:
            count = rng.randint(1, min(extent, 9))
            tensor = tensor.narrow(dim, rng.randint(0, extent - count), count)
            tensor = tensor.transpose(0, dim)
        if rng.random() < 0.2 and tensor.dim() > 0:
            tensor = tensor.unfold(0, 1, 2).squeeze(-1)
    return tensor


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.int8])
def test_views_are_read_and_written_in_place(dtype):
    rng = random.Random(f"{dtype}")
    for shape in SHAPES:
        count = torch.Size(shape).numel()
        host = (torch.arange(count) % 101).to(torch.float32).reshape(shape).to(dtype)
        device = host.to("spyre")
        whole = device.untyped_storage().nbytes()
        for _ in range(6):
            seed = rng.random()
            of_host, of_device = (_small_view(t, random.Random(seed)) for t in (host, device))
            torch.spyre.synchronize()
            torch.spyre.reset_counters()
            assert torch.equal(of_device.cpu(), of_host)
            of_host.copy_(-of_host)
            of_device.copy_(of_host)
            torch.spyre.synchronize()
            counters = torch.spyre.counters()
            assert counters["h2d_bytes"] + counters["d2h_bytes"] < whole
            assert counters["fallback_ops"] == counters["programs_launched"] == 0
        assert torch.equal(device.cpu(), host), shape


def test_numbers_are_read_and_assigned():
    x = torch.zeros(512, 500, device="spyre", dtype=torch.float16)
    torch.spyre.synchronize()
    torch.spyre.reset_counters()
    x[7, 3] = 2.5
    x[511, 499] = torch.tensor(3)
    assert (x[7, 3].item(), x[511, 499].item(), x[7, 4].item()) == (2.5, 3.0, 0.0)
    counters = torch.spyre.counters()
    assert counters["h2d_bytes"] <= 2 * 128 and counters["d2h_bytes"] <= 5 * 128
    assert x.sum().item() == 5.5


def test_writes_are_ordered_with_the_stream():
    x = torch.zeros(512, 512, device="spyre", dtype=torch.float16)
    for i in range(1, 20):
        x[3, 5] = float(i)
        y = x + x
        assert y[3, 5].item() == 2 * i
    with pytest.raises(RuntimeError, match="single memory location"):
        x[:1].expand(4, 512).copy_(torch.ones(4, 512))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.int64])
def test_views_of_all_elements_are_one_transfer(dtype):
    host = (torch.arange(5 * 7 * 130) % 900).reshape(5, 7, 130).to(dtype)
    for view in (
        lambda t: t.transpose(0, 2),
        lambda t: t.permute(1, 2, 0),
        lambda t: t.view(-1),
        lambda t: t.view(35, 1, 130),
        lambda t: t.view(7, 5, 26, 5).transpose(1, 3),
    ):
        device = host.to("spyre")
        pinned = torch.empty_strided(
            view(host).shape, view(host).stride(), dtype=dtype, pin_memory=True
        )
        pinned.copy_(view(device), non_blocking=True)
        torch.spyre.synchronize()
        assert torch.equal(pinned, view(host))
        assert torch.equal(view(device).cpu(), view(host))
        view(device).copy_(-view(host), non_blocking=True)
        assert torch.equal(device.cpu(), -host)
        view(device).copy_(view(host).contiguous())
        assert torch.equal(device.cpu(), host)
