"""Buffers for allocators of scratchpads. Allocation itself is done in C++, ``spyre-opt --spyre-loop-plan-lx``."""

from torch_spyre._inductor.documented import attributes_of
from torch_spyre._inductor.scratchpad.plan_solver import LifetimeBoundBuffer  # noqa: F401

__getattr__ = attributes_of("scratchpad.allocator")
