"""Elementary functions that are made of others: on the device, right to the last places, also at the edges."""

import math

import numpy as np
import pytest
import torch
from tolerances import FP32_ULP, TABLE, dl16, tolerance, ulp_distance

INF, NAN = math.inf, math.nan
EDGES = [0.0, 1.0, -1.0, 2.5, -2.5, INF, -INF, NAN]
# Name, and the range of magnitudes it is asked for.
ONE = {
    "acos": (1e-4, 1),
    "acosh": (1, 1e4),
    "asin": (1e-4, 1),
    "asinh": (1e-4, 1e4),
    "atan": (1e-4, 1e4),
    "atanh": (1e-4, 0.99),
    "cos": (1e-4, 1e4),
    "cosh": (1e-4, 80),
    "erf": (1e-4, 4),
    "erfc": (1e-4, 8),
    "exp2": (1e-4, 100),
    "expm1": (1e-4, 80),
    "log10": (1e-4, 1e4),
    "log1p": (1e-4, 0.99),
    "log2": (1e-4, 1e4),
    "sin": (1e-4, 1e4),
    "sinh": (1e-4, 80),
    "tan": (1e-4, 1e4),
}
TWO = ["atan2", "copysign", "fmax", "fmin", "fmod", "hypot", "logaddexp", "remainder", "pow"]


def function_of(name):
    return getattr(torch, name, None) or getattr(torch.special, name)


def numbers(low, high, seed=0, signed=True):
    generator = torch.Generator().manual_seed(seed)
    spread = torch.rand(3, 130, generator=generator) * math.log(high / low)
    sign = torch.where(torch.rand(3, 130, generator=generator) < 0.5, -1.0, 1.0)
    return torch.exp(spread) * low * (sign if signed else 1)


def in_device_format(x):
    """Halves are rounded to the device's format on their way there; here, the reference gets those."""
    return torch.from_numpy(dl16(x.float().numpy())) if x.dtype != torch.float32 else x


def compare(name, inputs, how, on_device):
    function = function_of(name)
    run = torch.compile(function, fullgraph=True) if how == "compiled" else function
    with on_device():
        result = run(*[x.to("spyre") for x in inputs])
    exact = function(*[in_device_format(x).double() for x in inputs])
    result, kind = result.cpu(), inputs[0].dtype
    assert result.dtype == kind
    if kind == torch.float32:
        limit = tolerance("function", kind)
        error = ((result.double() - exact).abs() / exact.abs().clamp_min(2.0**-126)).numpy()
        isnan = result.isnan().numpy() & exact.isnan().numpy()
        assert np.nanmax(np.where(isnan, 0, error), initial=0) <= limit, error.max() / FP32_ULP
        assert torch.equal(result.isnan(), exact.isnan())
    else:
        assert ulp_distance(result.float().numpy(), exact.to(kind).float().numpy()) <= 2


@pytest.mark.parametrize("how", ["compiled", "eager"])
@pytest.mark.parametrize("kind", [torch.float32, torch.float16])
@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_number(name, kind, how, on_device):
    low, high = ONE[name]
    signed = name not in ("acosh", "log2", "log10")
    # Halves come from the exactly representable numbers of both formats.
    x = numbers(low, min(high, 10) if kind == torch.float16 else high, signed=signed)
    x = x if kind == torch.float32 else torch.from_numpy(dl16(x.half().float().numpy())).half()
    x = x.clamp(-1, 1) if name in ("asin", "acos") else x.clamp_min(1) if name == "acosh" else x
    compare(name, [x], how, on_device)


@pytest.mark.parametrize("how", ["compiled", "eager"])
@pytest.mark.parametrize("name", TWO)
def test_functions_of_two_numbers(name, how, on_device):
    # Of numbers below 0 the logarithm of the sum is a difference, which may be nothing.
    signed = name not in ("pow", "logaddexp")
    x = numbers(1e-2, 1e2, signed=signed)
    y = numbers(1e-2, 2 if name == "pow" else 1e2, seed=1, signed=name != "logaddexp")
    compare(name, [x, y], how, on_device)


@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_edges_are_those_of_the_cpu(name, on_device):
    function = function_of(name)
    edges = torch.tensor(EDGES)
    inputs = [edges] if name in ONE else list(torch.meshgrid(edges, edges, indexing="ij"))
    inputs = [x.contiguous() for x in inputs]
    with on_device():
        result = torch.compile(function, fullgraph=True)(*[x.to("spyre") for x in inputs]).cpu()
    expected = function(*inputs)
    is_same = (result == expected) | (result.isnan() & expected.isnan())
    error = (result - expected).abs() / expected.abs().clamp_min(2.0**-126)
    limit = tolerance("function", torch.float32)
    wrong = ~(is_same | (error <= limit))
    assert not wrong.any(), [
        (*(x[wrong].tolist() for x in inputs), result[wrong].tolist(), expected[wrong].tolist())
    ]


@pytest.mark.parametrize("exponent", [0.3, -1.7, 1 / 3, 20, 2.5])
def test_powers_of_wide_numbers(exponent, on_device):
    x = numbers(1e-1, 10, signed=False)
    with on_device():
        result = torch.compile(lambda x: x**exponent)(x.to("spyre")).cpu()
    exact = x.double() ** exponent
    # The logarithm is mended to 2^-24; the exponent multiplies what is left.
    limit = tolerance("function", torch.float32) * max(abs(exponent), 1)
    assert ((result.double() - exact).abs() / exact).max() <= limit


def test_the_table_has_the_entry():
    assert TABLE["operations"]["function"] == {"roundings": 1, "ulpsFp32": 1.5}


# --------------------------------------------------------------------------------------------------
# Products of fp32 matrices

SHAPES = {
    "matrices": ((67, 71), (71, 33)),
    "one row": ((1, 130), (130, 64)),
    "one term": ((5, 1), (1, 70)),
    "batches": ((2, 3, 17, 40), (2, 3, 40, 65)),
    "broadcast": ((4, 1, 9, 33), (3, 33, 2)),
    "vector": ((70,), (70, 5)),
    "tiles": ((300, 256), (256, 128)),
}


@pytest.mark.parametrize("how", ["compiled", "eager"])
@pytest.mark.parametrize("name", SHAPES)
def test_products_of_wide_matrices(name, how, on_device):
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(shape, generator=generator) for shape in SHAPES[name])
    run = torch.compile(torch.matmul) if how == "compiled" else torch.matmul
    with on_device(pt_macs=0):  # the matrix unit takes 16 bits
        result = run(a.to("spyre"), b.to("spyre")).cpu()
    exact = a.double() @ b.double()
    terms = a.double().abs() @ b.double().abs()
    assert result.shape == exact.shape and result.dtype == torch.float32
    limit = 2 * FP32_ULP * exact.abs() + 2.0**-20 * terms
    assert ((result.double() - exact).abs() <= limit).all()


def test_layers_in_fp32(on_device):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(40, 70), torch.nn.Tanh(), torch.nn.Linear(70, 3))
    x = torch.randn(9, 40)
    with on_device(), torch.no_grad():
        result = torch.compile(torch.nn.Sequential(*model).to("spyre"))(x.to("spyre")).cpu()
    with torch.no_grad():
        expected = model.cpu()(x)
    assert (result - expected).abs().max() <= tolerance("matmulOfMatmul", torch.float32, 70) * 70
