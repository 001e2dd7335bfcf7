"""Lowerings of users: an operation becomes device operations by name. Our own are in C++
(``spyre-opt --spyre-graph-to-loop``)."""

import logging

import torch

from torch_spyre import _C
from torch_spyre._inductor.decompositions import overloads
from torch_spyre._inductor.spyre_kernel import (
    LoweredOp,
    PointwiseOp,
    ProductOp,
    ReductionOp,
    SpyreOpFuncs,
    UnknownOperation,
    ViewOp,
    WholeOp,
    meta_of,
)

log = logging.getLogger(__name__)

__all__ = [
    "PointwiseOp",
    "ProductOp",
    "ReductionOp",
    "SpyreOpFuncs",
    "UnknownOperation",
    "ViewOp",
    "register_spyre_lowering",
    "spyre_lowerings",
]

#: Registered for the process: overload to function.
spyre_lowerings = {}


def register_spyre_lowering(ops):
    """Decorator: in spyre graphs, a call of ``ops`` becomes the operation the function returns, a
    :class:`PointwiseOp`, :class:`ReductionOp`, :class:`ProductOp` or :class:`ViewOp`. It is called
    with the arguments of the call, tensors as :class:`LoweredTensor`, and once here with arguments
    that stand for any: a name the device does not have is refused now."""

    def register(function):
        for op in overloads(ops):
            spyre_lowerings[op] = checked(op, function)
        return function

    return register


def checked(op, function):
    """The lowering, if it names operations the device has. Error: :class:`UnknownOperation`."""
    try:
        function(*(_sample(argument) for argument in op._schema.arguments if not argument.kwarg_only))
    except UnknownOperation:
        raise
    except Exception as error:
        # It asks for sizes or values that a sample does not have; a call says whether it is wrong.
        log.debug("the lowering of %s was not checked: %s", op, error)
    return function


def _sample(argument):
    """A value of an argument's type: its default, where it has one."""
    kind = str(argument.type).removeprefix("Optional[").removesuffix("]")
    if argument.has_default_value() and argument.default_value is not None:
        return argument.default_value
    if kind == "Tensor":
        return LoweredTensor(None, torch.empty(64, 64, dtype=torch.float16, device="meta"))
    return {"int": 0, "float": 0.5, "bool": False, "number": 0.5, "str": "", "List[int": [0]}.get(kind)


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
        if not isinstance(op, LoweredOp):
            raise TypeError(
                f"a lowering returned {type(op).__name__}; return an operation of SpyreOpFuncs"
            )
        kind = _C.CapturedType(
            result.dtype, [int(s) for s in result.shape], [int(s) for s in result.stride()]
        )
        if isinstance(op, WholeOp):
            return self._emit_whole(op, kind)
        operands = [self._operand(argument) for argument in op.arguments]
        constants = {name: float(v) for name, v in op.op_info.get("constants", {}).items()}
        return self._graph.add_device_op(op.op, operands, constants, kind, self._location)

    def _emit_whole(self, op, kind):
        target = op.target
        values = tuple(self._tensor(p) if self._is_value(p) else p for p in op.parameters)
        return self._graph.add_call(
            target._schema.name, target._overloadname, values, {}, kind, self._location
        )

    @staticmethod
    def _is_value(parameter):
        return isinstance(parameter, (LoweredOp, LoweredTensor))

    def _tensor(self, argument):
        if isinstance(argument, LoweredTensor):
            return argument._value
        return self.emit(argument, meta_of(argument))

    def _operand(self, argument):
        return self._tensor(argument) if self._is_value(argument) else float(argument)
