"""Numbers that compiled functions take as arguments are converted on the host, before the launch."""

import pytest
import torch
from tolerances import tolerance

X = (torch.arange(256.0).reshape(4, 64) - 128) / 256


def double(value):
    return torch.tensor(value, dtype=torch.float64)


#: Function, its changing arguments, and how many operations are rounded one after the other.
FUNCTIONS = {
    "float": (lambda x, lr: (x * lr).exp(), [(0.1,), (0.2,), (0.3,)], 2),
    "float arithmetic": (lambda x, lr: (x * (lr * 0.5) + lr / 3 - 1).exp(), [(0.1,), (0.2,), (0.3,)], 4),
    "two floats": (lambda x, a, b: x * (a + b) - a * b, [(0.1, 2.0), (0.2, 3.0), (0.3, 5.0)], 3),
    "half": (lambda x, lr: (x.half() * (lr * 0.5) + lr).exp(), [(0.125,), (0.25,), (0.5,)], 4),
    "int": (lambda x, n: (x * n).exp(), [(1,), (2,), (3,)], 2),
    "bool": (lambda x, flag: x * flag + 1, [(True,), (False,)], 2),
    "tensor of float32": (lambda x, n: (x * n * 0.5).exp(), [(torch.tensor(0.1),), (torch.tensor(0.2),)], 3),
    "tensor of float64": (lambda x, n: (x * n * 0.5).exp(), [(double(0.1),), (double(0.2),)], 3),
    "arithmetic of float64": (lambda x, n: x * (n * 0.5 + 1).sqrt() - n, [(double(0.1),), (double(0.2),)], 3),
    "half by float64": (lambda x, n: x.half() * n + n, [(double(0.125),), (double(0.5),)], 3),
    "compared": (lambda x, n: torch.where(x > n, x, n), [(double(0.125),), (double(0.25),)], 1),
    "tensor of int64": (lambda x, n: x * n + 1, [(torch.tensor(2),), (torch.tensor(3),)], 2),
    "addcmul": (lambda x, lr: torch.add(x, x * x, alpha=1) * lr, [(0.1,), (0.2,), (0.3,)], 3),
    "sizes that change": (lambda x, lr: (x[: int(lr * 10)] * lr).exp(), [(0.1,), (0.2,), (0.3,)], 2),
}


def check(result, expected, roundings):
    bound = tolerance("chain", expected.dtype, roundings)
    error = (result.cpu().double() - expected.double()).abs().max() / expected.double().abs().max()
    assert result.dtype == expected.dtype and error <= bound, float(error)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numbers_are_no_steps_on_the_cpu(name, on_device):
    function, calls, roundings = FUNCTIONS[name]
    compiled, device = torch.compile(function), X.to("spyre")
    for arguments in calls:
        with on_device():
            result = compiled(device, *arguments)
        check(result, function(X, *arguments), roundings)


@pytest.mark.parametrize("dynamic", [None, True])
def test_sizes_and_numbers_change(dynamic, on_device):
    def function(x, lr):
        return (x * lr).exp()

    compiled = torch.compile(function, dynamic=dynamic)
    for rows, lr in ((2, 0.1), (3, 0.2), (4, 0.3), (4, 0.4)):
        with on_device():
            result = compiled(X[:rows].to("spyre"), lr)
        check(result, function(X[:rows], lr), 2)


def test_one_program_for_all_numbers():
    compiled, device = torch.compile(lambda x, lr: (x * lr).exp()), X.to("spyre")
    for lr in (0.1, 0.2):
        compiled(device, lr)
    torch.spyre.reset_counters()
    for lr in (0.3, 0.4, 0.5):
        compiled(device, lr)
    assert torch.spyre.counters()["programs_compiled"] == 0, torch.spyre.counters()


def test_numbers_may_be_results():
    def function(x, lr, n):
        return x * lr, n * 2, n.float(), n

    compiled, device = torch.compile(function), X.to("spyre")
    for value in (0.5, 0.25):
        n = double(value)
        result, *numbers = compiled(device, value, n)
        assert torch.equal(result.cpu(), X * value)
        for found, expected in zip(numbers, function(X, value, n)[1:], strict=True):
            assert found.dtype == expected.dtype and found.device.type == "cpu" and torch.equal(found, expected)


def test_gradients_of_functions_of_numbers(on_device):
    def function(x, lr):
        return ((x * lr).exp() * lr).sum()

    compiled = torch.compile(function)
    for lr in (0.1, 0.2, 0.3):
        host, device = X.clone().requires_grad_(), X.to("spyre").requires_grad_()
        with on_device():
            compiled(device, lr).backward()
        function(host, lr).backward()
        check(device.grad, host.grad, 4)


@pytest.mark.parametrize("kind, roundings", [("SGD", 8), ("Adam", 64)])
def test_compiled_optimizers_take_a_changing_rate(kind, roundings, on_device):
    """Adam divides by what is left of 1 - beta ** step, which loses digits."""
    weights = [X.clone().requires_grad_(), X.to("spyre").requires_grad_()]
    rate = torch.tensor(0.1)
    optimizers = [getattr(torch.optim, kind)([w], lr=rate.clone()) for w in weights]
    steps = [optimizers[0].step, torch.compile(optimizers[1].step)]
    for rate in (0.1, 0.05, 0.025):
        for weight, optimizer in zip(weights, optimizers, strict=True):
            weight.grad = torch.full_like(weight, 0.5)
            optimizer.param_groups[0]["lr"].fill_(rate)
        steps[0]()
        with on_device():
            steps[1]()
    check(weights[1].detach(), weights[0].detach(), roundings)
