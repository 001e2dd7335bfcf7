"""The two forms of gelu differ by up to 5e-4: fp32 tells which one was computed."""

import pytest
import torch
from tolerances import tolerance


@pytest.mark.parametrize("how", ["eager", "compiled"])
@pytest.mark.parametrize("form", ["none", "tanh"])
def test_forms(form, how, on_device):
    torch.manual_seed(2)
    x = torch.randn(24, 130) * 3

    def function(a):
        return torch.nn.functional.gelu(a, approximate=form)

    expected = torch.nn.functional.gelu(x.double(), approximate=form)
    with on_device():
        chosen = torch.compile(function) if how == "compiled" else function
        result = chosen(x.to("spyre")).cpu().double()
    error = (result - expected).abs().max() / expected.abs().max()
    assert error <= tolerance("chain", torch.float32, 6), float(error)
