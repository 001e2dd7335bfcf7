"""Order and grouping of operations: done in C++, ``spyre-compile --compile-to=opspec``."""

#: Where it is done; :data:`SPYRE_OPT_FLAG` runs it alone, None where it is no pass of its own.
SOURCE = "lib/Conversion/LoopToSpec"
SPYRE_OPT_FLAG = None
