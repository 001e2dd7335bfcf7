"""Loops that hinted operations share: done in C++, ``spyre-opt --spyre-loop-form-nests``."""

from torch_spyre._inductor.documented import attributes_of

__getattr__ = attributes_of("coarse_tile")
