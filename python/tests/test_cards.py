"""Several cards: which there are, who may open them, and what happens between them.

Cases of the environment and of the process model share one fresh interpreter per test: it imports
torch, opens nothing, and forks a child per case.
"""

import copy
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
import torch

import torch_spyre._C as extension
from tolerances import relative_error, tolerance

ROOT = pathlib.Path(__file__).resolve().parents[2]

# ``child(function, **variables)``: a forked child with these variables runs the function and reports
# its result, or "Type: text" of its exception. ``start`` leaves it waiting until ``stop``.
CHILDREN = """
import json, os, signal, torch, torch_spyre

class Child:
    def __init__(self, function, **variables):
        answer, self._answer = os.pipe()
        self._go, go = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.environ.update(variables)
            os.close(go)
            try:
                result = function()
            except Exception as fault:
                result = f"{type(fault).__name__}: {fault}"
            os.write(self._answer, (json.dumps(result) + "\\n").encode())
            os.read(self._go, 1)
            torch_spyre._C._publish_use()
            os._exit(0)
        os.close(self._answer), os.close(self._go)
        self._wait, self._pipe = go, os.fdopen(answer)
        self.result = json.loads(self._pipe.readline())
    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
    def stop(self):
        os.write(self._wait, b"x")  # others have a copy: closing would not be seen
        os.waitpid(self.pid, 0)

def child(function, **variables):
    started = Child(function, **variables)
    started.stop()
    return started.result
"""


def in_children(python, code, **env):
    unset = dict.fromkeys(
        ("FLEX_DEVICE", "AIU_WORLD_SIZE", "SPYRE_DEVICES", "LOCAL_RANK", "SPYRE_SMI"), ""
    )
    return json.loads(python(CHILDREN + code, env={**unset, **env}).splitlines()[-1])


# --- which cards there are ------------------------------------------------------------------------


def test_variables_decide_what_is_visible(python):
    results = in_children(
        python,
        """
def seen():
    return [torch.spyre.device_count(), torch.spyre.visible_cards(), torch.accelerator.device_count(),
            torch.spyre.is_available(), torch.spyre.is_initialized()]
def available():
    return [torch.spyre.is_available(), torch.accelerator.is_available(), torch.ones(2).sum().item()]
print(json.dumps([
    child(seen), child(seen, AIU_WORLD_SIZE="1"), child(seen, AIU_WORLD_SIZE="12"),
    child(seen, SPYRE_DEVICES="1,0,1,99"), child(seen, AIU_WORLD_SIZE="2", SPYRE_DEVICES="0, 1"),
    child(seen, FLEX_DEVICE="MOCK", AIU_WORLD_SIZE="3"), child(seen, SPYRE_DEVICES="99"),
    child(seen, FLEX_DEVICE="GPU"), child(seen, AIU_WORLD_SIZE="0"), child(seen, SPYRE_DEVICES="0,-1"),
    child(available, SPYRE_DEVICES="x"), child(lambda: str(torch.empty(2, device="spyre")), SPYRE_DEVICES="99"),
    child(lambda: str(torch.empty(2, device="spyre:1")), AIU_WORLD_SIZE="1"),
    child(lambda: torch.manual_seed(3).initial_seed(), SPYRE_DEVICES="99"),
]))
""",
    )
    everything = list(range(8))
    assert results[0] == [8, everything, 8, True, False]
    assert results[1] == [1, [0], 1, True, False]
    assert results[2].startswith("RuntimeError: SPYRE-E6141: AIU_WORLD_SIZE is '12'; give a number of cards from 1 to 8")
    assert results[3] == [2, [1, 0], 2, True, False]
    assert results[4][:2] == [2, [0, 1]]
    assert results[5][:2] == [3, [0, 1, 2]]
    assert results[6] == [0, [], 0, False, False]
    assert results[7].startswith("RuntimeError: SPYRE-E6140: FLEX_DEVICE")
    assert results[8].startswith("RuntimeError: SPYRE-E6141: AIU_WORLD_SIZE")
    assert results[9].startswith("RuntimeError: SPYRE-E6142: SPYRE_DEVICES")
    assert results[10] == [False, False, 2.0]
    assert results[11].startswith("RuntimeError: SPYRE-E6522: No Spyre devices")
    assert "SPYRE-E6509" in results[12]
    assert results[13] == 3


