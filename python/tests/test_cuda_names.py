"""Names of torch.cuda: limits and pools of memory, waits, ranges in profiles, graphs, streams in compiled code."""

import gc
import warnings

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from torch_spyre.ops.fallbacks import FallbackWarning

NAMES = """
ExternalStream MemPool SpyreGraph StreamContext amp caching_allocator_alloc caching_allocator_delete clock_rate
get_per_process_memory_fraction get_sync_debug_mode graph graph_pool_handle graphs host_memory_stats_as_nested_dict
is_current_stream_capturing list_gpu_processes make_graphed_callables memory_usage nvtx range range_pop range_push
reset_accumulated_host_memory_stats reset_peak_host_memory_stats set_per_process_memory_fraction
set_sync_debug_mode use_mem_pool utilization
_impl _spyre_get_allocator_stats _spyre_reset_accumulated_stats _spyre_reset_peak_stats
""".split()


def ones(*shape):
    return torch.ones(*shape, dtype=torch.float16, device="spyre")


def test_every_name_has_a_text():
    for name in NAMES:
        value = getattr(torch.spyre, name)
        assert name in dir(torch.spyre) and value.__doc__, name
    assert torch.backends.spyre.is_built() and torch.backends.spyre.is_available()
    assert torch.backends.spyre.version().count(".") == 2
    import torch.backends.spyre as module

    assert module is torch.backends.spyre


def test_names_of_the_existing_plug_in():
    x = ones(64, 64)
    torch.spyre._spyre_reset_peak_stats(0)
    stats = torch.spyre._spyre_get_allocator_stats(0)
    assert stats["allocated_bytes.all.current"] == torch.spyre.memory_allocated() >= x.nbytes
    assert stats["allocated_bytes.all.peak"] == stats["allocated_bytes.all.current"]
    assert stats["allocation.all.current"] >= 1
    torch.spyre._spyre_reset_accumulated_stats("spyre:0")
    assert torch.spyre._spyre_get_allocator_stats()["allocation.all.allocated"] == 0
    torch.spyre._impl._lazy_init()
    assert torch.spyre._impl.is_initialized()
    with pytest.raises(RuntimeError, match="SPYRE-E6509"):
        torch.spyre._spyre_get_allocator_stats(99)


# --- memory ---------------------------------------------------------------------------------------


def test_a_part_of_the_memory_is_a_limit():
    total = torch.spyre.mem_get_info()[1]
    assert torch.spyre.get_per_process_memory_fraction() == 1.0
    kept = ones(1024)
    torch.spyre.set_per_process_memory_fraction(1e-4)
    try:
        assert torch.spyre.get_per_process_memory_fraction() == 1e-4
        half = torch.empty(int(0.3e-4 * total), dtype=torch.int8, device="spyre")
        with pytest.raises(torch.OutOfMemoryError, match=r"SPYRE-E6102.*set_per_process_memory_fraction"):
            torch.empty(int(0.9e-4 * total), dtype=torch.int8, device="spyre")
        del half
        again = torch.empty(int(0.3e-4 * total), dtype=torch.int8, device="spyre")
        assert again.numel() and torch.equal(kept.cpu(), torch.ones(1024).half())
        assert torch.spyre.get_per_process_memory_fraction(1) == 1.0
    finally:
        torch.spyre.set_per_process_memory_fraction(1.0)
    assert torch.empty(int(0.9e-4 * total), dtype=torch.int8, device="spyre").numel()
    for wrong in (-0.1, 1.1, "half", None, float("nan"), True):
        with pytest.raises(ValueError, match="SPYRE-E6560"):
            torch.spyre.set_per_process_memory_fraction(wrong)


def test_a_limit_may_be_set_before_the_device_starts(python):
    python(
        """
import torch
torch.spyre.set_per_process_memory_fraction(0.0)
assert not torch.spyre.is_initialized()
try:
    torch.empty(1, device="spyre")
    assert False
except torch.OutOfMemoryError:
    pass
torch.spyre.set_per_process_memory_fraction(0.5)
assert torch.ones(2, device="spyre").sum().item() == 2
"""
    )


