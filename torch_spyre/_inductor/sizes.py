"""Sizes that change from call to call, where the user said which there are:
``mark_dynamic(tensor, dim, min=128, max=1024)``. Every size gets a program of its own; the compiler
divides all of them as it divides the largest one."""

import torch


def text_of(node):
    """What the compiler reads of an input's sizes: "|sizes=0:128:1024", dimension, least, largest.
    Dimensions without a largest size say nothing."""
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor):
        return ""
    bounds = ((dim, _range_of(size)) for dim, size in enumerate(value.shape))
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
    """The bounds of a symbol; (0, 0) where nobody gave an upper one."""
    if not isinstance(size, torch.SymInt) or not size.node.expr.is_Symbol:
        return 0, 0
    found = size.node.shape_env.var_to_range.get(size.node.expr)
    if found is None or not found.upper.is_Integer or not found.lower.is_Integer:
        return 0, 0
    least, largest = int(found.lower), int(found.upper)
    return (least, largest) if largest < _UNBOUNDED else (0, 0)


# What torch writes where it knows no bound is near the largest integer.
_UNBOUNDED = 2**40