def test_local_rank_is_the_default_and_set_device_wins(python):
    results = in_children(
        python,
        """
def default():
    x = torch.ones(3, device="spyre")
    return [torch.spyre.current_device(), str(x.device), torch.spyre._C_is_open()]
def chosen():
    torch.spyre.set_device(0)
    return [torch.spyre.current_device(), str(torch.ones(3, device="spyre").device)]
def explicit():
    return str(torch.ones(3, device="spyre:1").device)
torch.spyre._C_is_open = lambda: [torch_spyre._C._is_open(i) for i in range(2)]
print(json.dumps([
    child(default, LOCAL_RANK="1"), child(chosen, LOCAL_RANK="1"), child(chosen, LOCAL_RANK="9"),
    child(default, LOCAL_RANK="2", AIU_WORLD_SIZE="2"), child(default, LOCAL_RANK="x"),
    child(explicit, LOCAL_RANK="9"),
]))
""",
    )
    assert results[0] == [1, "spyre:1", [False, True]]
    assert results[1] == results[2] == [0, "spyre:0"]
    assert "Device index out of bounds. logical_device_id=2, number of visible devices=2" in results[3]
    assert results[3].startswith("RuntimeError: SPYRE-E6143")
    assert "LOCAL_RANK is 'x'" in results[4]
    assert results[5] == "spyre:1"


# --- who may open them ----------------------------------------------------------------------------


def test_a_card_in_pf_mode_belongs_to_one_process(python, tmp_path):
    results = in_children(
        python,
        """
def use(device="spyre"):
    return torch.ones(3, device=device).cpu().sum().item()
owner = Child(use)
report = [owner.pid, owner.result, child(use), child(lambda: use("spyre:1")),
          child(use, SPYRE_DEVICES="0"), child(use, FLEX_DEVICE="VF"), child(use, FLEX_DEVICE="MOCK")]
owner.kill()
print(json.dumps(report + [child(use)]))
""",
        FLEX_DEVICE="PF",
        SPYRE_CARD_DIR=str(tmp_path / "cards"),
    )
    owner, first, busy, other_card, same_card, shared, private, after_kill = results
    assert first == other_card == private == after_kill == 3.0
    for refused in (busy, same_card, shared):
        assert refused.startswith("RuntimeError: SPYRE-E6144: device busy: card 0"), refused
        assert f"process {owner}" in refused, refused


def test_a_child_of_a_dead_owner_does_not_keep_the_card(python, tmp_path):
    results = in_children(
        python,
        """
def use_and_fork():
    torch.ones(3, device="spyre")
    pid = os.fork()
    if pid == 0:
        signal.pause()
    return pid
def use():
    return torch.ones(3, device="spyre").cpu().sum().item()
owner = Child(use_and_fork)
busy = child(use)
owner.kill()
free = child(use)
os.kill(owner.result, signal.SIGKILL)
print(json.dumps([busy, free]))
""",
        FLEX_DEVICE="PF",
        SPYRE_CARD_DIR=str(tmp_path / "cards"),
    )
    assert "SPYRE-E6144" in results[0]
    assert results[1] == 3.0


def test_cards_in_vf_mode_are_shared_and_memory_is_not(python, tmp_path):
    results = in_children(
        python,
        """
def use(value):
    kept = torch.full((64, 64), value, dtype=torch.float16, device="spyre")
    result = torch.softmax(kept @ kept, -1)
    c = torch.spyre.counters()
    return [kept.data_ptr(), kept.cpu().mean().item(), result.cpu().sum(-1).tolist(),
            c["fallback_ops"] + c["graph_fallback_nodes"], torch.spyre.get_device_properties().mode]
one, two = Child(lambda: use(2.0)), Child(lambda: use(3.0))
exclusive = child(lambda: use(4.0), FLEX_DEVICE="PF")
one.stop(), two.stop()
print(json.dumps([one.result, two.result, exclusive, child(lambda: use(5.0), FLEX_DEVICE="PF")]))
""",
        FLEX_DEVICE="VF",
        SPYRE_CARD_DIR=str(tmp_path / "cards"),
    )
    one, two, refused, exclusive = results
    assert one[0] == two[0] and (one[1], two[1]) == (2.0, 3.0)
    assert one[3] == 0 and one[4] == "VF" and exclusive[4] == "PF"
    assert one[2] == two[2] == exclusive[2], "wiping LX between bundles changes no result"
    assert "SPYRE-E6144: device busy: card 0" in refused


