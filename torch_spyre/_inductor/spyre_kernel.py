"""Names of device operations for lowerings. Kernels themselves are made in C++ by
``lib/Conversion/LoopToSpec`` (``spyre-compile --compile-to=opspec``)."""

import dataclasses
from typing import Any

from torch_spyre import _C
from torch_spyre._inductor.documented import attributes_of

__getattr__ = attributes_of("spyre_kernel")


@dataclasses.dataclass
class PointwiseOp:
    """One element-wise device operation. ``arguments`` are values of the graph, numbers, or other
    operations; ``op_info["constants"]`` are the constants of the device operation."""

    op: str
    arguments: list
    op_info: dict[str, Any] = dataclasses.field(default_factory=dict)


def _entry(name, operands, constants):
    def function(*arguments):
        if len(arguments) != operands + len(constants):
            raise TypeError(
                f"device operation {name} takes {operands} operands"
                + (f" and {', '.join(constants)}" if constants else "")
            )
        info = {"constants": dict(zip(constants, arguments[operands:]))} if constants else {}
        return PointwiseOp(name, list(arguments[:operands]), info)

    function.__name__ = name
    function.__doc__ = f"The device operation ``{name}``."
    return staticmethod(function)


class SpyreOpFuncs:
    """What a lowering may emit: one function per element-wise operation of loop IR. Users add
    entries of their own as static methods that return a :class:`PointwiseOp`."""


#: Loop-level name to device name, where they differ.
_LOOP_NAMES = {
    "truediv": "realdiv",
    "eq": "equal",
    "ne": "notequal",
    "gt": "greaterthan",
    "ge": "greaterequal",
    "lt": "lesserthan",
    "le": "lesserequal",
    "where": "where3",
    "relu": "relufwd",
    "gelu": "gelufwd",
    "clamp": "clip",
    "logical_and": "mul",
}

_operations = _C.device_operations()
for _name, _signature in _operations.items():
    setattr(SpyreOpFuncs, _name, _entry(_name, *_signature))
for _loop_name, _name in _LOOP_NAMES.items():
    setattr(SpyreOpFuncs, _loop_name, _entry(_name, *_operations[_name]))
SpyreOpFuncs.square = staticmethod(lambda x: PointwiseOp("mul", [x, x]))
