"""The documented interface of placement in scratchpads. The compiler places in C++ (``lib/Solver/Placement``), with the
same solvers, and does not come by here."""
