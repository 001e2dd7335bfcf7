"""Fills happen on the device, views and repeated dimensions included."""

import random

import pytest
import torch

DTYPES = [
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.bool,
    torch.float8_e4m3fn,
]


def _moved():
    torch.spyre.synchronize()
    counters = torch.spyre.counters()
    return counters["h2d_bytes"] + counters["d2h_bytes"], counters["fallback_ops"]


def _view(tensor, rng):
    for _ in range(rng.randint(0, 3)):
        if tensor.dim() == 0:
            return tensor.expand(2, 3)
        dim = rng.randrange(tensor.dim())
        extent = tensor.size(dim)
        count = rng.randint(1, extent)
        kind = rng.randrange(5)
        if kind == 0:
            tensor = tensor.select(dim, rng.randrange(extent))
        elif kind == 1:
            tensor = tensor.narrow(dim, rng.randint(0, extent - count), count)
        elif kind == 2:
            tensor = tensor.transpose(0, dim)
        elif kind == 3:
            tensor = tensor.unfold(dim, 1, 2).squeeze(-1)
        else:
            shape = list(tensor.shape)
            tensor = tensor.unsqueeze(dim).expand(*shape[:dim], 2, *shape[dim:])
    return tensor


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_values_never_come_from_the_host(dtype):
    rng = random.Random(str(dtype))
    for _ in range(25):
        shape = [rng.choice([1, 2, 3, 31, 33, 64, 65]) for _ in range(rng.randint(0, 3))]
        count = max(1, torch.Size(shape).numel())
        host = (torch.arange(count, dtype=torch.float32) % 2).reshape(shape).to(dtype)
        device = host.to("spyre")
        seed = rng.random()
        value = rng.choice([0, 1])
        device_view = _view(device, random.Random(seed))
        if device_view.numel() > 1 << 14:
            continue
        torch.spyre.synchronize()
        torch.spyre.reset_counters()
        device_view.fill_(value)
        assert _moved() == (0, 0)
        _view(host, random.Random(seed)).fill_(value)
        assert torch.equal(device.cpu().float(), host.float()), (shape, device_view.shape)


def test_factories_and_large_views():
    torch.spyre.synchronize()
    torch.spyre.reset_counters()
    made = [
        torch.full((70, 65), 2.5, device="spyre"),
        torch.ones(70, 65, device="spyre", dtype=torch.float16),
        torch.zeros(3, 0, device="spyre"),
        torch.full_like(torch.empty(5, 7, device="spyre"), -1.0),
        torch.empty(7, device="spyre").zero_(),
        torch.empty(256, 256, device="spyre", dtype=torch.float16).fill_(3.0),
    ]
    made[-1][:128].fill_(4.0)  # a program: too many elements for a list of lanes
    assert _moved() == (0, 0)
    assert torch.spyre.counters()["programs_launched"] > 0
    assert (made[0].cpu() == 2.5).all() and (made[1].cpu() == 1).all() and made[2].numel() == 0
    assert (made[3].cpu() == -1).all() and (made[4].cpu() == 0).all()
    assert (made[5][:128].cpu() == 4).all() and (made[5][128:].cpu() == 3).all()


def test_fills_are_ordered_with_their_stream_and_seen_as_control_blocks():
    x = torch.ones(64, 64, device="spyre", dtype=torch.float16)
    y = x + x
    x.zero_()  # after the addition
    torch.spyre.synchronize()
    torch.spyre.record_control_blocks(10)
    x[3].fill_(1.0)
    x.fill_(2.0)
    torch.spyre.synchronize()
    blocks = torch.spyre.control_blocks()
    torch.spyre.record_control_blocks(0)
    assert [block.split()[1] for block in blocks] == ["fill"] * len(blocks) and blocks
    assert (y.cpu() == 2).all() and (x.cpu() == 2).all()


def test_what_cannot_be_filled():
    x = torch.empty(3, device="spyre")
    with pytest.raises(TypeError, match="SPYRE-E6502.*complex"):
        x.fill_(1j)
    with pytest.raises(RuntimeError, match="without overflow"):
        x.to(torch.int8).fill_(300)
    with pytest.raises(RuntimeError, match="0-dimension"):
        x.fill_(torch.ones(2))
    with pytest.raises(RuntimeError, match="leaf Variable"):
        x.requires_grad_().fill_(1)


def test_fresh_memory_is_filled_when_torch_asks_for_it():
    """torch.use_deterministic_algorithms: NaN, or the largest number."""
    torch.use_deterministic_algorithms(True)
    try:
        made = [
            torch.empty(3, 70, device="spyre", dtype=dtype)
            for dtype in (torch.float16, torch.float32, torch.int8, torch.int32, torch.bool, torch.uint8)
        ]
        strided = torch.empty_strided((4, 5), (1, 4), device="spyre")
    finally:
        torch.use_deterministic_algorithms(False)
    assert made[0].cpu().isnan().all() and made[1].cpu().isnan().all()
    assert strided.cpu().isnan().all()
    assert (made[2].cpu() == 127).all() and (made[3].cpu() == 2**31 - 1).all()
    assert made[4].cpu().all() and (made[5].cpu() == 255).all()
