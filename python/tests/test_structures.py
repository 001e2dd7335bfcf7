"""Losses of sequences, tables that know how often a row was asked for, and factors of matrices: whole, as models use them."""

import pytest
import torch
import torch.nn.functional as F
from tolerances import relative_error, tolerance

HOW = ("eager", "compiled")


def called(call, how):
    if how == "eager":
        return call
    torch._dynamo.reset()
    return torch.compile(call, backend="spyre", fullgraph=True, dynamic=False)


def leaf(x):
    return x.detach().clone().requires_grad_()


def assert_near(found, expected, roundings):
    found, expected = (t.detach().cpu().double().numpy() for t in (found, expected))
    assert relative_error(found, expected) <= tolerance("chain", torch.float32, roundings)


# --------------------------------------------------------------------------------------------------
# Tables that know how often a row was asked for


def _table_gradient(call, *inputs, how="eager"):
    table, *rest = inputs
    table = leaf(table)
    result = called(call, how)(table, *rest)
    weights = torch.linspace(-1, 1, result.numel()).reshape(result.shape).to(result.device)
    result.backward(weights)
    return table.grad.cpu()


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_gradients_of_bags_are_divided_by_the_frequency_of_their_row(mode, how, on_device):
    """Of a bag the CPU divides by the frequency of another row, so what is compared with is divided here."""
    table, numbers, offsets = torch.randn(10, 5), torch.tensor([5, 2, 2, 0, 5, 5, 1]), torch.tensor([0, 2, 2, 5])
    plain = _table_gradient(lambda t, i, o: F.embedding_bag(i, t, o, mode=mode), table, numbers, offsets)
    expected = plain / torch.bincount(numbers, minlength=10).clamp_min(1)[:, None]
    scaled = lambda t, i, o: F.embedding_bag(i, t, o, mode=mode, scale_grad_by_freq=True)  # noqa: E731
    with on_device():
        found = _table_gradient(scaled, *(t.to("spyre") for t in (table, numbers, offsets)), how=how)
    assert_near(found, expected, 4)


@pytest.mark.parametrize("how", HOW)
def test_gradients_of_tables_are_divided_by_the_frequency_of_their_row(how, on_device):
    table, numbers = torch.randn(10, 5), torch.tensor([[5, 2, 2], [0, 5, 5]])
    scaled = lambda t, i: F.embedding(i, t, padding_idx=2, scale_grad_by_freq=True)  # noqa: E731
    expected = _table_gradient(scaled, table, numbers)
    with on_device():
        found = _table_gradient(scaled, table.to("spyre"), numbers.to("spyre"), how=how)
    assert_near(found, expected, 4)
