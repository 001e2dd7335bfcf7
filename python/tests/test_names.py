"""Names that code written for the existing front end imports; each gives the documented answer."""

import fnmatch
import functools
import importlib
import pathlib
import re
import subprocess
import warnings

import pytest
import sympy
import torch
import torch_spyre
from tolerances import tolerance
from torch_spyre._inductor import pass_utils, views
from torch_spyre._inductor.documented import HOMES
from torch_spyre._inductor.dtype_ops import DtypeOpTable

ROOT = pathlib.Path(__file__).resolve().parents[2]


def half(*shape, seed=0):
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed)).half()


def check(result, reference, operations=1):
    reference = reference.float()
    error = (result.cpu().float() - reference).abs().max() / reference.abs().max()
    assert error <= tolerance("chain", torch.float16, operations), float(error)


#: Rows of the page, for example ("torch_spyre._inductor.views", "Term", "exists").
DOCUMENTED = re.findall(
    r"^\| `(torch_spyre[\w.]*)` \| `(\w+)` \| .* \| (exists|E6580: `.*`) \|$",
    (ROOT / "docs" / "architecture.md").read_text(),
    re.MULTILINE,
)


def test_existing_names_can_be_imported():
    rows = [row for row in DOCUMENTED if row[2] == "exists"]
    assert len(rows) > 60
    for module, name, _ in rows:
        if not hasattr(importlib.import_module(module), name):
            importlib.import_module(f"{module}.{name}")


def test_names_whose_work_is_done_in_cpp_are_refused_with_the_command_that_does_it():
    rows = {row for row in DOCUMENTED if row[2] != "exists"}
    assert rows == {
        (f"torch_spyre._inductor.{module}", name, f"E6580: `{home.how_to_run()}`")
        for module, home in HOMES.items()
        for name in home.names
    }
    for module, name, command in rows:
        with pytest.raises(ImportError, match="SPYRE-E6580") as refusal:
            exec(f"from {module} import {name}")
        assert command.removeprefix("E6580: ") in str(refusal.value)
    with pytest.raises(ImportError, match="cannot import name 'no_such_name'"):
        exec("from torch_spyre._inductor.padding import no_such_name")


@pytest.mark.parametrize("name", HOMES)
def test_modules_name_the_sources_and_the_option_of_their_pass(name):
    module = importlib.import_module(f"torch_spyre._inductor.{name}")
    assert (ROOT / module.SOURCE).exists()
    if module.SPYRE_OPT_FLAG is not None:
        assert module.SPYRE_OPT_FLAG in passes_of_spyre_opt()


def test_every_file_of_the_plug_in_is_in_the_table_of_its_components():
    section = (ROOT / "docs" / "architecture.md").read_text().split("## The plug-in")[1].split("\n## ")[0]
    patterns = [p for row in re.findall(r"^\| [^|]+ \| (`[^|]+) \|", section, re.M) for p in re.findall(r"`([^`]+)`", row)]
    stems = {p.stem for p in (ROOT / "torch_spyre" / "csrc").glob("*.cpp")}
    assert len(stems) > 40
    for pattern in patterns:
        assert fnmatch.filter(stems, pattern), f"{pattern} names no file"
    assert stems == {stem for stem in stems if any(fnmatch.fnmatch(stem, p) for p in patterns)}


@functools.cache
def passes_of_spyre_opt():
    return subprocess.run([ROOT / "build" / "bin" / "spyre-opt", "--help"], text=True, capture_output=True).stdout


