"""Fused optimizers and GradScaler: the numbers of torch's own formulas, computed on the device."""

import copy

import pytest
import torch
from tolerances import tolerance

STEPS = 6
#: A step rounds about so often on the way to a weight, in fp32.
ROUNDINGS = 16

OPTIMIZERS = {
    "adam": (torch.optim.Adam, {"lr": 0.01}),
    "adam_amsgrad": (torch.optim.Adam, {"lr": 0.01, "amsgrad": True, "maximize": True}),
    "adam_decay": (torch.optim.Adam, {"lr": 0.02, "weight_decay": 0.1, "betas": (0.5, 0.9)}),
    "adam_no_momentum": (torch.optim.Adam, {"lr": 0.01, "betas": (0.0, 0.99)}),
    "adamw": (torch.optim.AdamW, {"lr": 0.02, "weight_decay": 0.1}),
    "adamw_amsgrad": (torch.optim.AdamW, {"lr": 0.02, "amsgrad": True}),
    "sgd": (torch.optim.SGD, {"lr": 0.1}),
    "sgd_momentum": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "dampening": 0.25, "weight_decay": 0.01}),
    "sgd_nesterov": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True}),
    "adagrad": (torch.optim.Adagrad, {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.01}),
}
SHAPES = [(33, 65), (7,), (1,), (2, 3, 5)]


def weights(seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator) for shape in SHAPES]


def gradients(step):
    return weights(seed=100 + step)


def train(optimizer, parameters, dtype=torch.float32, step=None):
    device = parameters[0].device
    for number in range(STEPS):
        for parameter, gradient in zip(parameters, gradients(number), strict=True):
            parameter.grad = gradient.to(dtype).to(device)
        (step or optimizer.step)()
    return [parameter.detach().cpu().double() for parameter in parameters]


def parameters_on(device, dtype=torch.float32):
    return [torch.nn.Parameter(weight.to(dtype).to(device)) for weight in weights()]


def exact(name, dtype=torch.float32, **others):
    """The same training in float64 on the CPU, from the same numbers."""
    make, named = OPTIMIZERS[name]
    parameters = [torch.nn.Parameter(weight.to(dtype).double()) for weight in weights()]
    optimizer = make(parameters, **{**named, **others})
    device = parameters[0].device
    for number in range(STEPS):
        for parameter, gradient in zip(parameters, gradients(number), strict=True):
            parameter.grad = gradient.to(dtype).double().to(device)
        optimizer.step()
    return [parameter.detach() for parameter in parameters]


def assert_near(results, expected, dtype=torch.float32, roundings=STEPS * ROUNDINGS):
    for result, right in zip(results, expected, strict=True):
        allowed = tolerance("chain", dtype, roundings) * float(right.abs().max())
        assert float((result - right).abs().max()) <= allowed


@pytest.mark.parametrize("mode", ["eager", "compiled"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_fused_steps(name, mode, on_device):
    make, named = OPTIMIZERS[name]
    parameters = parameters_on("spyre")
    optimizer = make(parameters, fused=True, **named)
    step = torch.compile(optimizer.step) if mode == "compiled" else None
    with on_device():
        results = train(optimizer, parameters, step=step)
    assert_near(results, exact(name))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", ["adamw", "sgd_momentum", "adagrad"])
def test_halves_are_computed_in_fp32(name, dtype, on_device):
    """What a step loses is the rounding of the weight, once, and that of the states."""
    make, named = OPTIMIZERS[name]
    parameters = parameters_on("spyre", dtype)
    optimizer = make(parameters, fused=True, **named)
    with on_device():
        results = train(optimizer, parameters, dtype)
    assert_near(results, exact(name, dtype), dtype, STEPS)


@pytest.mark.parametrize("name", ["adam", "adamw", "sgd_momentum"])
def test_learning_rates_in_tensors(name, on_device):
    make, named = OPTIMIZERS[name]
    for place in ("cpu", "spyre"):
        parameters = parameters_on("spyre")
        optimizer = make(parameters, fused=True, **{**named, "lr": torch.tensor(named["lr"]).to(place)})
        with on_device():
            results = train(optimizer, parameters)
        assert_near(results, exact(name))


@pytest.mark.parametrize("name", ["adam", "sgd_momentum", "adagrad"])
def test_schedules_need_no_new_programs(name, on_device):
    make, named = OPTIMIZERS[name]
    parameters = parameters_on("spyre")
    optimizer = make(parameters, fused=True, **named)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    for number in range(STEPS):
        for parameter, gradient in zip(parameters, gradients(number), strict=True):
            parameter.grad = gradient.to("spyre")
        torch.spyre.reset_counters()
        optimizer.step()
        schedule.step()
        assert torch.spyre.counters()["fallback_ops"] == 0
        if number == 2:
            compiled = torch.spyre.counters()
    assert torch.spyre.counters().get("programs_compiled", 0) <= compiled.get("programs_compiled", 0)


@pytest.mark.parametrize("optimizer_name", ["sgd_momentum", "adamw"])
@pytest.mark.parametrize("is_fused", [False, True], ids=["plain", "fused"])
def test_scaled_gradients(optimizer_name, is_fused):
    """An infinite gradient leaves weights and states, and lowers the scale; others are those without a scale."""
    make, named = OPTIMIZERS[optimizer_name]
    parameters = parameters_on("spyre")
    optimizer = make(parameters, fused=is_fused, foreach=False, **named)
    scaler = torch.amp.GradScaler("spyre", init_scale=1024.0, growth_interval=2)
    scales, before = [], None
    for number in range(STEPS):
        torch.spyre.reset_counters()
        scaler.scale(torch.ones((), device="spyre"))
        found = [g.to("spyre") * scaler.get_scale() for g in gradients(number)]
        if number == 3:
            before = [p.detach().cpu() for p in parameters]
            found[2] = torch.full_like(found[2], float("inf"))
        for parameter, gradient in zip(parameters, found, strict=True):
            parameter.grad = gradient
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
        assert "_amp" not in str(torch.spyre.fallback_counts())
        assert "_fused" not in str(torch.spyre.fallback_counts())
        if number == 3:
            assert all(torch.equal(p.detach().cpu(), b) for p, b in zip(parameters, before, strict=True))
    assert scales == [1024.0, 2048.0, 2048.0, 1024.0, 1024.0, 2048.0]


def test_nothing_to_unscale_twice():
    parameters = parameters_on("spyre")
    optimizer = torch.optim.SGD(parameters, lr=1.0)
    scaler = torch.amp.GradScaler("spyre", init_scale=4.0)
    scaler.scale(torch.ones((), device="spyre"))
    for parameter, gradient in zip(parameters, gradients(0), strict=True):
        parameter.grad = (gradient * 4).to("spyre")
    scaler.unscale_(optimizer)
    for parameter, gradient in zip(parameters, gradients(0), strict=True):
        assert torch.equal(parameter.grad.cpu(), gradient)
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.unscale_(optimizer)


def test_a_copy_trains_like_the_original(on_device):
    """State of a fused optimizer can be saved and loaded."""
    make, named = OPTIMIZERS["adamw"]
    first = parameters_on("spyre")
    optimizer = make(first, fused=True, **named)
    with on_device():
        train(optimizer, first)
    second = [torch.nn.Parameter(p.detach().clone()) for p in first]
    other = make(second, fused=True, **named)
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    for one, two in zip(train(optimizer, first), train(other, second), strict=True):
        assert torch.equal(one, two)
