"""OpSpecs and code generation by their names, and the modes of emission in torch.compile."""

import json
import pathlib

import pytest
import sympy
import torch

import torch_spyre
from torch_spyre._inductor import codegen, config, op_spec
from torch_spyre._inductor.codegen.bundle import generate_bundle
from torch_spyre._inductor.codegen.compute_ops import generate_sdsc
from torch_spyre._inductor.codegen.superdsc import compile_op_spec, parse_op_spec
from torch_spyre._inductor.op_spec import (
    DataFormats,
    LoopSpec,
    OpSpec,
    TensorArg,
    UnimplementedOp,
    parse_op_specs,
    write_op_specs,
)

GOLDEN = pathlib.Path(torch_spyre.__file__).parents[1] / "golden"
FP16 = DataFormats.SEN169_FP16
SEGMENT = 1 << 34


def row_arg(index, is_input, rows=32):
    c0, c1 = sympy.symbols("c0 c1", integer=True)
    return TensorArg(
        is_input=is_input,
        arg_index=index,
        device_dtype=FP16,
        device_size=[2, rows, 64],
        device_coordinates=[sympy.floor(c1 / 64), c0, sympy.Mod(c1, 64)],
        allocation={"hbm": index * SEGMENT},
    )


def tile_spec(**fields):
    c0, c1 = sympy.symbols("c0 c1", integer=True)
    return OpSpec(
        op="exp",
        is_reduction=False,
        iteration_space={c0: (8, 2), c1: (sympy.Integer(128), 1)},
        args=[row_arg(0, True), row_arg(1, False)],
        **fields,
    )


@pytest.mark.parametrize("path", sorted((GOLDEN / "opspec").glob("*.txt")), ids=lambda p: p.stem)
def test_text_is_python(path):
    text = path.read_text()
    specs = parse_op_specs(text)
    assert write_op_specs(specs) == text
    names = {name: getattr(op_spec, name) for name in op_spec.__all__}
    assert eval(text, names) == specs  # noqa: S307


def test_tensor_arg():
    arg = row_arg(1, True)
    assert arg.is_input and arg.arg_index == 1 and arg.device_dtype == FP16
    assert arg.device_size == [2, 32, 64] and arg.allocation == {"hbm": SEGMENT}
    c0, c1 = sympy.symbols("c0 c1", integer=True)
    assert arg.device_coordinates == [sympy.floor(c1 / 64), c0, sympy.Mod(c1, 64)]
    assert arg.stride_map is None and arg.name is None and not arg.per_tile_fixed
    assert eval(repr(arg), {n: getattr(op_spec, n) for n in op_spec.__all__}) == arg  # noqa: S307
    with pytest.raises(RuntimeError, match="SPYRE-E1301"):
        TensorArg(True, 0, FP16, [1, 64], ["c0*c1", 0], {"hbm": 0})
    with pytest.raises(RuntimeError, match="'hbm', 'pool' or 'lx'"):
        TensorArg(True, 0, FP16, [1, 64], [0, 0], {"ddr": 0})


def test_op_spec():
    spec = tile_spec(op_info={"constants": {"eps": 1e-5}})
    c0, c1 = sympy.symbols("c0 c1", integer=True)
    assert spec.iteration_space == {c0: (8, 2), c1: (128, 1)}
    assert list(spec.iteration_space) == [c0, c1]
    assert spec.op == "exp" and not spec.is_reduction and spec.tiled_symbols == []
    assert spec.op_info == {"constants": {"eps": 1e-5}} and len(spec.args) == 2
    assert spec != tile_spec()
    with pytest.raises(RuntimeError, match="SPYRE-E1301"):
        tile_spec(op_info={"colour": "red"})


def test_loop_spec_and_unimplemented_op():
    loop = LoopSpec(
        count=4,
        body=[tile_spec(tiled_symbols=["c0"]), UnimplementedOp("any")],
        tiled_symbols=["c0"],
    )
    assert loop.count == 4 and loop.tiled_symbols == [sympy.Symbol("c0", integer=True)]
    assert loop.body[0].op == "exp" and loop.body[1].op == "any"
    assert parse_op_specs(write_op_specs([loop])) == [loop]
    with pytest.raises(RuntimeError, match="unimplemented operation any"):
        op_spec.unroll_loops([loop])
    with pytest.raises(TypeError, match="a kernel is a list of"):
        write_op_specs([3])


