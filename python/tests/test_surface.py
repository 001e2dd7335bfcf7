"""torch.spyre in the manner of torch.cuda: names, streams, memory, configuration, printing, models."""

import gc
import pickle

import pytest
import torch

from torch_spyre import _C as extension
from torch_spyre import environment

NAMES = """
AcceleratorError Event OutOfMemoryError Stream can_device_access_peer counters current_device
current_stream default_generators default_stream device device_count device_of empty_cache
fallback_counts get_amp_supported_dtype get_arch_list get_device_capability get_device_name
get_device_properties get_diagnostic_report get_rng_state get_rng_state_all host_memory_stats init
initial_seed ipc_collect is_available is_bf16_supported is_initialized manual_seed manual_seed_all
max_memory_allocated max_memory_reserved mem_get_info memory memory_allocated memory_reserved
memory_snapshot memory_stats memory_stats_as_nested_dict memory_summary profiler random reset_counters
reset_accumulated_memory_stats reset_device reset_peak_memory_stats seed seed_all set_device
set_rng_state set_rng_state_all set_stream show_config stream streams synchronize
_is_compiled _is_in_bad_fork _lazy_call _lazy_init
""".split()


def test_every_name_exists_and_looking_starts_nothing(python):
    python(
        """
import sys, torch
for name in sys.argv[1:]:
    assert hasattr(torch.spyre, name), name
    assert name in dir(torch.spyre), name
for name in ("no_such_name", "_C_private", "_private"):
    assert not hasattr(torch.spyre, name), name
torch.spyre.memory_stats(), torch.spyre.memory_summary(), torch.spyre.memory_snapshot()
torch.spyre.empty_cache(), torch.spyre.mem_get_info(), torch.spyre.ipc_collect()
torch.spyre.show_config(), torch.spyre.memory._record_memory_history(None)
torch.spyre.get_device_properties(), torch.spyre.host_memory_stats(), torch.spyre.synchronize()
torch.spyre.Stream, torch.spyre.Event, torch.spyre.current_stream  # calling them may start it
torch.spyre.logging, torch.spyre.profiler.is_available()
assert not torch.spyre.is_initialized()
""",
        args=NAMES,
    )


def test_streams_are_torchs_streams():
    stream = torch.spyre.Stream()
    assert isinstance(stream, torch.Stream) and isinstance(stream, torch.spyre.Stream)
    assert stream.device == torch.device("spyre:0") and stream.device_index == 0
    assert 1 <= stream.stream_id == stream.id <= 32 and stream.priority == 0
    assert repr(stream) == f"<torch_spyre.Stream device=0 id={stream.id}>"
    high = torch.spyre.Stream("spyre:0", priority=-1)
    assert 33 <= high.id <= 64 and high.priority == -1
    assert torch.spyre.Stream(0, priority=1).priority == -1
    assert hash(stream) == hash(torch.spyre.Stream._of(stream)) and stream != high
    with torch.spyre.stream(stream):
        assert torch.spyre.current_stream() == stream
        with torch.spyre.stream(high):
            assert torch.accelerator.current_stream() == high
        assert torch.spyre.current_stream("spyre") == stream
        with torch.spyre.stream(None):
            assert torch.spyre.current_stream() == stream
    assert torch.spyre.current_stream() == torch.spyre.default_stream(0)
    torch.spyre.set_stream(stream)
    assert torch.spyre.current_stream().id == stream.id
    torch.spyre.set_stream(None)
    torch.spyre.set_stream(torch.spyre.default_stream())
    assert torch.spyre.current_stream().id == 0
    with pytest.raises(ZeroDivisionError), torch.spyre.stream(stream):
        1 / 0
    assert torch.spyre.current_stream().id == 0


def test_the_pool_goes_round():
    ids = [torch.spyre.Stream().id for _ in range(33)]
    assert ids[0] == ids[32] and len(set(ids)) == 32


