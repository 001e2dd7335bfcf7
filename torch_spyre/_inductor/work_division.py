"""Iteration spaces divided over cores: done in C++, ``spyre-opt --spyre-loop-work-distribution``."""

#: Where it is done; :data:`SPYRE_OPT_FLAG` runs it alone, None where it is no pass of its own.
SOURCE = "lib/Dialect/Loop/Transforms/DivideWork/WorkDistribution.cpp"
SPYRE_OPT_FLAG = "--spyre-loop-work-distribution"
