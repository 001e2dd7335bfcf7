"""Names of device operations for lowerings. Kernels themselves are made in C++ by
``lib/Conversion/LoopToSpec`` (``spyre-compile --compile-to=opspec``)."""

import dataclasses
import difflib
from typing import Any

import torch

from torch_spyre import _C
from torch_spyre._inductor.documented import attributes_of

__getattr__ = attributes_of("spyre_kernel")

aten = torch.ops.aten


class UnknownOperation(ValueError, AttributeError):
    """SPYRE-E1603: a lowering names an operation that the device does not have."""


def _check_name(kind, name, known):
    if name in known:
        return
    near = difflib.get_close_matches(str(name), known, n=3, cutoff=0.5)
    advice = f"near it are {', '.join(near)}" if near else f"the names are {', '.join(sorted(known))}"
    raise UnknownOperation(f"SPYRE-E1603: {name!r} is not {kind} of the device; {advice}")


class LoweredOp:
    """Base of the operations that a lowering may return. Operations nest."""


@dataclasses.dataclass
class PointwiseOp(LoweredOp):
    """One element-wise device operation. ``arguments`` are values of the graph, numbers, or other
    operations; ``op_info["constants"]`` are the constants of the device operation."""

    op: str
    arguments: list
    op_info: dict[str, Any] = dataclasses.field(default_factory=dict)

    def __post_init__(self):
        _check_name("an element-wise operation", self.op, _operations)


class WholeOp(LoweredOp):
    """An operation that is one row of the compiler's table: ``target`` is called with ``parameters``."""


@dataclasses.dataclass
class ReductionOp(WholeOp):
    """A reduction over ``dims``, by the name of the device operation: sum, mean, max or min."""

    op: str
    argument: Any
    dims: list
    keepdim: bool = False

    def __post_init__(self):
        _check_name("a reduction", self.op, REDUCTIONS)

    @property
    def target(self):
        return REDUCTIONS[self.op]

    @property
    def parameters(self):
        return self.argument, list(self.dims), self.keepdim


@dataclasses.dataclass
class ProductOp(WholeOp):
    """A product of matrices, ``batchmatmul``: of two dimensions, or three with the batch first."""

    op: str
    arguments: list

    def __post_init__(self):
        _check_name("a product", self.op, PRODUCTS)

    @property
    def target(self):
        is_matrix = len(shape_of(self.arguments[0])) == 2
        return aten.mm.default if is_matrix else aten.bmm.default

    @property
    def parameters(self):
        return tuple(self.arguments)


@dataclasses.dataclass
class ViewOp(WholeOp):
    """Another reading of the same elements, by the name of the view in torch and with its arguments."""

    op: str
    argument: Any
    arguments: tuple = ()

    def __post_init__(self):
        _check_name("a view", self.op, VIEWS)

    @property
    def target(self):
        return VIEWS[self.op]

    @property
    def parameters(self):
        return self.argument, *self.arguments


#: Names that lowerings may give, and what becomes of them in the graph.
REDUCTIONS = {
    "sum": aten.sum.dim_IntList,
    "mean": aten.mean.dim,
    "max": aten.amax.default,
    "min": aten.amin.default,
}
PRODUCTS = ("batchmatmul",)
VIEWS = {
    "expand": aten.expand.default,
    "permute": aten.permute.default,
    "reshape": aten.reshape.default,
    "select": aten.select.int,
    "slice": aten.slice.Tensor,
    "squeeze": aten.squeeze.dim,
    "transpose": aten.transpose.int,
    "unfold": aten.unfold.default,
    "unsqueeze": aten.unsqueeze.default,
}

#: Operations with bool results.
COMPARISONS = frozenset(
    ("equal", "notequal", "greaterthan", "greaterequal", "lesserthan", "lesserequal")
)


def meta_of(value):
    """The tensor that an operation or an argument stands for, without its elements."""
    if isinstance(value, WholeOp):
        return value.target(*(meta_of(p) if _is_tensor(p) else p for p in value.parameters))
    if not isinstance(value, PointwiseOp):
        return torch.empty(value.shape, dtype=value.dtype, device="meta")
    tensors = [meta_of(argument) for argument in value.arguments if _is_tensor(argument)]
    shape = torch.broadcast_shapes(*(t.shape for t in tensors))
    dtype = torch.bool
    if value.op not in COMPARISONS:
        kinds = [t.dtype for t in (tensors[1:] if value.op == "where3" else tensors)] or [torch.float16]
        dtype = kinds[0]
        for kind in kinds[1:]:
            dtype = torch.promote_types(dtype, kind)
    return torch.empty(shape, dtype=dtype, device="meta")


def shape_of(value):
    return tuple(meta_of(value).shape)


def _is_tensor(value):
    return isinstance(value, LoweredOp) or hasattr(value, "dtype")


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


class _Entries(type):
    def __getattr__(cls, name):
        known = [entry for entry in vars(cls) if not entry.startswith("_")]
        if name.startswith("__"):
            raise AttributeError(name)
        _check_name("an operation", name, known)


class SpyreOpFuncs(metaclass=_Entries):
    """What a lowering may emit: one function per element-wise operation of loop IR, ``reduce``,
    ``matmul`` and one function per view. Users add entries of their own as static methods that
    return an operation."""

    @staticmethod
    def reduce(op, x, dims, keepdim=False):
        """The reduction ``op`` (sum, mean, max, min) over ``dims``."""
        return ReductionOp(op, x, list(dims), keepdim)

    @staticmethod
    def matmul(left, right):
        """The product of two matrices, or of two batches of them."""
        return ProductOp("batchmatmul", [left, right])


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
for _name in VIEWS:
    setattr(SpyreOpFuncs, _name, staticmethod(lambda x, *a, _name=_name: ViewOp(_name, x, a)))
SpyreOpFuncs.square = staticmethod(lambda x: PointwiseOp("mul", [x, x]))
