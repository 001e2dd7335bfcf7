"""Places of intermediates in the DDR pool: done in C++, ``spyre-opt --spyre-loop-plan-pool``."""

from torch_spyre._inductor.documented import attributes_of

__getattr__ = attributes_of("memory_planning")
