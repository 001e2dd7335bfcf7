"""torch's profiler on programs of the device: whatever is profiled, whenever it starts."""

import json

import torch
from torch.profiler import ProfilerActivity, profile


def _step(x):
    y = torch.nn.functional.gelu(x @ x)
    return y.mul_(2).cpu()


def test_a_profile_may_begin_before_the_first_operation(python, tmp_path):
    """The compiler is imported by the first operation, under the profiler's eyes."""
    code = """
import sys, json, torch
from torch.profiler import ProfilerActivity, profile
x = torch.ones(64, 64, device="spyre")
assert "torch._inductor" not in sys.modules
with profile(
    activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1],
    with_stack=True, profile_memory=True, record_shapes=True,
) as p:
    y = torch.nn.functional.gelu(x.half() @ x.half())
    y.mul_(2).cpu()
assert "aten::gelu" in p.key_averages().table()
names = {e.name for e in p.events()}
assert "launch::Compute" in names and "launch::D2H" in names
inner = [n for n in names if "proxy_tensor" in n or "_find_and_load" in n]
assert not inner, inner[:9]
p.export_chrome_trace(sys.argv[1] + "/trace.json")
p.export_stacks(sys.argv[1] + "/stacks", "self_cpu_time_total")
assert json.load(open(sys.argv[1] + "/trace.json"))["traceEvents"]
"""
    python(code, args=[tmp_path])


def test_device_times_are_those_of_the_simulated_clock(capfd):
    x = torch.ones(256, 256, device="spyre", dtype=torch.float16)
    x @ x
    with torch.autograd.profiler.profile(use_device="spyre") as p:
        x @ x
        x.fill_(2)
    (launch,) = [e for e in p.function_events if e.name == "launch::Compute"]
    (fill,) = [e for e in p.function_events if e.name == "launch::Memset"]
    start, end = (torch.spyre.Event(enable_timing=True) for _ in range(2))
    start.record()
    x @ x
    end.record()
    torch.spyre.synchronize()
    expected = 1000 * start.elapsed_time(end)
    assert abs(launch.device_time - expected) <= 1 + 0.05 * expected and fill.device_time > 0
    assert "SPYRE" in p.key_averages().table()
    assert "Exception in RecordFunction callback" not in capfd.readouterr().err


def test_memory_events_balance_and_results_stay_the_same():
    x = torch.ones(64, 64, device="spyre", dtype=torch.float16)
    plain = _step(x)
    before = torch.spyre.memory_allocated()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as p:
        profiled = _step(x)
        torch.spyre.synchronize()
    assert torch.spyre.memory_allocated() == before
    assert torch.equal(plain, profiled)
    events = [e for e in p.profiler.kineto_results.events() if e.name() == "[memory]"]
    sizes = [e.nbytes() for e in events if e.device_type() == torch.autograd.DeviceType.PrivateUse1]
    assert sizes and sum(sizes) == 0 and max(sizes) > 0


def test_empty_nested_and_scheduled_profiles(tmp_path):
    with profile(activities=[ProfilerActivity.PrivateUse1]) as p:
        pass
    p.key_averages().table()
    x = torch.ones(64, 64, device="spyre", dtype=torch.float16)
    traces = []
    with profile(
        activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1],
        schedule=torch.profiler.schedule(skip_first=3, wait=1, warmup=1, active=2, repeat=1),
        on_trace_ready=lambda p: traces.append(p.events()),
        execution_trace_observer=torch.profiler.ExecutionTraceObserver().register_callback(
            str(tmp_path / "execution.json")
        ),
    ) as p:
        for _ in range(10):
            with torch.profiler.record_function("## LOOP ##"):
                x = x + x
            p.step()
    (events,) = traces
    loops = [e for e in events if e.name == "## LOOP ##"]
    assert len(loops) == 2 and sum(e.name == "launch::Compute" for e in events) == 2
    nodes = json.loads((tmp_path / "execution.json").read_text())["nodes"]
    assert sum(n["name"] == "## LOOP ##" for n in nodes) == 2
    assert any("[pytorch|profiler|execution_trace|process]" in n["name"] for n in nodes)
    loops = [n for n in nodes if n["name"] == "## LOOP ##"]
    assert len({a["value"] for n in loops for a in n["attrs"] if a["name"] == "rf_id"}) == 2
