"""Where sticks change, chosen for the whole graph: done in C++, ``spyre-opt --spyre-loop-propagate-layouts``."""

#: Where it is done; :data:`SPYRE_OPT_FLAG` runs it alone, None where it is no pass of its own.
SOURCE = "lib/Solver/LayoutChoice.cpp"
SPYRE_OPT_FLAG = "--spyre-loop-propagate-layouts"
