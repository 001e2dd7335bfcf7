"""Decompositions of users: an operation becomes others before the compiler sees the graph. Our own
are in C++ (``spyre-opt --spyre-graph-decompose``)."""

import torch

#: Registered for the process: overload to function.
spyre_decompositions = {}


def overloads(op):
    """The overloads an operation, an overload, or a list of those stands for."""
    if isinstance(op, torch._ops.OpOverload):
        return [op]
    if isinstance(op, torch._ops.OpOverloadPacket):
        return [getattr(op, name) for name in op.overloads()]
    if isinstance(op, (list, tuple)):
        return [each for item in op for each in overloads(item)]
    inner = getattr(op, "_opoverload", None)  # what torch.library.custom_op returns
    if inner is not None:
        return [inner]
    raise TypeError(f"{op!r} is not an operation; give torch.ops.<library>.<name>[.<overload>]")


def register_spyre_decomposition(ops):
    """Decorator: on spyre tensors, calls of ``ops`` become what the function calls, in compiled
    graphs and in eager mode. It replaces torch's decomposition and ours. Operations that torch
    itself composes of others (``linear``) keep torch's composition in eager mode, where autograd
    differentiates the pieces."""
    from torch_spyre import _C

    def register(function):
        for op in overloads(ops):
            spyre_decompositions[op] = function
            _C.prefer_decomposition(str(op))
        return function

    return register
