"""Rewrites of the graph before lowering: matmul forms, padding, scalars: done in C++, ``spyre-opt --spyre-graph-to-loop``."""

#: Where it is done; :data:`SPYRE_OPT_FLAG` runs it alone, None where it is no pass of its own.
SOURCE = "lib/Conversion/GraphToLoop"
SPYRE_OPT_FLAG = "--spyre-graph-to-loop"
