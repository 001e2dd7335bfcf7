"""Conversions between fp16, bf16, fp32 and bool in compiled graphs: the order of elements must not
show, whatever the shape, alone and around operations in fp32.

The device's fp16 has 9 fraction bits. Inputs here are exact in it, so a pure conversion is exact.
"""

import random

import numpy as np
import pytest
import torch
from tolerances import dl16, relative_error, tolerance

SHAPES = [
    (),
    (1,),
    (7,),
    (8,),
    (9,),
    (64,),
    (68,),
    (130,),
    (2048,),
    (1, 1),
    (4, 1),
    (1, 68),
    (4, 16),
    (4, 68),
    (68, 4),
    (3, 130),
    (5, 128),
    (128, 5),
    (70, 130),
    (2, 3, 68),
    (2, 1, 130),
    (2, 2, 3, 100),
    (2, 1, 3, 2, 68),
    (2, 2, 3, 2, 128),
]
TYPED_SHAPES = [(shape, torch.float16) for shape in SHAPES] + [
    (shape, torch.bfloat16) for shape in [(), (68,), (3, 130), (5, 128)]
]


def exact(*shape, seed=0, dtype=torch.float16, scale=1.0):
    """Random values that fp16, bf16 and the device's format all hold."""
    values = torch.randn(shape, generator=torch.Generator().manual_seed(seed)) * scale
    if dtype == torch.float32:
        return values
    return torch.from_numpy(dl16(values.to(dtype).float().numpy())).to(torch.bfloat16).to(dtype)


def run(function, inputs, on_device, **counts):
    device_inputs = [t.to("spyre") for t in inputs]
    with on_device(**counts):
        result = torch.compile(function, backend="spyre")(*device_inputs)
    return result.cpu()


def same(result, reference):
    assert result.dtype == reference.dtype and result.shape == reference.shape
    assert torch.equal(result, reference)


def near(result, reference, kind, dtype, terms=1):
    assert result.dtype == reference.dtype and result.shape == reference.shape
    error = relative_error(result.float().numpy(), reference.float().numpy())
    assert error <= tolerance(kind, dtype, terms), error


@pytest.mark.parametrize("shape, dtype", TYPED_SHAPES, ids=str)
def test_widen(shape, dtype, on_device):
    x = exact(*shape, dtype=dtype)
    same(run(lambda t: t.float(), [x], on_device), x.float())


@pytest.mark.parametrize("shape, dtype", TYPED_SHAPES, ids=str)
def test_narrow(shape, dtype, on_device):
    x = exact(*shape).float()
    same(run(lambda t: t.to(dtype), [x], on_device), x.to(dtype))


@pytest.mark.parametrize("shape", [(68,), (3, 130), (5, 128)], ids=str)
def test_narrow_rounds_once(shape, on_device):
    x = exact(*shape, dtype=torch.float32)
    result = run(lambda t: t.half(), [x], on_device)
    assert np.array_equal(result.float().numpy(), torch.from_numpy(dl16(x.numpy())).half().float())


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_round_trip(shape, on_device):
    x = exact(*shape)
    same(run(lambda t: t.float().half(), [x], on_device), x)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_chain_in_fp32(shape, on_device):
    x = exact(*shape)

    def chain(t):
        wide = t.float()
        return (wide * wide + 0.25).sqrt().half()

    near(run(chain, [x], on_device), chain(x.float()).half(), "pointwise", torch.float16)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_converted_meets_native(shape, on_device):
    a, b = exact(*shape), exact(*shape, seed=1, dtype=torch.float32)
    same(run(lambda x, y: x.float() + y, [a, b], on_device), a.float() + b)


@pytest.mark.parametrize("shape", [(68,), (4, 68), (5, 128)], ids=str)
@pytest.mark.parametrize("other", [torch.bfloat16, torch.float32, torch.bool], ids=str)
def test_promotion(shape, other, on_device):
    a = exact(*shape)
    b = exact(*shape, seed=1) > 0 if other == torch.bool else exact(*shape, seed=1, dtype=other)
    expected = a * b
    result = run(lambda x, y: x * y, [a, b], on_device)
    if expected.dtype == torch.float32:
        same(result, expected)
    else:
        near(result, expected, "pointwise", torch.float16)


