"""Nodes of a captured graph that become others when more is known than while it is captured.

A store at known places is copies of slices, which the importer sees; at places that are data it is
made of comparisons. Decompositions run before anybody knows which it is. Long rows are searched in parts
whose number nobody knows while sizes are symbols.
"""

import torch

from torch_spyre._inductor import extensions, memory
from torch_spyre.ops import index_writes, sorting

#: Operator overload -> function, or NotImplemented from it: the node stays as it is.
RULES = {
    torch.ops.aten.index_put.default: index_writes.index_put,
    torch.ops.aten._unsafe_index_put.default: index_writes.index_put,
    torch.ops.aten.topk.default: sorting.topk,
}


class _Expander(torch.fx.Interpreter):
    def __init__(self, gm, nodes):
        super().__init__(gm)
        self._chosen = set(nodes)

    def run_node(self, n):
        from torch.fx.experimental.proxy_tensor import set_original_aten_op

        if n.op != "call_function":
            return super().run_node(n)
        # Errors of the device name what the user called, and its line.
        with self._set_current_node(n), set_original_aten_op(n.meta.get("original_aten") or n.target):
            return self._expanded(n) if n in self._chosen else super().run_node(n)

    def _expanded(self, n):
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        result = RULES[n.target](*args, **kwargs)
        return super().run_node(n) if result is NotImplemented else result


def expanded(gm, nodes):
    """The graph with the operations that ``nodes`` are made of, on sizes that are known."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx

    seen = [node.meta.get("val") for node in gm.graph.nodes if node.op == "placeholder"]
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    with extensions.capturing() as active, mode, torch.no_grad():
        fakes = [memory.like(v) if isinstance(v, torch.Tensor) else v for v in seen]
        with torch.fx.traceback.preserve_node_meta():
            trace = make_fx(
                _Expander(gm, nodes).run,
                decomposition_table=active.decompositions(),
                tracing_mode="real",
            )
            return trace(*fakes)
