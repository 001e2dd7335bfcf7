"""Functions of fractions, asked of integers and truth values: what torch says they are there.

Each entry replaces one ATen operation while a graph is captured, for these types only.
"""

import torch

from torch_spyre._inductor.integer_decompositions import INTEGERS
from torch_spyre.ops.functions import WHOLE

aten = torch.ops.aten


def _of_whole(function, types=WHOLE):
    """The entry for these types; others stay as they are."""

    def decomposed(x, *args, **kwargs):
        is_whole = isinstance(x, torch.Tensor) and x.dtype in types
        return function(x, *args, **kwargs) if is_whole else NotImplemented

    return decomposed


def _none(x):
    """No element is what is asked for."""
    return torch.zeros_like(x, dtype=torch.bool)


def _extreme_truth(reduce):
    def decomposed(x, dim=(), keepdim=False):
        dims = list(range(x.dim())) if dim is None or dim == () or dim == [] else dim
        numbers = x.to(torch.float16)
        return (reduce(numbers, dims, keepdim=keepdim) if x.dim() else numbers).to(torch.bool)

    return decomposed


def _power(x, exponent):
    """A fraction makes a fraction; truth values are numbers first."""
    kind = torch.result_type(x, exponent)
    return NotImplemented if kind == x.dtype else torch.pow(x.to(kind), exponent)


def _extreme(operation):
    """There is no NaN to leave out."""

    def decomposed(x, y):
        if not all(isinstance(v, torch.Tensor) and v.dtype in WHOLE for v in (x, y)):
            return NotImplemented
        kind = torch.result_type(x, y)
        return operation(x.to(kind), y.to(kind))

    return decomposed


def _sum_of(x, dim=None, keepdim=False, *, dtype=None):
    """nansum: again without NaN."""
    dims = list(range(x.dim())) if dim is None else dim
    return torch.sum(x, dims, keepdim=keepdim, dtype=dtype)


def _subtracted_from(x, number, alpha=1):
    """A fraction makes a fraction here, too."""
    kind = torch.result_type(x, number)
    return NotImplemented if kind == x.dtype else torch.rsub(x.to(kind), number, alpha=alpha)


def _logit(x, eps=None):
    return torch.logit(x.to(torch.get_default_dtype()), eps)


def _log_sum_exp(x, dim, keepdim=False):
    return torch.logsumexp(x.to(torch.get_default_dtype()), dim, keepdim)


def decompositions():
    """Operator overload -> function."""
    truths = {torch.bool}
    same = _of_whole(lambda x: x.clone(), INTEGERS)
    rounds = {getattr(aten, name).default: same for name in ("ceil", "floor", "round", "trunc")}
    of_truths = {
        getattr(aten, name).default: _of_whole(_extreme_truth(reduce), truths)
        for name, reduce in (("amax", torch.amax), ("amin", torch.amin), ("max", torch.amax), ("min", torch.amin))
    }
    return {
        **rounds,
        **of_truths,
        aten.fmax.default: _extreme(torch.maximum),
        aten.fmin.default: _extreme(torch.minimum),
        aten.isfinite.default: _of_whole(lambda x: torch.ones_like(x, dtype=torch.bool)),
        aten.isinf.default: _of_whole(_none),
        aten.isnan.default: _of_whole(_none),
        aten.logit.default: _of_whole(_logit),
        aten.logsumexp.default: _of_whole(_log_sum_exp),
        aten.nansum.default: _of_whole(_sum_of),
        aten.pow.Tensor_Scalar: _of_whole(_power),
        aten.rsub.Scalar: _of_whole(_subtracted_from, INTEGERS),
        aten.sgn.default: _of_whole(lambda x: x.clone(), truths),
        aten.sign.default: _of_whole(lambda x: x.clone(), truths),
        aten.signbit.default: _of_whole(_none, truths),
    }