def test_a_folder_of_locks_that_cannot_be_used(python):
    result = in_children(
        python,
        'print(json.dumps(child(lambda: str(torch.ones(2, device="spyre")))))',
        FLEX_DEVICE="PF",
        SPYRE_CARD_DIR="/proc/nowhere",
    )
    assert result.startswith("RuntimeError: SPYRE-E6145") and "SPYRE_CARD_DIR" in result


def test_only_children_forked_after_the_start_are_bad(python):
    results = in_children(
        python,
        """
def use():
    return [torch.spyre._is_in_bad_fork(), torch.ones(3, device="spyre:2").cpu().sum().item()]
def worker():
    return [torch.spyre._is_in_bad_fork(), torch.spyre.is_available(), torch.spyre.is_initialized(),
            child(use)]
def fork_again():
    torch.ones(2, device="spyre:1")
    return child(use)
print(json.dumps([child(use), child(fork_again), child(worker, IS_INDUCTOR_SPAWNED_SUBPROCESS="1"),
                  torch.spyre.is_initialized()]))
""",
    )
    assert results[0] == [False, 3.0]
    assert results[1].startswith("RuntimeError: SPYRE-E6501: Cannot re-initialize Spyre in forked")
    assert results[2][:3] == [True, True, False] and "SPYRE-E6521" in results[2][3]
    assert results[3] is False


SPAWN = """
import multiprocessing, torch

def work(index, queue):
    queue.put((index, (torch.ones(4, device=f"spyre:{index}") * 3).sum().item()))

if __name__ == "__main__":
    torch.ones(2, device="spyre")
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    started = context.Process(target=work, args=(1, queue))
    started.start()
    print(queue.get(timeout=300))
    started.join()
"""


def test_a_spawned_child_has_devices_of_its_own(tmp_path):
    script = tmp_path / "spawning.py"
    script.write_text(SPAWN)
    done = subprocess.run([sys.executable, script], text=True, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "(1, 12.0)"


# --- several cards in one process -----------------------------------------------------------------


def assert_close(result, reference, operation, dtype=torch.float32, terms=1):
    error = relative_error(result.float().cpu().numpy(), reference.float().numpy())
    assert error <= tolerance(operation, dtype, terms), error


def ones(device, *size):
    return torch.ones(size or (4, 64), dtype=torch.float16, device=device)


def test_each_card_computes_and_results_stay_where_inputs_are(on_device):
    x = torch.randn(64, 64).half()
    with on_device() as proof:
        results = [(x.to(f"spyre:{i}") @ x.to(f"spyre:{i}")).relu() for i in (0, 3)]
    assert [str(r.device) for r in results] == ["spyre:0", "spyre:3"]
    assert torch.equal(results[0].cpu(), results[1].cpu())
    assert proof.counters["programs_launched"] >= 4, "counters add up over cards"
    assert torch.spyre.current_device() == 0


def test_results_of_host_operations_stay_on_the_card():
    x = torch.tensor([3.0, 1.0, 2.0]).to("spyre:2")
    with pytest.warns(UserWarning, match="falling back"):
        values, indices = torch.sort(x)
        unique = torch.unique(x)
    assert {str(t.device) for t in (values, indices, unique)} == {"spyre:2"}
    assert values.cpu().tolist() == [1.0, 2.0, 3.0]
    assert x[torch.tensor([2, 0])].device == x.device
    assert torch.arange(4, device="spyre:2").device == x.device
    assert torch.zeros_like(x, device="spyre:1").device == torch.device("spyre:1")
    y = x.clone()
    y[1] = 7.0
    assert y.device == x.device and y.cpu().tolist() == [3.0, 7.0, 2.0]


def test_factories_follow_index_and_current_device():
    with torch.spyre.device(5):
        assert torch.spyre.current_device() == torch.accelerator.current_device_index() == 5
        x = torch.empty(3, device="spyre")
        assert x.device.index == 5 and torch.ones(2, device="spyre:1").device.index == 1
        assert torch.ones(2).to("spyre").device.index == 5
        assert torch.UntypedStorage(64, device="spyre:4").device.index == 4
        with torch.spyre.device_of(torch.empty(1, device="spyre:6")):
            assert torch.spyre.current_device() == 6
        layout = x.device_tensor_layout()
        assert torch.empty(3, device="spyre:2", device_layout=layout).device.index == 2
        assert torch.ones(3).to("spyre:3", device_layout=layout).device.index == 3
        assert torch.ones(3).to("spyre", device_layout=layout).device.index == 5
        assert x.to(device_layout=layout) is x
    assert torch.spyre.current_device() == 0
    x.resize_(1000)
    assert x.untyped_storage().device.index == x.device.index == 5


@pytest.mark.parametrize("guard", [torch.spyre.device, torch.accelerator.device_index])
def test_guards_restore_after_exceptions(guard):
    with pytest.raises(ValueError, match="on purpose"), guard(2):
        assert torch.spyre.current_device() == 2
        raise ValueError("on purpose")
    assert torch.spyre.current_device() == 0
    with pytest.raises(RuntimeError), torch.spyre.device(2):
        ones("spyre:3") @ ones("spyre:3", 7, 7)
    assert torch.spyre.current_device() == 0
    with pytest.raises(RuntimeError, match="E6509"):
        torch.spyre.set_device(8)
    assert torch.spyre.current_device() == 0


VIEWS = {
    "whole": lambda t: t,
    "slice": lambda t: t[1:3, 5:40],
    "transposed": lambda t: t.t(),
    "step": lambda t: t[::2, ::3],
    "expanded": lambda t: t[0].expand(3, -1),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.int32, torch.bool])
