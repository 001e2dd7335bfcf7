"""Alignment of matmul operands: done in C++, ``spyre-opt --spyre-loop-pad-matmul``."""

#: Where it is done; :data:`SPYRE_OPT_FLAG` runs it alone, None where it is no pass of its own.
SOURCE = "lib/Dialect/Loop/Transforms/PadMatmul.cpp"
SPYRE_OPT_FLAG = "--spyre-loop-pad-matmul"
