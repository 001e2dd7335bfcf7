"""Tensors without elements in compiled graphs: the device never sees one."""

import pytest
import tolerances
import torch


def half(*shape):
    torch.manual_seed(3)
    return torch.randn(*shape).half()


CASES = {
    "created": (lambda x: (x.new_zeros(0, 3) + 1, x * 2), [half(4, 4)]),
    "argument": (lambda x, e: (x * 2, e.relu()), [half(2, 3), half(2, 0)]),
    "only argument": (lambda e: e * 2, [half(0, 7)]),
    "slice": (lambda x: (x[0:0], x * 2), [half(4, 3)]),
    "part of a split": (lambda x: x.split([0, 2, 2])[0], [half(4, 3)]),
    "part of a cat": (lambda x, e: torch.cat([e, x, e]) * 2, [half(4, 3), half(0, 3)]),
    "sum of nothing": (lambda x: x[:, 2:2].sum(1) + x[:, 0] * 2, [half(4, 5)]),
    "product over nothing": (lambda a, b: (a @ b) + 1, [half(3, 0), half(0, 5)]),
    "a product over nothing is added": (
        lambda x, a, b: torch.addmm(x, a, b, beta=2.0),
        [half(3, 5), half(3, 0), half(0, 5)],
    ),
    "no place is written": (
        lambda x, v: torch.index_put(x, (torch.zeros(0, dtype=torch.int64, device=x.device),), v) * 2,
        [half(4, 3), half(3)],
    ),
    "nothing is stored": (
        lambda x, e: torch.slice_scatter(x, e, 0, 1, 1) * 2,
        [half(4, 3), half(0, 3)],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_graphs(name):
    function, inputs = CASES[name]
    results = torch.compile(function)(*[x.to("spyre") for x in inputs])
    expected = function(*[x.float() for x in inputs])
    if not isinstance(expected, tuple):
        results, expected = (results,), (expected,)
    for result, wanted in zip(results, expected, strict=True):
        assert result.device.type == "spyre" and result.shape == wanted.shape
        assert result.dtype == torch.float16 and result.stride() == wanted.half().stride()
        bound = tolerances.tolerance("chain", torch.float16, 2) * wanted.abs()
        assert torch.all((result.cpu().float() - wanted).abs() <= bound)
