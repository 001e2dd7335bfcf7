"""What users add to the compiler: passes at six points, decompositions, lowerings, custom ops."""

import copy
import pathlib
import threading

import pytest
import torch
import torch_spyre
from conftest import run_python
from tolerances import tolerance
from torch_spyre._inductor import config, decompositions, lowering, passes, spyre_kernel
from torch_spyre._inductor.patches import enable_spyre_context
from torch_spyre._inductor.spyre_kernel import PointwiseOp, ProductOp, ReductionOp, SpyreOpFuncs, ViewOp

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "build" / "lib" / "ExamplePasses.so"
aten = torch.ops.aten


def half(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(*shape, generator=generator).half()


def check(result, reference, operations=1):
    error = (result.cpu().float() - reference.float()).abs().max() / reference.float().abs().max()
    assert error <= tolerance("chain", torch.float16, operations), float(error)


def callees():
    """Framework operations in the last graph."""
    text = torch_spyre.last_compile().graph
    return [line.split('"')[1] for line in text.splitlines() if "graph.call" in line]


def device_ops():
    record = torch_spyre.last_compile()
    specs = "".join(v.decode() for k, v in record.artifacts.items() if k.endswith("op_spec.txt"))
    return specs


def replace(old, new):
    """An FX pass: one operation in place of another."""

    def change(graph):
        for node in graph.nodes:
            if node.target is old:
                node.target = new

    return change


@pytest.fixture(autouse=True)
def _clean():
    before = dict(decompositions.spyre_decompositions), dict(lowering.spyre_lowerings)
    yield
    decompositions.spyre_decompositions.clear()
    decompositions.spyre_decompositions.update(before[0])
    lowering.spyre_lowerings.clear()
    lowering.spyre_lowerings.update(before[1])


@pytest.mark.parametrize(
    "kind, old, new",
    [
        (passes.CustomPreGradPasses, torch.exp, torch.sigmoid),
        (passes.CustomPrePasses, aten.exp.default, aten.sigmoid.default),
        (passes.CustomPostPasses, aten.exp.default, aten.sigmoid.default),
    ],
)
@pytest.mark.parametrize("backend", ["spyre", "inductor"])
def test_fx_passes(on_device, kind, old, new, backend):
    x = half(64, 128)
    with torch.no_grad(), on_device(), enable_spyre_context(kind([replace(old, new)])):
        result = torch.compile(lambda t: torch.exp(t) + 1.0, backend=backend)(x.to("spyre"))
    check(result, torch.sigmoid(x.float()) + 1.0, 2)
    assert "aten.exp.default" not in callees()


def test_fx_passes_may_insert_nodes_without_types(on_device):
    def insert(graph):
        for node in list(graph.nodes):
            if node.target is aten.exp.default:
                with graph.inserting_after(node):
                    total = graph.call_function(aten.sum.dim_IntList, (node, [1], True))
                with graph.inserting_after(total):
                    quotient = graph.call_function(aten.div.Tensor, (node, total))
                node.replace_all_uses_with(quotient)
                total.args = (node, [1], True)
                quotient.args = (node, total)

    x = half(64, 128)
    with torch.no_grad(), on_device(), enable_spyre_context(passes.CustomPostPasses([insert])):
        result = torch.compile(lambda t: t.exp(), backend="spyre")(x.to("spyre"))
    check(result, x.float().softmax(1), 3)


def test_the_order_of_the_points():
    seen = []

    def note(name):
        return lambda graph: seen.append(name)

    all_three = [
        passes.CustomPostPasses([note("post")]),
        passes.CustomPreGradPasses([note("pre-grad")]),
        passes.CustomPrePasses([note("pre 1"), note("pre 2")]),
    ]
    inner = passes.CustomPrePasses([note("inner pre")])
    with torch.no_grad(), enable_spyre_context(passes=all_three), enable_spyre_context(inner):
        torch.compile(lambda t: t.exp(), backend="spyre")(half(4, 64).to("spyre"))
    assert seen == ["pre-grad", "pre 1", "pre 2", "inner pre", "post"]


def test_passes_set_for_inductor_hold_for_our_graphs(on_device):
    change = passes.CustomPostPasses([replace(aten.exp.default, aten.sigmoid.default)])
    x = half(8, 64)
    with torch.no_grad(), on_device():
        with torch._inductor.config.patch(post_grad_custom_post_pass=change):
            result = torch.compile(lambda t: t.exp())(x.to("spyre"))
    check(result, torch.sigmoid(x.float()))


def test_the_context_is_remembered_by_torch_compile():
    """The documented use: the context around torch.compile, the call after it."""
    x = half(8, 64).to("spyre")
    change = passes.CustomPostPasses([replace(aten.exp.default, aten.sigmoid.default)])
    with enable_spyre_context(change):
        inside = torch.compile(lambda t: t.exp(), backend="spyre")
    outside = torch.compile(lambda t: t.exp(), backend="spyre")
    with torch.no_grad():
        check(inside(x), torch.sigmoid(x.cpu().float()))
        check(outside(x), x.cpu().float().exp())


def test_the_context_changes_nothing_else():
    import torch._prims_common as prims
    from torch._dynamo.backends import registry

    registry.lookup_backend("spyre")
    state = lambda: (  # noqa: E731
        dict(torch._decomp.decomposition_table),
        dict(prims._computation_dtype_map),
        dict(torch._inductor.decomposition.decompositions),
        dict(torch._inductor.lowering.lowerings),
    )
    import torch._inductor.compile_fx  # noqa: F401

    before, backends = state(), copy.copy(registry._COMPILER_FNS)
    with torch.no_grad(), enable_spyre_context(), enable_spyre_context():
        torch.compile(lambda t: t.exp().softmax(0))(half(8, 64).to("spyre"))
        assert state() == before
    assert state() == before and registry._COMPILER_FNS == backends


def test_contexts_belong_to_their_thread():
    seen = []
    note = passes.CustomPostPasses([lambda graph: seen.append(threading.get_ident())])
    x = half(8, 64).to("spyre")

    def elsewhere():
        with torch.no_grad():
            torch.compile(lambda t: t.tanh())(x)

    with enable_spyre_context(note):
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert seen == []


def test_decompositions(on_device):
    @decompositions.register_spyre_decomposition(aten.tanh.default)
    def tanh(x):
        return 2.0 * torch.sigmoid(2.0 * x) - 1.0

    x = half(64, 128)
    with torch.no_grad(), on_device():
        result = torch.compile(lambda t: t.tanh())(x.to("spyre"))
    assert "aten.sigmoid.default" in callees() and "aten.tanh.default" not in callees()
    check(result, x.float().tanh(), 4)
    table = {aten.tanh: lambda x: aten.relu(x)}
    with torch.no_grad(), on_device(), enable_spyre_context(decompositions=table):
        result = torch.compile(lambda t: t.tanh() + 1.0)(x.to("spyre"))
    check(result, x.float() + 1.0)


def test_a_decomposition_that_is_removed_leaves_the_operation_on_the_device(on_device):
    decompositions.register_spyre_decomposition(aten.tanh.default)(lambda x: aten.relu(x))
    x = half(8, 64)
    with on_device():
        check(x.to("spyre").tanh(), x.float().relu())
        del decompositions.spyre_decompositions[aten.tanh.default]
        torch_spyre._C.clear_eager_cache()
        check(x.to("spyre").tanh(), x.float().tanh(), 4)


def test_a_table_given_to_compile_fx_is_honoured():
    from torch._dynamo.backends.common import aot_autograd  # noqa: F401
    from torch._inductor.compile_fx import compile_fx

    table = {**torch._decomp.core_aten_decompositions(), aten.tanh.default: lambda x: aten.neg(x)}
    x = half(8, 64)

    def backend(gm, inputs):
        return compile_fx(gm, inputs, decompositions=table)

    with torch.no_grad():
        result = torch.compile(lambda t: t.tanh().softmax(1), backend=backend)(x.to("spyre"))
    assert "aten.neg.default" in callees() and "aten._softmax.default" in callees()
    check(result, (-x.float()).softmax(1), 4)


def make_custom_op(name, function):
    op = torch.library.custom_op(f"spyre_test::{name}", mutates_args=())(function)
    op.register_fake(lambda x, *args: torch.empty_like(x))
    return op


def test_custom_op_by_decomposition(on_device):
    def shifted_relu(x: torch.Tensor, shift: float) -> torch.Tensor:
        return torch.relu(x - shift)

    op = make_custom_op("shifted_relu", shifted_relu)

    @decompositions.register_spyre_decomposition(op)
    def decomposed(x, shift):
        return (x - shift).clamp(min=0)

    x = half(64, 128)
    with torch.no_grad(), on_device():
        result = torch.compile(lambda t: op(t, 0.5) * 2.0)(x.to("spyre"))
    check(result, torch.relu(x.float() - 0.5) * 2.0, 3)


def test_custom_op_by_lowering(on_device):
    def bent(x: torch.Tensor, slope: float) -> torch.Tensor:
        return torch.nn.functional.leaky_relu(x, slope).exp()

    op = make_custom_op("bent", bent)
    SpyreOpFuncs.bent = staticmethod(
        lambda x, slope: PointwiseOp(
            "exp", [PointwiseOp("leakyrelufwd", [x], {"constants": {"leakyReluAlpha": slope}})]
        )
    )

    @lowering.register_spyre_lowering(op)
    def lower(x, slope):
        assert x.shape == (64, 128) and x.dtype == torch.float16
        return SpyreOpFuncs.bent(x, slope)

    x = half(64, 128) - 0.5
    with torch.no_grad(), on_device():
        result = torch.compile(lambda t: op(t, 0.125) + t)(x.to("spyre"))
    assert callees() == ["spyre.device.leakyrelufwd", "spyre.device.exp", "aten.add.Tensor"]
    check(result, torch.nn.functional.leaky_relu(x.float(), 0.125).exp() + x.float(), 3)
    del SpyreOpFuncs.bent


def test_lowerings_replace_those_of_the_compiler(on_device):
    x, y = half(64, 128), half(64, 128, seed=1)

    def larger(a, b):
        return SpyreOpFuncs.where(SpyreOpFuncs.gt(a, b), a, SpyreOpFuncs.mul(b, 1.0))

    with torch.no_grad(), on_device(), enable_spyre_context(lowerings={aten.maximum: larger}):
        result = torch.compile(torch.maximum)(x.to("spyre"), y.to("spyre"))
    assert "spyre.device.where3" in callees() and "aten.maximum.default" not in callees()
    assert torch.equal(result.cpu(), torch.maximum(x.to("spyre").cpu(), y.to("spyre").cpu()))


def test_an_operation_with_a_lowering_is_not_taken_apart(on_device):
    from torch_spyre._inductor import patches

    def lower(x):
        gate = SpyreOpFuncs.relu6fwd(SpyreOpFuncs.add(x, 3.0))
        return SpyreOpFuncs.mul(SpyreOpFuncs.mul(x, gate), 1 / 6)

    x = half(64, 128)
    assert aten.hardswish.default in patches.spyre_decompositions()
    with torch.no_grad(), on_device(), enable_spyre_context(lowerings={aten.hardswish: lower}):
        result = torch.compile(torch.nn.functional.hardswish)(x.to("spyre"))
    assert callees() == [f"spyre.device.{name}" for name in ("add", "relu6fwd", "mul", "mul")]
    check(result, torch.nn.functional.hardswish(x.float()), 4)


def test_every_device_operation_has_an_entry(on_device):
    from torch_spyre import _C

    values = {"leakyReluAlpha": 0.25, "softplusBeta": 1.0, "softplusThresh": 20.0}
    x = half(4, 64) + 0.25
    spyre = x.to("spyre")
    for name, (operands, constants) in _C.device_operations().items():
        given = [values.get(c, -0.5 if "Min" in c else 0.5) for c in constants]
        is_where = name == "where3"
        emits_bool = name in spyre_kernel.COMPARISONS

        def lower(t, name=name, operands=operands, given=given, is_where=is_where):
            first = SpyreOpFuncs.gt(t, 0.5) if is_where else t
            return getattr(SpyreOpFuncs, name)(first, *[t] * (operands - 1), *given)

        target = aten.isnan.default if emits_bool else aten.digamma.default
        function = torch.isnan if emits_bool else torch.digamma
        torch._dynamo.reset()
        with torch.no_grad(), on_device(), enable_spyre_context(lowerings={target: lower}):
            result = torch.compile(lambda t, f=function: f(t))(spyre)
        assert f"spyre.device.{name}" in callees()
        assert result.shape == x.shape
    with pytest.raises(TypeError, match="takes 1 operands and clipMin, clipMax"):
        SpyreOpFuncs.clip(1)


def test_lowerings_that_are_wrong():
    x = half(4, 64).to("spyre")
    for wrong, message in [
        (lambda t: t, "return an operation of SpyreOpFuncs"),
        (lambda t: PointwiseOp("add", [t]), "2 positions expected"),
        (lambda t: PointwiseOp("exp", [t], {"constants": {"no": 1.0}}), "'no' is not known"),
    ]:
        torch._dynamo.reset()
        with torch.no_grad(), enable_spyre_context(lowerings={aten.exp: wrong}):
            with pytest.raises(Exception, match=message):
                torch.compile(lambda t: t.exp())(x)
    with pytest.raises(TypeError, match="is not an operation"):
        lowering.register_spyre_lowering("aten.exp")(lambda t: t)


def spread_of(x, weight):
    """A reduction, a product and two views of device operations: weighted maxima of rows."""
    most = SpyreOpFuncs.reduce("max", x, [1], True)
    return SpyreOpFuncs.transpose(SpyreOpFuncs.matmul(SpyreOpFuncs.expand(most, [64, 128]), weight), 0, 1)


def test_lowerings_name_reductions_products_and_views(on_device):
    @torch.library.custom_op("spyre_test::spread", mutates_args=())
    def op(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return (x.amax(1, keepdim=True).expand(64, 128) @ w).t().contiguous()

    op.register_fake(lambda x, w: x.new_empty(w.shape[1], x.shape[0]))
    lowering.register_spyre_lowering(op)(spread_of)
    x, w = half(64, 128), half(128, 192, seed=1)
    with torch.no_grad(), on_device():
        result = torch.compile(lambda a, b: op(a, b) * 2)(x.to("spyre"), w.to("spyre"))
    assert callees() == [
        "aten.amax.default",
        "aten.expand.default",
        "aten.mm.default",
        "aten.transpose.int",
        "aten.mul.Tensor",
    ]
    check(result, (x.double().amax(1, keepdim=True).expand(64, 128) @ w.double()).t() * 2, 3)


@pytest.mark.parametrize(
    "wrong, near",
    [
        (lambda t: PointwiseOp("realdivv", [t, t]), "realdiv"),
        (lambda t: ReductionOp("summ", t, [0]), "sum"),
        (lambda t: ProductOp("batchmatmull", [t, t]), "batchmatmul"),
        (lambda t: ViewOp("permut", t, ([1, 0],)), "permute"),
        (lambda t: SpyreOpFuncs.leakyrelu(t, 0.5), "leakyrelufwd"),
        (lambda t: PointwiseOp("frobnicate", [t]), "the names are"),
    ],
)
def test_unknown_names_are_refused_at_registration(wrong, near):
    with pytest.raises(ValueError, match=f"SPYRE-E1603: .* device; .*{near}"):
        lowering.register_spyre_lowering(aten.exp)(wrong)
    assert aten.exp.default not in lowering.spyre_lowerings
    with pytest.raises(ValueError, match="SPYRE-E1603"):
        with enable_spyre_context(lowerings={aten.exp: wrong}):
            pass


def test_mlir_passes_of_a_library(on_device, tmp_path, capfd):
    x = half(64, 128)
    fuse = passes.CustomPrePasses(mlir="example-fuse-silu", plugins=[PLUGIN])
    report = [
        kind(mlir=f"example-report-ops{{label={kind.point}}}", plugins=[PLUGIN])
        for kind in (
            passes.CustomPostPasses,
            passes.CustomPreSchedulingPasses,
            passes.CustomPreFusionPasses,
            passes.CustomPostFusionPasses,
        )
    ]
    with torch.no_grad(), on_device(), enable_spyre_context(fuse, passes=report):
        result = torch.compile(lambda t: t * t.sigmoid())(x.to("spyre"))
    check(result, torch.nn.functional.silu(x.float()))
    assert "silu" in device_ops() and "sigmoid" not in device_ops()
    assert [line.split(":")[0] for line in capfd.readouterr().err.splitlines() if "loops" in line] == [
        "post",
        "pre-scheduling",
        "pre-fusion",
        "post-fusion",
    ]
    # The configuration says the same, and passes are part of the cache's key.
    settings = {"compile_cache": True, "cache_dir": str(tmp_path)}
    for pipelines, compiled in [({}, 1), ({"pre": "example-fuse-silu"}, 1), ({}, 0)]:
        torch._dynamo.reset()
        torch.spyre.reset_counters()
        with config.patch(pass_plugins=[str(PLUGIN)], pass_pipelines=pipelines, **settings):
            torch.compile(lambda t: t * t.sigmoid())(x.to("spyre"))
        assert torch.spyre.counters()["programs_compiled"] == compiled
        assert ("sigmoid" in device_ops()) == (not pipelines)


def test_passes_that_are_wrong():
    with pytest.raises(TypeError, match="takes a list of callables, not 'cse'"):
        passes.CustomPreSchedulingPasses(["cse"])
    with pytest.raises(TypeError, match="torch.fx.Graph only"):
        passes.CustomPreGradPasses(mlir="cse")
    with pytest.raises(TypeError, match="none of the six classes"):
        with enable_spyre_context(passes=[lambda graph: None]):
            pass
    x = half(4, 64).to("spyre")
    for given, message in [
        (passes.CustomPrePasses(mlir="no-such-pass"), "SPYRE-E1502"),
        (passes.CustomPrePasses(mlir="cse", plugins=[__file__]), "SPYRE-E1501"),
    ]:
        torch._dynamo.reset()
        with torch.no_grad(), enable_spyre_context(given):
            with pytest.raises(Exception, match=message):
                torch.compile(lambda t: t.exp())(x)


def test_uuid_changes_with_the_passes():
    one = passes.CustomPostPasses([replace(aten.exp.default, aten.sigmoid.default)])
    assert one.uuid() == passes.CustomPostPasses(list(one.passes)).uuid()
    assert one.uuid() != passes.CustomPostPasses([check]).uuid()
    assert one.uuid() != passes.CustomPrePasses(one.passes).uuid()
    library = passes.CustomPostPasses(mlir="cse", plugins=[PLUGIN])
    assert library.uuid() != passes.CustomPostPasses(mlir="cse").uuid()


def test_backward_graphs_see_the_passes_too(on_device):
    seen = []
    note = passes.CustomPrePasses([lambda graph: seen.append(len(graph.nodes))])
    x = half(8, 64).to("spyre").requires_grad_()
    with enable_spyre_context(note):
        torch.compile(lambda t: (t.exp() * t).sum(), backend="spyre")(x).backward()
    assert len(seen) == 2 and x.grad is not None


def test_format_operations():
    x = half(55, 67).to("spyre")
    with torch.no_grad():
        torch.compile(lambda t: (t @ t.t()).exp().sum(0))(x)
    text = passes._format_operations()
    before, after = text.split("after planning:\n")
    assert before.startswith("before planning:\n")
    assert "batchmatmul(" in before and "reducing c2=67" in before and "splits" not in before
    assert "splits" in after and "at pool+" in after
    from torch_spyre import _C
    from torch_spyre._inductor import settings

    loops = _C.loop_phases(torch_spyre.last_compile().graph, settings.current())["loop"]
    assert passes._format_operations(loops) in before
    with pytest.raises(RuntimeError, match="SPYRE-E1001"):
        passes._format_operations("loops?")


def test_operations_are_logged(caplog):
    x = half(8, 64).to("spyre")
    with torch.no_grad(), caplog.at_level("INFO", logger="spyre.inductor.passes"):
        function = torch.compile(lambda t: t.exp() + 1.0)
        function(x), function(x)
    lists = [r.message for r in caplog.records if r.name == "spyre.inductor.passes"]
    assert len(lists) == 1 and "before planning" in lists[0] and "exp(" in lists[0]


def test_logs_go_where_the_environment_says(tmp_path):
    from torch_spyre import logging as spyre_logging

    environment = {"SPYRE_INDUCTOR_LOG": "yes", "SPYRE_LOG_FILE": str(tmp_path / "log")}
    try:
        spyre_logging.configure(environment)
        with torch.no_grad():
            torch.compile(lambda t: t.exp() * 3.0)(half(8, 64).to("spyre"))
        assert "after planning" in (tmp_path / "log").read_text()
        with pytest.raises(ValueError, match="SPYRE-E6508"):
            spyre_logging.configure({**environment, "SPYRE_INDUCTOR_LOG_LEVEL": "loud"})
    finally:
        spyre_logging.reset()


def test_hints():
    from torch_spyre._inductor import get_op_hints, hints, spyre_hint

    seen = {}

    def note(graph):
        seen.update({str(n.target): get_op_hints(n) for n in graph.nodes})

    def function(x):
        with spyre_hint(tiles=4):
            y = x.exp()
            with spyre_hint(cores=2, dims=["m"]):
                y = y + 1.0
        return y.tanh()

    x = half(8, 64).to("spyre")
    hints._warned.clear()
    with torch.no_grad(), enable_spyre_context(passes.CustomPrePasses([note])):
        compiled = torch.compile(function)
        with pytest.warns(UserWarning, match="not read by the planners"):
            result = compiled(x)
        torch.spyre.reset_counters()
        compiled(x)
    assert torch.spyre.counters()["programs_compiled"] == 0, "hints make no new graphs"
    assert seen["aten.exp.default"] == [{"tiles": 4}]
    assert seen["aten.add.Tensor"] == [{"tiles": 4}, {"cores": 2, "dims": ["m"]}]
    assert seen["aten.tanh.default"] == []
    check(result, (x.cpu().float().exp() + 1.0).tanh(), 3)


@pytest.mark.parametrize("name", ["custom_op_by_lowering", "custom_op_by_decomposition", "fx_pass"])
def test_examples(name):
    path = ROOT / "examples" / "extend" / f"{name}.py"
    assert "on the device: True" in run_python(path.read_text())