def test_memory_for_other_software():
    before = torch.spyre.memory_allocated()
    number = torch.spyre.caching_allocator_alloc(1000)
    other = torch.spyre.caching_allocator_alloc(0, "spyre:0", torch.spyre.Stream())
    assert number != other and torch.spyre.memory_allocated() == before + 1024 + 128
    torch.spyre.caching_allocator_delete(number)
    torch.spyre.caching_allocator_delete(other)
    assert torch.spyre.memory_allocated() == before
    with pytest.raises(RuntimeError, match="SPYRE-E6560"):
        torch.spyre.caching_allocator_delete(number)
    for wrong in (-1, "x", 1 << 63):
        with pytest.raises(ValueError, match="SPYRE-E6560"):
            torch.spyre.caching_allocator_alloc(wrong)
    with pytest.raises(ValueError, match="SPYRE-E6560"):
        torch.spyre.caching_allocator_delete("x")


def test_a_pool_shares_memory_with_nobody():
    torch.spyre.empty_cache()
    pool = torch.spyre.MemPool()
    outside = ones(1024)
    with torch.spyre.use_mem_pool(pool):
        assert pool.use_count() == 2
        inside = ones(1024)
    assert pool.use_count() == 1
    after = ones(1024)
    (segment,) = pool.snapshot()
    assert segment["segment_pool_id"] == pool.id and segment["allocated_size"] == inside.nbytes
    others = [s for s in torch.spyre.memory_snapshot() if s["segment_pool_id"] != pool.id]
    assert len({s["address"] for s in others} | {segment["address"]}) == len(others) + 1
    del inside
    gc.collect()
    assert pool.snapshot()[0]["active_size"] == 0  # still its own
    identity = pool.id
    del pool
    gc.collect()
    assert all(s["segment_pool_id"] != identity for s in torch.spyre.memory_snapshot())
    assert torch.equal((outside + after).cpu(), torch.full((1024,), 2.0).half())
    for wrong in (None, 3):
        with pytest.raises(TypeError, match="SPYRE-E6560"), torch.spyre.use_mem_pool(wrong):
            pass
    with pytest.raises(ValueError, match="SPYRE-E6560"):
        torch.spyre.MemPool(allocator=object())


def test_figures_of_pinned_memory_begin_anew():
    x = torch.empty(1 << 16, pin_memory=True)
    assert torch.spyre.host_memory_stats_as_nested_dict()["active_bytes"]["current"] >= x.nbytes
    del x
    torch.spyre.reset_peak_host_memory_stats()
    torch.spyre.reset_accumulated_host_memory_stats()
    stats = torch.spyre.host_memory_stats()
    assert stats["active_bytes.peak"] == stats["active_bytes.current"]
    assert stats["active_bytes.allocated"] == stats["active_bytes.freed"] == 0


def test_use_of_the_card():
    x = ones(64, 64)
    (x @ x).cpu()
    assert 0 <= torch.spyre.utilization() <= 100 and 0 <= torch.spyre.memory_usage(0) <= 100
    assert torch.spyre.clock_rate() == round(1000 * torch.spyre.get_device_properties().clock_ghz)
    import os

    assert str(os.getpid()) in torch.spyre.list_gpu_processes()
    assert "no processes" in torch.spyre.list_gpu_processes(7)
    for function in (torch.spyre.utilization, torch.spyre.list_gpu_processes, torch.spyre.clock_rate):
        with pytest.raises(RuntimeError, match="SPYRE-E6509"):
            function(99)


# --- waits ----------------------------------------------------------------------------------------

WAITS = {
    "synchronize": lambda x: torch.spyre.synchronize(),
    "accelerator": lambda x: torch.accelerator.synchronize(),
    "stream": lambda x: torch.spyre.current_stream().synchronize(),
    "event": lambda x: x.event.synchronize(),
    "cpu": lambda x: x.cpu(),
    "item": lambda x: x[0, 0].item(),
    "upload": lambda x: torch.ones(3).to("spyre"),
    "fallback": lambda x: torch.linalg.eigvalsh(x.float()),
}


