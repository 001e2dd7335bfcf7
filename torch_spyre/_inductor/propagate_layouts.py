"""Choice of a device layout for every buffer: done in C++, ``spyre-opt --spyre-loop-propagate-layouts``."""

from torch_spyre._inductor.documented import attributes_of

__getattr__ = attributes_of("propagate_layouts")
