"""Memory that programs take for their temporaries is counted, shown and refused like that of tensors."""

import gc
import json

import pytest
import torch
import torch_spyre

from conftest import run_python
from torch_spyre._inductor import config


def pool_bytes():
    return json.loads(torch_spyre.last_compile().artifacts["model.json"])["pool_bytes"]


def temporaries(program):
    """Bytes of the blocks that the snapshot shows as temporaries of ``program``."""
    return sum(
        block["size"]
        for segment in torch.spyre.memory_snapshot()
        for block in segment["blocks"]
        for frame in block["frames"]
        if frame["name"] == "temporaries" and frame["filename"] == program
    )


@pytest.fixture
def without_scratchpads():
    """Intermediates lie in device memory."""
    with config.patch(lx_planning=False):
        yield


def chain(x):
    return ((x + 1).exp() * x).tanh() + x


def test_compiled_graphs(without_scratchpads, on_device):
    x = torch.rand(512, 256).half().to("spyre")
    compiled = torch.compile(chain)
    torch.spyre.synchronize()
    gc.collect()
    before = torch.spyre.memory_stats()
    torch.spyre.reset_peak_memory_stats()
    with on_device():
        y = compiled(x)
    name, pool = torch_spyre.last_compile().name, pool_bytes()
    stats = torch.spyre.memory_stats()
    assert pool > 0
    base = before["allocated_bytes.all.current"]
    assert stats["allocated_bytes.all.current"] - base == x.nbytes, "only the result is left"
    assert torch.spyre.max_memory_allocated() - base == x.nbytes + pool
    assert torch.accelerator.max_memory_allocated() == torch.spyre.max_memory_allocated()
    assert stats["temporary_bytes.all.allocated"] - before["temporary_bytes.all.allocated"] == pool
    assert stats["program_bytes.all.current"] > before["program_bytes.all.current"]
    assert stats["active_bytes.all.current"] - before["active_bytes.all.current"] == x.nbytes + pool
    assert temporaries(name) == pool, "kept for the next call"
    with on_device():
        y = compiled(x)
    assert torch.spyre.memory_stats()["active_bytes.all.current"] == stats["active_bytes.all.current"]
    assert y.shape == x.shape


def test_the_cache_gives_temporaries_back(without_scratchpads):
    x = torch.rand(512, 512).half().to("spyre")
    torch.compile(chain)(x)
    torch.spyre.synchronize()
    name, pool = torch_spyre.last_compile().name, pool_bytes()
    assert temporaries(name) == pool
    reserved = torch.spyre.memory_reserved()
    torch.spyre.empty_cache()
    assert temporaries(name) == 0
    assert torch.spyre.memory_reserved() <= reserved - pool


def test_temporaries_go_with_their_graph(without_scratchpads):
    x = torch.rand(256, 512).half().to("spyre")
    gc.collect()
    torch.spyre.empty_cache()
    before = torch.spyre.memory_stats()
    compiled = torch.compile(chain)
    compiled(x)
    torch.spyre.synchronize()
    assert torch.spyre.memory_stats()["active_bytes.all.current"] > before["active_bytes.all.current"]
    del compiled
    torch._dynamo.reset()
    gc.collect()
    torch.spyre.empty_cache()
    after = torch.spyre.memory_stats()
    for figure in ("allocated_bytes", "active_bytes", "reserved_bytes", "program_bytes"):
        assert after[f"{figure}.all.current"] == before[f"{figure}.all.current"], figure


def test_eager_programs(without_scratchpads):
    x = torch.rand(96, 33, 40).half().to("spyre")
    torch.spyre.synchronize()
    before = torch.spyre.memory_stats()["temporary_bytes.all.allocated"]
    y = torch.nn.functional.softmax(x, 1)
    pool = pool_bytes()
    assert pool > 0 and y.shape == x.shape
    assert torch.spyre.memory_stats()["temporary_bytes.all.allocated"] - before == pool


OUTER = """
import torch
from torch_spyre._inductor import config

def outer(x, y):
    return (x + y).exp().sum(1)

def refused(x, y):
    before = torch.spyre.memory_stats()
    try:
        torch.compile(outer)(x, y)
    except torch.OutOfMemoryError as error:
        after = torch.spyre.memory_stats()
        for figure in ("allocated_bytes", "reserved_bytes", "active_bytes"):
            for what in ("current", "peak", "allocated"):
                name = f"{figure}.all.{what}"
                assert before[name] == after[name], name
        assert (x + 1).cpu().eq(2).all(), "the device is usable"
        return str(error)
    raise AssertionError("it was not refused")

def sizes(rows, columns):
    return torch.ones(rows, 1).half().to("spyre"), torch.ones(1, columns).half().to("spyre")
"""


def test_temporaries_beyond_a_segment_are_refused_first(without_scratchpads):
    scope = {}
    exec(OUTER, scope)
    text = scope["refused"](*scope["sizes"](1 << 17, 1 << 17))
    assert "SPYRE-E6111" in text and "temporaries of the program take" in text, text
    assert "smaller batch" in text, text


SMALL = """
with config.patch(lx_planning=False):
    text = refused(*sizes(2048, 4096))
    assert "SPYRE-E6102" in text and "'graph_0' needs" in text and "at the same time" in text, text
    assert torch.compile(outer)(*sizes(512, 512)).shape == (512,), "smaller ones run"
"""


def test_programs_beyond_the_memory_are_refused_first(tmp_path):
    machine = json.loads(torch.spyre.device_description()) | {"ddrBytes": 8 << 20}
    path = tmp_path / "small.json"
    path.write_text(json.dumps(machine))
    run_python(OUTER + SMALL, env={"SPYRE_DEVICE_DESC": str(path)})