@pytest.mark.parametrize("shape", [(), (1,), (68,), (3, 130)], ids=str)
def test_truth_values(shape, on_device):
    x = exact(*shape) > 0
    same(run(lambda t: t.float(), [x], on_device), x.float())
    y = x.float() * 1e-30
    same(run(lambda t: t.bool(), [y], on_device), x)


@pytest.mark.parametrize("shape", [(), (1,), (68,), (3, 130), (5, 128)], ids=str)
def test_comparisons_and_selections_in_fp32(shape, on_device):
    a, b = exact(*shape), exact(*shape, seed=1, dtype=torch.float32)
    same(run(lambda x, y: x.float() > y, [a, b], on_device), a.float() > b)
    same(run(lambda x, y: x < y, [a, b], on_device), a < b)
    same(run(lambda x: x.float() * 1e-30 != 0, [a], on_device), a != 0)
    for select in (
        lambda x, y: torch.where(x > 0, x.float(), y),
        lambda x, y: torch.where(y > 0, x, y),
    ):
        same(run(select, [a, b], on_device), select(a, b))


@pytest.mark.parametrize("shape", [(4, 68), (3, 130), (6, 256), (2, 3, 64)], ids=str)
def test_rms_norm_in_fp32(shape, on_device):
    x, weight = exact(*shape), exact(shape[-1], seed=1)

    def norm(t, w):
        wide = t.to(torch.float32)
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        return w * wide.to(t.dtype)

    reference = norm(x.float(), weight.float()).half()
    near(run(norm, [x, weight], on_device), reference, "pointwise", torch.float16)


@pytest.mark.parametrize("dim", [0, -1])
@pytest.mark.parametrize("shape", [(68,), (4, 68), (6, 256), (70, 130)], ids=str)
def test_softmax_in_fp32(shape, dim, on_device):
    x = exact(*shape)
    result = run(lambda t: torch.softmax(t, dim, dtype=torch.float32), [x], on_device)
    # exp and the quotient are within an ulp each; the sum has one rounding per term.
    near(result, torch.softmax(x.float(), dim), "sum", torch.float32, terms=shape[dim])
    half = run(lambda t: torch.softmax(t, dim, dtype=torch.float32).half(), [x], on_device)
    near(half, torch.softmax(x.float(), dim).half(), "exp", torch.float16)


@pytest.mark.parametrize("dim", [0, 1, None])
@pytest.mark.parametrize("shape", [(4, 68), (6, 256), (70, 130)], ids=str)
@pytest.mark.parametrize("name", ["sum", "mean"])
def test_reduction_to_fp32(name, shape, dim, on_device):
    x = exact(*shape)
    function = getattr(torch, name)
    keywords = {} if dim is None else {"dim": dim}
    result = run(lambda t: function(t, dtype=torch.float32, **keywords), [x], on_device)
    reference = function(x.double(), **keywords).float()
    scale = function(x.double().abs(), **keywords).max()
    terms = x.numel() if dim is None else shape[dim]
    assert result.dtype == torch.float32 and result.shape == reference.shape
    error = float((result - reference).abs().max() / scale)
    assert error <= tolerance("sum", torch.float32, terms), error