def test_copies_between_cards_keep_what_is_there(view, dtype):
    host = (torch.arange(6 * 70) % 23 - 5).reshape(6, 70).to(dtype)
    source = VIEWS[view](host.to("spyre:1"))
    for moved in (source.to("spyre:4"), source.to("spyre:4", non_blocking=True)):
        assert str(moved.device) == "spyre:4"
        assert torch.equal(moved.cpu(), VIEWS[view](host))
    target = torch.zeros(75, 75, dtype=dtype, device="spyre:0")
    part = target[2 : 2 + source.shape[0], 3 : 3 + source.shape[1]]
    part.copy_(source)
    assert torch.equal(part.cpu(), VIEWS[view](host))
    assert target.cpu().double().sum() == VIEWS[view](host).double().sum(), "the rest is untouched"
    assert torch.spyre.current_device() == 0


def test_copies_between_cards_convert_types_and_broadcast():
    host = torch.randn(3, 65)
    source = host.to("spyre:1")
    assert_close(source.to("spyre:2", torch.float16), host, "copy", torch.float16)
    assert source.to("spyre:2", torch.float16).dtype == torch.float16
    target = torch.empty(4, 3, 65, device="spyre:3")
    target.copy_(source)
    assert torch.equal(target.cpu(), host.expand(4, 3, 65))
    assert source.to("spyre:1") is source
    assert torch.empty(0, 5, device="spyre:1").to("spyre:2").shape == (0, 5)


def test_copies_between_cards_keep_raw_bits_and_layouts_may_differ():
    # DLFloat16 holds larger numbers than fp16: over fp16 on the way they would change.
    large = ones("spyre:1", 5, 70) * 60000 * 60000
    layout = extension.SpyreTensorLayout([5, 70], [70, 1], torch.float16, [1, 0])
    moved = large.to("spyre:2", device_layout=layout)
    assert moved.device_tensor_layout() == layout != large.device_tensor_layout()
    back = moved.to("spyre:1")
    assert torch.equal(large.float().cpu(), back.float().cpu())
    assert not torch.equal(large.float().cpu(), large.cpu().float()), "the test can fail"


def test_tensors_of_two_cards_do_not_mix():
    a, b = ones("spyre:0"), ones("spyre:1")
    message = "Expected all tensors to be on the same device, but found at least two devices, "
    for mix in (
        lambda: a + b,
        lambda: torch.cat([a, b]),
        lambda: a.add_(b),
        lambda: torch.add(a, a, out=b),
        lambda: torch.sort(a, out=(b, torch.empty_like(b, dtype=torch.int64))),
        lambda: a[b.bool()],
        lambda: torch.where(a > 0, a, b),
    ):
        with pytest.raises(RuntimeError, match=re.escape(message)):
            mix()
    assert torch.equal((a + b.to(a.device)).cpu(), ones("cpu") * 2)
    assert (a + torch.tensor(2.0)).device == a.device


