"""Solvers that take the buffers in the order of a score: long lives and many uses first."""

from torch_spyre._inductor.scratchpad.plan_solver import MemoryPlanSolver


class FirstFitLayoutSolver(MemoryPlanSolver):
    """Into the first gap that is large enough."""

    solver = "firstfit"


class BestFitLayoutSolver(MemoryPlanSolver):
    """Into the tightest gap."""

    solver = "bestfit"