@pytest.mark.parametrize("name", WAITS)
def test_calls_that_wait_are_told(name):
    x = ones(4, 4)
    x.event = torch.spyre.current_stream().record_event()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        WAITS[name](x)
        try:
            torch.spyre.set_sync_debug_mode("warn")
            assert torch.spyre.get_sync_debug_mode() == 1
            with pytest.warns(UserWarning, match="the host waits for the device") as caught:
                WAITS[name](x)
            told = [w for w in caught if "waits" in str(w.message)]
            assert all(w.filename == __file__ for w in told)
            torch.spyre.set_sync_debug_mode(2)
            with pytest.raises(RuntimeError, match="SPYRE-E6562"):
                WAITS[name](x)
            y = x + x  # does not wait
        finally:
            torch.spyre.set_sync_debug_mode("default")
    assert torch.equal(y.cpu(), torch.full((4, 4), 2.0).half())


def test_copies_that_do_not_wait_are_allowed():
    x, host = ones(64), torch.empty(64, dtype=torch.float16, pin_memory=True)
    torch.spyre.set_sync_debug_mode("error")
    try:
        host.copy_(x, non_blocking=True)
        torch.spyre.reset_counters()
    finally:
        torch.spyre.set_sync_debug_mode(0)
    torch.spyre.synchronize()
    assert host.sum() == 64
    for wrong in ("loud", 3, -1, None, True):
        with pytest.raises(ValueError, match="SPYRE-E6560"):
            torch.spyre.set_sync_debug_mode(wrong)


# --- profiles -------------------------------------------------------------------------------------


def test_ranges_are_in_the_profile():
    x = ones(64)
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        assert torch.spyre.range_push("outer") == 0
        with torch.spyre.range("layer {}", 3):
            x + x
        torch.spyre.nvtx.mark("here")
        number = torch.spyre.nvtx.range_start("apart")
        assert torch.spyre.range_pop() == 0
        torch.spyre.nvtx.range_end(number)
    assert {"outer", "layer 3", "here", "apart"} <= {event.name for event in profiled.events()}
    (layer,) = [event for event in profiled.events() if event.name == "layer 3"]
    assert layer.cpu_parent.name == "outer" and any("add" in child.name for child in layer.cpu_children)
    for wrong in (torch.spyre.range_pop, lambda: torch.spyre.nvtx.range_end(number)):
        with pytest.raises(RuntimeError, match="SPYRE-E6563"):
            wrong()


@pytest.mark.parametrize("waits", [0, 1, 2])
def test_the_end_of_a_profile_is_not_an_event_of_it(waits):
    x = ones(64)
    with torch.autograd.profiler.profile(use_device="spyre") as profiled:
        x + x
        for _ in range(waits):
            torch.spyre.synchronize()
    assert [event.name for event in profiled.function_events].count("host::synchronize") == waits


# --- graphs, mixed precision, streams -------------------------------------------------------------


def test_device_graphs_are_refused_and_compiled_instead(on_device):
    for action in (torch.spyre.SpyreGraph, torch.spyre.graph_pool_handle, lambda: torch.spyre.graph(None)):
        with pytest.raises(RuntimeError, match=r"SPYRE-E6561.*torch.compile"):
            action()
    with pytest.raises(RuntimeError):
        torch.accelerator.Graph()
    x = ones(8, 64)
    with torch.no_grad(), on_device():
        double, halve = torch.spyre.make_graphed_callables(
            (lambda t: t + t, lambda t: t * 0.5), ((x,), (x,)), num_warmup_iters=1
        )
        compiled = torch.spyre.counters()["programs_compiled"]
        assert torch.equal(double(halve(x)).cpu(), x.cpu())
        assert torch.spyre.counters()["programs_compiled"] == compiled
    with pytest.raises(ValueError, match="SPYRE-E6560"):
        torch.spyre.make_graphed_callables((abs, abs), ((x,),))


