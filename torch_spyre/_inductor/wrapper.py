"""Host code: allocations and launches, as model.json: done in C++, ``spyre-compile --compile-to=opspec``."""

#: Where it is done; :data:`SPYRE_OPT_FLAG` runs it alone, None where it is no pass of its own.
SOURCE = "lib/Spec/Model.cpp"
SPYRE_OPT_FLAG = None
