"""Copies of tensors with new contents in a part, eager and compiled; results that share memory."""

import pytest
import torch


def whole(*shape):
    """Small whole numbers, all exact."""
    return torch.arange(torch.Size(shape).numel()).reshape(shape).remainder(61).half()


SCATTERS = {
    "a diagonal": lambda x: torch.diagonal_scatter(x, x[:, 0] * 0 - 1),
    "a diagonal of a transposed one": lambda x: torch.diagonal_scatter(x.t(), x[:, 0] * 0 - 1),
    "a diagonal of a part": lambda x: torch.diagonal_scatter(x[1:, ::2], x[1:, 0] * 0 - 1),
    "a column of a part": lambda x: torch.select_scatter(x[1:, ::2], x[1:, 0] * 0 - 1, 1, 2),
    "rows of a transposed one": lambda x: torch.slice_scatter(x.t(), x.t()[:2] * 0 - 1, 0, 1, 3),
    "places": lambda x: torch.as_strided_scatter(x, x[0, :5] * 0 - 1, (5,), (5,), 3),
    "places of a transposed one": lambda x: torch.as_strided_scatter(
        x.t(), x[0, :5] * 0 - 1, (5,), (6,), 1
    ),
    "places of a part": lambda x: torch.as_strided_scatter(
        x[1:, ::2], x[0, :4] * 0 - 1, (4,), (3,), 3
    ),
}


@pytest.mark.filterwarnings("ignore::torch_spyre.ops.fallbacks.FallbackWarning")
@pytest.mark.parametrize("how", ["eager", "compiled"])
@pytest.mark.parametrize("name", SCATTERS)
def test_new_contents_in_a_part(name, how):
    function = SCATTERS[name]
    x = whole(5, 7)
    device = x.to("spyre")
    run = torch.compile(function, backend="spyre") if how == "compiled" else function
    assert torch.equal(run(device).cpu(), function(x))
    assert torch.equal(device.cpu(), x)


@pytest.mark.filterwarnings("ignore::torch_spyre.ops.fallbacks.FallbackWarning")
def test_places_that_are_written_in_place():
    def function(x):
        y = x.t() * 2
        y.as_strided((3, 2), (5, 2), 4).add_(1)
        return y + 0

    x = whole(5, 7)
    compiled = torch.compile(function, backend="spyre")
    assert torch.equal(compiled(x.to("spyre")).cpu(), function(x))
    assert torch.equal(function(x.to("spyre")).cpu(), function(x))


def test_gradients_of_scatters():
    def gradients(x):
        x = x.clone().requires_grad_()
        part = x.detach()[:, 0].clone().requires_grad_()
        (torch.diagonal_scatter(x, part) * 3).sum().backward()
        return x.grad.cpu(), part.grad.cpu()

    for got, wanted in zip(gradients(whole(5, 7).to("spyre")), gradients(whole(5, 7))):
        assert torch.equal(got, wanted)


@pytest.mark.parametrize("dynamic", [False, True])
def test_results_that_are_views_of_others_share_their_memory(dynamic, on_device):
    def function(x):
        y = x * 2
        return y.t()[1:], y, y.view(-1)[3:9], y[:1].expand(4, -1), y + 1

    x = whole(5, 7)
    with on_device():
        results = torch.compile(function, backend="spyre", dynamic=dynamic)(x.to("spyre"))
    expected = function(x)
    for tensors in (results, expected):
        tensors[1][0, 3] = -5
        tensors[0][0, 2] = -6
    for got, wanted in zip(results, expected):
        assert got.stride() == wanted.stride() and torch.equal(got.cpu(), wanted)
