"""Sizes that change from call to call, where the user said which there are:
``mark_dynamic(tensor, dim, min=128, max=1024)``. Every size gets a program of its own; the compiler
divides all of them as it divides the largest one."""

import torch


def bounded(gm, example_inputs):
    """The symbols of sizes that the user marked with a largest one. Torch finds bounds for others, too, of which
    nobody said that all sizes between them will be asked for."""
    inputs = [node for node in gm.graph.nodes if node.op == "placeholder"]
    found = set()
    for node, tensor in zip(inputs, example_inputs) if len(inputs) == len(example_inputs) else ():
        for marked in getattr(tensor, "_dynamo_dynamic_range", ()):
            size = node.meta["example_value"].shape[marked.dim]
            if marked.max is not None and _is_symbol(size):
                found.add(size.node.expr)
    return found


def _is_symbol(size):
    return isinstance(size, torch.SymInt) and size.node.expr.is_Symbol


def text_of(node, bounded):
    """What the compiler reads of an input's sizes: "|sizes=0:128:1024", dimension, least, largest.
    Dimensions whose size is none of ``bounded`` say nothing."""
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor):
        return ""
    bounds = (
        (dim, _range_of(size))
        for dim, size in enumerate(value.shape)
        if _is_symbol(size) and size.node.expr in bounded
    )
    texts = [f"{dim}:{least}:{largest}" for dim, (least, largest) in bounds if largest]
    return "|sizes=" + ",".join(texts) if texts else ""


def key_of(argument):
    """What the program of an argument depends on. Where a dimension of one element would go on does not matter: one
    token of a longer row has the stride of that row, which grows with every step of a decoder."""
    if not isinstance(argument, torch.Tensor):
        return argument
    strides = tuple(step if size != 1 else 1 for size, step in zip(argument.shape, argument.stride()))
    return tuple(argument.shape), strides, argument.dtype, argument.device


def _range_of(size):
    """The bounds of a symbol; (0, 0) where there is no upper one."""
    found = size.node.shape_env.var_to_range.get(size.node.expr)
    if found is None or not found.upper.is_Integer or not found.lower.is_Integer:
        return 0, 0
    least, largest = int(found.lower), int(found.upper)
    return (least, largest) if largest < _UNBOUNDED else (0, 0)


# What torch writes where it knows no bound is near the largest integer.
_UNBOUNDED = 2**40
