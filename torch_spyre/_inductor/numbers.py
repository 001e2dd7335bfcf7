"""Numbers of the host that a graph takes: float arguments of compiled functions arrive as float64 tensors without
dimensions, a type that the device does not have.

What a graph computes of such tensors alone runs on the host before the launch, and the device gets the results. Where
an operation of the device takes a float64 number, it gets it in fp32, rounded as it would round it.
"""

import torch

from torch_spyre import _C
from torch_spyre.constants import DEVICE_NAME

_NAMESPACES = ("aten", "prims")


def _value(node):
    return node.meta.get("val")


def _is_number(value):
    return isinstance(value, torch.Tensor) and value.device.type == "cpu" and value.dim() == 0


def _is_foreign(node):
    """A number of a type that the device does not have."""
    return _is_number(_value(node)) and not _C.holds_dtype(_value(node).dtype)


def _computes_number(node, numbers):
    """Makes a number of numbers, the same one whenever it is asked."""
    return (
        node.op == "call_function"
        and _is_number(_value(node))
        and isinstance(node.target, torch._ops.OpOverload)
        and node.target.namespace in _NAMESPACES
        and not node.target._schema.is_mutable
        and torch.Tag.nondeterministic_seeded not in node.target.tags
        and all(source in numbers for source in node.all_input_nodes)
    )


def _for_host(graph):
    """Calls on numbers of which one is foreign, and the calls these need."""
    numbers, needed = set(), set()
    for node in graph.nodes:
        is_given = node.op == "placeholder" and _is_number(_value(node))
        if is_given or _computes_number(node, numbers):
            numbers.add(node)
    for node in reversed(graph.nodes):
        if node not in numbers or node.op != "call_function":
            continue
        touches_foreign = _is_foreign(node) or any(map(_is_foreign, node.all_input_nodes))
        if touches_foreign or any(user in needed for user in node.users):
            needed.add(node)
    return needed


def _takes_fp32(node):
    """Whether a call on the device has the same result for the number in fp32: a tensor of fractions decides its type."""
    value = _value(node)
    return (
        node.op == "call_function"
        and isinstance(value, torch.Tensor)
        and value.device.type == DEVICE_NAME
        and _C.holds_dtype(value.dtype)
        and any(
            isinstance(_value(source), torch.Tensor) and _value(source).dim() and _value(source).is_floating_point()
            for source in node.all_input_nodes
        )
    )


class HostNumbers:
    """Computes the numbers of a graph on the host. ``rest`` is the graph without them: it takes the arguments, then the
    numbers."""

    def __init__(self, gm):
        graph, needed = gm.graph, _for_host(gm.graph)
        narrow = [node for node in graph.nodes if _is_foreign(node) and any(map(_takes_fp32, node.users))]
        narrow = [node for node in narrow if node in needed or node.op == "placeholder"]
        #: (node, whether it goes to the device in fp32): what the rest takes.
        taken = [(node, False) for node in graph.nodes if node in needed and _is_read(node, needed)]
        taken += [(node, True) for node in narrow]
        self.count = len(taken)
        if taken:
            self._host = _host_graph(gm, needed, taken)
            _take_as_arguments(graph, needed, taken)
            gm.recompile()
        self.rest = gm

    def __call__(self, args):
        with torch.no_grad():
            return self._host(*args)


def _is_read(node, needed):
    """Whether the rest of the graph reads the number as it is."""
    foreign = _is_foreign(node)
    return any(user not in needed and not (foreign and _takes_fp32(user)) for user in node.users)


def _host_graph(gm, needed, taken):
    graph, copies = torch.fx.Graph(), {}
    for node in gm.graph.nodes:
        if node.op == "placeholder" or node in needed:
            copies[node] = graph.node_copy(node, copies.__getitem__)
    results = []
    for node, is_narrow in taken:
        result = copies[node]
        if is_narrow:
            result = graph.call_method("to", (result, torch.float32))
        results.append(result)
    graph.output(tuple(results))
    return torch.fx.GraphModule(gm, graph)


def _take_as_arguments(graph, needed, taken):
    last = next((node for node in reversed(graph.nodes) if node.op == "placeholder"), None)
    for number, (node, is_narrow) in enumerate(taken):
        users = [user for user in node.users if user not in needed]
        with graph.inserting_after(last):  # None: at the front of the graph
            last = graph.placeholder(f"host_number_{number}")
        last.meta["val"] = _value(node).to(torch.float32) if is_narrow else _value(node)
        for user in users:
            if not _is_foreign(node) or _takes_fp32(user) == is_narrow:
                user.replace_input_with(node, last)
    for node in reversed(graph.nodes):
        if node in needed:
            graph.erase_node(node)


class WithHostNumbers:
    """A compiled graph that takes numbers of the host behind its arguments."""

    def __init__(self, numbers, compiled):
        self._numbers = numbers
        self._compiled = compiled

    def __call__(self, *args):
        return self._compiled(*args, *self._numbers(args))

    def compile_for(self, *args):
        raise ValueError(
            "SPYRE-E6520: the program computes with float64 numbers on the host and cannot be saved; give it float32 "
            "tensors, or export it with the numbers as Python floats, which become constants"
        )


__all__ = ["HostNumbers", "WithHostNumbers"]