def test_conversions():
    f16, b16, f32, bit = torch.float16, torch.bfloat16, torch.float32, torch.bool
    assert DtypeOpTable.get_dtype_pairs() == [
        (f16, bit),
        (bit, f16),
        (f16, b16),
        (b16, f16),
        (f16, f32),
        (b16, f32),
        (f32, f16),
        (f32, b16),
        (torch.float8_e4m3fn, f16),
    ]
    assert DtypeOpTable.get_operator(f16, f32) == "dl16tofp32"
    assert DtypeOpTable.get_operator(f32, b16) == "fp32todl16"
    assert DtypeOpTable.get_operator(torch.int64, f16) is None
    assert DtypeOpTable.get_table()[(torch.float8_e4m3fn, f16)] == "fp8todl16"
    assert DtypeOpTable.is_dtype_op("identity") and not DtypeOpTable.is_dtype_op("add")


@pytest.mark.parametrize("pair", DtypeOpTable.get_dtype_pairs()[:8], ids=str)
def test_conversions_happen_on_the_device(pair, on_device):
    source, target = pair
    x = (half(8, 64) > 0.5).to(source)
    with torch.no_grad(), on_device():
        result = torch.compile(lambda t: t.to(target))(x.to("spyre"))
    assert torch.equal(result.cpu(), x.to(target))


P = sympy.symbols("p0:4", integer=True, nonnegative=True)
BIG, ITS = [2, 256, 4096], [1048576, 4096, 1]
DEVICE = [256, 64, 2, 64], [4096, 64, 1048576, 1]


@pytest.mark.parametrize(
    "size, stride, ranges, index, expected",
    [
        (BIG, ITS, (2, 32, 256, 128), "1048576*p0+128*p1+4096*p2+p3", "p0, p2, 128*p1+p3"),
        (BIG, ITS, (512, 4096), "4096*p0+p1", "floor(p0/256), Mod(p0,256), p1"),
        (BIG, ITS, (512, 4096), "4096*Mod(p0,256)+p1", "0, Mod(p0,256), p1"),
        ([3, 1, 128], [128, -1, 1], (3, 128), "128*p0+p1", "p0, 0, p1"),
        ([3, 42, 128], [128, 0, 1], (3, 128), "128*p0+p1", "p0, 0, p1"),
        ([10, 20, 30], [600, 30, 1], (3, 4, 5), "600*p0+30*p1+p2+1855", "p0+3, p1+1, p2+25"),
        (*DEVICE, (2, 32, 256, 128), "1048576*p0+128*p1+4096*p2+p3", "p2, 2*p1+floor(p3/64), p0, Mod(p3,64)"),
        (*DEVICE, (512, 4096), "4096*p0+p1", "Mod(p0,256), floor(p1/64), floor(p0/256), Mod(p1,64)"),
        ([15, 6, 9, 64], [384, 64, 5760, 1], (9, 15, 128), "5760*p0+384*p1+p2+128", "p1, floor(p2/64)+2, p0, Mod(p2,64)"),
    ],
)
def test_coordinates(size, stride, ranges, index, expected):
    names = {str(p): p for p in P}
    result = views.compute_coordinates(
        size, stride, dict(zip(P, ranges)), sympy.sympify(index, names)
    )
    wanted = sympy.sympify(f"[{expected}]", names)
    assert len(result) == len(wanted)
    # Equal as functions: sympy may write an expression in several ways.
    for position in range(200):
        point = {p: (position * (7 + 4 * i) + i) % r for i, (p, r) in enumerate(zip(P, ranges))}
        for got, want in zip(result, wanted):
            assert got.subs(point) == want.subs(point), (got, want, point)


def test_coordinates_of_torchs_own_modulo_and_refusals():
    from torch.utils._sympy.functions import FloorDiv, ModularIndexing

    ranges = {P[0]: 512, P[1]: 4096}
    index = 4096 * ModularIndexing(P[0], 1, 256) + P[1]
    assert views.compute_coordinates(BIG, ITS, ranges, index)[0] == 0
    with pytest.raises(RuntimeError, match="Spyre backend does not support"):
        views.compute_coordinates(BIG, ITS, ranges, 4096 * FloorDiv(P[0], 2) + P[1])
    with pytest.raises(RuntimeError, match="SPYRE-E2021|SPYRE-E2022"):
        views.compute_coordinates(BIG, ITS, {}, 5 * P[0])


