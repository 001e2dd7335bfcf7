"""Operations along a dimension, asked of tensors that have none: torch takes such a tensor for a row of one element.

Each entry replaces one ATen operation while a graph is captured, for these tensors only.
"""

import functools

import torch

from torch_spyre.ops import flips

aten = torch.ops.aten

_OF_ONE_TENSOR = (
    aten._log_softmax.default,
    aten._softmax.default,
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
#: They keep what is reduced as it is, or as a sum would have it.
_REDUCTIONS = (aten.mean.dim, aten.prod.dim_int, aten.sum.dim_IntList)
#: Numbers of rows, and the rows: these may be without dimensions, too.
_OF_ROWS = (
    aten.index_reduce.default,
    aten.scatter.reduce,
    aten.scatter.src,
    aten.scatter.value,
    aten.scatter.value_reduce,
    aten.scatter_add.default,
    aten.scatter_reduce.two,
)


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


def _reduced(op):
    def decomposed(x, dim=None, keepdim=False, *, dtype=None):
        del keepdim  # there is nothing to keep
        if x.dim():
            return NotImplemented
        return _single(op(_row(x), [0] if op is not aten.prod.dim_int else 0, dtype=dtype))

    return decomposed


def _unfold(x, dim, size, step):
    return _row(x).unfold(dim, size, step).reshape([size]) if x.dim() == 0 and size == 1 else NotImplemented


def _gather(x, dim, index, *, sparse_grad=False):
    del dim, sparse_grad
    if x.dim() or index.numel() == 0:
        return NotImplemented
    return torch.index_select(_row(x), 0, index.reshape(-1)).reshape(index.shape)


def _index_add(x, dim, index, source, *, alpha=1):
    if x.dim() or source.dim():
        return NotImplemented
    return _single(torch.index_add(_row(x), dim, _row(index), _row(source), alpha=alpha))


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
        **{op: _reduced(op) for op in _REDUCTIONS},
        aten.flip.default: flips.flip,
        aten.gather.default: _gather,
        aten.index_add.default: _index_add,
        aten.unfold.default: _unfold,
    }