def test_mixed_precision_has_a_module_of_its_own(on_device):
    x = torch.rand(8, 64, generator=torch.Generator().manual_seed(0)).to("spyre")
    with torch.no_grad(), on_device(), torch.spyre.amp.autocast():
        assert torch.is_autocast_enabled("spyre") and (x @ x.T).dtype == torch.float16
    assert not torch.is_autocast_enabled("spyre")
    assert torch.spyre.amp.GradScaler().scale(ones(1)).device.type == "spyre"

    class Double(torch.autograd.Function):
        @staticmethod
        @torch.spyre.amp.custom_fwd(cast_inputs=torch.float32)
        def forward(context, t):
            return t + t

        @staticmethod
        @torch.spyre.amp.custom_bwd
        def backward(context, grad):
            return grad + grad

    with torch.spyre.amp.autocast():
        assert Double.apply(x.half()).dtype == torch.float32


def test_contexts_and_numbers_of_streams():
    stream = torch.spyre.Stream()
    with torch.spyre.StreamContext(stream) as entered:
        assert entered is stream and torch.spyre.current_stream() == stream
        with torch.spyre.StreamContext(None):
            assert torch.spyre.current_stream() == stream
    assert torch.spyre.current_stream().id == 0
    same = torch.spyre.ExternalStream(stream.spyre_stream)
    assert same == stream and isinstance(same, torch.spyre.Stream)
    assert torch.spyre.ExternalStream(0, "spyre:1").device == torch.device("spyre:1")
    for wrong in (65, -1, "x", None):
        with pytest.raises(ValueError, match="SPYRE-E6560"):
            torch.spyre.ExternalStream(wrong)


def test_a_stream_that_does_not_exist_is_refused():
    stream = torch.spyre.Stream()
    unknown = torch.Stream(stream_id=1 << 40, device_index=0, device_type=stream.device_type)
    with pytest.raises(RuntimeError):
        torch.accelerator.set_stream(unknown)
    assert torch.spyre.current_stream().id == 0 and torch.equal(ones(2).cpu(), torch.ones(2).half())


def test_dynamo_is_answered_about_everything_it_asks():
    from torch._dynamo.device_interface import DeviceInterface, get_interface_for_device

    interface = get_interface_for_device("spyre")
    for name in dir(DeviceInterface):
        if not name.startswith("__") and name not in ("is_triton_capable", "raise_if_triton_unavailable", "is_dtype_supported"):
            assert getattr(interface, name) is not getattr(DeviceInterface, name), name
    assert interface.exchange_device(1) == 0 and interface.current_device() == 1
    assert interface.maybe_exchange_device(-1) == 1 and interface.exchange_device(0) == 1
    assert interface.memory_allocated() == torch.spyre.memory_allocated()
    assert interface.get_raw_stream(0) == 0


def test_streams_and_events_inside_compiled_functions(on_device):
    side, outside = torch.spyre.Stream(), torch.spyre.Event()

    def function(x):
        y = x * 2
        before = torch.spyre.current_stream()
        side.wait_stream(before)
        with torch.spyre.stream(side):
            z = y + 1
        event = side.record_event()
        event.wait(before)
        outside.record()
        return z * y

    x = ones(8, 64)
    with torch.no_grad(), on_device():
        result = torch.compile(function, fullgraph=True)(x)
    outside.synchronize()
    assert torch.equal(result.cpu(), torch.full((8, 64), 6.0).half())
    assert torch.spyre.current_stream().id == 0


def test_waits_of_a_compiled_function_come_around_its_program(on_device):
    """The input is made on another stream, which the function waits for, and the host reads without a copy."""
    x = torch.zeros(256, 256, dtype=torch.float16, device="spyre")
    torch.spyre.synchronize()
    side = torch.spyre.Stream()

    def function(t):
        torch.spyre.current_stream().wait_stream(side)
        result = t + 1
        torch.spyre.synchronize()
        return result

    compiled = torch.compile(function, fullgraph=True)
    with torch.no_grad(), on_device():
        compiled(x)
        with side:
            for _ in range(20):
                x.add_(1)
        result = compiled(x)
        assert torch.spyre.current_stream().query()
    assert torch.equal(result.cpu(), torch.full((256, 256), 21.0).half())