def test_events():
    first, second = (torch.spyre.Event(enable_timing=True) for _ in range(2))
    stream = torch.spyre.Stream()
    first.record()
    x = torch.ones(64, 64, dtype=torch.float16, device="spyre")
    x + x
    second.record(torch.spyre.current_stream())
    stream.wait_event(second)
    stream.wait_stream(torch.spyre.current_stream())
    first.wait(stream)
    event = stream.record_event()
    for one in (first, second, event):
        one.synchronize()
        assert one.query()
    assert isinstance(event, torch.spyre.Event) and isinstance(event, torch.Event)
    assert first.elapsed_time(second) > 0
    assert not isinstance(stream, torch.spyre.Event)
    for action in (
        lambda: torch.spyre.Event(interprocess=True),
        lambda: torch.spyre.Event.from_ipc_handle(0, b""),
    ):
        with pytest.raises(RuntimeError, match="SPYRE-E6555"):
            action()


@pytest.mark.parametrize("device", ["cpu", "spyre:99", 99, -1])
def test_streams_of_wrong_devices(device):
    with pytest.raises((RuntimeError, ValueError)):
        torch.spyre.Stream(device)
    with pytest.raises((RuntimeError, ValueError)):
        torch.spyre.current_stream(device)


def test_memory_statistics():
    gc.collect()
    torch.spyre.reset_peak_memory_stats()
    torch.spyre.reset_accumulated_memory_stats()
    base = torch.spyre.memory_stats()
    x = torch.empty(64, 64, dtype=torch.float16, device="spyre")
    stats = torch.spyre.memory_stats()
    for name in ("allocated_bytes", "active_bytes", "requested_bytes"):
        key = f"{name}.all.current"
        assert stats[key] - base[key] == 8192
    assert stats["allocation.all.current"] - base["allocation.all.current"] == 1
    nested = torch.spyre.memory_stats_as_nested_dict()
    assert nested["allocated_bytes"]["all"]["current"] == torch.spyre.memory_allocated()
    assert torch.spyre.memory_reserved() >= torch.spyre.memory_allocated()
    del x
    assert torch.spyre.memory_allocated() == base["allocated_bytes.all.current"]
    assert torch.spyre.max_memory_allocated() == base["allocated_bytes.all.current"] + 8192
    assert torch.spyre.max_memory_reserved() >= torch.spyre.max_memory_allocated()
    assert torch.spyre.memory_stats()["allocated_bytes.all.freed"] >= 8192
    torch.spyre.reset_peak_memory_stats()
    assert torch.spyre.max_memory_allocated() == torch.spyre.memory_allocated()
    torch.spyre.empty_cache()
    summary = torch.spyre.memory_summary()
    assert "Allocated memory" in summary and "large pool" in summary
    assert len(torch.spyre.memory_summary(abbreviated=True)) < len(summary)
    assert set(torch.accelerator.memory_stats()) <= set(stats) | {"num_device_alloc"}


def test_snapshots_have_the_shape_of_the_viewer(tmp_path):
    torch.spyre.memory._record_memory_history(max_entries=100)
    try:
        x = torch.empty(64, 64, dtype=torch.float16, device="spyre")
        y = torch.empty(10, dtype=torch.float16, device="spyre")
        del y
        snapshot = torch.spyre.memory._snapshot()
        blocks = [block for segment in snapshot["segments"] for block in segment["blocks"]]
        here = [b for b in blocks if any(frame["filename"] == __file__ for frame in b["frames"])]
        (mine,) = [b for b in here if b["requested_size"] == 8192]
        assert mine["state"] == "active_allocated" and mine["size"] >= 8192
        actions = [entry["action"] for entry in snapshot["device_traces"][0]]
        assert actions[-4:] == ["alloc", "alloc", "free_requested", "free_completed"]
        for segment in snapshot["segments"]:
            assert sum(b["size"] for b in segment["blocks"]) == segment["total_size"]
        torch.spyre.memory._dump_snapshot(tmp_path / "s.pickle")
        assert pickle.loads((tmp_path / "s.pickle").read_bytes()).keys() == snapshot.keys()
        assert torch.spyre.memory_snapshot() and torch.spyre.memory_snapshot(0)
        from torch.cuda import _memory_viz

        assert "segment" in _memory_viz.segsum(snapshot) or _memory_viz.trace_plot(snapshot)
        assert x is not None
    finally:
        torch.spyre.memory._record_memory_history(None)
    assert torch.spyre.memory._snapshot()["device_traces"][0] == []
    for bad in ({"enabled": "often"}, {"max_entries": 0}):
        with pytest.raises(ValueError):
            torch.spyre.memory._record_memory_history(**bad)


