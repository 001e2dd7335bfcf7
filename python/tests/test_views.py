"""Views in compiled graphs: what is read must be what torch reads, element for element.

Values are small whole numbers, which every format holds exactly, so nothing may differ."""

import pytest
import torch

VIEWS = {
    "slice": lambda x: x[:, 3:67],
    "slice rows": lambda x: x[2:5],
    "slice to the end": lambda x: x[:, 70:],
    "step": lambda x: x[::2],
    "step in the stick": lambda x: x[:, 1::3],
    "select row": lambda x: x[3],
    "select column": lambda x: x[:, 99],
    "narrow": lambda x: x.narrow(1, 10, 80),
    "chunk": lambda x: torch.chunk(x, 2, -1)[1],
    "split": lambda x: x.split([30, 60, 10], 1)[1],
    "unbind": lambda x: x.unbind(0)[4],
    "transpose": lambda x: x.t(),
    "slice of a transpose": lambda x: x.t()[7:50, 1:],
    "reshape": lambda x: x.reshape(10, 90),
    "reshape and slice": lambda x: x.reshape(3, 3, 100)[:, 1, 5:],
    "flatten and slice": lambda x: x.flatten()[123:456],
    "expand": lambda x: x[:, None, :].expand(9, 4, 100),
    "windows apart": lambda x: x.unfold(1, 3, 4),
    "windows that overlap": lambda x: x.unfold(0, 3, 2),
    "flip rows": lambda x: x.flip(0),
    "flip both": lambda x: x.flip((0, 1)),
    "diagonal": lambda x: torch.diagonal(x),
    "diagonal above": lambda x: torch.diagonal(x, 5),
    "diagonal below": lambda x: torch.diagonal(x, -3),
    "as_strided": lambda x: torch.as_strided(x, (5, 20), (40, 2), 7),
    "as_strided that overlaps": lambda x: torch.as_strided(x, (4, 30), (10, 1), 3),
    "cat": lambda x: torch.cat([x, x[:, :33]], 1),
    "cat rows": lambda x: torch.cat([x[4:], x, x[:2]], 0),
    "stack": lambda x: torch.stack([x, x + 1], 1),
    "pad": lambda x: torch.nn.functional.pad(x, (1, 2, 3, 0), value=2.0),
    "crop": lambda x: torch.nn.functional.pad(x, (-10, -3)),
    "a and its transpose": lambda x: x[:, :9] + x[:, :9].t(),
}


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_reads_what_torch_reads(name, dtype):
    view = VIEWS[name]
    x = torch.arange(900).reshape(9, 100).remainder(251).to(dtype)
    function = torch.compile(lambda t: view(t) * 2)
    torch.spyre.reset_counters()
    device = x.to("spyre")
    result = function(device).cpu()
    counters = torch.spyre.counters()
    assert torch.equal(result, view(x) * 2)
    assert counters["programs_launched"] > 0
    assert counters["fallback_ops"] == 0 and counters["graph_fallback_nodes"] == 0


@pytest.mark.parametrize("size", [1, 2, 16, 64, 67, 97, 100, 130, 256, 1000])
def test_flip_of_every_size(size):
    x = torch.arange(3 * size).reshape(3, size).remainder(101).half()
    assert torch.equal(torch.compile(lambda t: t.flip(1))(x.to("spyre")).cpu(), x.flip(1))
