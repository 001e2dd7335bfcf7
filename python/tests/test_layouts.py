"""Layouts a user gives to inputs of compiled graphs: they are read as they lie, and results say how they lie."""

import itertools

import pytest
import torch

import torch_spyre
import torch_spyre._C as C

FUNCTIONS = {
    "twice": lambda x: x + x,
    "product": lambda x: torch.matmul(x, x.transpose(-1, -2)),
    "sum": lambda x: x.sum(-1),
    "part": lambda x: x[..., 1:, :] * 2,
    "returned": lambda x: (x.transpose(0, 1) + 1).transpose(0, 1),
    "wider": lambda x: x.float() * 2,
    "rows": lambda x: torch.cat([x, x], -2),
}


def whole_numbers(shape):
    return torch.arange(torch.Size(shape).numel()).reshape(shape).remainder(5).half() - 2


def check(name, x, layout, on_device):
    function = FUNCTIONS[name]
    device = x.to("spyre", device_layout=layout)
    assert device.device_tensor_layout() == layout
    torch._dynamo.reset()
    with on_device():
        result = torch.compile(function)(device)
    assert torch.equal(result.cpu(), function(x))
    # The result's layout is a layout of the result: it can be used again.
    again = torch.compile(lambda t: t * 2)(result)
    assert torch.equal(again.cpu(), function(x) * 2)


def orders(rank):
    for order in itertools.permutations(range(rank)):
        yield [*order]
        yield [*order, -1]  # one element per stick


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("shape", [(5, 70), (64, 128), (3, 5, 70)], ids=str)
def test_every_dim_order(name, shape, on_device):
    x = whole_numbers(shape)
    chosen = list(orders(len(shape)))
    for order in chosen if len(shape) < 3 else chosen[::3]:
        layout = C.SpyreTensorLayout(list(shape), list(x.stride()), torch.float16, order)
        check(name, x, layout, on_device)


# Device sizes and strides of a [5, 70] tensor: rows outside of the sticks, room for more rows, room for more
# sticks, both, and one more dimension that stands for nothing.
RAW = [
    ([5, 2, 64], [70, 64, 1]),
    ([2, 8, 64], [64, 70, 1]),
    ([3, 5, 64], [64, 70, 1]),
    ([7, 3, 64], [70, 64, 1]),
    ([2, 1, 5, 64], [64, -1, 70, 1]),
    ([1, 70, 64], [350, 1, 70]),
]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("sizes,strides", RAW, ids=str)
def test_layouts_written_down_dimension_by_dimension(name, sizes, strides, on_device):
    layout = C.SpyreTensorLayout(sizes, strides, C.DataFormats.SEN169_FP16)
    check(name, whole_numbers((5, 70)), layout, on_device)


def test_a_layout_that_fits_is_not_copied(on_device):
    """x @ w.t() needs w in sticks along its first dimension; given so, nothing is moved."""
    x, w = whole_numbers((64, 128)).to("spyre"), whole_numbers((192, 128))
    given = C.SpyreTensorLayout([192, 128], [128, 1], torch.float16, [1, 0])
    product = lambda x, w: x @ w.t()  # noqa: E731
    with on_device():
        plain = torch_spyre.explain(product, x, w.to("spyre"))
        fitting = torch_spyre.explain(product, x, w.to("spyre", device_layout=given))
    assert plain.total["moved_bytes"] == 2 * 192 * 128 * 2 and len(plain.layouts) == 1
    assert "dim_order=[1, 0]" in plain.layouts[0]["detail"]
    assert fitting.total["moved_bytes"] == 0 and fitting.layouts == []
    assert torch.equal(plain.result.cpu(), fitting.result.cpu())


def test_a_layout_says_that_the_device_is_meant(on_device):
    x = whole_numbers((4, 128))
    layout = torch_spyre._C.SpyreTensorLayout([4, 128], [128, 1], torch.float16, [1, 0])
    for moved in (x.to(device_layout=layout), x.to(torch.float16, device_layout=layout), x.to("spyre", device_layout=layout)):
        assert moved.device == torch.device("spyre:0") and moved.device_tensor_layout() == layout
    with on_device():
        assert torch.equal((moved + moved).cpu(), x + x)
    assert moved.to(device_layout=layout) is moved
    with pytest.raises(ValueError, match="device_layout is for spyre"):
        x.to("cpu", device_layout=layout)


def test_signatures_show_the_keyword_of_layouts():
    import inspect

    for function in (torch.Tensor.to, torch.empty):
        parameter = inspect.signature(function).parameters["device_layout"]
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY and parameter.default is None
        assert "device_layout" in function.__doc__ and len(function.__doc__) > 500
    assert torch.empty.__name__ == "empty" and torch.Tensor.to.__name__ == "to"
