"""Operations along a dimension, asked of tensors that have none: torch takes such a tensor for a row of one element.

Each entry replaces one ATen operation while a graph is captured, for these tensors only.
"""

import functools

import torch

aten = torch.ops.aten

_OF_ONE_TENSOR = (
    aten.argmax.default,
    aten.argmin.default,
    aten.index_fill.int_Scalar,
    aten.index_fill.int_Tensor,
    aten.index_select.default,
    aten.linalg_vector_norm.default,
    aten.max.dim,
    aten.min.dim,
    aten.topk.default,
)
#: Numbers of rows, and the rows: these may be without dimensions, too.
_OF_ROWS = (aten.index_add.default, aten.index_reduce.default, aten.scatter_reduce.two)


def _row(value):
    is_single = isinstance(value, torch.Tensor) and value.dim() == 0
    return value.reshape(1) if is_single else value


def _single(value):
    return value.reshape([])


def _as_row(op):
    def decomposed(x, *args, **kwargs):
        if x.dim():
            return NotImplemented
        result = op(_row(x), *args, **kwargs)
        return _single(result) if isinstance(result, torch.Tensor) else tuple(map(_single, result))

    return decomposed


def _as_rows(op):
    as_row = _as_row(op)

    def decomposed(x, *args, **kwargs):
        return as_row(x, *map(_row, args), **kwargs) if x.dim() == 0 else NotImplemented

    return decomposed


@functools.cache
def decompositions():
    """Operator overload -> function."""
    return {
        **{op: _as_row(op) for op in _OF_ONE_TENSOR},
        **{op: _as_rows(op) for op in _OF_ROWS},
    }
