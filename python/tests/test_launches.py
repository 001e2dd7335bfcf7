"""Launches of eager normalisations, and operations of compiled reductions."""

import contextlib

import pytest
import torch
import torch_spyre
from test_extension import device_ops
from tolerances import tolerance
from torch.nn import functional

DEVICE = "spyre"


def half(*shape, seed=0):
    return (torch.rand(*shape, generator=torch.Generator().manual_seed(seed)) + 0.5).half()


def check(result, reference, operations):
    error = (result.cpu().double() - reference.double()).abs().max() / reference.double().abs().max()
    assert error <= tolerance("chain", torch.float16, operations), float(error)


@contextlib.contextmanager
def one_launch(on_device):
    with on_device() as proof:
        yield
    assert proof.counters["programs_launched"] == 1, proof.counters
    assert proof.counters["d2d_bytes"] == 0, proof.counters


ROWS, IMAGES = half(4, 8, 64), half(2, 8, 4, 16)
WIDE, CHANNELS = half(64, seed=1), half(8, seed=2)
#: Function of x, weight and bias; x; weight.
NORMALISATIONS = {
    "layer_norm": (lambda x, w, b: functional.layer_norm(x, (64,), w, b), ROWS, WIDE),
    "rms_norm": (lambda x, w, b: functional.rms_norm(x, (64,), w), ROWS, WIDE),
    "rms_norm of two dimensions": (lambda x, w, b: functional.rms_norm(x, (8, 64), w), ROWS, half(8, 64)),
    "group_norm": (lambda x, w, b: functional.group_norm(x, 4, w, b), IMAGES, CHANNELS),
    "instance_norm": (lambda x, w, b: functional.instance_norm(x, weight=w, bias=b), IMAGES, CHANNELS),
    "batch_norm": (lambda x, w, b: functional.batch_norm(x, None, None, w, b, training=True), IMAGES, CHANNELS),
    "batch_norm in evaluation": (
        lambda x, w, b: functional.batch_norm(x, b.detach(), w.detach(), w, b),
        IMAGES,
        CHANNELS,
    ),
}


@pytest.mark.parametrize("name", NORMALISATIONS)
def test_a_normalisation_is_one_launch(name, on_device):
    function, x, weight = NORMALISATIONS[name]
    bias = weight.flip(0)
    inputs = [t.to(DEVICE) for t in (x, weight, bias)]
    function(*inputs)  # compiles
    with one_launch(on_device):
        result = function(*inputs)
    check(result, function(x.double(), weight.double(), bias.double()), 4)


@pytest.mark.parametrize("name", NORMALISATIONS)
def test_a_gradient_of_a_normalisation_is_one_launch(name, on_device):
    function, x, weight = NORMALISATIONS[name]

    def gradients(device, dtype):
        leaves = [t.to(device=device, dtype=dtype).requires_grad_() for t in (x, weight, weight.flip(0))]
        result = function(*leaves)
        grad = half(*x.shape, seed=3).to(device=device, dtype=dtype)
        given = leaves[: 2 if "rms" in name else 3]
        return lambda: torch.autograd.grad(result, given, grad)

    gradients(DEVICE, torch.float16)()  # compiles
    backward = gradients(DEVICE, torch.float16)
    with one_launch(on_device):
        found = backward()
    for result, reference in zip(found, gradients("cpu", torch.float64)(), strict=True):
        check(result, reference, 16)


def test_a_batch_norm_stores_its_statistics_in_the_same_launch(on_device):
    mean, var = torch.zeros(8).half(), torch.ones(8).half()
    spyre = mean.to(DEVICE), var.to(DEVICE)

    def train(x, mean, var):
        return functional.batch_norm(x, mean, var, training=True, momentum=0.25)

    train(IMAGES.to(DEVICE), *spyre)
    with one_launch(on_device):
        result = train(IMAGES.to(DEVICE), *spyre)
    reference = mean.double(), var.double()
    for _ in range(2):
        expected = train(IMAGES.double(), *reference)
    check(result, expected, 4)
    for running, wanted in zip(spyre, reference, strict=True):
        check(running, wanted, 3)


