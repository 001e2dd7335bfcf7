"""Modules that move to the device and back stay what they are, as on torch's own devices."""

import torch
from torch import nn


def _there_and_back(model):
    model.to("spyre").half().float().to("spyre:1").cpu()


def test_parameters_stay_the_objects_they_were():
    model = nn.Linear(5, 3)
    weight = model.weight
    weight.decay = False
    calls = []
    handle = weight.register_hook(lambda grad: calls.append("hook"))
    weight.register_post_accumulate_grad_hook(lambda parameter: calls.append("after"))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)

    model.to("spyre")
    model(torch.ones(1, 5, device="spyre")).sum().backward()
    assert model.weight is weight and weight.is_spyre and weight.decay is False
    assert calls == ["hook", "after"]

    model.cpu()
    assert model.weight is weight and not weight.is_spyre and weight.decay is False
    assert weight.grad.device.type == "cpu" and weight.is_leaf and weight.requires_grad
    before = weight.detach().clone()
    optimizer.step()
    assert torch.equal(weight, before - 0.5)
    handle.remove()
    _there_and_back(model)
    model(torch.ones(1, 5)).sum().backward()
    assert model.weight is weight and calls == ["hook", "after", "after"]


def test_classes_of_parameters_and_ties_are_kept():
    class Own(nn.Parameter):
        pass

    model = nn.ModuleList([nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False)])
    model[0].weight = model[1].weight = Own(torch.ones(4, 4))
    for move in (lambda: model.to("spyre"), lambda: _there_and_back(model)):
        move()
        assert type(model[0].weight) is Own and model[0].weight is model[1].weight


def test_what_a_module_moves_by_itself_is_moved():
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.state = torch.ones(3)

        def _apply(self, function, recurse=True):
            super()._apply(function, recurse)
            self.state = function(self.state)
            return self

    model = nn.Sequential(nn.Linear(3, 3), Counter())
    assert model.to("spyre", torch.float16)[1].state.is_spyre
    assert model[1].state.dtype == torch.float16
    assert not model.cpu()[1].state.is_spyre


def test_lazy_modules():
    model = nn.Sequential(nn.LazyLinear(4), nn.LazyBatchNorm1d()).to("spyre", torch.float16)
    result = model(torch.ones(2, 3, device="spyre", dtype=torch.float16))
    assert result.shape == (2, 4) and model[0].weight.is_spyre
    assert model[0].weight.dtype == torch.float16


def test_modules_that_wait_for_an_input_change_type_and_device():
    model = nn.Sequential(nn.LazyLinear(4), nn.Linear(4, 2)).to("spyre").half()
    assert {p.dtype for p in model.parameters()} == {torch.float16}
    assert model(torch.ones(2, 3, device="spyre", dtype=torch.float16)).shape == (2, 2)
    assert not any(p.is_spyre for p in nn.Sequential(nn.LazyLinear(4)).to("spyre").cpu().parameters())


def test_a_parameter_that_a_computation_holds():
    model = nn.Linear(3, 3).to("spyre")
    loss = model(torch.ones(1, 3, device="spyre")).sum()
    before = loss.item()
    model.cpu()
    assert not model.weight.is_spyre and model(torch.ones(1, 3)).shape == (1, 3)
    assert loss.item() == before


def test_weights_of_products_keep_their_layout_when_the_type_changes():
    wanted = nn.Linear(70, 130).half().to("spyre").weight.device_tensor_layout()
    model = nn.Linear(70, 130).to("spyre")
    weight, values = model.weight, torch.arange(70 * 130).reshape(130, 70).remainder(509).float()
    with torch.no_grad():
        weight.copy_(values)
    model.half()
    assert model.weight is weight and weight.dtype == torch.float16 and weight.requires_grad
    assert weight.device_tensor_layout() == wanted
    assert wanted != values.half().to("spyre").device_tensor_layout()
    assert torch.equal(weight.detach().cpu(), values.half())
    assert model.bfloat16().weight.device_tensor_layout() == wanted
    assert model.cpu().weight.device_tensor_layout() is None
