"""What an allocator works on."""

from torch_spyre._inductor.scratchpad.plan_solver import LifetimeBoundBuffer  # noqa: F401
