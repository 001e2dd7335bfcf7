"""Copies of tensors with new contents in a part, eager and compiled; results that share memory.

In eager mode all of it runs on the device. In a graph, places in memory that a tensor has only a part of are one node on the
CPU; the counters say so.
"""

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


ON_CPU_IN_A_GRAPH = ("places of a part",)


def assert_nodes_on_the_cpu(nodes):
    """The device ran the graph, and the CPU so many of its nodes."""
    counters = torch.spyre.counters()
    assert counters["programs_launched"] > 0, counters
    assert counters["graph_fallback_nodes"] == nodes, counters
    assert counters["fallback_ops"] == 0, torch.spyre.fallback_counts()


@pytest.mark.parametrize("name", SCATTERS)
def test_new_contents_in_a_part(name, on_device):
    function, x = SCATTERS[name], whole(5, 7)
    device = x.to("spyre")
    with on_device():
        result = function(device).cpu()
    assert torch.equal(result, function(x))
    assert torch.equal(device.cpu(), x)


@pytest.mark.filterwarnings("ignore::torch_spyre.ops.fallbacks.FallbackWarning")
@pytest.mark.parametrize("name", SCATTERS)
def test_new_contents_in_a_part_of_a_graph(name):
    function, x = SCATTERS[name], whole(5, 7)
    device = x.to("spyre")
    torch.spyre.reset_counters()
    result = torch.compile(function, backend="spyre")(device).cpu()
    assert_nodes_on_the_cpu(1 if name in ON_CPU_IN_A_GRAPH else 0)
    assert torch.equal(result, function(x))
    assert torch.equal(device.cpu(), x)


@pytest.mark.filterwarnings("ignore::torch_spyre.ops.fallbacks.FallbackWarning")
def test_places_that_are_written_in_place(on_device):
    def function(x):
        y = x.t() * 2
        y.as_strided((3, 2), (5, 2), 4).add_(1)
        return y + 0

    x = whole(5, 7)
    torch.spyre.reset_counters()
    result = torch.compile(function, backend="spyre")(x.to("spyre")).cpu()
    assert_nodes_on_the_cpu(0)
    assert torch.equal(result, function(x))
    with on_device():
        result = function(x.to("spyre")).cpu()
    assert torch.equal(result, function(x))


def test_gradients_of_scatters(on_device):
    def gradients(x):
        x = x.clone().requires_grad_()
        part = x.detach()[:, 0].clone().requires_grad_()
        (torch.diagonal_scatter(x, part) * 3).sum().backward()
        return x.grad.cpu(), part.grad.cpu()

    with on_device():
        results = gradients(whole(5, 7).to("spyre"))
    for got, wanted in zip(results, gradients(whole(5, 7)), strict=True):
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
