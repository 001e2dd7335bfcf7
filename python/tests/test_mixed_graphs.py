"""Compiled functions that also see CPU tensors, and ones that speak of memory instead of elements."""

import pytest
import torch

from torch_spyre._inductor.errors import Unsupported


def whole(*shape, seed=0):
    """Small whole numbers: every operation here keeps them exact."""
    return torch.randint(-8, 9, shape, generator=torch.Generator().manual_seed(seed)).half()


def check(function, make, calls=1):
    """Results and arguments afterwards are those of the CPU, on the devices torch would have."""
    device, host = make("spyre"), make("cpu")
    compiled = torch.compile(function, fullgraph=True)
    for _ in range(calls):
        results, expected = compiled(*device), function(*host)
        for result, reference in zip([*results, *device], [*expected, *host], strict=True):
            assert result.dtype == reference.dtype and result.shape == reference.shape
            assert torch.equal(result.cpu(), reference), function
    return results


def test_constants_of_the_cpu_are_returned(on_device):
    def function(x):
        return x + 1, torch.ones(3) * 2, torch.tensor(3.0), torch.arange(3), torch.tensor(7)

    with on_device():
        results = check(function, lambda d: [whole(3, 4).to(d)], calls=2)
    assert [r.device.type for r in results] == ["spyre", "cpu", "cpu", "cpu", "cpu"]


MIXED = {
    "side by side": lambda x, y: (x + 1, y * 2),
    "moved to the device": lambda x, y: (x + y.to(x.device),),
    "moved to the CPU": lambda x, y: ((x * 2).cpu() + y,),
    "there and back": lambda x, y: (((x * 2).cpu() + y).to(x.device) * x,),
    "moved when the device has begun": lambda x, y: ((x * 2) + y.detach().to(x.device),),
    "precise": lambda x, y: (x * 2, y.double() / 3),
}


@pytest.mark.parametrize("name", MIXED)
def test_arguments_on_the_cpu(name, on_device):
    with on_device():
        check(MIXED[name], lambda d: [whole(3, 4).to(d), whole(4, seed=1)], calls=2)


def test_arguments_on_the_cpu_are_changed(on_device):
    def function(x, y):
        y.add_(1)
        x.mul_(2)
        return (x.cpu() + y,)

    with on_device():
        check(function, lambda d: [whole(3, 4).to(d), whole(4, seed=1)], calls=2)


STRIDED = {
    "of a transposed view": lambda x: (x.t().as_strided((3, 2), (2, 1)) + 1,),
    "of a part": lambda x: (x[1:].as_strided((3, 2), (2, 1)) + 1,),
    "of a part, from the beginning": lambda x: (x[1:].as_strided((3, 2), (2, 1), 0) + 1,),
    "of one of several parts": lambda x: (x.split(2)[1].as_strided((2, 3), (7, 2)) + 1,),
    "of a result that lies transposed": lambda x: ((x.t() * 2).as_strided((3, 2), (2, 1)) + 1,),
    "of a repeated row": lambda x: (x[:1].expand(4, 7).as_strided((2, 7), (0, 1)) + 1,),
}


@pytest.mark.parametrize("name", STRIDED)
def test_strides_speak_of_memory(name, on_device):
    with on_device():
        check(STRIDED[name], lambda d: [whole(5, 7).to(d)])


def test_strides_of_an_argument_that_lies_transposed(on_device):
    with on_device():
        check(lambda x: (x.as_strided((3, 2), (2, 1)) + 1,), lambda d: [whole(5, 7).to(d).t()])


def test_memory_the_graph_is_not_given():
    part = whole(5, 7).to("spyre")[2:]
    with pytest.raises(Exception, match="SPYRE-E3080") as raised:
        torch.compile(lambda x: x.as_strided((3, 2), (2, 1), 0) + 1)(part)
    assert isinstance(getattr(raised.value, "inner_exception", raised.value), Unsupported)


def test_a_later_call_whose_argument_begins_elsewhere(on_device):
    """Dynamo does not guard where in its memory an argument begins, so the call is refused."""
    x = whole(5, 7).to("spyre")
    compiled = torch.compile(lambda x: x.as_strided((3, 2), (2, 1), 0) + 1)
    with on_device():
        result = compiled(x[:3])
    assert torch.equal(result.cpu(), whole(5, 7).as_strided((3, 2), (2, 1), 0) + 1)
    with pytest.raises(Unsupported, match="SPYRE-E3080.*began at element 0"):
        compiled(x[2:])
    with on_device():
        again = compiled(x[:3])
    assert torch.equal(again.cpu(), result.cpu())


def test_results_beside_cpu_ones_that_are_views_of_others_share_their_memory(on_device):
    def function(x, y):
        z = x * 2
        return z.t()[1:], z, y + 1

    def written(x, y, run):
        results = run(x, y)
        results[1][0, 3] = -5
        results[0][0, 2] = -6
        return results

    x, y = whole(3, 4), whole(4, seed=1)
    with on_device():
        results = written(x.to("spyre"), y, torch.compile(function, fullgraph=True))
    for got, wanted in zip(results, written(x, y, function), strict=True):
        assert got.stride() == wanted.stride() and torch.equal(got.cpu(), wanted)