def test_history_is_a_ring():
    torch.spyre.memory._record_memory_history(max_entries=5)
    try:
        for _ in range(10):
            torch.empty(1, device="spyre")
        assert len(torch.spyre.memory._snapshot()["device_traces"][0]) == 5
    finally:
        torch.spyre.memory._record_memory_history(None)


def test_pinned_memory():
    x = torch.arange(5000.0).pin_memory()
    assert x.is_pinned() and x[100:].is_pinned() and not torch.ones(3).is_pinned()
    assert torch.empty(7, pin_memory=True).is_pinned()
    assert torch.equal(x.to("spyre", non_blocking=True).cpu(), x)
    y = torch.empty(5000, pin_memory=True)
    y.copy_(x.to("spyre"), non_blocking=True)
    torch.spyre.synchronize()
    assert torch.equal(x, y)
    stats = torch.spyre.host_memory_stats()
    assert stats["active_bytes.current"] >= 2 * x.nbytes
    pointer = y.data_ptr()
    del y
    again = torch.empty(5000, pin_memory=True)
    assert again.data_ptr() == pointer  # from the cache
    del again
    torch.accelerator.memory.empty_host_cache()
    after = torch.spyre.host_memory_stats()
    assert after["allocated_bytes.current"] == after["active_bytes.current"]
    with pytest.raises(RuntimeError, match="pin"):
        x.to("spyre").pin_memory()
    assert torch.empty(0, pin_memory=True).numel() == 0
    loader = torch.utils.data.DataLoader(torch.ones(4, 3), batch_size=2, pin_memory=True)
    assert all(batch.is_pinned() for batch in loader)


def test_configuration_is_one_table(capsys):
    torch.spyre.show_config()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(environment.VARIABLES)
    rows = {name: row for name, *row in environment.effective({"SENCORES": "4"})}
    assert rows["SENCORES"][:2] == [4, "environment"]
    assert rows["EAGER_MODE"][:2] == [True, "default"]


@pytest.mark.parametrize(
    "name, text",
    [
        ("SENCORES", "many"),
        ("SENCORES", "33"),
        ("EAGER_MODE", "maybe"),
        ("FLEX_DEVICE", "XF"),
        ("TORCH_SPYRE_CPU_FALLBACK", "loud"),
        ("DXP_LX_FRAC_AVAIL", "nan"),
        ("DXP_LX_FRAC_AVAIL", "1.5"),
        ("AIU_WORLD_SIZE", "12"),
        ("AIU_WORLD_SIZE", "0"),
        ("SPYRE_SIM_THREADS", "257"),
        ("MAX_BUCKETS", "0"),
        ("MIN_DEFAULT_GRANULARITY", "-4"),
        ("SPYRE_CACHE_LIMIT_MB", "99999999999"),
    ],
)
def test_values_are_read_strictly(name, text):
    with pytest.raises(ValueError, match=f"SPYRE-E6508: {name} is '{text}'"):
        environment.get(name, {name: text})
    if name != "SENCORES":
        assert environment.get(name, {name: ""}) == environment.VARIABLES[name].default


@pytest.mark.parametrize("text, is_on", [("0", False), ("false", False), ("OFF", False), ("yes", True)])
def test_a_flag_means_the_same_to_its_reader_and_in_the_table(python, text, is_on):
    code = """
import contextlib, io, torch
with contextlib.redirect_stdout(io.StringIO()) as shown:
    torch.spyre.show_config()
(line,) = [line for line in shown.getvalue().splitlines() if line.startswith("EAGER_MODE")]
x = torch.ones(2, device="spyre")
try:
    x + x
    ran = True
except RuntimeError:
    ran = False
print(line.split()[1] == str(ran), ran)
"""
    assert python(code, env={"EAGER_MODE": text}) == f"True {is_on}\n"


def test_words_may_be_written_in_capitals(python):
    code = "import torch; torch.spyre.show_config(); torch.linalg.eigvalsh(torch.eye(2, device='spyre'))"
    stdout = python(code, env={"TORCH_SPYRE_CPU_FALLBACK": "SILENT", "SPYRE_PLANNER": "Best"})
    assert "silent" in stdout


