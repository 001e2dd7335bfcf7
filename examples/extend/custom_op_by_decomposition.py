"""A custom operation that becomes operations the compiler has."""

import torch
from torch_spyre._inductor.decompositions import register_spyre_decomposition


@torch.library.custom_op("example::squared_relu", mutates_args=())
def squared_relu(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x) ** 2


@squared_relu.register_fake
def _(x):
    return torch.empty_like(x)


@register_spyre_decomposition(squared_relu)
def decompose(x):
    positive = torch.relu(x)
    return positive * positive


x = torch.linspace(-1, 1, 64 * 128).reshape(64, 128).half()
with torch.no_grad():
    result = torch.compile(lambda t: squared_relu(t) + 1.0)(x.to("spyre"))
print("largest difference:", (result.cpu() - (torch.relu(x) ** 2 + 1.0)).abs().max().item())
counters = torch.spyre.counters()
print("on the device:", counters["fallback_ops"] == 0 and counters["graph_fallback_nodes"] == 0)
