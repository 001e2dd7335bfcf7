"""A pass on the captured graph: x * sigmoid(x) becomes one operation. The same as an MLIR pass is in
examples/pass-plugin."""

import torch
from torch_spyre._inductor.passes import CustomPostPasses
from torch_spyre._inductor.patches import enable_spyre_context

aten = torch.ops.aten


def fuse_silu(graph):
    for node in list(graph.nodes):
        if node.target is not aten.mul.Tensor:
            continue
        for x, gate in (node.args, node.args[::-1]):
            if getattr(gate, "target", None) is aten.sigmoid.default and gate.args[0] is x:
                node.target, node.args = aten.silu.default, (x,)
                break
    graph.eliminate_dead_code()


x = torch.linspace(-4, 4, 64 * 128).reshape(64, 128).half()
with enable_spyre_context(CustomPostPasses([fuse_silu])):
    function = torch.compile(lambda t: t * torch.sigmoid(t), backend="spyre")
with torch.no_grad():
    result = function(x.to("spyre"))
expected = torch.nn.functional.silu(x.float())
print("largest difference:", (result.cpu().float() - expected).abs().max().item())
counters = torch.spyre.counters()
print("on the device:", counters["fallback_ops"] == 0 and counters["graph_fallback_nodes"] == 0)