def test_every_variable_the_code_reads_is_in_the_table():
    import pathlib
    import re

    import torch_spyre

    root = pathlib.Path(torch_spyre.__file__).parent
    found = set()
    for path in [*root.rglob("*.py"), *root.glob("csrc/*.cpp")]:
        text = path.read_text()
        found |= set(re.findall(r"getenv\(\"(\w+)\"|environ\.get\(\"(\w+)\"", text))
        found |= {(name, "") for name in re.findall(r"environment\(\"(\w+)\",", text)}
        found |= {(name, "") for name in re.findall(r"_(?:flag|number)\(\"(\w+)\",", text)}
    system = {"TORCHINDUCTOR_CACHE_DIR", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "TMPDIR"}
    names = {a or b for a, b in found} - system
    assert names and names <= set(environment.VARIABLES), names - set(environment.VARIABLES)


def test_misspelt_variables_get_the_nearest_name(python):
    done = python("import torch", env={"TORCH_SPYRE_DEBGU": "1"}, check=False)
    assert done.returncode == 0
    assert "TORCH_SPYRE_DEBGU" in done.stderr and "did you mean TORCH_SPYRE_DEBUG?" in done.stderr


@pytest.mark.parametrize(
    "env, text",
    [
        ({"TORCH_SPYRE_DOWNCAST_WARN": "perhaps"}, "SPYRE-E6508"),
        ({"TORCH_SPYRE_DEBUG": "perhaps"}, "SPYRE-E6508"),
        ({"TORCH_SPYRE_DEBUG": "1", "SPYRE_LOG_FILE": "/nowhere/log"}, "/nowhere/log"),
        ({"SPYRE_LOG_FILE": "/nowhere/log"}, "/nowhere/log"),
        ({"SPYRE_INDUCTOR_LOG": "1", "SPYRE_INDUCTOR_LOG_LEVEL": "loud"}, "SPYRE-E6508"),
    ],
)
def test_torch_can_be_imported_whatever_the_variables_say(python, env, text):
    done = python("import torch; print(torch.ones(2).sum().item())", env=env, check=False)
    assert (done.returncode, done.stdout) == (0, "2.0\n") and text in done.stderr, done.stderr


@pytest.mark.parametrize("flag, logs", [("perhaps", False), ("off", False), ("True", True)])
def test_a_flag_that_is_none_turns_nothing_on(python, flag, logs):
    program = "import torch; torch.ones(2, device='spyre').cpu()"
    done = python(program, env={"TORCH_SPYRE_DEBUG": flag}, check=False)
    assert done.returncode == 0 and ("spyre debug" in done.stderr) == logs, done.stderr


def test_times_that_cannot_be_written_are_printed(python):
    program = "import torch; torch.compile(lambda a: a + a)(torch.ones(2, device='spyre'))"
    env = {"TORCH_SPYRE_TIMING": "1", "TORCH_SPYRE_TIMING_OUT": "/nowhere/times"}
    stderr = python(program, env=env, check=False).stderr
    assert "SPYRE-E6508" in stderr and "spyre timing" in stderr, stderr


