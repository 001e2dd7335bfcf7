"""Powers with tensors as exponents: computed in fp32 on the device, rounded once to fp16."""

import math

import pytest
import torch
from tolerances import relative_error, tolerance, ulp_distance

BASES = torch.tensor([0.125, 0.75, 1.0, 1.5, 3.0, 10.0, 100.0] * 10).half()
EXPONENTS = torch.tensor([-1.5, -1.0, 0.0, 0.25, 0.5, 1.0, 1.75] * 10).half().reshape(10, 7).T

SPECIAL = [
    # base, exponent
    (-2.0, 3.0),
    (-2.0, 2.0),
    (-3.0, -2.0),
    (-3.0, -1.0),
    (-2.0, 0.5),
    (0.0, 0.0),
    (0.0, 2.0),
    (0.0, -1.0),
    (1.0, math.nan),
    (math.nan, 0.0),
    (math.nan, 2.0),
    (2.0, math.nan),
]


def run(function, inputs, how):
    if how == "compiled":
        function = torch.compile(function, backend="spyre")
    return function(*[t.to("spyre") for t in inputs]).cpu()


def power(base, exponent):
    return base**exponent


@pytest.mark.parametrize("how", ["eager", "compiled"])
def test_tensor_to_the_tensor(how, on_device):
    inputs = [BASES, EXPONENTS.reshape(-1).contiguous()]
    with on_device():
        result = run(power, inputs, how)
    wanted = power(*[t.float() for t in inputs])
    assert result.dtype == torch.float16
    assert ulp_distance(result.float().numpy(), wanted.numpy()) <= 1


@pytest.mark.parametrize("base", [2, 0.5, 10.0, 1])
def test_number_to_the_tensor(base, on_device):
    exponents = torch.arange(-8, 9).half() / 2
    with on_device():
        result = run(lambda x: base**x, [exponents], "eager")
    wanted = base ** exponents.float()
    assert ulp_distance(result.float().numpy(), wanted.numpy()) <= 1


@pytest.mark.parametrize("how", ["eager", "compiled"])
def test_signs_zeros_and_nan_are_those_of_the_cpu(how, on_device):
    inputs = [torch.tensor(column).half() for column in zip(*SPECIAL)]
    with on_device():
        result = run(power, inputs, how)
    wanted = power(*[t.float() for t in inputs])
    relative = tolerance("pointwise", torch.float16)
    torch.testing.assert_close(result.float(), wanted, rtol=relative, atol=0, equal_nan=True)


@pytest.mark.parametrize("exponent", [5, -2, -3, 7.0, 1.5, 0.1, -2.25, 17, 20])
def test_tensor_to_the_number(exponent, on_device):
    signs = [1, -1] if float(exponent).is_integer() else [1]
    bases = torch.tensor([sign * base for sign in signs for base in (0.5, 0.875, 1, 1.25, 1.5)]).half()
    with on_device():
        result = run(lambda x: x**exponent, [bases], "eager")
    assert ulp_distance(result.float().numpy(), (bases.float() ** exponent).numpy()) <= 1


def test_numbers_that_are_not_positive(on_device):
    exponents = torch.tensor([-1.0, 0.0, 1.0, 2.0, 3.0]).half()
    for base in (-2.0, 0.0):
        with on_device():
            result = run(lambda x, base=base: base**x, [exponents], "eager")
        assert torch.equal(result.float(), base ** exponents.float())


def test_broadcasting_and_gradients(on_device):
    def loss(base, exponent):
        return (base**exponent).sum()

    inputs = [torch.tensor([[0.5], [2.0], [4.0]]).half(), torch.tensor([1.0, 2.0, -1.0]).half()]
    device = [t.to("spyre").requires_grad_() for t in inputs]
    host = [t.float().requires_grad_() for t in inputs]
    with on_device():
        loss(*device).backward()
    loss(*host).backward()
    for got, wanted in zip(device, host):
        error = relative_error(got.grad.cpu().float().numpy(), wanted.grad.numpy())
        assert error <= tolerance("chain", torch.float16, 8), error


def test_powers_of_fp32_are_powers_of_fp32(on_device):
    base, exponent = BASES.float(), EXPONENTS.reshape(-1).float().contiguous()
    with on_device():
        result = run(power, [base, exponent], "eager")
    wanted = power(base.double(), exponent.double())
    error = ((result.double() - wanted).abs() / wanted).max()
    assert result.dtype == torch.float32
    # What is left of the logarithm's error is multiplied by the exponent.
    assert error <= 2 * tolerance("function", torch.float32), error


@pytest.mark.parametrize("how", ["eager", "compiled"])
def test_one_to_no_number_is_one(how, on_device):
    exponent = torch.tensor([math.nan, 2.0, math.inf]).half()
    with on_device():
        result = run(lambda e: torch.pow(1.0, e), [exponent], how)
    assert torch.equal(result, torch.pow(1.0, exponent))
