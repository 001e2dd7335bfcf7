"""Lowerings of users: an operation becomes device operations by name. Our own are in C++
(``spyre-opt --spyre-graph-to-loop``)."""

import torch

from torch_spyre import _C
from torch_spyre._inductor.decompositions import overloads
from torch_spyre._inductor.spyre_kernel import PointwiseOp, SpyreOpFuncs

__all__ = ["PointwiseOp", "SpyreOpFuncs", "register_spyre_lowering", "spyre_lowerings"]

#: Registered for the process: overload to function.
spyre_lowerings = {}

_COMPARISONS = frozenset(
    ("equal", "notequal", "greaterthan", "greaterequal", "lesserthan", "lesserequal")
)


def register_spyre_lowering(ops):
    """Decorator: in spyre graphs, a call of ``ops`` becomes the :class:`PointwiseOp` the function
    returns. It is called with the arguments of the call, tensors as :class:`LoweredTensor`."""

    def register(function):
        for op in overloads(ops):
            spyre_lowerings[op] = function
        return function

    return register


class LoweredTensor:
    """A tensor of the graph: what it is, not what is in it."""

    def __init__(self, value, tensor):
        self._value = value
        self.shape = tuple(int(size) for size in tensor.shape)
        self.dtype = tensor.dtype


class Emitter:
    """Turns the result of a lowering into calls of the C++ graph."""

    def __init__(self, graph, location):
        self._graph = graph
        self._location = location

    def emit(self, op, result):
        """The value of ``op``, which has the type of the tensor ``result``."""
        if not isinstance(op, PointwiseOp):
            raise TypeError(
                f"a lowering returned {type(op).__name__}; return an operation of SpyreOpFuncs"
            )
        operands = [self._operand(argument) for argument in op.arguments]
        constants = {name: float(v) for name, v in op.op_info.get("constants", {}).items()}
        kind = _C.CapturedType(
            result.dtype, [int(s) for s in result.shape], [int(s) for s in result.stride()]
        )
        return self._graph.add_device_op(op.op, operands, constants, kind, self._location)

    def _operand(self, argument):
        if isinstance(argument, LoweredTensor):
            return argument._value
        if isinstance(argument, PointwiseOp):
            return self.emit(argument, _inferred(argument))
        return float(argument)


def _inferred(op):
    """Shape and type of an operation inside another: broadcast, as torch promotes."""
    tensors = []
    for argument in op.arguments:
        if isinstance(argument, PointwiseOp):
            tensors.append(_inferred(argument))
        elif isinstance(argument, LoweredTensor):
            tensors.append(torch.empty(argument.shape, dtype=argument.dtype, device="meta"))
    shape = torch.broadcast_shapes(*(t.shape for t in tensors))
    if op.op in _COMPARISONS:
        dtype = torch.bool
    else:
        values = tensors[1:] if op.op == "where3" else tensors
        dtype = torch.float16
        for index, tensor in enumerate(values):
            dtype = tensor.dtype if index == 0 else torch.promote_types(dtype, tensor.dtype)
    return torch.empty(shape, dtype=dtype, device="meta")
