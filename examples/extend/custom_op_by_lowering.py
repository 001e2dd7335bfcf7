"""A custom operation that becomes device operations by name: signature, fake function, an entry in
``SpyreOpFuncs``, and a lowering."""

import torch
from torch_spyre._inductor.lowering import PointwiseOp, SpyreOpFuncs, register_spyre_lowering


@torch.library.custom_op("example::mish", mutates_args=())
def mish(x: torch.Tensor) -> torch.Tensor:
    return x * torch.tanh(torch.nn.functional.softplus(x))


@mish.register_fake
def _(x):
    return torch.empty_like(x)


SpyreOpFuncs.example_mish = staticmethod(lambda x: PointwiseOp("mish", [x]))


@register_spyre_lowering(mish)
def lower(x):
    return SpyreOpFuncs.example_mish(x)


x = torch.linspace(-4, 4, 64 * 128).reshape(64, 128).half()
with torch.no_grad():
    result = torch.compile(lambda t: mish(t) * 2.0)(x.to("spyre"))
expected = 2.0 * torch.nn.functional.mish(x.float())
print("largest difference:", (result.cpu().float() - expected).abs().max().item())
counters = torch.spyre.counters()
print("on the device:", counters["fallback_ops"] == 0 and counters["graph_fallback_nodes"] == 0)
