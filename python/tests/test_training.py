"""A small network trains on the device as it does on the CPU: 50 steps end at the CPU's loss."""

import copy

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F
from tolerances import tolerance

STEPS, BATCH, INPUTS, INNER, CLASSES = 50, 24, 20, 33, 7
# The eps is what one gives in half precision, where squares of small gradients are 0.
OPTIMIZERS = {
    "SGD": lambda parameters, foreach: torch.optim.SGD(
        parameters, lr=0.2, momentum=0.5, foreach=foreach
    ),
    "AdamW": lambda parameters, foreach: torch.optim.AdamW(
        parameters, lr=0.02, eps=1e-4, foreach=foreach
    ),
}
# One product, two sums and the gradients' share of both, in each step.
ROUNDINGS_PER_STEP = 8


def network():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(INPUTS, INNER), nn.GELU(), nn.Linear(INNER, INNER), nn.Tanh(), nn.Linear(INNER, CLASSES)
    )


def batch():
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(BATCH, INPUTS, generator=generator)
    return x, torch.randint(CLASSES, (BATCH,), generator=generator)


def train(model, x, labels, optimizer, compiled=False):
    """The loss before each step and after the last."""

    def loss_of(x, labels):
        return F.cross_entropy(model(x).float(), labels)

    loss_of = torch.compile(loss_of) if compiled else loss_of
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(x, labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    with torch.no_grad():
        losses.append(loss_of(x, labels))
    return torch.stack([loss.float().cpu() for loss in losses])


@pytest.mark.parametrize("foreach", [False, True], ids=["single", "foreach"])
@pytest.mark.parametrize("mode", ["eager", "compiled"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_fp32_training_is_that_of_the_cpu(name, mode, foreach, on_device):
    host, (x, labels) = network(), batch()
    device = copy.deepcopy(host).to("spyre")
    expected = train(host, x, labels, OPTIMIZERS[name](host.parameters(), foreach))
    optimizer = OPTIMIZERS[name](device.parameters(), foreach)
    with on_device():
        losses = train(device, x.to("spyre"), labels.to("spyre"), optimizer, mode == "compiled")
    assert expected[-1] < expected[0] / 4, "a network that does not learn proves nothing"
    error = (losses - expected).abs().max() / expected[0]
    assert error <= tolerance("chain", torch.float32, STEPS * ROUNDINGS_PER_STEP), error


@pytest.mark.parametrize("mode", ["eager", "compiled"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_in_half_precision(name, mode, on_device):
    """Weights in fp16 lose more in each step; the loss is still the CPU's in fp32."""
    host, (x, labels) = network(), batch()
    device = copy.deepcopy(host).half().to("spyre")
    expected = train(host, x, labels, OPTIMIZERS[name](host.parameters(), False))
    optimizer = OPTIMIZERS[name](device.parameters(), False)
    with on_device():
        losses = train(device, x.half().to("spyre"), labels.to("spyre"), optimizer, mode == "compiled")
    error = (losses - expected).abs().max() / expected[0]
    assert error <= tolerance("chain", torch.float16, STEPS), error


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_compiled_steps(name, on_device):
    """The optimiser's step is compiled, too."""
    host, (x, labels) = network(), batch()
    device = copy.deepcopy(host).to("spyre")
    expected = train(host, x, labels, OPTIMIZERS[name](host.parameters(), False))
    optimizer = OPTIMIZERS[name](device.parameters(), False)
    optimizer.step = torch.compile(optimizer.step)
    with on_device():
        losses = train(device, x.to("spyre"), labels.to("spyre"), optimizer, True)
    error = (losses - expected).abs().max() / expected[0]
    assert error <= tolerance("chain", torch.float32, STEPS * ROUNDINGS_PER_STEP), error
