"""Hints that cut work in tiles: operations of one scope run in one nest of loops [spec: work-division 19]."""

import functools
import json

import pytest
import torch
import torch_spyre

from tolerances import tolerance
from torch_spyre._inductor import config, spyre_hint
from torch_spyre._inductor import propagate_named_dims as named


@pytest.fixture(autouse=True)
def forgotten():
    named.reset()
    yield
    named.reset()


def values(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed + len(shape))
    return (torch.rand(shape, generator=generator) - 0.5).half()


def tiles(**count):
    return spyre_hint(num_tiles_per_dim=count)


def artifacts():
    return {
        name: data.decode()
        for name, data in torch_spyre.last_compile().artifacts.items()
        if name.endswith((".txt", ".mlir", "model.json"))
    }


def loops():
    """Of all bundles, in order: the counts of the loops that are kept."""
    import re

    texts = [text for name, text in sorted(artifacts().items()) if name.endswith("op_spec.txt")]
    return [int(count) for text in texts for count in re.findall(r"count=sympify\('(\d+)'\)", text)]


def pool_bytes():
    return json.loads(artifacts()["model.json"]).get("pool_bytes", 0)


def check(function, tensors, names, on_device, error):
    """The function on the device, with loops kept and unrolled, against the host; returns its loops."""
    sizes = {n: s for t, ns in zip(tensors, names, strict=True) for n, s in zip(ns, t.shape, strict=True)}
    for name, size in sizes.items():
        named.declare_tensor_dim(name, size)
    expected = function(*(tensor.float() for tensor in tensors))
    found = []
    for unroll in (True, False):
        torch._dynamo.reset()
        with config.patch(unroll_loops=unroll), on_device():
            inputs = [
                named.name_tensor_dims(tensor.to("spyre"), list(dims))
                for tensor, dims in zip(tensors, names, strict=True)
            ]
            found.append(torch.compile(function, backend="spyre")(*inputs).cpu())
        kept = any("scf.for" in text for text in artifacts().values())
        assert kept == (not unroll)
    assert torch.equal(found[0], found[1]), "loops and copies of their body are the same program"
    distance = (found[0].float() - expected).abs().max() / expected.abs().max()
    assert distance <= error, float(distance)
    return loops()


chain = functools.partial(tolerance, "chain", torch.float16)


def test_one_operation(on_device):
    def function(x):
        with tiles(A=4):
            return x.abs()

    assert check(function, [values(256, 128)], ["AB"], on_device, chain(1)) == [4]


def test_two_scopes_are_two_loops(on_device):
    def function(x):
        with tiles(A=4):
            y = x.abs()
        with tiles(A=8):
            return y.neg()

    assert check(function, [values(256, 128)], ["AB"], on_device, chain(2)) == [4, 8]


def test_equal_scopes_are_two_loops(on_device):
    def function(x):
        with tiles(A=4):
            y = x.abs()
        with tiles(A=4):
            return y.neg()

    assert check(function, [values(256, 128)], ["AB"], on_device, chain(2)) == [4, 4]


def test_nested_scopes_are_nested_loops(on_device):
    def function(a, b, c):
        with tiles(A=2), tiles(B=4):
            return (a + b) * c

    tensors = [values(128, 512, seed=i) for i in range(3)]
    assert check(function, tensors, ["AB"] * 3, on_device, chain(4)) == [2, 4]
    specs = artifacts()["bundle_0/op_spec.txt"]
    assert specs.count("LoopSpec(") == 2 and specs.count("OpSpec(") == 2
    assert "per_tile_fixed" in specs, "the sum is scratch of one tile"


def test_tiles_need_less_memory(on_device):
    """Without scratchpads all intermediates are in the pool: those of a loop are a tile each."""

    def plain(x, y):
        return ((x + y).exp() * x + y).tanh()

    def hinted(x, y):
        with tiles(A=8):
            return plain(x, y)

    tensors = [values(512, 256, seed=i) for i in range(2)]
    used = []
    with config.patch(lx_planning=False):
        assert check(hinted, tensors, ["AB", "AB"], on_device, chain(8)) == [8]
        used.append(pool_bytes())
        torch._dynamo.reset()
        torch.compile(plain, backend="spyre")(*(t.to("spyre") for t in tensors))
        used.append(pool_bytes())
    assert 0 < used[0] * 8 == used[1], used


def test_softmax_in_rows(on_device):
    def function(x):
        with tiles(B=4):
            return torch.softmax(x, -1)

    assert check(function, [values(256, 64)], ["BD"], on_device, chain(4)) == [4]


def test_rows_of_a_product(on_device):
    def function(x, y):
        with tiles(M=4):
            return x @ y

    tensors = [values(256, 128), values(128, 64, seed=1)]
    error = tolerance("matmul", torch.float16, 128) * 4
    assert check(function, tensors, ["MK", "KN"], on_device, error) == [4]


def test_a_count_of_one_is_no_level(on_device):
    def function(q, k, v):
        with tiles(B=1), tiles(H=4), tiles(L=2):
            scores = q @ k.transpose(-1, -2)
            return torch.softmax(scores, -1) @ v

    tensors = [values(1, 4, 64, 64, seed=i) for i in range(1)]
    tensors += [values(1, 4, 128, 64, seed=i) for i in (1, 2)]
    found = check(function, tensors, ["BHQD", "BHLD", "BHLD"], on_device, chain(16))
    assert found[0] == 4 and set(found[1:]) == {2}, found


