"""Small operations on numbers and truth values, compiled: all on the device, and right at the edges."""

import math

import pytest
import torch
import torch.nn.functional as F
from tolerances import relative_error, tolerance


def half(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).half()


def both(function, *inputs):
    """Results of the compiled function on the device, and of the function on the CPU."""
    results = torch.compile(function, fullgraph=True)(*[x.to("spyre") for x in inputs])
    return [r.cpu() for r in results], function(*inputs)


def equal(results, expected):
    for number, (result, reference) in enumerate(zip(results, expected, strict=True)):
        assert result.dtype == reference.dtype, number
        assert torch.equal(result, reference), (number, result, reference)


def close(results, expected, operation="pointwise"):
    for number, (result, reference) in enumerate(zip(results, expected, strict=True)):
        assert result.dtype == reference.dtype, number
        error = relative_error(result.float().numpy(), reference.float().numpy())
        assert error <= tolerance(operation, torch.float16), (number, error)


def test_division_that_rounds_down(on_device):
    def function(x, y):
        return x // y, x // 3, 7 // y, torch.div(x, y, rounding_mode="trunc"), x // -2

    x = torch.tensor([7.0, -7.0, 0.5, 1.0, -1.0, 6.0, 9.0, -0.5]).half()
    y = torch.tensor([2.0, 2.0, 0.25, -3.0, 3.0, 3.0, -0.5, 2.0]).half()
    with on_device():
        results, expected = both(function, x, y)
    equal(results, expected)


def test_rounding(on_device):
    def function(x, y):
        return x.round(), x.trunc(), x.frac(), y.round(), y.trunc()

    x = torch.tensor([0.5, -0.5, 1.5, 2.5, -2.5, 0.25, -0.75, 511.5, 600.0, 0.0]).half()
    y = torch.tensor([8388609.0, -8388607.0, 2.5, 1e30, 0.49999997])
    with on_device():
        results, expected = both(function, x, y)
    equal(results, expected)


def test_truth_values(on_device):
    def function(x):
        a, b = x > 0, x < 0.5
        chosen = (a ^ b, a == b, a != b, torch.where(a, b, ~b), torch.logical_xor(a, b), a * b)
        return (*chosen, a.any(1), b.all(0), a.any(), x.bool().all(), x.any(0), torch.isnan(x))

    with on_device():
        results, expected = both(function, half(3, 65))
    equal(results, expected)


def test_a_factor_of_what_is_added(on_device):
    def function(x, y):
        return torch.add(x, y, alpha=0.5), torch.sub(x, y, alpha=3), x.add(y[0], alpha=-0.25)

    with on_device():
        results, expected = both(function, half(3, 65), half(3, 65, seed=1))
    close(results, expected)


def test_parts_of_several_types(on_device):
    def function(x, y):
        return torch.cat([x, y], 1), torch.cat([y, x > 0])

    with on_device():
        results, expected = both(function, half(3, 65), half(3, 65, seed=1).float())
    close(results, expected)


def test_logarithm_near_one(on_device):
    x = torch.tensor([1e-4, -1e-4, 1e-7, 0.5, -0.5, 3.0, 100.0, 0.0])
    with on_device():
        results, expected = both(lambda x: (torch.log1p(x),), x)
    error = (results[0] - expected[0]).abs() / expected[0].abs().clamp_min(1e-30)
    assert error.max() <= tolerance("pointwise", torch.float32), error


def test_powers_and_logarithms(on_device):
    def function(x):
        return torch.expm1(x), torch.exp2(x), torch.log2(x.abs() + 1), torch.log10(x.abs() + 1)

    x = torch.tensor([1e-6, -1e-6, 0.5, -0.5, 3.0, 10.0, -9.0, 1.0])
    with on_device():
        results, expected = both(function, x)
        halves, reference = both(function, x.half())
    for result, exact in zip(results, expected, strict=True):
        error = (result - exact).abs() / exact.abs().clamp_min(1e-30)
        assert error.max() <= tolerance("exp", torch.float32), (result, exact)
    close(halves, reference, "exp")


