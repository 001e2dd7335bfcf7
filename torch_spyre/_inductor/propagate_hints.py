"""Hints of the user's scopes on the operations of the loop IR: done in C++, ``spyre-opt --spyre-loop-assign-hints``."""

from torch_spyre._inductor.documented import attributes_of

__getattr__ = attributes_of("propagate_hints")
