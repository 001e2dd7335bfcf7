"""Buffers with lifetimes, and solvers that give them addresses in a scratchpad: those of planner ``compat``, in C++."""

import dataclasses


@dataclasses.dataclass
class LifetimeBoundBuffer:
    """A buffer that operations number ``uses`` (ascending) read or write; the result of :meth:`MemoryPlanSolver.plan_layout`
    is its ``address`` in bytes, None where it stays in memory."""

    name: str
    size: int
    uses: list[int]
    first_use_is_read: bool = False
    address: int | None = None
    #: Names of buffers whose place it may take over; each is last used where this one begins.
    in_place_parents: list[str] = dataclasses.field(default_factory=list)

    @property
    def start_time(self):
        return self.uses[0]

    @property
    def end_time(self):
        """One after the last use."""
        return self.uses[-1] + 1


class MemoryPlanSolver:
    """What solvers have in common: ``size`` bytes, of which buffers begin at multiples of ``alignment``."""

    #: The solver's name in ``config.layout_solver``; what is derived may override plan_layout() instead.
    solver = None

    def __init__(self, size, alignment=128):
        self.size = size
        self.alignment = alignment

    def plan_layout(self, buffers):
        """The same buffers, with addresses. Those that nothing uses get none."""
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
