"""First-fit and best-fit: buffers are taken parents first, then in one of two orders, each into a gap between placed ones.

``order="score"`` (the default) takes short lives with many uses first; ``order="lifetime"`` takes short lives first, as
planner ``compat`` does.
"""

import heapq

from torch_spyre._inductor.scratchpad.plan_solver import MemoryPlanSolver

_ORDERS = ("score", "lifetime")


class _FitLayoutSolver(MemoryPlanSolver):
    _fit = None

    def __init__(self, size, alignment=128, order="score"):
        super().__init__(size, alignment)
        if order not in _ORDERS:
            raise ValueError(f"order is {order!r}; give one of {_ORDERS}")
        self.order = order

    @property
    def solver(self):
        return f"{self._fit}-{self.order}"


class FirstFitLayoutSolver(_FitLayoutSolver):
    """Places each buffer in the first gap that is large enough."""

    _fit = "firstfit"


class BestFitLayoutSolver(_FitLayoutSolver):
    """Places each buffer in the gap that it fills best."""

    _fit = "bestfit"


class InPlaceError(ValueError, AssertionError):
    """A buffer cannot take the place of one of its in_place_parents."""


def _assert_in_place_relationships(buffers):
    """Raises InPlaceError unless each parent is among ``buffers``, is last used where its child begins, and is no
    smaller than the child."""
    by_name = {buffer.name: buffer for buffer in buffers}
    for child in buffers:
        for name in child.in_place_parents:
            if (parent := by_name.get(name)) is None:
                raise InPlaceError(f"SPYRE-E3043: {child.name} may take the place of {name}, which is not among the buffers")
            if parent.end_time != child.start_time + 1:
                raise InPlaceError(
                    f"SPYRE-E3043: {child.name} begins at {child.start_time} and cannot take the place of {name}, whose "
                    f"end_time is {parent.end_time}; it must be {child.start_time + 1}"
                )
            if child.size > parent.size:
                raise InPlaceError(
                    f"SPYRE-E3043: {child.name} has {child.size} bytes and cannot take the place of {name}, which has {parent.size}"
                )


def _topological_sort(buffers):
    """The buffers as a list in which parents come before their children and the given order holds otherwise. Parents
    that are not among ``buffers`` are ignored; a cycle raises InPlaceError."""
    position = {buffer.name: i for i, buffer in enumerate(buffers)}
    parents = [{position[name] for name in buffer.in_place_parents if name in position} for buffer in buffers]
    children = [[] for _ in buffers]
    for child, above in enumerate(parents):
        for parent in above:
            children[parent].append(child)
    waits = [len(above) for above in parents]
    ready = [i for i, count in enumerate(waits) if count == 0]
    result = []
    while ready:
        result.append(buffers[heapq.heappop(ready)])
        for child in children[position[result[-1].name]]:
            waits[child] -= 1
            if waits[child] == 0:
                heapq.heappush(ready, child)
    if len(result) != len(buffers):
        cycle = [buffer.name for buffer, count in zip(buffers, waits, strict=True) if count > 0]
        raise InPlaceError(f"SPYRE-E3043: {', '.join(cycle)} are in_place_parents of each other; leave one out")
    return result
