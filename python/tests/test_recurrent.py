"""Recurrent layers: torch takes fused cells on every device but the CPU."""

import pytest
import tolerances
import torch

LAYERS = {
    "lstm": lambda: torch.nn.LSTM(32, 48, batch_first=True),
    "lstm of two layers": lambda: torch.nn.LSTM(20, 67, num_layers=2, bidirectional=True),
    "gru": lambda: torch.nn.GRU(32, 48, bias=False),
    "gru with bias": lambda: torch.nn.GRU(67, 20),
    "elman": lambda: torch.nn.RNN(32, 48, nonlinearity="tanh"),
}
STEPS = 4


def layer_and_input(name):
    torch.manual_seed(5)
    layer = LAYERS[name]().half()
    x = torch.randn(STEPS, STEPS, layer.input_size).half()
    return layer, x


def bound(layer):
    """States are below 1 and pass through one product per step and layer."""
    size = max(layer.input_size, layer.hidden_size)
    return 4 * STEPS * layer.num_layers * tolerances.tolerance("matmul", torch.float16, size)


@pytest.mark.parametrize("mode", ["eager", "compiled"])
@pytest.mark.parametrize("name", LAYERS)
def test_layers(name, mode):
    layer, x = layer_and_input(name)
    with torch.no_grad():
        expected = layer.float()(x.float())[0]
        device = layer.half().to("spyre")
        function = torch.compile(device) if mode == "compiled" else device
        torch.spyre.reset_counters()
        result = function(x.to("spyre"))[0].cpu().float()
    counters = torch.spyre.counters()
    assert counters["programs_launched"] > 0 and counters["graph_fallback_nodes"] == 0
    assert torch.all((result - expected).abs() <= bound(layer))


@pytest.mark.parametrize("name", ["lstm", "gru with bias"])
def test_gradients(name):
    layer, x = layer_and_input(name)
    reference = LAYERS[name]()
    reference.load_state_dict({key: value.float() for key, value in layer.state_dict().items()})
    reference(x.float())[0].sum().backward()
    device = layer.to("spyre")
    device(x.to("spyre"))[0].sum().backward()
    for ours, theirs in zip(device.parameters(), reference.parameters()):
        scale = theirs.grad.abs().max()
        assert torch.all((ours.grad.cpu().float() - theirs.grad).abs() <= bound(layer) * scale)
