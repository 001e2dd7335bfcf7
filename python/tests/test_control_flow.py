"""torch.cond, while_loop and scan in compiled functions: the host decides, the device computes."""

import pytest
import torch
from tolerances import relative_error, tolerance
from torch._higher_order_ops import scan, while_loop


def numbers(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def assert_near(result, expected, roundings=16):
    error = relative_error(result.cpu().float().numpy(), expected.float().numpy())
    assert error <= tolerance("chain", torch.float32, roundings), error


def choose(x, y):
    return torch.cond(x.sum() > 0, lambda x, y: torch.softmax(x @ y, -1), lambda x, y: torch.tanh(x) @ y, (x, y))


@pytest.mark.parametrize("sign", [1, -1])
def test_one_of_two_branches(sign, on_device):
    x, y = sign * numbers(5, 33).abs(), numbers(33, 65, seed=1)
    compiled = torch.compile(choose, fullgraph=True)
    with on_device():
        result = compiled(x.to("spyre"), y.to("spyre"))
    assert result.device.type == "spyre"
    assert_near(result, choose(x, y))


def test_work_before_and_behind_a_branch(on_device):
    def function(x, scale):
        x = torch.exp(x) * scale
        low, high = torch.cond(
            x.amax() > 2, lambda x: (x.clamp_max(2.0), x * 0.5), lambda x: (x + 1, x.neg()), (x,)
        )
        return torch.layer_norm(low + high, (33,))

    compiled = torch.compile(function, fullgraph=True)
    for seed, scale in ((0, 1.0), (1, 0.01)):
        x, factor = numbers(4, 33, seed=seed), torch.tensor(scale)
        with on_device():
            result = compiled(x.to("spyre"), factor.to("spyre"))
        assert_near(result, function(x, factor), 64)


def test_branches_in_branches(on_device):
    def function(x):
        def outer(x):
            return torch.cond(x.sum() > 10, lambda x: x * 2, lambda x: x - 1, (x,))

        return torch.cond(x.sum() > 0, outer, lambda x: x.abs(), (x,))

    compiled = torch.compile(function, fullgraph=True)
    for start in (-1.0, 0.1, 9.0):
        x = torch.full((3, 7), start)
        with on_device():
            result = compiled(x.to("spyre"))
        assert_near(result, function(x))


def test_gradients_go_through_the_branch_taken(on_device):
    for sign in (1, -1):
        x, y = sign * numbers(5, 33).abs(), numbers(33, 65, seed=1)
        host = [t.clone().requires_grad_() for t in (x, y)]
        choose(*host).square().sum().backward()
        device = [t.to("spyre").requires_grad_() for t in (x, y)]
        compiled = torch.compile(choose)
        with on_device():
            compiled(*device).square().sum().backward()
        for one, other in zip(device, host, strict=True):
            assert_near(one.grad, other.grad, 64)


def newton(x, guess):
    """Square roots, until the largest error is small."""

    def goes_on(guess, x):
        return (guess * guess - x).abs().max() > 1e-3

    def body(guess, x):
        return ((guess + x / guess) * 0.5, x.clone())

    return while_loop(goes_on, body, (guess, x))[0]


def test_a_loop_as_long_as_values_say(on_device):
    x = numbers(4, 33).abs() + 0.5
    with on_device() as proof:
        result = torch.compile(newton, fullgraph=True)(x.to("spyre"), torch.ones(4, 33).to("spyre"))
    assert_near(result, x.sqrt(), 2**10)
    assert proof.counters["programs_launched"] >= 6


def test_a_loop_that_never_runs(on_device):
    x = torch.full((2, 3), 4.0)
    guess = torch.full((2, 3), 2.0).to("spyre")
    with on_device():
        result = torch.compile(newton, fullgraph=True)(x.to("spyre"), guess)
    assert torch.equal(result.cpu(), torch.full((2, 3), 2.0))
    assert result.data_ptr() != guess.data_ptr()


def recurrence(state, rows, weight):
    def step(state, row):
        state = torch.tanh(state @ weight + row)
        return state, state * 2

    return scan(step, state, rows)


def test_a_scan(on_device):
    state, rows, weight = numbers(3, 16), numbers(7, 3, 16, seed=1), numbers(16, 16, seed=2) * 0.2
    expected = recurrence(state, rows, weight)
    with on_device():
        results = torch.compile(recurrence)(*(t.to("spyre") for t in (state, rows, weight)))
    for result, right in zip(results, expected, strict=True):
        assert result.shape == right.shape
        assert_near(result, right, 64)


def test_other_sizes(on_device):
    compiled = torch.compile(choose, dynamic=True)
    for rows in (3, 4, 9):
        x, y = numbers(rows, 33), numbers(33, 65, seed=1)
        with on_device():
            result = compiled(x.to("spyre"), y.to("spyre"))
        assert_near(result, choose(x, y))