def test_a_cumulative_average_is_not_compiled_at_each_step(on_device):
    norm = torch.nn.BatchNorm2d(8, momentum=None).half()
    expected = torch.nn.BatchNorm2d(8, momentum=None).double()
    norm = norm.to(DEVICE)
    with on_device():
        for step in range(20):
            batch = half(2, 8, 4, 16, seed=step)
            if step == 17:
                torch.spyre.reset_counters()
            norm(batch.to(DEVICE))
            expected(batch.double())
    assert torch.spyre.counters()["programs_compiled"] == 0
    check(norm.running_mean, expected.running_mean, 40)
    check(norm.running_var, expected.running_var, 40)


def test_statistics_of_instances(on_device):
    mean, var = CHANNELS.clone(), CHANNELS.clone()
    spyre, reference = (mean.to(DEVICE), var.to(DEVICE)), (mean.double(), var.double())
    with on_device():
        result = functional.instance_norm(IMAGES.to(DEVICE), *spyre)
    check(result, functional.instance_norm(IMAGES.double(), *reference), 4)
    for running, wanted in zip(spyre, reference, strict=True):
        check(running, wanted, 4)
    with pytest.raises(RuntimeError, match="Expected running_mean and running_var"):
        functional.instance_norm(IMAGES.to(DEVICE), use_input_stats=False)


def test_results_that_are_parts_of_larger_ones_are_made_on_the_device(on_device):
    """The gradient of an image is cut out of a padded one: its strides are not those of a dense tensor."""
    x, weight = half(2, 3, 4, 5), half(4, 3, 3, 3, seed=1)

    def gradient(device, dtype):
        image = x.to(device=device, dtype=dtype).requires_grad_()
        result = functional.conv2d(image, weight.to(device=device, dtype=dtype), padding=1)
        return torch.autograd.grad(result, image, torch.ones_like(result))[0]

    with on_device():
        found = gradient(DEVICE, torch.float16)
    check(found, gradient("cpu", torch.float64), 4)


@pytest.mark.parametrize("dim", [-1, 0])
def test_a_reduction_is_one_launch(dim, on_device):
    x = ROWS.to(DEVICE)
    x.sum(dim)
    with one_launch(on_device):
        result = x.sum(dim)
    check(result, ROWS.double().sum(dim), 1)
    assert result.device_tensor_layout() == torch.empty_like(result).device_tensor_layout()


def operations(function, *inputs):
    """Device operations of the compiled function, and its result."""
    torch._dynamo.reset()
    result = torch.compile(function)(*(t.to(DEVICE) for t in inputs))
    names = [line.split("'")[1] for line in device_ops().splitlines() if "op='" in line]
    return names, result


SUMS = {
    "sum": lambda x, dims: x.sum(dims),
    "mean": lambda x, dims: x.mean(dims),
    "amax": lambda x, dims: x.amax(dims),
    "amin": lambda x, dims: x.amin(dims),
}


@pytest.mark.parametrize("shape", [(8, 16, 64), (16, 128, 128)])
@pytest.mark.parametrize("dims", [(0, 2), (1, 2), (0, 1), (0, 1, 2)])
@pytest.mark.parametrize("name", SUMS)
def test_a_reduction_of_several_dimensions_is_one_operation_per_dimension(name, dims, shape, on_device):
    x = half(*shape) / 64
    with torch.no_grad(), on_device():
        names, result = operations(lambda t: SUMS[name](t, dims), x)
    reductions = [n for n in names if n.removesuffix("nonstick") in ("sum", "mean", "max", "min")]
    others = [n for n in names if n not in reductions]
    assert len(reductions) == len(dims), names
    copies = [n for n in others if n not in ("dl16tofp32", "fp32todl16")]
    # One element per stick is put into blocks that a conversion takes, and out of them again.
    assert len(copies) <= (3 if name in ("sum", "mean") else 0), names
    check(result, SUMS[name](x.double(), dims), 1)
