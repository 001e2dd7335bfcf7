"""Values of a captured graph that are the same in every call: positions, masks, tables of angles.

They are computed once, on the CPU, when the graph is imported, and go to the device like a
parameter. A number repeated everywhere is left alone: the compiler has that for nothing.
"""

import operator

import torch
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_leaves, tree_map

from torch_spyre import _C
from torch_spyre._inductor import places

# A constant lives as long as its graph; what is larger is computed in each call.
MAX_ELEMENTS = 1 << 24

aten = torch.ops.aten
FILLS = {
    aten.full.default,
    aten.full_like.default,
    aten.new_full.default,
    aten.new_ones.default,
    aten.new_zeros.default,
    aten.ones.default,
    aten.ones_like.default,
    aten.scalar_tensor.default,
    aten.zeros.default,
    aten.zeros_like.default,
}
_VIEWS = {
    aten.alias.default,
    aten.expand.default,
    aten.lift_fresh_copy.default,
    aten.permute.default,
    aten.reshape.default,
    aten.squeeze.dims,
    aten.unsqueeze.default,
    aten.view.default,
}
_NEVER = {aten.empty.memory_format, aten.empty_strided.default, aten.empty_like.default}


class Constants:
    """Which nodes of a graph are constant, and their values on the CPU."""

    def __init__(self, gm):
        self._gm = gm
        self._constant = set()
        self._cheap = set()
        self._values = {}
        for node in gm.graph.nodes:
            if self.is_empty(node) or self._is_constant(node):
                self._constant.add(node)
                if not self.is_empty(node) and self._is_cheap(node):
                    self._cheap.add(node)

    def __contains__(self, node):
        return node in self._constant

    def is_empty(self, node):
        """A tensor without elements is the same in every call, whatever it was computed from; the
        device never sees one."""
        value = _value_of(node)
        return isinstance(value, torch.Tensor) and 0 in value.shape

    def is_call(self, node):
        """To be handed to the compiler: not constant, or constant without any cost."""
        return node not in self._constant or node in self._cheap

    def needed(self):
        """Constant tensors that calls of the graph, or its results, read."""
        return [
            node
            for node in self._gm.graph.nodes
            if not self.is_call(node)
            and not self.is_empty(node)
            and isinstance(self._seen(node), torch.Tensor)
            and any(self.is_call(user) for user in node.users)
        ]

    def device(self, node):
        """Where the graph has the tensor."""
        return self._seen(node).device

    def value(self, node):
        """Computed at the first question."""
        if node not in self._values:
            with _disable_current_modes(), torch.no_grad():
                self._values[node] = self._compute(node)
        return self._values[node]

    def _seen(self, node):
        """The tensor itself where the graph holds it, else what capture saw of it."""
        if node.op == "get_attr":
            return operator.attrgetter(node.target)(self._gm)
        return _value_of(node)

    def _is_constant(self, node):
        if node.op == "get_attr":
            return isinstance(self._seen(node), torch.Tensor)
        if node.op != "call_function" or not all(n in self._constant for n in node.all_input_nodes):
            return False
        if node.target is operator.getitem:
            return True
        return (
            isinstance(node.target, torch._ops.OpOverload)
            and node.target.namespace in ("aten", "prims")
            and not node.target._schema.is_mutable
            and torch.Tag.nondeterministic_seeded not in node.target.tags
            and node.target not in _NEVER
            and _is_plain(_value_of(node))
            and all(isinstance(leaf, _PLAIN) for leaf in tree_leaves((node.args, node.kwargs)))
        )

    def _is_cheap(self, node):
        fills = node.target in FILLS or node.target in _VIEWS
        return fills and all(n in self._cheap for n in node.all_input_nodes)

    def _compute(self, node):
        if self.is_empty(node):
            return torch.empty(_value_of(node).shape, dtype=_value_of(node).dtype)
        if node.op == "get_attr":
            return self._seen(node).detach().cpu()
        args, kwargs = tree_map(self._leaf, (node.args, node.kwargs))
        return places.compute(node, args, kwargs)

    def _leaf(self, leaf):
        if isinstance(leaf, torch.fx.Node):
            return self.value(leaf)
        return torch.device("cpu") if isinstance(leaf, torch.device) else leaf


_PLAIN = (
    *(torch.fx.Node, bool, int, float, str, type(None)),
    *(torch.device, torch.dtype, torch.layout, torch.memory_format),
)


def _value_of(node):
    return node.meta.get("val")


def _is_plain(value):
    """Tensors of known sizes, not too large."""
    leaves = tree_leaves(value)
    return all(
        isinstance(leaf, torch.Tensor)
        and all(isinstance(size, int) for size in leaf.shape)
        and leaf.numel() <= MAX_ELEMENTS
        for leaf in leaves
    )


def check_fill(args):
    """Reports numbers of a fill that the device's integers cannot hold, as a copy to the device does."""
    with _disable_current_modes():
        for number in args:
            if isinstance(number, int):
                _C._check_downcast(torch.tensor(number, dtype=torch.int64))


def contiguous_runs(positions):
    """[4, 5, 6, 2] -> [(0, 4, 3), (3, 2, 1)]: where in the list, first position, length."""
    runs = []
    for place, position in enumerate(positions):
        if runs and position == runs[-1][1] + runs[-1][2]:
            runs[-1][2] += 1
        else:
            runs.append([place, position, 1])
    return [tuple(run) for run in runs]


def causal_mask(rows, columns, dtype):
    """What is added to scores so that no row sees later columns."""
    with _disable_current_modes():
        return torch.triu(torch.full((rows, columns), float("-inf"), dtype=dtype), 1)


__all__ = ["Constants", "causal_mask", "contiguous_runs"]
