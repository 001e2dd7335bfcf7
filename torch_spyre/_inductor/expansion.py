"""Nodes of a captured graph that become others when more is known than while it is captured.

A store at known places is copies of slices, which the importer sees; at places that are data it is
made of comparisons. Decompositions run before anybody knows which it is. Long rows are searched in parts
whose number nobody knows while sizes are symbols.
"""

import torch
from torch._functorch.eager_transforms import enable_inplace_requires_grad
from torch._higher_order_ops import flex_attention as attention
from torch._higher_order_ops.flex_attention import flex_attention_backward, sdpa_dense, sdpa_dense_backward

from torch_spyre._inductor import extensions, memory
from torch_spyre.ops import flips, index_writes, limits, sorting

#: Operator overload -> function, or NotImplemented from it: the node stays as it is.
RULES = {
    torch.ops.aten.index_put.default: index_writes.index_put,
    torch.ops.aten._unsafe_index_put.default: index_writes.index_put,
    torch.ops.aten.topk.default: sorting.topk,
    torch.ops.aten.flip.default: flips.flip,
}


def _attention_backward(*args):
    """Torch's formula asks tensors that the function of scores reads whether they need a gradient; those of a graph do not
    know. The function's own graph does: it has a result for each that does."""
    joint, buffers = args[8], args[12]
    results = joint.graph.find_nodes(op="output")[0].args[0]
    found = results[len(results) - len(buffers) :]
    with enable_inplace_requires_grad(True):
        told = [b if g is None else b.detach().requires_grad_() for b, g in zip(buffers, found, strict=True)]
    return sdpa_dense_backward(*args[:12], tuple(told), *args[13:])


#: Attention with functions of scores and places: torch's own formulas, with those functions as a part of the graph.
_OF_FUNCTIONS = {
    attention: torch.func.functionalize(sdpa_dense),
    flex_attention_backward: torch.func.functionalize(_attention_backward),
}


def rule_for(target):
    """The function, or None."""
    return RULES.get(target) or _OF_FUNCTIONS.get(target)


def _scattered(shape, indices, values):
    """The gradient of what a function of scores reads."""
    zeros = torch.zeros(shape, dtype=values.dtype, device=values.device)
    found = index_writes.index_put(zeros, indices, values, True)
    return torch.index_put(zeros, indices, values, True) if found is NotImplemented else found


def _late():
    """Of operations that have to be whole in the graphs of functions, where torch has rules for their batches."""
    from torch._dynamo import _trace_wrapped_higher_order_op  # noqa: F401 - defines it

    return {torch.ops.flex_lib.zeros_and_scatter.default: _scattered}


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
        result = rule_for(n.target)(*args, **kwargs)
        return super().run_node(n) if result is NotImplemented else result


def expanded(gm, nodes, refusals):
    """The graph with the operations that ``nodes`` are made of, on sizes that are known; what refuses is put into the list."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx

    seen = [node.meta.get("val") for node in gm.graph.nodes if node.op == "placeholder"]
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    with extensions.capturing() as active, limits.collecting(refusals), mode, torch.no_grad():
        fakes = [memory.like(v) if isinstance(v, torch.Tensor) else v for v in seen]
        with torch.fx.traceback.preserve_node_meta():
            trace = make_fx(
                _Expander(gm, nodes).run,
                decomposition_table={**active.decompositions(), **_late()},
                tracing_mode="real",
            )
            return _with_names(trace(*fakes), gm)


def _with_names(gm, before):
    """What is known of the dimensions of the inputs stays known."""
    pairs = zip(gm.graph.find_nodes(op="placeholder"), before.graph.find_nodes(op="placeholder"), strict=True)
    for node, old in pairs:
        node.meta.update({key: value for key, value in old.meta.items() if key.startswith("spyre_")})
    return gm