def test_variables_of_the_existing_plug_in_are_accepted(python):
    done = python("import torch", env={"TORCH_SPYRE_DISABLE_AUTO_PIN": "1"}, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_accelerator_functions():
    accelerator = torch.accelerator
    assert accelerator.is_available() and accelerator.current_accelerator().type == "spyre"
    assert accelerator.device_count() == torch.spyre.device_count()
    accelerator.set_device_index(0)
    assert accelerator.current_device_index() == 0
    with accelerator.device_index(0):
        pass
    accelerator.synchronize()
    accelerator.set_stream(torch.Stream("spyre"))
    accelerator.set_stream(torch.spyre.default_stream())
    assert accelerator.memory_allocated() == torch.spyre.memory_allocated()
    assert accelerator.memory_reserved() == torch.spyre.memory_reserved()
    assert accelerator.max_memory_allocated() == torch.spyre.max_memory_allocated()
    assert accelerator.get_memory_info() == torch.spyre.mem_get_info()
    accelerator.reset_peak_memory_stats()
    accelerator.reset_accumulated_memory_stats()
    accelerator.empty_cache()
    assert accelerator.get_device_capability() is not None


def test_methods_of_tensors_and_modules():
    x = torch.ones(3).spyre()
    assert x.is_spyre and not torch.ones(1).is_spyre and x.from_device().device.type == "cpu"
    assert torch.ones(2).spyre(0).device.index == 0
    model = torch.nn.Linear(65, 3).spyre()
    assert model.weight.device_tensor_layout() == (
        torch.nn.Linear(65, 3).to("spyre").weight.device_tensor_layout()
    )
    packed = torch.nn.utils.rnn.pack_sequence([torch.ones(2), torch.ones(1)])
    assert packed.spyre().data.is_spyre
    with torch.device("spyre"):
        assert torch.zeros(2).is_spyre and torch.nn.Linear(2, 2).weight.is_spyre


DTYPES = {
    torch.float16: "tensor([1., 2.], dtype=torch.float16, device='spyre:0')",
    torch.bfloat16: "tensor([1., 2.], dtype=torch.bfloat16, device='spyre:0')",
    torch.float32: "tensor([1., 2.], device='spyre:0')",
    torch.bool: "tensor([True, True], device='spyre:0')",
    torch.int8: "tensor([1, 2], dtype=torch.int8, device='spyre:0')",
    torch.int16: "tensor([1, 2], dtype=torch.int16, device='spyre:0')",
    torch.int32: "tensor([1, 2], dtype=torch.int32, device='spyre:0')",
    torch.int64: "tensor([1, 2], device='spyre:0')",
    torch.float8_e4m3fn: "tensor([1., 2.], dtype=torch.float8_e4m3fn, device='spyre:0')",
}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_printing(dtype):
    x = torch.tensor([1.0, 2.0]).to(dtype).to("spyre")
    assert repr(x) == str(x) == DTYPES[dtype]
    zero = x[0].clone()
    assert repr(zero) == repr(zero.cpu())[:-1] + ", device='spyre:0')" and zero.dim() == 0


def test_printing_of_other_tensors(monkeypatch):
    x = torch.tensor([1.2344, 2.0], dtype=torch.float16, device="spyre")
    assert repr(x) == "tensor([1.2344, 2.0000], dtype=torch.float16, device='spyre:0')"
    assert repr(torch.empty(0, 3).to("spyre")) == "tensor([], size=(0, 3), device='spyre:0')"
    assert "..." in repr(torch.zeros(2000, device="spyre"))
    leaf = torch.ones(1, device="spyre", requires_grad=True)
    assert repr(leaf) == "tensor([1.], device='spyre:0', requires_grad=True)"
    assert repr(leaf * 2) == "tensor([2.], device='spyre:0', grad_fn=<MulBackward0>)"
    assert repr(torch.nn.Parameter(leaf.detach())).startswith("Parameter containing:\ntensor([1.]")
    assert repr(torch.arange(6.0).to("spyre")[1::2]) == "tensor([1., 3., 5.], device='spyre:0')"
    assert f"{torch.tensor(1.5, device='spyre'):.2f}" == "1.50"
    assert f"{x}" == repr(x)

    def fail(_self):
        raise RuntimeError("no card")

    monkeypatch.setattr(torch.Tensor, "cpu", fail)
    assert repr(x) == "SpyreTensor(shape=(2,), dtype=torch.float16, device=spyre:0)"


@pytest.mark.filterwarnings("ignore::torch_spyre.ops.fallbacks.FallbackWarning")
def test_tensors_in_python():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], device="spyre")
    assert x[1, 0].item() == 3 and x.tolist() == [[1, 2], [3, 4]] and len(x) == 2
    assert bool(x[0, 0] == 1) and float(x[0, 1]) == 2.0 and int(x[1, 1]) == 4
    assert 3.0 in x and 7.0 not in x and [row.tolist() for row in x] == x.tolist()
    assert {x: 1}[x] == 1 and hash(x) != hash(x.clone())
    assert [0, 1][torch.tensor(1, device="spyre")] == 1
    x[0] = 9
    x[1, 1:] = torch.tensor([8.0])
    x[x > 8] = 5
    x[torch.tensor([1], device="spyre")] += 1
    assert x.tolist() == [[5, 5], [4, 9]]
    with pytest.raises(RuntimeError, match="ambiguous"):
        bool(x)
    with pytest.raises(RuntimeError):
        x.item()
    with pytest.raises(IndexError):
        x[2]


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(65, 65)
        self.b = torch.nn.Linear(65, 65, bias=False)
        self.b.weight = self.a.weight
        self.register_buffer("steps", torch.tensor(3))
        self.register_buffer("table", torch.ones(2))


