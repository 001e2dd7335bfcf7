"""Reductions over several dimensions, one at a time. The compiler does it itself
(``spyre-opt --spyre-graph-to-loop``); this is the pass for graphs of users."""

import torch

aten = torch.ops.aten
_TARGETS = (
    aten.sum.dim_IntList,
    aten.mean.dim,
    aten.mean.default,
    aten.amax.default,
    aten.amin.default,
)


def decompose_multi_dim_reductions(graph):
    """Rewrites ``graph`` in place: from the highest dimension to the lowest, ``keepdim`` as the user
    has it, ``dtype`` on the last one."""
    for node in list(graph.nodes):
        if node.op == "call_function" and node.target in _TARGETS:
            _decompose(graph, node)
    graph.lint()


def _decompose(graph, node):
    rank = node.args[0].meta["val"].dim()
    given = node.args[1] if len(node.args) > 1 else node.kwargs.get("dim")
    given = [given] if isinstance(given, int) else given
    dims = sorted({d % rank for d in given} if given else range(rank), reverse=True)
    if len(dims) < 2:
        return
    keepdim = node.args[2] if len(node.args) > 2 else node.kwargs.get("keepdim", False)
    target = aten.mean.dim if node.target is aten.mean.default else node.target
    value = node.args[0]
    with graph.inserting_before(node):
        for dim in dims:
            is_last = dim == dims[-1]
            dtype = node.kwargs.get("dtype") if is_last else None
            kwargs = {"dtype": dtype} if dtype is not None else {}
            before = value.meta["val"]
            value = graph.call_function(target, (value, [dim], keepdim), kwargs)
            value.meta = dict(node.meta)
            value.meta["val"] = node.meta["val"] if is_last else target(before, [dim], keepdim)
    node.replace_all_uses_with(value)
    graph.erase_node(node)
