"""OpSpec, TensorArg, LoopSpec and UnimplementedOp: views of the C++ structs.

The text form is Python: with the names of this module, evaluating an ``op_spec.txt`` gives the list
that ``parse_op_specs`` gives. A coordinate of a value tensor that an index tensor chooses is
``IndirectAccess('name')``.
"""

from sympy import sympify

from torch_spyre._C import (
    DataFormats,
    LoopSpec,
    OpSpec,
    TensorArg,
    UnimplementedOp,
    parse_op_specs,
    unroll_loops,
    write_op_specs,
)

__all__ = [
    "DataFormats",
    "IndirectAccess",
    "LoopSpec",
    "OpSpec",
    "TensorArg",
    "UnimplementedOp",
    "parse_op_specs",
    "sympify",
    "unroll_loops",
    "write_op_specs",
]


def IndirectAccess(name):
    """The integer read from tensor ``name`` at the current point."""
    return f"IndirectAccess({name!r})"