def test_operations_without_the_dimension_stay_in_the_loop(on_device):
    def function(x, w):
        with tiles(M=4):
            return x * w.exp()

    assert check(function, [values(256, 64), values(64)], ["MN", "N"], on_device, chain(4)) == [4]
    specs = artifacts()["bundle_0/op_spec.txt"]
    assert specs.index("LoopSpec(") < specs.index("'exp'")


def test_restickifies_are_in_the_loop(on_device):
    def function(x, y):
        with tiles(M=4):
            return (x + y.t()) * x

    tensors = [values(256, 128), values(128, 256, seed=1)]
    assert check(function, tensors, ["MN", "NM"], on_device, chain(4)) == [4]
    specs = artifacts()["bundle_0/op_spec.txt"]
    assert specs.index("LoopSpec(") < specs.index("ReStickifyOpHBM")


def test_products_of_three_and_two_dimensions(on_device):
    def function(x, y):
        with tiles(M=4):
            return x @ y

    tensors = [values(2, 128, 64), values(64, 32, seed=1)]
    error = tolerance("matmul", torch.float16, 64) * 4
    assert check(function, tensors, ["BMK", "KN"], on_device, error) == [4]


def test_named_results_are_tiled(on_device):
    def function(x):
        with spyre_hint(named_dims=["M", "N"]), tiles(M=2):
            ones = torch.full((64, 128), 2.0, dtype=x.dtype, device=x.device)
            return ones * x

    assert check(function, [values(64, 128)], ["MN"], on_device, chain(2)) == [2]


@pytest.mark.parametrize("reduce", ["sum", "amax", "amin", "mean"])
def test_reductions_in_tiles(reduce, on_device):
    def function(x):
        with tiles(B=4):
            return getattr(x, reduce)(0)

    assert check(function, [values(512, 64).abs()], ["BD"], on_device, chain(6)) == [4]


@pytest.mark.parametrize("reduce", ["sum", "amax", "amin"])
def test_reductions_along_sticks(reduce, on_device):
    def function(x):
        with tiles(D=4):
            return getattr(x, reduce)(-1)

    assert check(function, [values(64, 512).abs()], ["BD"], on_device, chain(6)) == [4]


@pytest.mark.parametrize(
    "shapes, names",
    [
        (((64, 512), (512, 32)), ("MK", "KN")),
        (((8, 64, 512), (8, 512, 32)), ("BMK", "BKN")),
        (((8, 64, 512), (512, 32)), ("BMK", "KN")),
    ],
)
def test_products_in_tiles_of_k(shapes, names, on_device):
    def function(x, y):
        with tiles(K=4):
            return x @ y

    tensors = [values(*shape, seed=i) for i, shape in enumerate(shapes)]
    assert check(function, tensors, names, on_device, chain(8)) == [4]


@pytest.mark.parametrize(
    "shapes, names, nest",
    [
        (((128, 512), (512, 32)), ("MK", "KN"), "MK"),
        (((128, 512), (512, 32)), ("MK", "KN"), "KM"),
        (((4, 64, 512), (4, 512, 32)), ("BMK", "BKN"), "BK"),
    ],
)
def test_products_in_tiles_of_results_and_k(shapes, names, nest, on_device):
    count = {"M": 2, "B": 2, "K": 4}

    def function(x, y):
        with tiles(**{nest[0]: count[nest[0]]}), tiles(**{nest[1]: count[nest[1]]}):
            return x @ y

    tensors = [values(*shape, seed=i) for i, shape in enumerate(shapes)]
    found = check(function, tensors, names, on_device, chain(8))
    assert found == [count[level] for level in nest]


def test_what_needs_all_tiles_has_a_loop_of_its_own(on_device):
    def function(x):
        with tiles(A=4):
            e = x.exp()
            return e / e.sum(0, keepdim=True)

    assert check(function, [values(256, 128)], ["AB"], on_device, chain(8)) == [4, 4]


@pytest.mark.parametrize("dim", ["A", "B"])
def test_composites_in_tiles(dim, on_device):
    """Copies whose variables lie across the tiles stay whole; searches may be tiled along results."""

    def deviation(x):
        with tiles(**{dim: 4}):
            return x.std(1)

    def search(x):
        with tiles(B=4):
            return x.argmax(0).to(x.dtype)

    assert 4 in check(deviation, [values(256, 512)], ["AB"], on_device, chain(12))
    different = torch.stack([torch.randperm(256) for _ in range(512)], 1).half()
    assert 4 in check(search, [different], ["AB"], on_device, chain(1))


def test_tiles_that_cannot_be_are_errors():
    named.declare_tensor_dim("A", 130)
    named.declare_tensor_dim("B", 512)
    x = named.name_tensor_dims(values(130, 512).to("spyre"), ["A", "B"])

    def uneven(x):
        with tiles(A=4):
            return x.exp()

    def cut(x):
        with tiles(B=16):
            return x.exp()

    def searched(x):
        with tiles(B=4):
            return x.topk(4)[0]

    def running(x):
        with tiles(B=4):
            return x.to(torch.int32).cumsum(1)

    cases = ((uneven, "E3077"), (cut, "E3077"), (searched, "E3142"), (running, "E3077"))
    for function, code in cases:
        with pytest.raises(Exception, match=rf"SPYRE-({code}): .*test_tiling.py:\d+"):
            torch.compile(function, backend="spyre")(x)