C = {f"c{i}": sympy.Symbol(f"c{i}", integer=True, nonnegative=True) for i in range(6)}
Z = {f"z{i}": sympy.Symbol(f"z{i}", integer=True, nonnegative=True) for i in range(3)}
#: iteration space, new one, per tensor: device size, coordinates -> aligned size, coordinates
ALIGNED = {
    "flatten": (
        "c0:500 c1:200",
        "c0:10 c1:200 z0:50",
        ("10 4 50 64", "c0%10, c1//64, c0//10, c1%64", "10 4 50 64", "c0, c1//64, z0, c1%64"),
        ("4 500 64", "c1//64, c0, c1%64", "4 50 10 64", "c1//64, z0, c0, c1%64"),
    ),
    "rope": (
        "c0:2 c1:256 c2:32 c3:2 c4:2 c5:64",
        "c0:2 c1:256 c2:32 c3:2 c4:2 c5:64",
        ("256 2 2 1 2 64", "c1, c3, c4, 0, c0, c5", "1 1 256 2 2 2 64", "c5//64, 0, c1, c3, c4, c0, c5%64"),
        ("256 64 2 64", "c1, 2*c2+c4, c0, c5", "1 1 256 32 2 2 64", "c5//64, 0, c1, c2, c4, c0, c5%64"),
        (
            "256 32 2 2 1 2 64",
            "c1, c2, c3, c4, 0, c0, c5",
            "1 256 32 2 2 2 64",
            "c5//64, c1, c2, c3, c4, c0, c5%64",
        ),
    ),
    "heads split": (
        "c0:2 c1:32 c2:256 c3:128",
        "c0:2 c1:32 c2:256 c3:128",
        ("256 64 2 64", "c2, 2*c1+c3//64, c0, c3%64", "256 32 2 2 64", "c2, c1, c3//64, c0, c3%64"),
    ),
    "head fuse": (
        "c0:512 c1:4096",
        "c0:256 c1:4096 z0:2",
        ("256 32 2 2 64", "c0%256, c1//128, (c1%128)//64, c0//256, c1%64", "256 64 2 64", "c0, c1//64, z0, c1%64"),
    ),
    "mm": (
        "c0:55 c1:128 c2:67",
        "c0:55 c1:128 c2:67",
        ("2 55 64", "c2//64, c0, c2%64", "2 55 64", "c2//64, c0, c2%64"),
        ("2 67 64", "c1//64, c2, c1%64", "2 67 64", "c1//64, c2, c1%64"),
    ),
    "bmm with expanded weight": (
        "c0:2 c1:55 c2:128 c3:64",
        "c0:2 c1:55 c2:128 c3:64",
        ("55 1 2 64", "c1, 0, c0, c3", "1 55 2 64", "c3//64, c1, c0, c3%64"),
        ("2 64 64", "c2//64, c3, c2%64", "1 2 64 64", "0, c2//64, c3, c2%64"),
    ),
    "sum(-1)": (
        "c0:3 c1:5 c2:150",
        "c0:3 c1:5 c2:150",
        ("5 3 3 64", "c1, c2//64, c0, c2%64", "5 3 3 64", "c1, c2//64, c0, c2%64"),
        ("5 1 3 64", "c1, 0, c0, 0", "1 5 3 64", "0, c1, c0, 0"),
    ),
    "scalar and bias": (
        "c0:4 c1:128",
        "c0:4 c1:128",
        ("2 4 64", "c1//64, c0, c1%64", "2 4 64", "c1//64, c0, c1%64"),
        ("1 64", "0, 0", "1 1 64", "0, 0, 0"),
        ("2 64", "c1//64, c1%64", "1 2 64", "0, c1//64, c1%64"),
    ),
    "select": (
        "c0:4 c1:64",
        "c0:4 c1:64 z0:1",
        ("8 1 4 64", "3, 0, c0, c1", "1 8 4 64", "c1//64, z0+3, c0, c1%64"),
        ("1 4 64", "0, c0, c1", "1 1 4 64", "c1//64, z0, c0, c1%64"),
    ),
    "every second row": (
        "c0:4 c1:64",
        "c0:4 c1:64",
        ("1 8 64", "0, 2*c0, c1", "1 8 2 64", "c1//64, c0, 0, c1%64"),
    ),
    "repeat": (
        "c0:6 c1:128",
        "c0:3 c1:128 z0:2",
        ("2 3 64", "c1//64, c0%3, c1%64", "1 2 3 64", "0, c1//64, c0, c1%64"),
        ("2 6 64", "c1//64, c0, c1%64", "2 2 3 64", "c1//64, z0, c0, c1%64"),
    ),
    "repeat of the stick": (
        "c0:4 c1:128",
        "c0:4 c1:64 z0:2",
        ("1 4 64", "0, c0, c1%64", "1 1 4 64", "c1//64, 0, c0, c1%64"),
        ("2 4 64", "c1//64, c0, c1%64", "1 2 4 64", "c1//64, z0, c0, c1%64"),
    ),
    "write at a row": (
        "c0:3 c1:128",
        "c0:3 c1:128",
        ("2 8 64", "c1//64, c0+5, c1%64", "2 8 64", "c1//64, c0+5, c1%64"),
    ),
    "write at a column": (
        "c0:4 c1:64",
        "c0:4 c1:64 z0:1",
        ("3 4 64", "1, c0, c1", "1 3 4 64", "c1//64, z0+1, c0, c1%64"),
    ),
    "gather": (
        "c0:3 c1:192 c2:256",
        "c0:3 c1:192 c2:256",
        ("6 3 32", "c1//32, c0, c1%32", "1 6 3 32", "0, c1//32, c0, c1%32"),
        ("4 128 64", "c2//64, i, c2%64", "1 4 128 64", "0, c2//64, i, c2%64"),
        ("192 4 3 64", "c1, c2//64, c0, c2%64", "192 4 3 64", "c1, c2//64, c0, c2%64"),
    ),
}


