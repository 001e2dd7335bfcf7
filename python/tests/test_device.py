"""The device module: what ``import torch`` gives, what starts the device, who may use it."""

import re

import pytest
import torch

COUNTERS = [
    "programs_compiled",
    "programs_launched",
    "compile_cache_hits",
    "compile_cache_misses",
    "fallback_ops",
    "fallback_bytes",
    "graph_fallback_nodes",
    "h2d_bytes",
    "d2h_bytes",
    "d2d_bytes",
    "ddr_read_bytes",
    "ddr_write_bytes",
    "lx_read_bytes",
    "lx_write_bytes",
    "ring_bytes",
    "pt_macs",
    "sfp_lane_ops",
    "device_cycles",
    "device_ns",
    "ddr_cycles",
    "lx_cycles",
    "ring_cycles",
    "pt_fill_cycles",
    "pt_cycles",
    "sfp_cycles",
    "latency_cycles",
    "overhead_cycles",
]


def test_import_torch_alone_registers_the_device_silently(python):
    done = python(
        "import torch; assert torch.spyre.is_available(); "
        "assert not torch.spyre.is_initialized(); "
        "assert str(torch._C._get_accelerator()) == 'spyre'",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "" and done.stderr == ""


def test_static_names_do_not_start_the_device(python):
    python("""
import torch
for name in ["is_available", "device_count", "current_device", "get_device_name",
             "get_device_properties", "counters", "fallback_counts", "get_amp_supported_dtype",
             "memory_allocated", "synchronize",
             "_is_in_bad_fork", "get_rng_state", "initial_seed"]:
    getattr(torch.spyre, name)()
torch.spyre.manual_seed(1); torch.spyre.manual_seed_all(2); torch.manual_seed(3)
torch.spyre.set_device(0); torch.spyre.reset_counters()
for probe in ["__file__", "Scheduling", "no_such_name", "_C", "Event"]:
    hasattr(torch.spyre, probe)
assert torch.ones(2).device_tensor_layout() is None
assert torch.accelerator.current_accelerator().type == "spyre"
assert not torch.spyre.is_initialized()
torch.empty(2, device="spyre")
assert torch.spyre.is_initialized()
""")


def test_import_torch_does_not_import_the_compiler(python):
    python(
        "import sys, torch; assert 'torch._inductor.compile_fx' not in sys.modules; "
        "assert 'torch._dynamo' not in sys.modules"
    )


def test_counters_have_the_documented_names_and_reset():
    torch.spyre.reset_counters()
    counters = torch.spyre.counters()
    assert list(counters) == COUNTERS
    assert all(type(value) is int and value == 0 for value in counters.values())
    torch.ones(64, 64, dtype=torch.float16).to("spyre").cpu()
    counters = torch.spyre.counters()
    assert counters["h2d_bytes"] == counters["d2h_bytes"] == 64 * 128
    torch.spyre.reset_counters()
    assert torch.spyre.counters()["h2d_bytes"] == 0


def test_accelerator_api():
    assert torch.accelerator.device_count() == torch.spyre.device_count() == 8
    assert torch.accelerator.current_device_index() == 0
    torch.accelerator.synchronize()
    with torch.accelerator.device_index(0):
        assert torch.spyre.current_device() == 0
    with torch.device("spyre"):
        assert torch.empty(3).device.type == "spyre"
    with torch.spyre.device(0):
        assert torch.spyre.current_device() == 0


@pytest.mark.parametrize("index", [-1, 8, 100])
def test_device_index_out_of_range_is_an_error(index):
    with pytest.raises(RuntimeError, match="SPYRE-E6509.*out of range"):
        torch.spyre.set_device(index)
    if index > 0:
        with pytest.raises(RuntimeError, match="SPYRE-E6509"):
            torch.empty(2, device=f"spyre:{index}")


def test_generated_methods():
    x = torch.ones(3).spyre()
    assert x.is_spyre and x.device == torch.device("spyre:0")
    assert torch.nn.Linear(2, 2).spyre().weight.is_spyre
    assert torch.nn.Linear(2, 2).to("spyre").weight.device.type == "spyre"


def test_forked_child_gets_a_clear_error(python):
    python("""
import os, torch
torch.ones(2, device="spyre")
read, write = os.pipe()
child = os.fork()
if child == 0:
    text = "no error"
    try:
        torch.ones(2, device="spyre")
    except RuntimeError as error:
        text = str(error)
    state = (torch.spyre._is_in_bad_fork(), torch.spyre.is_initialized())
    os.write(write, f"{state} {text}".encode())
    os._exit(0)
os.waitpid(child, 0)
text = os.read(read, 4096).decode()
expected = "(True, False) SPYRE-E6501: Cannot re-initialize Spyre in forked subprocess"
assert text.startswith(expected), text
""")


def test_fork_before_first_use_is_allowed(python):
    python("""
import os, torch
child = os.fork()
if child == 0:
    ok = torch.ones(2, device="spyre").cpu().tolist() == [1.0, 1.0]
    os._exit(0 if ok else 1)
assert os.waitpid(child, 0)[1] == 0
""")


def test_memory_statistics_follow_allocations():
    base = torch.spyre.memory_allocated()
    x = torch.empty(64, 64, dtype=torch.float16, device="spyre")
    assert torch.spyre.memory_allocated() - base == 8192
    assert torch.accelerator.memory_allocated() == torch.spyre.memory_allocated()
    y = x[3:]
    del x
    assert torch.spyre.memory_allocated() - base == 8192
    del y
    assert torch.spyre.memory_allocated() == base
    assert torch.spyre.max_memory_allocated() >= base + 8192
    free, total = torch.spyre.mem_get_info()
    assert 0 < free <= total == torch.spyre.get_device_properties().total_memory


def test_out_of_memory_is_torchs_own_error_and_leaves_the_device_usable():
    base = torch.spyre.memory_allocated()
    with pytest.raises(torch.OutOfMemoryError, match="SPYRE-E6111"):
        torch.empty(1 << 40, dtype=torch.int8, device="spyre")
    assert torch.spyre.memory_allocated() == base
    assert torch.ones(3, device="spyre").cpu().tolist() == [1, 1, 1]


@pytest.mark.filterwarnings("ignore::torch_spyre.ops.fallbacks.FallbackWarning")
def test_random_numbers_follow_the_device_generator_and_equal_the_cpus():
    torch.spyre.manual_seed(7)
    a, b = torch.randn(100, device="spyre").cpu(), torch.randn(100, device="spyre").cpu()
    assert not torch.equal(a, b)
    state = torch.spyre.get_rng_state()
    c = torch.rand(50, device="spyre").cpu()
    torch.spyre.set_rng_state(state)
    assert torch.equal(torch.rand(50, device="spyre").cpu(), c)
    assert torch.equal(torch.randn(100, generator=torch.Generator().manual_seed(7)), a)
    torch.spyre.manual_seed(7)
    before = torch.get_rng_state()
    torch.randn(10, device="spyre")
    assert torch.equal(before, torch.get_rng_state()), "the CPU's stream must not move"
    generator = torch.Generator("spyre").manual_seed(7)
    assert torch.equal(torch.randn(100, device="spyre", generator=generator).cpu(), a)
    torch.manual_seed(11)
    assert torch.spyre.initial_seed() == 11


def test_streams_and_events_have_torchs_interface():
    stream = torch.spyre.Stream()
    with torch.spyre.stream(stream):
        assert torch.spyre.current_stream() == stream
    assert torch.spyre.current_stream() == torch.spyre.default_stream()
    start, end = torch.Event("spyre", enable_timing=True), torch.Event("spyre", enable_timing=True)
    start.record()
    end.record()
    end.synchronize()
    assert end.query() and start.elapsed_time(end) >= 0


def test_device_name_and_properties():
    properties = torch.spyre.get_device_properties()
    assert properties.multi_processor_count >= 1 and properties.stick_bytes == 128
    assert re.match(r"OpenSpyre \(\w+\)", torch.spyre.get_device_name())


@pytest.mark.parametrize(
    "env, code, text",
    [
        ({"SPYRE_SIM_THREADS": "many"}, "torch.ones(1, device='spyre')", "SPYRE-E6508"),
        ({"SPYRE_DEVICE_DESC": "nowhere"}, "torch.ones(1, device='spyre')", "SPYRE-E9"),
        ({"SENCORES": "0"}, "import torch_spyre._inductor.config", "SPYRE-E6508"),
        ({"SENCORES": ""}, "import torch_spyre._inductor.config", "SPYRE-E6508"),
        (
            {"SENCORES": "8", "SPYRE_DEVICE_DESC": "tiny"},
            "torch.compile(torch.neg)(torch.ones(9, device='spyre'))",
            "SPYRE-E3061: 8 cores asked for, device 'tiny' has 4",
        ),
    ],
)
def test_malformed_environment_is_an_error_with_a_code(python, env, code, text):
    done = python(f"import torch\n{code}", env=env, check=False)
    assert done.returncode == 1 and text in done.stderr


def test_config_fields_and_patching():
    from torch_spyre._inductor import config

    assert config.sencores == 32 and config.planner == "best" and config.lx_planning is True
    assert config.dxp_lx_frac_avail == 0.2 and config.layout_solver == "exact"
    with config.patch(sencores=4):
        assert config.sencores == 4
    assert config.sencores == 32


def test_debug_lines_tell_phases_and_launches(python):
    program = """
import torch
x = torch.ones(4, 4, dtype=torch.float16, device="spyre")
torch.compile(lambda a: a + a)(x)
"""
    quiet = python(program, env={"TORCH_SPYRE_DEBUG": "0"}, check=False)
    loud = python(program, env={"TORCH_SPYRE_DEBUG": "1"}, check=False)
    assert quiet.returncode == loud.returncode == 0
    assert "spyre debug" not in quiet.stderr
    assert "spyre debug compiler phase=layout" in loud.stderr
    assert "spyre debug runtime launch bundle=bundle_0" in loud.stderr
