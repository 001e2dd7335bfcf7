"""Gradients of eager and compiled operations against the CPU's, computed on the device."""

import pytest
import torch
import torch.nn.functional as F
from tolerances import relative_error, tolerance

pytestmark = pytest.mark.filterwarnings("ignore::torch_spyre.ops.fallbacks.FallbackWarning")


def half(*shape, seed=0):
    return (torch.randn(shape, generator=torch.Generator().manual_seed(seed)) * 0.5).half()


A, B, W, V = half(6, 64), half(6, 64, seed=1), half(32, 64, seed=2), half(64, seed=3)
Q, K, T = half(2, 2, 8, 64, seed=4), half(2, 2, 8, 64, seed=5), half(2, 2, 8, 64, seed=6)

# name -> function, arguments, roundings on the way
CASES = {
    "matmul": (lambda a, w: a @ w.t(), (A, W), 8),
    "linear": (lambda a, w, b: F.linear(a, w, b[:32]), (A, W, V), 8),
    "layer_norm": (lambda a, w, b: F.layer_norm(a, (64,), w, b), (A, V, V * 0.5), 24),
    "rms_norm": (lambda a, w: F.rms_norm(a, (64,), w, 1e-3), (A, V), 24),
    "softmax": (lambda a: F.softmax(a, -1), (A,), 16),
    "log_softmax": (lambda a: F.log_softmax(a, -1), (A,), 16),
    "gelu": (lambda a: F.gelu(a), (A,), 16),
    "gelu tanh": (lambda a: F.gelu(a, approximate="tanh"), (A,), 16),
    "silu": (lambda a: F.silu(a), (A,), 16),
    "relu": (lambda a: F.relu(a), (A,), 8),
    "sigmoid": (lambda a: torch.sigmoid(a), (A,), 12),
    "tanh": (lambda a: torch.tanh(a), (A,), 12),
    "exp": (lambda a: torch.exp(a), (A,), 12),
    "mul": (lambda a, b: a * b, (A, B), 8),
    "div": (lambda a, b: a / (b.abs() + 1), (A, B), 12),
    "sub and pow": (lambda a, b: (a - b) ** 2, (A, B), 8),
    "sum": (lambda a: a.sum(1), (A,), 8),
    "mean": (lambda a: a.mean(0), (A,), 8),
    "amax": (lambda a: a.amax(1), (A,), 4),
    "cat": (lambda a, b: torch.cat([a, b], 1), (A, B), 8),
    "views": (lambda a: a.t()[3:40].reshape(-1, 2) * 2, (A,), 8),
    "where": (lambda a, b: torch.where(a > 0, a, b), (A, B), 8),
    "broadcast": (lambda a, v: a * v + v, (A, V), 8),
    "attention": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v), (Q, K, T), 16),
    "causal attention": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        (Q, K, T),
        16,
    ),
    "embedding": (lambda w: F.embedding(torch.tensor([[1, 5, 1]], device=w.device), w), (W,), 8),
}

# Operations that stay on the CPU; the list only shrinks.
ON_CPU = {}


def gradients(function, arguments):
    leaves = [a.detach().requires_grad_() for a in arguments]
    result = function(*leaves)
    weights = half(*result.shape, seed=9).to(result.device, result.dtype)
    (result * weights).sum().backward()
    return [leaf.grad for leaf in leaves]


@pytest.mark.parametrize("mode", ["eager", "compiled"])
@pytest.mark.parametrize("name", CASES)
def test_gradients(name, mode):
    function, arguments, roundings = CASES[name]
    run = torch.compile(function) if mode == "compiled" else function
    if mode == "compiled" and name in ("embedding",):
        pytest.skip("indices are made inside")
    expected = gradients(function, [a.float() for a in arguments])
    torch.spyre.reset_counters()
    got = gradients(run, [a.to("spyre") for a in arguments])
    counters = torch.spyre.counters()
    assert counters["programs_launched"] > 0
    if mode == "eager":
        assert set(torch.spyre.fallback_counts()) <= ON_CPU.get(name, set())
    for ours, theirs in zip(got, expected):
        assert ours is not None and ours.device.type == "spyre" and ours.dtype == torch.float16
        assert relative_error(ours.float().cpu().numpy(), theirs.numpy()) <= tolerance(
            "chain", torch.float16, roundings
        )


