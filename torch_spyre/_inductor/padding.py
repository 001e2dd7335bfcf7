"""Alignment of matmul operands: done in C++, ``spyre-opt --spyre-loop-pad-matmul``."""

from torch_spyre._inductor.documented import attributes_of

__getattr__ = attributes_of("padding")