def test_a_vector_added_to_a_product(on_device):
    def function(x, m, v):
        return torch.addmv(x, m, v), torch.addmv(x, m, v, beta=0.5, alpha=2)

    with on_device():
        results, expected = both(function, half(5), half(5, 65, seed=1), half(65, seed=2))
    for result, reference in zip(results, expected, strict=True):
        error = relative_error(result.float().numpy(), reference.float().numpy())
        assert error <= tolerance("acceptance", torch.float16), error


def test_numbers_are_compared_in_the_type_of_the_tensor(on_device):
    """0.3 is not the fp16 nearest to it, and rounded to the device's format they may be apart."""
    numbers = [0.1, 0.3, 0.7, 1 / 3, 2.2, 1e-3, 77.7, 3.14159, 2 / 3, 0.123, 0.456, 5.4321]

    def function(x):
        same = [x[i] == number for i, number in enumerate(numbers)]
        filled = [torch.full_like(x, number) == number for number in numbers]
        return [*same, *filled, *(x[i] >= number for i, number in enumerate(numbers))]

    with on_device():
        results, expected = both(function, torch.tensor(numbers).half())
    equal(results, expected)


def test_ranges_without_an_end(on_device):
    def function(x):
        inf = math.inf
        return x.clamp(max=inf), x.clamp(-inf, 0.5), x.clamp(min=-inf), x.clamp(2, 1)

    with on_device():
        results, expected = both(function, half(3, 65))
    close(results, expected, "select")


@pytest.mark.parametrize("scale", [-0.5, 0.0])
def test_attention_with_any_scale(scale, on_device):
    x = [half(1, 2, 5, 16, seed=seed) for seed in range(3)]
    with on_device():
        results, _ = both(lambda *x: (F.scaled_dot_product_attention(*x, scale=scale),), *x)
    expected = F.scaled_dot_product_attention(*[t.float() for t in x], scale=scale)
    error = relative_error(results[0].float().numpy(), expected.numpy())
    assert error <= tolerance("acceptance", torch.float16), error


def test_quotients_by_infinity(on_device):
    x = torch.tensor([1.0, -1.0, 0.0, 7.5, -7.5, math.inf, math.nan])
    for bound in (math.inf, -math.inf):
        with on_device():
            results, expected = both(lambda a, b: (a // b, a // bound), x, torch.full_like(x, bound))
        for result, reference in zip(results, expected, strict=True):
            assert torch.equal(result.nan_to_num(nan=99.0), reference.nan_to_num(nan=99.0)), result


@pytest.mark.parametrize("how", ["eager", "compiled"])
@pytest.mark.parametrize("bounds", [(-1, 0.25), (-1.5, 2), (0.5, None), (0, 2)])
@pytest.mark.parametrize("kind", [torch.bool, torch.int64, torch.int32])
def test_bounds_of_another_type(kind, bounds, how, on_device):
    """As on the CPU, the result has the type that numbers and elements have together."""
    x = torch.arange(-5, 6).to(kind)
    clamp = lambda t: torch.clamp(t, *bounds)  # noqa: E731
    expected, device = clamp(x), x.to("spyre")
    with on_device():
        got = (clamp if how == "eager" else torch.compile(clamp, backend="spyre"))(device)
    assert got.dtype == expected.dtype and torch.equal(got.cpu(), expected)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int64", "int8", "uint8", "bool"])
def test_equal_compares_on_the_device(dtype, on_device):
    """The host gets one number, not the tensors."""
    x = (torch.arange(4096) % 2).to(getattr(torch, dtype)).reshape(64, 64).to("spyre")
    y = x.clone()
    with on_device() as proof:
        assert torch.equal(x, y) and torch.equal(x.t(), y.t()) and not torch.equal(x, y[1:])
        y[63, 63] = 0
        assert not torch.equal(x, y)
    assert proof.counters["d2h_bytes"] < 4096


def test_what_is_no_number_equals_nothing(on_device):
    x = torch.tensor([1.0, math.nan]).to("spyre")
    with on_device():
        assert not torch.equal(x, x) and torch.allclose(x, x, equal_nan=True)