def expressions(text):
    """ "c0%10, c1//64" as sympy has them."""
    names = {**C, **Z, "i": sympy.Symbol("IndirectAccess")}
    result = []
    for part in text.split(", "):
        value = eval(part, {}, names)  # noqa: S307
        result.append(sympy.sympify(value))
    return result


def extents(text):
    return {name: int(value) for name, value in (pair.split(":") for pair in text.split())}


@pytest.mark.parametrize("case", ALIGNED)
def test_alignment(case):
    space, expected_space, *tensors = ALIGNED[case]
    given = {C[name]: (value, 1) for name, value in extents(space).items()}
    inputs = [([int(s) for s in size.split()], expressions(at)) for size, at, _, _ in tensors]
    new_space, aligned = views.align_tensors(given, inputs)
    assert {str(v): extent for v, (extent, _) in new_space.items()} == extents(expected_space)
    for (size, coordinates), (_, _, wanted_size, wanted) in zip(aligned, tensors):
        assert size == [int(s) for s in wanted_size.split()]
        assert coordinates == expressions(wanted)


def test_alignment_divides_the_outer_piece_first():
    c0, c1 = C["c0"], C["c1"]
    tensors = [([10, 4, 50, 64], expressions("c0%10, c1//64, c0//10, c1%64"))]
    for split, outer, inner in [(25, 25, 1), (4, 2, 2), (1, 1, 1), (500, 50, 10)]:
        space, _ = views.align_tensors({c0: (500, split), c1: (200, 1)}, tensors)
        assert space == {c0: (10, inner), c1: (200, 1), Z["z0"]: (50, outer)}