def test_the_documented_example():
    x = torch.ones(2, requires_grad=True, device="spyre")
    x.sum().backward()
    assert x.grad.device.type == "spyre" and x.grad.cpu().tolist() == [1.0, 1.0]


@pytest.mark.parametrize("name", ["SGD", "momentum", "Adam", "AdamW"])
def test_optimisers_step_on_the_device(name):
    make = {
        "SGD": lambda p: torch.optim.SGD(p, lr=0.125),
        "momentum": lambda p: torch.optim.SGD(p, lr=0.125, momentum=0.5, weight_decay=0.25),
        "Adam": lambda p: torch.optim.Adam(p, lr=0.0625),
        "AdamW": lambda p: torch.optim.AdamW(p, lr=0.0625),
    }[name]

    def steps(parameter):
        optimiser = make([parameter])
        for _ in range(3):
            optimiser.zero_grad()
            (parameter * parameter).sum().backward()
            optimiser.step()
        return parameter.detach().cpu()

    start = half(8, 64).float()
    expected = steps(start.clone().requires_grad_())
    torch.spyre.reset_counters()
    got = steps(start.to("spyre").requires_grad_())
    assert torch.spyre.fallback_counts() == {}
    assert relative_error(got.numpy(), expected.numpy()) <= tolerance("chain", torch.float32, 64)


@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_keeps_its_statistics(training):
    def run(place, dtype):
        layer = torch.nn.BatchNorm1d(64).to(dtype).to(place).train(training)
        x = half(6, 64).to(dtype).to(place).requires_grad_()
        out = layer(x)
        (out * out).sum().backward()
        return [t.detach().float().cpu() for t in (out, layer.running_mean, layer.running_var, x.grad)]

    expected = run("cpu", torch.float32)
    torch.spyre.reset_counters()
    got = run("spyre", torch.float32)
    assert torch.spyre.counters()["programs_launched"] > 0
    for ours, theirs in zip(got, expected):
        # The gradient is a difference of nearly equal sums.
        scale = max(float(theirs.abs().max()), 1.0)
        assert float((ours - theirs).abs().max()) / scale <= tolerance("chain", torch.float16, 4)


def test_convolutions_of_fp32_run_on_the_device_with_their_gradients(on_device):
    def run(place):
        x = half(1, 3, 8, 8).float().to(place).requires_grad_()
        w = half(4, 3, 3, 3, seed=1).float().to(place).requires_grad_()
        F.conv2d(x, w, half(4, seed=2).float().to(place)).square().sum().backward()
        return x.grad.cpu(), w.grad.cpu()

    with on_device():
        ours = run("spyre")
    for got, expected in zip(ours, run("cpu")):
        assert relative_error(got.numpy(), expected.numpy()) <= tolerance("chain", torch.float32, 32)


def test_a_copy_with_a_layout_is_differentiable():
    import torch_spyre._C as extension

    x = torch.arange(12.0).reshape(3, 4).requires_grad_()
    layout = extension.SpyreTensorLayout([3, 4], [4, 1], torch.float32, [1, 0])
    y = x.to("spyre", device_layout=layout)
    assert y.requires_grad and y.device_tensor_layout() == layout
    (y * y).sum().backward()
    assert torch.equal(x.grad, 2 * x.detach())
    with torch.no_grad():
        assert not x.to("spyre", device_layout=layout).requires_grad


def test_a_copy_with_a_layout_inside_a_compiled_function():
    import torch_spyre._C as extension

    layout = extension.SpyreTensorLayout([64, 64], [64, 1], torch.float16, [1, 0])
    x = torch.ones(64, 64, dtype=torch.float16, requires_grad=True)
    torch.compile(lambda t: (t.to("spyre", device_layout=layout) * 2).sum())(x).backward()
    assert torch.equal(x.grad, torch.full_like(x, 2.0))
