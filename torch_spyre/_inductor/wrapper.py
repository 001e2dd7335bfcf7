"""Host code: allocations and launches, as model.json: done in C++, ``spyre-compile --compile-to=opspec``."""

from torch_spyre._inductor.documented import attributes_of

__getattr__ = attributes_of("wrapper")
