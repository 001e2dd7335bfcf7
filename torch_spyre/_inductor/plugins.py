"""Python code of the user's in a compilation: what it gets, and what is made of what it gives.

The C++ side (``csrc/PythonPlugins.cpp``) calls the functions at the end.
"""

import dataclasses
import inspect

from torch_spyre._inductor.scratchpad import passes as scratchpad_passes
from torch_spyre._inductor.scratchpad.plan_solver import LifetimeBoundBuffer, MemoryPlanSolver

#: Ends of messages that refuse a setting.
ADVICE = {"layout_solver": ", or a subclass of MemoryPlanSolver with a plan_layout of its own"}


def is_solver(value):
    """Returns True for a class that plans by itself."""
    return (
        inspect.isclass(value)
        and issubclass(value, MemoryPlanSolver)
        and value.plan_layout is not MemoryPlanSolver.plan_layout
    )


def name_of(plugin):
    return getattr(plugin, "__qualname__", None) or type(plugin).__qualname__


@dataclasses.dataclass(frozen=True)
class Operand:
    """A tensor of an operation. ``kind`` is input, output, temp or constant; ``layout`` is empty before layouts are
    chosen; ``lx_address`` is None where the tensor is in memory or not planned yet."""

    name: str
    kind: str
    dtype: str
    size: tuple[int, ...]
    layout: str
    lx_address: int | None


class Operation:
    """One operation of the device: ``name``, ``step`` (its number in the graph), ``location`` ("file:line"),
    ``iteration_space`` (variable to extent), ``reduced`` (variables), ``operands`` (inputs, then the result)."""

    def __init__(self, point, row):
        self.step, self.name, self.location = row["step"], row["name"], row["location"]
        self.iteration_space = dict(zip(row["variables"], row["extents"], strict=True))
        self.reduced = tuple(row["variables"][len(row["variables"]) - row["reductions"] :])
        self.operands = tuple(Operand(**{**operand, "size": tuple(operand["size"])}) for operand in row["operands"])
        self._division = dict(zip(row["variables"], row["splits"])) if row["splits"] else None
        self._point = point
        self._asked = None

    @property
    def division(self):
        """Variable to number of cores; None before the operation is divided. Set it at pre-fusion or post-fusion;
        variables that are left out stay whole."""
        return self._division

    @division.setter
    def division(self, cores):
        if self._division is None:
            raise ValueError(f"SPYRE-E1503: {self} is not divided yet at {self._point}; set hints, or divide it at pre-fusion")
        self._asked = self._splits(cores, 1)
        self._division = dict(zip(self.iteration_space, self._asked, strict=True))

    @property
    def hints(self):
        """Variable to number of cores, which the division will have. Set it at pre-scheduling; variables that are left
        out are the compiler's choice."""
        asked = zip(self.iteration_space, self._asked or ())
        return {variable: cores for variable, cores in asked if cores > 0}

    @hints.setter
    def hints(self, cores):
        if self._division is not None:
            raise ValueError(f"SPYRE-E1503: {self} is divided already at {self._point}; set division instead of hints")
        self._asked = self._splits(cores, 0)

    def _splits(self, cores, left_out):
        unknown = [v for v in cores if v not in self.iteration_space]
        bad = [n for n in cores.values() if not isinstance(n, int) or isinstance(n, bool) or not 1 <= n < 1 << 31]
        if unknown or bad:
            raise ValueError(
                f"SPYRE-E1503: {self} cannot be divided as {cores}; give numbers of cores for variables of "
                f"{self.iteration_space}"
            )
        return [cores.get(variable, left_out) for variable in self.iteration_space]

    def __str__(self):
        return f"step {self.step}, {self.name} -> {self.operands[-1].name},"

    def __repr__(self):
        return (
            f"Operation(step={self.step}, name={self.name!r}, iteration_space={self.iteration_space}, "
            f"reduced={self.reduced}, division={self._division})"
        )


def _with_context(text, function, *arguments):
    """The result; an exception gets a note that says for whom the function was called."""
    try:
        return function(*arguments)
    except BaseException as fault:
        fault.add_note(text)
        raise


def place(solver_class, capacity, alignment, rows):
    """Addresses of all buffers, None for those that stay in memory."""
    buffers, numbers = [], []
    barred = {row[0] for row in rows if row[-1]}
    for number, (name, size, lower, upper, uses, first_use_is_read, parents, forbidden) in enumerate(rows):
        if not forbidden:
            ticks = uses or sorted({lower, upper - 1})
            given = [parent for parent in parents if parent not in barred]
            buffers.append(LifetimeBoundBuffer(name, size, ticks, first_use_is_read, None, given))
            numbers.append(number)
    note = f"raised by solver {name_of(solver_class)}, which config.layout_solver names, for {len(buffers)} buffers"
    given = list(buffers)
    result = _with_context(note, lambda: solver_class(capacity, alignment).plan_layout(given))
    if result is None or {id(b) for b in result} != {id(b) for b in buffers}:
        raise TypeError(f"SPYRE-E1503: {name_of(solver_class)}.plan_layout returned {result!r:.200}; return the buffers it got")
    addresses = [None] * len(rows)
    for number, buffer in zip(numbers, buffers, strict=True):
        addresses[number] = _address(buffer.name, buffer.address, solver_class)
    return addresses


def _address(name, address, plugin):
    if address is None:
        return None
    if not isinstance(address, int) or isinstance(address, bool) or not 0 <= address < 1 << 46:
        raise TypeError(f"SPYRE-E1503: {name_of(plugin)} put {name!r} at {address!r}; give a number of bytes, or None")
    return int(address)


def _reserved(operation, capacity, one):
    """The bytes that a pass reserved for an operation. Raises ValueError (E1503) unless they are an int that fits a core."""
    asked = operation.reserved_bytes
    if isinstance(asked, bool) or not isinstance(asked, int) or not 0 <= asked <= capacity:
        raise ValueError(
            f"SPYRE-E1503: {name_of(one)} reserved {asked!r} bytes for {operation.name}; give an int from 0 to {capacity}, the "
            "bytes of a core"
        )
    return asked


def run_before(one, capacity, tensors, operations):
    """Why each tensor is barred, the bytes each operation reserves, and copies as (tensor, place, readers)."""
    graph = scratchpad_passes.Graph(capacity, tensors, operations)
    _with_context(f"raised by scratchpad pass {name_of(one)} before planning", one.run_before, graph)
    barred = [str(tensor.barred) for tensor in graph._order]
    reserved = [_reserved(operation, capacity, one) for operation in graph.operations]
    return barred, reserved, sorted(graph._copies, key=lambda copy: copy[1])


def run_after(one, capacity, tensors, operations, buffers, offsets):
    """Addresses of all buffers."""
    graph = scratchpad_passes.Graph(capacity, tensors, operations)
    names = [row[0] for row in buffers]
    addresses = {name: offset for name, offset in zip(names, offsets, strict=True) if offset is not None}
    _with_context(f"raised by scratchpad pass {name_of(one)} after planning", one.run_after, graph, addresses)
    if unknown := [name for name in addresses if name not in names]:
        raise KeyError(f"SPYRE-E1503: {name_of(one)} placed {unknown[0]!r}, which is not a buffer; they are {', '.join(names)}")
    return [_address(name, addresses.get(name), one) for name in names]


def run_function(function, point, rows):
    """Splits that were asked for, per operation and variable; None where nothing was."""
    operations = [Operation(point, row) for row in rows]
    _with_context(f"raised by {name_of(function)} at {point} of a compilation", function, list(operations))
    return [operation._asked for operation in operations]
