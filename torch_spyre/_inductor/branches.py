"""Control flow inside a compiled graph: torch.cond, while_loop and scan.

The host decides and calls; the bodies are graphs of their own and compiled like any other. Each decision reads one truth
value of the device, so the host waits for it; what is computed stays on the device.
"""

import torch
from torch.utils._pytree import tree_leaves


def _cond(compiled, is_true, when_true, when_false, operands):
    when_true, when_false = compiled(when_true), compiled(when_false)

    def cond(is_true, *operands):
        return tuple((when_true if is_true else when_false)(*operands))

    return cond, (is_true, *operands)


def _while_loop(compiled, goes_on, body, carried, others):
    goes_on, body, count = compiled(goes_on), compiled(body), len(carried)

    def while_loop(*operands):
        carried, others = operands[:count], operands[count:]
        while goes_on(*carried, *others)[0]:
            carried = tuple(body(*carried, *others))
        # Torch's rule: no result is an operand itself.
        return tuple(_own(value, operands) for value in carried)

    return while_loop, (*carried, *others)


def _scan(compiled, step, first, rows, others):
    step, carries, inputs = compiled(step), len(first), len(rows)

    def scan(*operands):
        carried, others = operands[:carries], operands[carries + inputs :]
        rows = operands[carries : carries + inputs]
        found = []
        for number in range(rows[0].shape[0]):
            results = step(*carried, *(row[number] for row in rows), *others)
            carried = tuple(results[:carries])
            found.append(results[carries:])
        # Outputs of all steps side by side, the first dimension counts the steps.
        return (*(_own(value, operands) for value in carried), *map(torch.stack, zip(*found, strict=True)))

    return scan, (*first, *rows, *others)


_MAKERS = {"cond": _cond, "while_loop": _while_loop, "scan": _scan}


def _own(value, operands):
    is_operand = isinstance(value, torch.Tensor) and any(value is operand for operand in operands)
    return value.clone() if is_operand else value


def _is_control_flow(node):
    return isinstance(node.target, torch._ops.HigherOrderOperator) and node.target.name() in _MAKERS


def is_branch(node):
    """A call whose bodies :func:`compile_bodies` compiled, or one of its results."""
    if node.op != "call_function":
        return False
    if node.target is getattr(node.target, "spyre_branch", None):
        return True
    sources = [n for n in node.all_input_nodes if n.op == "call_function"]
    return node.target.__name__ == "getitem" and any(map(is_branch, sources))


def compile_bodies(gm, compile_body):
    """In place of each control flow in ``gm`` a call of the host, with its bodies compiled by ``compile_body``."""

    def compiled(node):
        return compile_body(getattr(gm, node.target))

    graph = gm.graph
    for node in [n for n in graph.nodes if n.op == "call_function" and _is_control_flow(n)]:
        call, operands = _MAKERS[node.target.name()](compiled, *node.args)
        call.spyre_branch = call
        bodies = [n for n in node.all_input_nodes if n.op == "get_attr" and n not in tree_leaves(operands)]
        node.target, node.args, node.kwargs = call, operands, {}
        for body in bodies:
            if not body.users:
                graph.erase_node(body)
    gm.recompile()
