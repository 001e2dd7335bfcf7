"""Rewrites of the graph before lowering: matmul forms, padding, scalars: done in C++, ``spyre-opt --spyre-graph-to-loop``."""

from torch_spyre._inductor.documented import attributes_of

__getattr__ = attributes_of("temp_passes")
