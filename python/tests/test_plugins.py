"""Python plug-ins of the compiler: solvers, scratchpad passes, callables on operations, and the examples of the how-tos."""

import pathlib
import re
import threading

import pytest
import torch

import torch_spyre
from torch_spyre._inductor import config, passes
from torch_spyre._inductor.extensions import enable_spyre_context
from torch_spyre._inductor.scratchpad.passes import ScratchpadOptimizationPass
from torch_spyre._inductor.scratchpad.plan_solver import GreedyLayoutSolver, MemoryPlanSolver

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs" / "how-to"


@pytest.fixture(autouse=True)
def _fresh():
    torch._dynamo.reset()


def chain(x):
    return (x + 1).exp().abs().sum(0)


def fork(x):
    return (x + 1) * (x * 2).exp()


def half(*shape):
    torch.manual_seed(5)
    return torch.rand(shape, dtype=torch.float16).to("spyre")


def run(function=chain, x=None, context=(), **patch):
    x = half(64, 256) if x is None else x
    with enable_spyre_context(*context), config.patch(**patch), torch.no_grad():
        return torch.compile(function, backend="spyre")(x).cpu()


class Stacked(MemoryPlanSolver):
    """Puts each buffer on top of the others."""

    seen = []

    def plan_layout(self, buffers):
        assert self.alignment == 128
        Stacked.seen.append([b.name for b in buffers])
        top = 0
        for buffer in buffers:
            buffer.address, top = top, top + -(-buffer.size // 128) * 128
        return buffers


def plan_of(function=chain, **patch):
    with config.patch(**patch), torch.no_grad():
        report = torch_spyre.explain(function, half(64, 256))
    return {entry["subject"]: entry for entry in report.scratchpads}, report


def test_a_solver_in_python_places_the_buffers(on_device):
    expected = run()
    Stacked.seen.clear()
    with on_device():
        entries, report = plan_of(layout_solver=Stacked)
    assert torch.equal(report.result.cpu(), expected)
    assert Stacked.seen and "solver Stacked" in entries["all"]["detail"]
    placed = [e["detail"] for name, e in entries.items() if e["taken"] and name != "all"]
    addresses = {int(re.search(r"each core at (\d+),", detail)[1]) for detail in placed}
    assert len(addresses) == len(placed) >= 2, "nothing shares a place"


class Everywhere(MemoryPlanSolver):
    def plan_layout(self, buffers):
        for buffer in buffers:
            buffer.address = 0
        return buffers


class Between(Everywhere):
    def plan_layout(self, buffers):
        super().plan_layout(buffers)
        buffers[0].address = 64
        return buffers


class Forgetful(MemoryPlanSolver):
    def plan_layout(self, buffers):
        return buffers[1:]


class Wordy(MemoryPlanSolver):
    def plan_layout(self, buffers):
        buffers[0].address = "here"
        return buffers


class Broken(MemoryPlanSolver):
    def plan_layout(self, buffers):
        raise KeyError("of the user's")


@pytest.mark.parametrize(
    "solver, says",
    [
        (Everywhere, "SPYRE-E30(44|49): .*Everywhere"),
        (Between, "SPYRE-E30(44|49): .*Between"),
        (Forgetful, "SPYRE-E1503: Forgetful.plan_layout returned"),
        (Wordy, "SPYRE-E1503: Wordy put 't0' at 'here'"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_plans_that_are_wrong_are_refused(solver, says):
    with pytest.raises(Exception, match=says):
        run(fork, layout_solver=solver)
    torch._dynamo.reset()
    run(fork)


def test_an_exception_reaches_the_user_as_it_is():
    with pytest.raises(KeyError, match="of the user's") as caught:
        run(layout_solver=Broken)
    assert any("solver Broken" in note for note in caught.value.__notes__)
    assert any(entry.name == "plan_layout" for entry in caught.traceback), "the line of the plug-in is told"


@pytest.mark.parametrize("value", [Stacked(1024), MemoryPlanSolver, GreedyLayoutSolver, 3, None])
def test_other_solvers_are_refused(value):
    with pytest.raises(Exception, match="SPYRE-E6508: config.layout_solver .* or a subclass of MemoryPlanSolver"):
        run(layout_solver=value)


def test_no_plan_of_a_plug_in_is_kept(tmp_path):
    """Each solver plans the graph anew, though compiled models are kept."""
    kept = {"compile_cache": True, "cache_dir": str(tmp_path)}

    class Other(Stacked):
        pass

    for solver in (Stacked, Other, Stacked):
        torch._dynamo.reset()
        torch.spyre.reset_counters()
        run(layout_solver=solver, **kept)
        assert torch.spyre.counters()["programs_compiled"] == 1
    calls = []
    for _ in range(2):
        torch._dynamo.reset()
        run(context=[passes.CustomPreFusionPasses([calls.append])], **kept)
    assert len(calls) == 2


class Wishes(ScratchpadOptimizationPass):
    def __init__(self, before=lambda graph: None, after=lambda graph, addresses: None):
        self.run_before, self.run_after = before, after


def test_a_pass_bars_reserves_and_copies(on_device):
    expected = run()

    def before(graph):
        assert [op.name for op in graph.operations][:2] == ["add", "exp"]
        graph.tensors["t0"].barred = "asked-for: stays in memory; allow it"
        graph.operations[1].reserved_bytes = 1024

    with on_device():
        entries, report = plan_of(scratchpad_passes=[Wishes(before)])
    assert torch.equal(report.result.cpu(), expected)
    assert not entries["t0"]["taken"] and "stays in memory" in entries["t0"]["detail"]

    def twice(x):
        return (x + 1).abs() * (x + 1).exp() + x

    expected = run(twice)

    def copies(graph):
        name = next(t.name for t in graph.tensors.values() if t.is_input)
        readers = [i for i, op in enumerate(graph.operations) if name in op.reads]
        graph.copy(name, readers)

    torch._dynamo.reset()
    with on_device():
        entries, report = plan_of(twice, scratchpad_passes=[Wishes(copies)])
    assert torch.equal(report.result.cpu(), expected)
    assert report.operations[0]["name"] == "identity"


def test_a_pass_moves_and_gives_up_places(on_device):
    expected = run()
    moved = {}

    def after(graph, addresses):
        for name in list(addresses)[1:]:
            addresses.pop(name)
        name = next(iter(addresses))
        addresses[name] += 2048
        moved[name] = addresses[name]

    with on_device():
        entries, report = plan_of(scratchpad_passes=[Wishes(after=after)])
    assert torch.equal(report.result.cpu(), expected)
    ((name, address),) = moved.items()
    assert f"each core at {address}," in entries[name]["detail"]
    assert [n for n, e in entries.items() if e["taken"] and n != "all"] == [name]


def test_passes_that_are_wrong():
    def unknown(graph, addresses):
        addresses["nobody"] = 0

    def odd(graph, addresses):
        addresses[next(iter(addresses))] = 64

    def unread(graph):
        graph.copy("t0", [0])

    for wishes, says in [
        (Wishes(after=unknown), "SPYRE-E1503: .*Wishes placed 'nobody'"),
        (Wishes(after=odd), "SPYRE-E30(44|49): .*Wishes"),
        (Wishes(unread), "SPYRE-E1503: a copy of 't0' before operation 0"),
        (Wishes(lambda graph: 1 / 0), "division by zero"),
    ]:
        torch._dynamo.reset()
        with pytest.raises(Exception, match=says):
            run(scratchpad_passes=[wishes])
    with pytest.raises(Exception, match="SPYRE-E6508: config.scratchpad_passes"):
        run(scratchpad_passes=[Wishes])


def test_callables_see_the_operations(on_device):
    seen = {}

    def note(point):
        def look(operations):
            seen[point] = operations

        return look

    x = half(64, 256)
    context = [
        passes.CustomPreSchedulingPasses([note("pre-scheduling")]),
        passes.CustomPreFusionPasses([note("pre-fusion")]),
        passes.CustomPostFusionPasses([note("post-fusion")]),
    ]
    with on_device():
        result = run(x=x, context=context)
    assert torch.equal(result, run(x=x))
    assert [op.name for op in seen["pre-scheduling"]][:3] == ["add", "exp", "abs"]
    assert all(op.division is None for op in seen["pre-scheduling"])
    first = seen["pre-fusion"][0]
    assert first.step == 0 and sorted(first.iteration_space.values()) == [64, 256]
    assert first.location.startswith("test_plugins.py:")
    assert set(first.division) == set(first.iteration_space) and max(first.division.values()) > 1
    assert [o.kind for o in first.operands] == ["input", "constant", "temp"] and first.operands[0].dtype == "f16"
    assert "SEN169_FP16" in first.operands[0].layout and first.operands[0].size == (64, 256)
    assert any(op.reduced for op in seen["pre-fusion"])
    places = [o.lx_address for op in seen["post-fusion"] for o in op.operands]
    assert any(place is not None for place in places)


def rows(cores, attribute):
    def divide(operations):
        for operation in operations:
            variable = next(iter(operation.iteration_space))
            if variable not in operation.reduced:
                setattr(operation, attribute, {variable: cores})

    return divide


@pytest.mark.parametrize(
    "kind, attribute",
    [(passes.CustomPreSchedulingPasses, "hints"), (passes.CustomPreFusionPasses, "division")],
    ids=["hints", "division"],
)
@pytest.mark.parametrize("planner", ["best", "compat"])
def test_divisions_of_a_callable_run(planner, kind, attribute, on_device):
    def function(x):
        return (x + 1).exp()

    x = half(64, 256)
    context = enable_spyre_context(kind([rows(4, attribute)]))
    with on_device(), context, config.patch(planner=planner), torch.no_grad():
        report = torch_spyre.explain(function, x)
    assert torch.equal(report.result.cpu(), run(function, x))
    assert [row["cores"] for row in report.operations] == [4] * len(report.operations)
    if attribute == "division":
        assert {e["reason"] for e in report.work_per_core if e["taken"]} <= {"asked-for", "as-beside"}


def setting(**attributes):
    def change(operations):
        for name, value in attributes.items():
            setattr(operations[0], name, value)

    return change


@pytest.mark.parametrize(
    "kind, wish, says",
    [
        (passes.CustomPreFusionPasses, {"division": {"c9": 2}}, "SPYRE-E1503: step 0, add -> t0, cannot be divided"),
        (passes.CustomPreFusionPasses, {"division": {"c0": 0}}, "SPYRE-E1503"),
        (passes.CustomPreFusionPasses, {"division": {"c0": 64}}, r"SPYRE-E30\d\d: .*step 0, add -> t0"),
        (passes.CustomPreFusionPasses, {"division": {"c0": 5}}, r"SPYRE-E30\d\d: .*step 0, add -> t0"),
        (passes.CustomPreFusionPasses, {"hints": {"c0": 2}}, "SPYRE-E1503: .* is divided already at pre-fusion"),
        (passes.CustomPreSchedulingPasses, {"division": {"c0": 2}}, "SPYRE-E1503: .* is not divided yet"),
        (passes.CustomPreSchedulingPasses, {"hints": {"c0": 5}}, r"SPYRE-E30\d\d"),
        (passes.CustomPostFusionPasses, {"division": {"c0": 64}}, r"SPYRE-E30\d\d: .*step 0, add -> "),
    ],
)
def test_illegal_wishes_are_refused(kind, wish, says):
    with pytest.raises(Exception, match=says):
        run(context=[kind([setting(**wish)])])
    torch._dynamo.reset()
    run()


def test_exceptions_of_callables_reach_the_user():
    class Mine(Exception):
        pass

    def raises(operations):
        raise Mine("in a pass")

    with pytest.raises(Mine, match="in a pass") as caught:
        run(context=[passes.CustomPostFusionPasses([raises])])
    assert any("raises at post-fusion" in note for note in caught.value.__notes__)


def test_threads_compile_with_their_own_plug_ins():
    results, names = {}, ["first", "second", "third"]

    def compile_on_thread(name):
        seen = []
        run(lambda x: chain(x) + len(name), context=[passes.CustomPreFusionPasses([lambda ops: seen.append(len(ops))])])
        results[name] = seen

    threads = [threading.Thread(target=compile_on_thread, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert all(len(results[name]) == 1 for name in names), results


@pytest.mark.parametrize("page", ["extend-the-compiler.md", "plan-the-scratchpads.md"])
def test_examples_of_the_documents(page, on_device):
    code = re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(), flags=re.M | re.S)
    assert code
    names = {}
    with on_device():
        exec(compile("\n".join(code), page, "exec"), names)
    assert names["y"].device.type == "spyre"
