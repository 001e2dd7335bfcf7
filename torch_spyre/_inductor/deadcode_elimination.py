"""Removal of operations that no output needs: done in C++, ``spyre-opt --spyre-graph-to-loop``."""

from torch_spyre._inductor.documented import attributes_of

__getattr__ = attributes_of("deadcode_elimination")