def test_memory_is_counted_per_card():
    before = [torch.spyre.memory_allocated(i) for i in range(8)]
    x = ones("spyre:6", 64, 64)
    after = [torch.spyre.memory_allocated(i) for i in range(8)]
    assert after[6] - before[6] == 8192
    assert after[:6] + after[7:] == before[:6] + before[7:]
    assert torch.accelerator.memory_allocated(6) == after[6]
    free, total = torch.spyre.mem_get_info(6)
    untouched = torch.spyre.mem_get_info(7)
    assert total - free >= 8192 and untouched[1] == total
    properties = [torch.spyre.get_device_properties(i) for i in range(8)]
    assert sum(p.total_memory for p in properties) == 8 * total
    assert [(p.index, p.card, p.mode) for p in properties] == [(i, i, "private") for i in range(8)]
    del x
    assert torch.spyre.memory_allocated(6) == before[6]
    with pytest.raises(RuntimeError, match="E6509"):
        torch.spyre.memory_allocated(8)


def test_cards_open_when_they_are_used(python):
    python("""
import torch, torch_spyre._C as c
opened = lambda: [i for i in range(8) if c._is_open(i)]
assert opened() == []
torch.spyre.set_device(3); torch.manual_seed(1); torch.spyre.get_device_properties(2)
torch.spyre.mem_get_info(1); torch.spyre.current_stream(4); torch.spyre.get_rng_state("spyre:5")
assert opened() == []
torch.ones(2, device="spyre")
assert opened() == [3] and torch.spyre.is_initialized()
torch.ones(2, device="spyre:7")
assert opened() == [3, 7]
""")


def test_generators_belong_to_cards():
    torch.spyre.manual_seed_all(11)
    a, b = torch.rand(4, device="spyre:1"), torch.rand(4, device="spyre:2")
    assert torch.equal(a.cpu(), b.cpu()), "same seed, own generators"
    torch.spyre.manual_seed(12, "spyre:1")
    assert torch.spyre.initial_seed("spyre:1") == 12 and torch.spyre.initial_seed("spyre:2") == 11
    state = torch.spyre.get_rng_state("spyre:2")
    first = torch.rand(4, device="spyre:2")
    torch.rand(4, device="spyre:1")
    torch.spyre.set_rng_state(state, "spyre:2")
    assert torch.equal(torch.rand(4, device="spyre:2").cpu(), first.cpu())
    assert torch.Generator(device="spyre:3").device == torch.device("spyre:3")


def test_streams_belong_to_cards():
    here, there = torch.spyre.Stream(), torch.spyre.Stream(device="spyre:1")
    assert (here.device.index, there.device.index) == (0, 1)
    with there:
        assert torch.spyre.current_stream("spyre:1") == there
        assert torch.spyre.current_stream("spyre:0") == torch.spyre.default_stream("spyre:0")
    assert torch.spyre.current_stream("spyre:1") == torch.spyre.default_stream("spyre:1")


def test_models_compile_and_train_on_any_card(on_device):
    torch.manual_seed(5)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8)).half()
    x = torch.randn(4, 64).half()
    expected = copy.deepcopy(model).float()(x.float())
    model.to("spyre:2")
    assert {str(p.device) for p in model.parameters()} == {"spyre:2"}
    with on_device(), torch.no_grad():
        result = torch.compile(model)(x.to("spyre:2"))
    assert str(result.device) == "spyre:2"
    assert_close(result, expected.detach(), "matmulOfMatmul", x.dtype, 64)
    with torch.spyre.device(1):
        torch.compile(model)(x.to("spyre:2")).sum().backward()
    assert {str(p.grad.device) for p in model.parameters()} == {"spyre:2"}
    model.to("spyre:3")
    assert {str(p.device) for p in model.parameters()} == {"spyre:3"}
    with torch.no_grad():
        assert_close(model(x.to("spyre:3")), expected.detach(), "matmulOfMatmul", x.dtype, 64)


