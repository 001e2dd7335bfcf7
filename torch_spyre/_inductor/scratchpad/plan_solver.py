"""Buffers with lifetimes, and solvers that give them addresses in a scratchpad.

The solvers of this package run in C++ (``lib/Solver/Placement``), the ones that planner ``compat`` uses. A subclass of
:class:`MemoryPlanSolver` with a ``plan_layout`` of its own can be given to ``config.layout_solver``.
"""

import dataclasses


@dataclasses.dataclass(init=False)
class LifetimeBoundBuffer:
    """A buffer that operations read or write; :meth:`MemoryPlanSolver.plan_layout` sets its ``address`` in bytes, None
    where it stays in memory.

    Two forms say when it lives: ``LifetimeBoundBuffer(name, size, uses, first_use_is_read=False, address=None,
    in_place_parents=())`` lists the numbers of the operations that use it, ascending;
    ``LifetimeBoundBuffer(name, size, start_time, end_time, in_place_parents=())`` gives the first one and one after the
    last. ``in_place_parents`` are names of buffers whose place it may take over: each is last used by the operation
    that writes this one.
    """

    name: str
    size: int
    uses: list[int]
    first_use_is_read: bool
    address: int | None
    in_place_parents: list[str]

    def __init__(self, name, size, *times, **fields):
        if not isinstance(name, str) or not _is_number(size):
            raise TypeError(f"a buffer needs a name and a number of bytes, not {name!r} and {size!r}")
        self.name, self.size = name, size
        given = _bind(name, times, fields)
        if "start_time" in given:
            self.uses = _between(name, given["start_time"], given["end_time"])
        else:
            self.uses = _ascending(name, given["uses"])
        self.first_use_is_read = bool(given.get("first_use_is_read", False))
        self.address = given.get("address")
        self.in_place_parents = _names(name, given.get("in_place_parents", ()))

    @property
    def start_time(self):
        return self.uses[0]

    @property
    def end_time(self):
        """One after the last use."""
        return self.uses[-1] + 1


#: Arguments behind name and size, per form.
_BY_TIMES = ("start_time", "end_time", "in_place_parents")
_BY_USES = ("uses", "first_use_is_read", "address", "in_place_parents")


def _bind(name, times, fields):
    """Arguments of the form that is meant, by name."""
    by_times = bool(fields.keys() & {"start_time", "end_time"}) or (bool(times) and _is_number(times[0]))
    order, needed = (_BY_TIMES, _BY_TIMES[:2]) if by_times else (_BY_USES, _BY_USES[:1])
    given = dict(zip(order, times))
    twice = given.keys() & fields.keys()
    unknown = fields.keys() - set(order)
    missing = [field for field in needed if field not in given and field not in fields]
    if len(times) > len(order) or twice or unknown or missing:
        raise TypeError(
            f"buffer {name!r} takes (name, size, start_time, end_time, in_place_parents) or (name, size, uses, "
            f"first_use_is_read, address, in_place_parents), not {times} and {fields}"
        )
    return {**given, **fields}


def _is_number(value):
    return isinstance(value, int) and not isinstance(value, bool)


def _between(name, start, end):
    if not _is_number(start) or not _is_number(end):
        raise TypeError(f"buffer {name!r}: start_time and end_time are {start!r} and {end!r}; give numbers of operations")
    if end <= start:
        raise ValueError(f"buffer {name!r} lives from {start} until before {end}; end_time is one after the last use")
    return [start] if end == start + 1 else [start, end - 1]


def _ascending(name, uses):
    if not isinstance(uses, (list, tuple, range)) or not all(map(_is_number, uses)):
        raise TypeError(f"buffer {name!r}: uses are {uses!r}; give a list of numbers of operations")
    return list(uses)


def _names(name, parents):
    if not isinstance(parents, (list, tuple, set, frozenset)) or not all(isinstance(parent, str) for parent in parents):
        raise TypeError(f"buffer {name!r}: in_place_parents are {parents!r}; give a list of names of buffers")
    return sorted(parents) if isinstance(parents, (set, frozenset)) else list(parents)


class MemoryPlanSolver:
    """Base of solvers: ``size`` bytes of scratchpad, in which buffers begin at multiples of ``alignment``.

    A solver of one's own overrides :meth:`plan_layout`.
    """

    #: The solver's name in ``config.layout_solver``; None in a subclass that plans by itself.
    solver = None

    def __init__(self, size, alignment=128):
        self.size = size
        self.alignment = alignment

    def plan_layout(self, buffers):
        """Sets the addresses of ``buffers`` and returns them. A buffer that nothing uses gets none."""
        from torch_spyre import _C

        if self.solver is None:
            raise NotImplementedError(f"{type(self).__name__} is no solver: override plan_layout, or use GreedyLayoutSolver")
        if placed := [b.name for b in buffers if b.address is not None]:
            raise ValueError(f"{placed[0]} has an address already, which plan_layout gives; set it to None")
        used = [b for b in buffers if b.uses]
        number = {b.name: i for i, b in enumerate(used)}
        plain = [
            (b.name, b.size, list(b.uses), b.first_use_is_read, [_of(number, p, b) for p in b.in_place_parents]) for b in used
        ]
        for buffer, address in zip(used, _C.place_buffers(self.solver, self.size, self.alignment, plain), strict=True):
            buffer.address = address
        return buffers


def _of(number, parent, buffer):
    if parent not in number:
        raise ValueError(f"{buffer.name} may take the place of {parent}, which is no used buffer; give it, too")
    return number[parent]


class GreedyLayoutSolver(MemoryPlanSolver):
    """In the order of time, never looking ahead."""

    solver = "greedy"