def test_moving_models():
    model = Tied()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    weight = model.a.weight
    assert model.to("spyre", torch.float16, non_blocking=True) is model
    assert model.a.weight is model.b.weight is weight is optimizer.param_groups[0]["params"][0]
    assert weight.is_spyre and weight.dtype == model.table.dtype == torch.float16
    assert model.steps.is_spyre and model.steps.dtype == torch.int64
    layout, pointer = weight.device_tensor_layout(), weight.data_ptr()
    model.to(device="spyre")
    assert weight.data_ptr() == pointer and weight.device_tensor_layout() == layout
    model.to(torch.ones(1, dtype=torch.float32, device="spyre"))
    assert weight.dtype == torch.float32 and weight.is_spyre
    model.to("cpu")
    assert model.a.weight.device.type == "cpu" and model.a.weight is model.b.weight
    assert model.spyre().cpu().a.weight is model.b.weight
    assert model.spyre().half().a.weight is model.b.weight
    model.spyre()
    assert model.a.weight.is_spyre and model.a.weight is model.b.weight
    with pytest.raises(ValueError, match="has no Spyre device representation"):
        Tied().to("spyre", torch.float64)
    with pytest.raises((RuntimeError, TypeError)):
        Tied().to("spyre", torch.int32)
    empty = torch.nn.Linear(2, 2, device="meta")
    with pytest.raises((NotImplementedError, RuntimeError)):
        empty.to("spyre")
    assert empty.to_empty(device="spyre").weight.is_spyre


def test_loading_tensor_by_tensor():
    """As safetensors does: empty model, then a copy per tensor."""
    source = torch.nn.Linear(65, 3).state_dict()
    model = torch.nn.Linear(65, 3).to("spyre")
    for name, value in model.state_dict().items():
        value.copy_(source[name])
    assert torch.equal(model.weight.detach().cpu(), source["weight"])
    model.load_state_dict({name: value.to("spyre") for name, value in source.items()})
    assert torch.equal(model.bias.detach().cpu(), source["bias"])


@pytest.mark.parametrize(
    "name",
    ["memory_allocated", "set_device", "synchronize", "get_device_properties", "get_rng_state"],
)
def test_functions_of_the_device_refuse_other_devices(name):
    with pytest.raises(ValueError, match="Expected a spyre device, but got: cpu"):
        getattr(torch.spyre, name)("cpu")


def test_device_contexts_of_nothing_leave_the_device():
    with torch.spyre.device(1):
        for context in (torch.spyre.device(None), torch.spyre.device(-1)):
            with context:
                assert torch.spyre.current_device() == 1
        with torch.spyre.device_of(torch.ones(1)):
            assert torch.spyre.current_device() == 1


def test_names_of_the_extension_that_older_software_uses():
    x = torch.empty(3, 70, device="spyre")
    extension.fill_tensor(x, 2.5)
    assert (x.cpu() == 2.5).all()
    with pytest.raises(RuntimeError, match="SPYRE-E6505.*fill_tensor wants a tensor on spyre"):
        extension.fill_tensor(torch.ones(3), 1.0)
    stream = extension.get_stream_from_pool(0, -1)
    assert isinstance(stream, extension._SpyreStreamBase) and stream.priority == -1
    previous = extension.set_current_stream(stream)
    assert extension.current_stream(0) == stream and previous == extension.default_stream(0)
    assert extension.set_current_stream(previous) == stream


def test_the_runtime_may_be_freed(python):
    python("""
import torch, torch_spyre._C as extension
extension.free_runtime()
x = torch.ones(64, 64, device="spyre", dtype=torch.float16)
y = x + x
extension.free_runtime()
assert torch.spyre.memory_allocated() == 0
try:
    x + x
except RuntimeError as error:
    assert "SPYRE-E6117" in str(error)
else:
    raise AssertionError
extension.start_runtime()
x = torch.ones(64, 64, device="spyre", dtype=torch.float16)
assert (x + x).sum().item() == 8192
""")