def test_sdsc():
    spec = parse_op_specs((GOLDEN / "opspec/sum-unaligned.txt").read_text())[0]
    sdsc = parse_op_spec(spec)
    assert sdsc.opfunc == "sum" and sdsc.execution_unit == "sfp" and sdsc.num_cores == 1
    assert sdsc.iteration_space == {"mb": 96, "out": 128}
    golden = json.loads((GOLDEN / "superdsc/sum-unaligned.json").read_text())
    assert generate_sdsc(sdsc) == compile_op_spec(spec) == golden
    assert list(compile_op_spec(spec, 3)) == ["3_sum"]
    assert codegen.superdsc.compile_op_spec is compile_op_spec


def test_core_order_is_a_setting():
    spec = parse_op_specs((GOLDEN / "opspec/examples.txt").read_text())[1]
    by_k = compile_op_spec(spec)["0_batchmatmul"]["coreIdToWkSlice_"]
    with config.patch(core_id_k_fast_emission=False):
        plain = compile_op_spec(spec)["0_batchmatmul"]["coreIdToWkSlice_"]
    assert list(by_k["1"]) == ["in", "mb", "out"] and list(plain["1"]) == ["mb", "out", "in"]


def test_bundle_modes(tmp_path):
    loop = [LoopSpec(4, [tile_spec(tiled_symbols=["c0"])], ["c0"])]
    flat = generate_bundle(loop, tmp_path)
    assert sorted(flat) == ["bundle.mlir", *(f"sdsc_{i}.json" for i in range(4))]
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == flat
    with config.patch(bundle_symbolic_args=True, unroll_loops=False):
        looped = generate_bundle(loop)
    assert sorted(looped) == ["bundle.mlir", "sdsc_0.json"]
    assert looped["bundle.mlir"] == (GOLDEN / "bundle/loop.mlir").read_text()


def many_tensors(*tensors):
    total = torch.zeros_like(tensors[0])
    for tensor in tensors:
        total = total + torch.relu(tensor)
    return total


def test_symbolic_bundles_in_compiled_graphs(on_device):
    generator = torch.Generator().manual_seed(0)
    tensors = [torch.randn(40, 100, generator=generator).half().to("spyre") for _ in range(10)]
    results, bundles = [], []
    for symbolic in (False, True):
        torch._dynamo.reset()
        with config.patch(bundle_symbolic_args=symbolic):
            function = torch.compile(many_tensors, backend="spyre")
            with on_device():
                results.append(function(*tensors).cpu())
            # Other tensors at other addresses, the same program.
            moved = [tensor.clone() for tensor in tensors]
            assert torch.equal(function(*moved).cpu(), results[-1])
        files = torch_spyre.last_compile().artifacts
        bundles.append([name for name in files if name.endswith("bundle.mlir")])
    assert torch.equal(results[0], results[1])
    assert len(bundles[0]) > 1 and len(bundles[1]) == 1


LARGE = """
import json, torch, torch_spyre
x = (torch.arange(2048 * 2100) % 513).reshape(2048, 2100).half() / 64
function = torch.compile(lambda a: torch.relu(a - 2) + a, backend="spyre")
on_spyre = x.to("spyre")
torch.spyre.reset_counters()
result = function(on_spyre).cpu()
reference = torch.relu(x - 2) + x  # exact in both formats
counters = torch.spyre.counters()
files = torch_spyre.last_compile().artifacts
print(json.dumps({
    "equal": torch.equal(result, reference),
    "fallbacks": counters["fallback_ops"] + counters["graph_fallback_nodes"],
    "launched": counters["programs_launched"],
    "loops": b"scf.for" in files["bundle_0/bundle.mlir"],
    "specs": files["bundle_0/op_spec.txt"].count(b"LoopSpec("),
}))
"""


@pytest.mark.parametrize("symbolic", ["0", "1"])
def test_large_tensors_run_in_tiles(python, symbolic):
    """8.8 MB on a machine whose four cores reach 1 MiB each: refused without the setting."""
    env = {"SPYRE_DEVICE_DESC": "tiny", "BUNDLE_SYMBOLIC_ARGS": symbolic, "UNROLL_LOOPS": "0"}
    report = json.loads(python(LARGE, env={**env, "CHUNK_LARGE_TENSORS": "1"}))
    assert report["equal"] and report["fallbacks"] == 0 and report["launched"] > 0
    assert report["specs"] > 0 and report["loops"] == (symbolic == "1")