def test_alignment_refuses():
    c0, c1 = C["c0"], C["c1"]
    with pytest.raises(RuntimeError, match="SPYRE-E2023"):
        views.align_tensors(
            {c0: (12, 1)}, [([3, 64], expressions("c0%3, 0")), ([4, 64], expressions("c0%4, 0"))]
        )
    with pytest.raises(RuntimeError, match="SPYRE-E2023"):
        views.align_tensors({c0: (4, 1), c1: (4, 1)}, [([16, 64], [2 * c0 + 3 * c1, 0])])
    with pytest.raises(AssertionError, match="Unsupported coordinate expression"):
        views.align_tensors({c0: (4, 1)}, [([16, 64], [c0 * c0, 0])])


def test_normalized_terms():
    c0, c1 = C["c0"], C["c1"]
    terms = views.normalize_coordinates(
        [10, 4, 50, 64], expressions("c0%10, c1//64, c0//10, c1%64"), {c0: 500, c1: 200}
    )
    assert terms == [
        views.Term(1, 1, c0, 10, 10, 0),
        views.Term(1, 64, c1, 200, 4, 0),
        views.Term(1, 10, c0, 500, 50, 0),
        views.Term(1, 1, c1, 64, 64, 0),
    ]
    terms = views.normalize_coordinates([8, 64], expressions("3, c1"), {c1: 64})
    assert terms == [views.Term(1, 1, Z["z0"], 1, 8, 3), views.Term(1, 1, c1, 64, 64, 0)]


def test_matching_dim():
    a, b = P[:2]
    assert views.matching_dim([a, b, sympy.Mod(a, 64)], b) == 1
    assert views.matching_dim([sympy.Mod(a, 128), b], sympy.Mod(a, 64)) == 0
    assert views.matching_dim([sympy.Mod(a, 32), b], sympy.Mod(a, 64)) is None
    assert views.matching_dim([a + 1, b], a) is None and views.matching_dim([a + 1, b], a + 1) == 0
    assert views.matching_dim([a, a], a) is None and views.matching_dim([a, b], a + b) is None


def test_splits_by_coefficient():
    m, n, k, one = sympy.symbols("m n k one", integer=True)
    write, read = 128 * m + n + 128 * one, 64 * m + k
    stored = pass_utils.splits_by_index_coeff({m: 8, n: 1, k: 4}, write, read)
    assert stored == ({128: 8}, {1: 4})
    space = {m: 55, n: 128, k: 67, one: 1}
    assert pass_utils.apply_splits_from_index_coeff(stored, write, read, space) == {
        m: 8,
        n: 1,
        k: 4,
        one: 1,
    }


def test_reductions_one_dimension_at_a_time():
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch_spyre._inductor.multi_dim_reduction_pass import decompose_multi_dim_reductions

    def function(x):
        return x.sum((0, 2), dtype=torch.float32), x.mean((-1, 0), keepdim=True), x.mean(), x.amax((1,))

    x = torch.rand(3, 4, 5)
    gm = make_fx(function)(x)
    decompose_multi_dim_reductions(gm.graph)
    gm.recompile()
    counts = [len(n.args[1]) for n in gm.graph.nodes if n.op == "call_function" and len(n.args) > 1]
    assert counts == [1] * 8
    sums = [n for n in gm.graph.nodes if n.target is torch.ops.aten.sum.dim_IntList]
    assert [n.args[1] for n in sums] == [[2], [0]]
    assert [n.kwargs.get("dtype") for n in sums] == [None, torch.float32]
    for got, want in zip(gm(x), function(x)):
        assert got.shape == want.shape and torch.allclose(got, want)
    for node in gm.graph.nodes:
        if node.op == "call_function" and "val" in node.meta:
            assert isinstance(node.meta["val"], torch.Tensor)


