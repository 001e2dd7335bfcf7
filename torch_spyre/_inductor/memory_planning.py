"""Places of intermediates in the DDR pool: done in C++, ``spyre-opt --spyre-loop-plan-pool``."""

#: Where it is done; :data:`SPYRE_OPT_FLAG` runs it alone, None where it is no pass of its own.
SOURCE = "lib/Dialect/Loop/Transforms/PlanPool.cpp"
SPYRE_OPT_FLAG = "--spyre-loop-plan-pool"
