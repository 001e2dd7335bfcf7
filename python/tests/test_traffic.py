"""Views cost nothing: what a compiled function moves to and from device memory is each input once per
operation that reads it, each intermediate once written and once read per reader, and the outputs."""

import pytest
import torch
import torch_spyre
from torch_spyre._inductor import config

STICK_LANES = 64


def padded_bytes(*shape):
    """Of a half-precision tensor: the last dimension takes whole sticks."""
    sticks = -(-shape[-1] // STICK_LANES)
    return torch.Size(shape[:-1]).numel() * sticks * STICK_LANES * 2


def half(*shape):
    return torch.randn(*shape).half()


def rotate(x, cos, sin):
    low, high = x[..., :64], x[..., 64:]
    return torch.cat([low * cos - high * sin, high * cos + low * sin], -1)


HALF_HEADS = padded_bytes(2, 8, 256, 64)
TABLE = padded_bytes(256, 64)

# function, inputs, bytes read, bytes written
CASES = {
    "flatten": (
        lambda x: torch.exp(x.view(500, 200)),
        [half(50, 10, 200)],
        padded_bytes(50, 10, 200),
        padded_bytes(500, 200),
    ),
    "split heads": (
        lambda x: torch.exp(x.view(2, 256, 32, 128).transpose(1, 2)),
        [half(512, 4096)],
        padded_bytes(512, 4096),
        padded_bytes(2, 32, 256, 128),
    ),
    "fuse heads": (
        lambda x: torch.exp(x.transpose(1, 2).reshape(512, 4096)),
        [half(2, 32, 256, 128)],
        padded_bytes(2, 32, 256, 128),
        padded_bytes(512, 4096),
    ),
    "batch of a matmul": (
        lambda x, w: (x @ w).view(4, 24, 128),
        [half(4, 24, 64), half(64, 128)],
        padded_bytes(4, 24, 64) + padded_bytes(64, 128),
        padded_bytes(4, 24, 128),
    ),
    # Four products read half of x and a table each; a difference and a sum read two products each.
    "rotary embedding": (
        rotate,
        [half(2, 8, 256, 128), half(256, 64), half(256, 64)],
        4 * (HALF_HEADS + TABLE) + 4 * HALF_HEADS,
        4 * HALF_HEADS + padded_bytes(2, 8, 256, 128),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_views_move_nothing(name):
    function, inputs, read, written = CASES[name]
    compiled = torch.compile(function)
    inputs = [x.to("spyre") for x in inputs]
    with config.patch(lx_planning=False):  # what stays in LX is not counted
        compiled(*inputs)
    before = torch.spyre.counters()
    compiled(*inputs)
    torch.spyre.synchronize()
    after = torch.spyre.counters()
    moved = {key: after[key] - before[key] for key in ("ddr_read_bytes", "ddr_write_bytes")}
    assert moved == {"ddr_read_bytes": read, "ddr_write_bytes": written}
    artifacts = torch_spyre.last_compile().artifacts
    specs = [bytes(text) for path, text in artifacts.items() if path.endswith("op_spec.txt")]
    assert specs and not any(b"identity" in text or b"ReStickify" in text for text in specs)