CUSTOM = {
    "softplus": lambda x, w: torch.ops.spyre.softplus(x, 2.0, 10.0),
    "gelu": lambda x, w: torch.ops.spyre.gelu(x),
    "silu": lambda x, w: torch.ops.spyre.silu(x),
    "clamp": lambda x, w: torch.ops.spyre.clamp(x, 0.25, 0.5),
    "layer_norm": lambda x, w: torch.ops.spyre.layer_norm(x, [64], w, w),
    "rms_norm": lambda x, w: torch.ops.spyre.rms_norm(x, [64], w, 1e-5),
    "batched_matmul": lambda x, w: torch.ops.spyre.batched_matmul(x, x.transpose(-1, -2)),
    "logical_not": lambda x, w: torch.ops.spyre.logical_not(x > 0.5),
    "topkvalue": lambda x, w: torch.ops.spyre.topkvalue(x, 5),
    "topkindex": lambda x, w: torch.ops.spyre.topkindex(x, 5),
}


@pytest.mark.parametrize("name", CUSTOM)
def test_custom_ops(name, on_device):
    x, w = half(2, 3, 32, 64) if name == "batched_matmul" else half(48, 64), half(64, seed=1)
    if name.startswith("topk"):
        x = x.argsort(-1).half()  # no two of a row are equal, and all are exact
    expected = CUSTOM[name](x.float(), w.float())
    with torch.no_grad(), on_device():
        result = torch.compile(CUSTOM[name])(x.to("spyre"), w.to("spyre"))
    if name.startswith("topk"):
        assert torch.equal(result.cpu(), expected.to(result.dtype))
    else:
        check(result, expected, 12)


def test_custom_ops_in_eager_mode(on_device):
    x = half(8, 64)
    with on_device():
        result = torch.ops.spyre.silu(x.to("spyre"))
    check(result, torch.nn.functional.silu(x.float()))


def test_overwrite():
    inner, outer = half(2, 4), torch.zeros(4, 8).half()
    result = torch.ops.spyre.overwrite_f(inner, outer, [0, 1], [1, 4])
    assert torch.equal(result[1:3, 4:], inner) and result.sum() == inner.sum() and outer.sum() == 0
    torch.ops.spyre.overwrite(inner, outer, [0, 1], [1, 4])
    assert torch.equal(outer, result)


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(64, 128)
        self.second = torch.nn.Linear(64, 128, bias=False)
        self.second.weight = self.first.weight
        self.register_buffer("steps", torch.zeros(3, dtype=torch.int32))

    def forward(self, x):
        return self.first(x) + self.second(x)


def test_models_move_with_the_layouts_of_products():
    model = Tied().half()
    x = half(8, 64)
    expected = model(x)
    weight, original = model.first.weight, model.first.weight.detach().clone()
    assert model.to("spyre") is model and torch.nn.Module.to._spyre_patched
    assert model.first.weight is weight and model.second.weight is weight
    assert isinstance(weight, torch.nn.Parameter) and weight.requires_grad
    assert weight.device.type == "spyre" and model.steps.dtype == torch.int32
    assert tuple(weight.device_tensor_layout().device_size) == (2, 64, 64)  # sticks along 128
    assert tuple(model.first.bias.device_tensor_layout().device_size) == (2, 64)
    check(weight.detach(), original)
    before = weight.data_ptr()
    assert model.to("spyre").first.weight.data_ptr() == before, "again: nothing moves"
    with torch.no_grad():
        result = model(x.to("spyre"))
    check(result, expected.detach(), 4)


def test_models_of_other_types():
    model = torch_spyre.model_utils.load_model_to_spyre(Tied(), torch.float16)
    assert model.first.weight.dtype == torch.float16 and model.steps.dtype == torch.int32
    with pytest.raises(ValueError, match="has no Spyre device representation"):
        torch.nn.Linear(4, 4).to("spyre", torch.float64)
    model = torch.nn.Linear(4, 4)
    assert model.to(torch.float64).weight.dtype == torch.float64 and model.weight.device.type == "cpu"


def test_nothing_warns_at_import():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in HOMES.keys() - {"spyre_kernel"}:  # it has classes that other modules hold
            importlib.reload(importlib.import_module(f"torch_spyre._inductor.{name}"))