def test_compiled_functions_follow_their_inputs(on_device):
    f = torch.compile(lambda a: torch.softmax(a * 2, -1) + torch.arange(64, dtype=a.dtype, device=a.device))
    x = torch.randn(4, 64).half()
    with on_device():
        results = [f(x.to(f"spyre:{i}")) for i in (0, 1)]
    assert [r.device.index for r in results] == [0, 1]
    assert torch.equal(results[0].cpu(), results[1].cpu())


def test_a_graph_may_span_cards():
    f = torch.compile(lambda a: ((a * 2).to("spyre:1") + 1).relu())
    result = f(ones("spyre:0"))
    assert str(result.device) == "spyre:1" and torch.equal(result.cpu(), ones("cpu") * 3)


def test_threads_have_their_own_current_device():
    import threading

    seen = []

    def work():
        seen.append(torch.spyre.current_device())
        torch.spyre.set_device(4)
        seen.append(str((ones("spyre") + 1).device))

    torch.spyre.set_device(1)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert seen == [0, "spyre:4"] and torch.spyre.current_device() == 1
    finally:
        torch.spyre.set_device(0)


# --- faults and spyre-smi -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind, code, text",
    [
        ("page_fault_fetch", 6150, "page_fault_fetch at address 0x1234 in launch"),
        ("page_fault_store", 6150, "page_fault_store at address 0x1234 in launch"),
        ("timeout", 6151, "timeout in launch"),
        ("core_unavailable", 6152, "core_unavailable in launch"),
        ("dma_crc", 6153, "dma_crc in copy"),
        ("ecc", 6154, "ecc at address 0x1234 in copy"),
    ],
)
def test_injected_faults_are_errors_of_their_card_alone(kind, code, text):
    x, other = ones("spyre:5"), ones("spyre:0")
    expected = (x + 1).cpu()
    target = "copy" if "copy" in text else ""
    extension._inject_fault(5, kind, after=1, target=target, address=0x1234)
    with pytest.raises(RuntimeError, match=f"SPYRE-E{code}: .*{text} [0-9]+;"):
        for _ in range(3):
            assert torch.equal((other + 1).cpu(), expected)
            (x + 1).cpu()
    assert torch.equal((other + 1).cpu(), expected)
    torch.spyre.reset_device(5)
    assert torch.equal((ones("spyre:5") + 1).cpu(), expected)


def test_unknown_faults_are_refused():
    with pytest.raises(RuntimeError, match="SPYRE-E6147.*dma_crc"):
        extension._inject_fault(0, "fire")
    with pytest.raises(RuntimeError, match="SPYRE-E6509"):
        extension._inject_fault(9, "timeout")


def test_spyre_smi_shows_who_uses_the_cards(python, tmp_path):
    tool = ROOT / "build" / "bin" / "spyre-smi"
    folder = str(tmp_path / "cards")
    results = in_children(
        python,
        f"""
import subprocess
def smi():
    return json.loads(subprocess.run([{str(tool)!r}, "--json"], check=True, capture_output=True).stdout)
def use():
    kept = torch.ones(64, 64, dtype=torch.float16, device="spyre")
    (kept @ kept).cpu()
    torch.spyre.synchronize()
before = smi()
owner = Child(use)
during = smi()
owner.kill()
silent = Child(use, SPYRE_SMI="0")
print(json.dumps([owner.pid, before, during, smi()]))
silent.stop()
""",
        FLEX_DEVICE="VF",
        SPYRE_DEVICES="3",
        SPYRE_SMI="1",
        SPYRE_CARD_DIR=folder,
    )
    pid, before, during, after = results
    assert before["processes"] == [] and before["reports"] is False
    (process,) = during["processes"]
    assert (process["card"], process["mode"], process["pid"]) == (3, "VF", pid)
    assert process["active_bytes"] >= 8192 and process["launches"] == 1
    assert process["pt_macs"] >= 64**3 and 0 < process["pt_utilisation"] <= 1
    assert process["ddr_read_bytes"] > 0 and process["simulated_ns"] > 0
    assert "python" in process["process_name"]
    assert after["processes"] == [] and after["reports"] is True
    assert os.listdir(folder + "/state") == [], "files of the dead are removed"
