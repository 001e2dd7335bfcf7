"""A device layout for every buffer: done in C++, ``spyre-opt --spyre-loop-propagate-layouts``."""

#: Where it is done; :data:`SPYRE_OPT_FLAG` runs it alone, None where it is no pass of its own.
SOURCE = "lib/Dialect/Loop/Transforms/PropagateLayouts"
SPYRE_OPT_FLAG = "--spyre-loop-propagate-layouts"
