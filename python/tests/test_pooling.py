"""Pooling on the device, eager and compiled, with gradients and places."""

import pytest
import torch
import torch.nn.functional as F
from tolerances import relative_error, tolerance


def numbers(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).half()


IMAGE, SEQUENCE, VOLUME = numbers(2, 3, 9, 11), numbers(2, 5, 13), numbers(1, 2, 6, 5, 7)
CASES = {
    "max 2": (lambda x: F.max_pool2d(x, 2), IMAGE),
    "max 3 2 1": (lambda x: F.max_pool2d(x, 3, 2, 1), IMAGE),
    "max dilated": (lambda x: F.max_pool2d(x, 2, 1, 0, 3), IMAGE),
    "max ceil": (lambda x: F.max_pool2d(x, (3, 2), 2, 1, ceil_mode=True), IMAGE),
    "max of a sequence": (lambda x: F.max_pool1d(x, 3, 2, 1), SEQUENCE),
    "max of a volume": (lambda x: F.max_pool3d(x, 2, 2), VOLUME),
    "mean 2": (lambda x: F.avg_pool2d(x, 2), IMAGE),
    "mean 3 2 1": (lambda x: F.avg_pool2d(x, 3, 2, 1), IMAGE),
    "mean without padding": (lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False), IMAGE),
    "mean ceil": (lambda x: F.avg_pool2d(x, (2, 3), 2, ceil_mode=True), IMAGE),
    "mean by a divisor": (lambda x: F.avg_pool2d(x, 2, divisor_override=3), IMAGE),
    "mean of a sequence": (lambda x: F.avg_pool1d(x, 3, 1, 1), SEQUENCE),
    "mean of a volume": (lambda x: F.avg_pool3d(x, (2, 2, 3)), VOLUME),
    "whole": (lambda x: F.adaptive_avg_pool2d(x, 1), IMAGE),
    "adaptive": (lambda x: F.adaptive_avg_pool2d(x, (4, 11)), IMAGE),
    "adaptive in one dimension": (lambda x: F.adaptive_avg_pool1d(x, 5), SEQUENCE),
    "largest of all": (lambda x: F.adaptive_max_pool2d(x, 1), IMAGE),
    "largest of cells": (lambda x: F.adaptive_max_pool2d(x, (3, 11)), IMAGE),
}


@pytest.mark.parametrize("mode", ["eager", "compiled"])
@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name, mode, on_device):
    function, x = CASES[name]
    host = x.float().requires_grad_()
    expected = function(host)
    weights = numbers(*expected.shape, seed=1)
    (expected * weights.float()).sum().backward()
    device = x.to("spyre").requires_grad_()
    run = torch.compile(function) if mode == "compiled" else function
    with on_device():
        result = run(device)
        result.backward(weights.to("spyre"))
    assert result.shape == expected.shape
    for found, wanted in ((result, expected), (device.grad, host.grad)):
        error = relative_error(found.detach().float().cpu().numpy(), wanted.detach().numpy())
        assert error <= tolerance("pointwise", torch.float16), error


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32], ids=["fp16", "fp32"])
def test_places_are_those_of_the_cpu(dtype, on_device):
    x = torch.randperm(2 * 9 * 11, generator=torch.Generator().manual_seed(0)).reshape(1, 2, 9, 11)
    x = x.to(dtype)
    expected = F.max_pool2d(x, 3, 2, 1, return_indices=True)
    with on_device():
        values, places = F.max_pool2d(x.to("spyre"), 3, 2, 1, return_indices=True)
    assert torch.equal(values.cpu(), expected[0]) and torch.equal(places.cpu(), expected[1])


@pytest.mark.parametrize("mode", ["eager", "compiled"])
@pytest.mark.parametrize("kernel, dims", [((9, 13), 2), ((5, 3, 7), 3)], ids=str)
def test_wide_windows_name_the_first_of_equal_ones(kernel, dims, mode, on_device):
    """As they suppress neighbours of the largest, or look at an image in several sizes."""
    x = torch.randint(0, 4, [1, 2, 9, 11, 8][-dims - 2 :], generator=torch.Generator().manual_seed(3)).half()
    pool = F.max_pool2d if dims == 2 else F.max_pool3d

    def function(x):
        return pool(x, kernel, 1, [k // 2 for k in kernel], return_indices=True)

    run = torch.compile(function) if mode == "compiled" else function
    with on_device():
        values, places = run(x.to("spyre"))
    wanted = function(x.float())
    assert torch.equal(values.cpu().float(), wanted[0]) and torch.equal(places.cpu(), wanted[1])


def test_nan_is_the_largest(on_device):
    x = IMAGE.clone()
    x[0, 0, 4, 4] = torch.nan
    with on_device():
        result = F.max_pool2d(x.to("spyre"), 3, 2, 1)
    assert torch.equal(result.isnan().cpu(), F.max_pool2d(x.float(), 3, 2, 1).isnan())
