"""Graphs that also work on CPU tensors or branch: cut into stages that take turns on the CPU and the device.

A function may take CPU tensors beside the device's, and move or use them inside. What works on CPU
tensors runs on the CPU, in the CPU's own numbers, as torch runs it; so does what moves a tensor
from one side to the other. Everything else is compiled, in as few pieces as the order allows.
"""

import torch

from torch_spyre._inductor import branches
from torch_spyre.constants import DEVICE_NAME

_HOST, _DEVICE = 0, 1


def is_mixed(gm):
    """An argument with dimensions is on the CPU and used (single numbers are moved for each call), or the host decides
    what is computed."""
    arguments = [node for node in gm.graph.nodes if node.op == "placeholder" and node.users]
    return any(map(_is_host, arguments)) or any(map(branches.is_branch, gm.graph.nodes))


def _is_host(node):
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.device.type == "cpu" and value.dim() > 0


def _side(node):
    """Of a call: the device when nothing it reads or returns is a CPU tensor with dimensions."""
    if branches.is_branch(node):
        return _HOST
    value = node.meta.get("val")
    values = value if isinstance(value, (list, tuple)) else [value]
    tensors = [v for v in values if isinstance(v, torch.Tensor)]
    on_device = tensors and all(t.device.type == DEVICE_NAME for t in tensors)
    return _DEVICE if on_device and not any(map(_is_host, node.all_input_nodes)) else _HOST


def _stages(graph):
    """Node to number: even ones run on the CPU, odd ones on the device."""
    stages, stores = {}, []
    for node in graph.nodes:
        if node.op != "call_function":
            continue
        before = max((stages.get(n, 0) for n in node.all_input_nodes), default=0)
        side = _side(node)
        stages[node] = before + (before % 2 != side)
        if node.target is torch.ops.aten.copy_.default:
            stores.append((node, side))
    # Arguments get new contents when nothing reads the old ones any more.
    last = max(stages.values(), default=0)
    for node, side in stores:
        stages[node] = last + (last % 2 != side)
    return stages


def _in_order(graph, stages):
    """Stages stand one behind the other; a call may stand behind calls of later ones that it does not read."""
    output = next(node for node in graph.nodes if node.op == "output")
    for node in sorted(stages, key=stages.get):
        output.prepend(node)


class StagedGraph:
    """The pieces of a graph, called in order."""

    def __init__(self, gm, compile_part):
        from torch.fx.passes.split_module import split_module

        stages = _stages(gm.graph)
        _in_order(gm.graph, stages)
        self._whole = split_module(gm, None, lambda node: stages[node], keep_original_order=True)
        for name, part in list(self._whole.named_children()):
            calls = [n for n in part.graph.nodes if n.op == "call_function"]
            if calls and _side(calls[0]) == _DEVICE:
                delattr(self._whole, name)
                setattr(self._whole, name, _Piece(part, compile_part))

    def __call__(self, *args):
        with torch.no_grad():
            return self._whole(*args)

    def compile_for(self, *args):
        raise ValueError(
            "SPYRE-E6520: a part of the program works on CPU tensors or decides by values (torch.cond, while_loop, "
            "scan) and cannot be saved; give it device tensors only, and save the bodies one by one"
        )


class _Piece(torch.nn.Module):
    """A compiled piece, with one result or several like the graph it was made of."""

    def __init__(self, part, compile_part):
        super().__init__()
        output = next(node for node in part.graph.nodes if node.op == "output")
        self._is_single = isinstance(output.args[0], torch.fx.Node)
        self._compiled = compile_part(part)

    def forward(self, *args):
        results = self._compiled(*args)
        return results[0] if self._is_single else results


__all__ = ["StagedGraph", "is_mixed"]
