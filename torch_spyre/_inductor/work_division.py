"""Iteration spaces divided over cores: done in C++, ``spyre-opt --spyre-loop-work-distribution``."""

from torch_spyre._inductor.documented import attributes_of

__getattr__ = attributes_of("work_division")