VIEWS = {
    "transposed": lambda t: t.t().float(),
    "transposed after": lambda t: t.float().t(),
    "transposed sum": lambda t: t.t().float() + t.float().t() * 2,
    "slice": lambda t: t[:, 3:50].float(),
    "slice after": lambda t: t.float()[:, 3:50],
    "step after": lambda t: t.float()[:, ::2],
    "flat": lambda t: t.reshape(-1).float(),
    "flat after": lambda t: t.float().reshape(-1),
    "expand": lambda t: t[:, :1].expand(-1, 70).float(),
    "expand rows": lambda t: t[:1].expand(5, -1).float(),
    "select": lambda t: t[1].float(),
    "one element": lambda t: t[1, 5].float(),
    "cat": lambda t: torch.cat([t.float(), t.float() * 2], 1),
    "cat rows": lambda t: torch.cat([t.float(), t.float() * 2], 0),
    "outer": lambda t: t[0].float()[:, None] * t[1].float()[None, :],
    "heads": lambda t: t.float().reshape(t.shape[0], 2, -1).transpose(0, 1),
    "heads of a round trip": lambda t: t.float().reshape(t.shape[0], 2, -1).transpose(0, 1).half(),
    "round trip of a slice": lambda t: t.float()[:, 3:50].half(),
    "round trip transposed": lambda t: t.float().t().half(),
    "round trip expanded": lambda t: t[:1].float().expand(5, -1).half(),
    "two uses": lambda t: t.float() * t.float()[:, :1],
}


@pytest.mark.parametrize("shape", [(4, 68), (6, 128), (66, 130)], ids=str)
@pytest.mark.parametrize("name", VIEWS)
def test_views(name, shape, on_device):
    x = exact(*shape)
    same(run(VIEWS[name], [x], on_device), VIEWS[name](x))


RESULTS = {
    "all uses": lambda t, n: (t.float(), (t.float() * 2).half(), t.float().t(), t.float().bool()),
    "with native": lambda t, n: ((t.float() + n).half(), t.float() + n, (t.float() + n).amax(0)),
    "views": lambda t, n: (t.float().reshape(-1), t.float()[1:], t.float()[:, :3].half()),
    "joined": lambda t, n: (torch.cat([t.float(), n], -1).half(), torch.stack([t.float(), n])),
    "through truth": lambda t, n: (t.bfloat16().float().half(), (t > 0).float().half(), n.bool()),
}


@pytest.mark.parametrize("shape", [(5, 68), (70, 64), (40, 1)], ids=str)
@pytest.mark.parametrize("name", RESULTS)
def test_several_results(name, shape, on_device):
    inputs = [exact(*shape), exact(*shape, seed=1).float()]
    with on_device():
        results = torch.compile(RESULTS[name], backend="spyre")(*[t.to("spyre") for t in inputs])
    for result, reference in zip(results, RESULTS[name](*inputs), strict=True):
        if reference.dtype == torch.float16:
            near(result.cpu(), reference, "pointwise", torch.float16)
        else:
            same(result.cpu(), reference)


@pytest.mark.parametrize("seed", range(20))
def test_random_graphs(seed, on_device):
    """Sums, differences and conversions of values that stay exact: any order fault shows."""
    choose = random.Random(seed)
    shape = tuple(choose.choice([1, 3, 8, 20, 64, 68, 130]) for _ in range(choose.randint(1, 3)))
    steps = [choose.randrange(8) for _ in range(choose.randint(2, 6))]
    picks = [choose.randrange(100) for _ in range(2 * len(steps))]
    ints = torch.Generator().manual_seed(seed)
    a, b = (torch.randint(-8, 9, shape, generator=ints).to(torch.float16) for _ in range(2))
    c = torch.randint(-8, 9, shape, generator=ints).float()
    row = torch.randint(-8, 9, shape[-1:], generator=ints).float()

    def graph(a, b, c, row):
        values = [a, b, c]
        for i, step in enumerate(steps):
            x, y = values[picks[2 * i] % len(values)], values[picks[2 * i + 1] % len(values)]
            if step == 0:
                value = x.float()
            elif step == 1:
                value = x.half()
            elif step == 2:
                value = x + row
            elif step == 3:
                value = x.float().sum(0, keepdim=True) * 0.125 + y
            elif step == 4:
                value = x.transpose(0, -1).float().transpose(0, -1) - y
            elif step == 5:
                value = x.float().amax(-1, keepdim=True) + y.float()
            else:
                value = x + y
            values.append(value.clamp(-16, 16))
        return values[-1].float() + values[-2]

    # Sums over a dimension give fractions of an eighth; fp16 of the device holds them up to 64.
    expected = graph(a.float(), b.float(), c, row)
    near(run(graph, [a, b, c, row], on_device), expected, "pointwise", torch.float16)
