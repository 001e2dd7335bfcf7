"""Operations that sum products. Products are not rounded; the sum is rounded once (docs/adr/0082).

A product of a matrix and a vector is a product of matrices with a side of 1. Other sums of products are computed in fp32.
"""

import functools

import torch

from torch_spyre.ops import limits
from torch_spyre.ops.functions import HALVES, is_float

aten = torch.ops.aten


#: Elements of 16 bits in a stick.
_LANES = 64


def mv(matrix, vector):
    """A column takes a stick for each element of the vector, so a matrix of few rows is transposed instead."""
    from torch.fx.experimental.symbolic_shapes import statically_known_true

    if not matrix.numel():
        return matrix.new_zeros(matrix.shape[0])
    if statically_known_true(matrix.shape[0] <= _LANES):
        return torch.mm(vector.unsqueeze(0), matrix.t()).squeeze(0)
    return torch.mm(matrix, vector.unsqueeze(1)).squeeze(1)


def dot(x, y):
    """Computes in fp32: as matrices, one of the vectors would take a stick for each element."""
    if not is_float(x, y):
        return torch.sum(x * y, dtype=x.dtype)
    return torch.sum(x.float() * y.float()).to(x.dtype)


def addr(x, first, second, *, beta=1, alpha=1):
    if not is_float(x, first, second):
        return NotImplemented
    product = first.float().unsqueeze(1) * (second.float() * alpha)
    kind = functools.reduce(torch.promote_types, (t.dtype for t in (x, first, second)))
    return (product if beta == 0 else product + x.float() * beta).to(kind)


def trilinear(first, second, third, expand1, expand2, expand3, sumdim, unroll_dim=1):
    """Sums products of three factors over some dimensions; each factor lacks the dimensions in its list."""
    if not is_float(first, second, third):
        return NotImplemented
    count = first.dim() + len(expand1)
    letters = "abcdefghij"[:count]
    names = ["".join(c for d, c in enumerate(letters) if d not in lacks) for lacks in (expand1, expand2, expand3)]
    kept = "".join(c for d, c in enumerate(letters) if d not in sumdim)
    factors = [t.float() for t in (first, second, third)]
    return torch.einsum(f"{','.join(names)}->{kept}", *factors).to(first.dtype)


def in_fp32(formula):
    """Returns a formula of torch that computes in fp32 where the operands have 16 bits, as torch defines it.

    Other formulas compute in 16 bits during capture."""

    def decomposed(*args, **kwargs):
        from torch_spyre._inductor.patches import widened_halves

        with widened_halves():
            return formula(*args, **kwargs)

    return functools.wraps(formula)(decomposed)


#: Operations whose formula in torch multiplies and sums the products.
_MULTIPLY_AND_SUM = (
    aten._native_batch_norm_legit.no_stats,
    aten._native_batch_norm_legit_functional.default,
    aten._batch_norm_with_update_functional.default,
    aten._softmax_backward_data.default,
    aten._log_softmax_backward_data.default,
    aten.batch_norm_backward.default,
    aten.huber_loss.default,
    aten.linalg_cross.default,
    aten.mse_loss.default,
    aten.native_batch_norm_backward.default,
    aten.native_group_norm.default,
    aten.native_group_norm_backward.default,
    aten.native_layer_norm_backward.default,
    aten.nll_loss_forward.default,
    aten.smooth_l1_loss.default,
)


def decompositions():
    """Operator overload -> function."""
    from torch._decomp import decomposition_table

    from torch_spyre._inductor.patches import either

    return {
        aten.addr.default: either(addr, decomposition_table[aten.addr.default]),
        **{op: in_fp32(decomposition_table[op]) for op in _MULTIPLY_AND_SUM if op in decomposition_table},
        aten._trilinear.default: trilinear,
        aten.dot.default: dot,
        aten.mv.default: mv,
        aten.vdot.default: dot,
    }


def whole_in_fp32(op):
    """Returns a kernel for an operation that torch composes of others: it composes them in fp32 and rounds once."""
    composed = functools.partial(op._op_dk, torch._C.DispatchKey.CompositeImplicitAutograd)

    def kernel(*args, **kwargs):
        tensors = [v for v in (*args, *kwargs.values()) if isinstance(v, torch.Tensor)]
        if not any(t.dtype in HALVES for t in tensors):
            return composed(*args, **kwargs)
        kind = functools.reduce(torch.promote_types, (t.dtype for t in tensors))
        return composed(*map(_wide, args), **{name: _wide(v) for name, v in kwargs.items()}).to(kind)

    return kernel


def _wide(value):
    return value.float() if isinstance(value, torch.Tensor) and value.dtype in HALVES else value


#: Operations that torch composes of others, in which autograd sees the parts.
COMPOSED = (
    aten.corrcoef.default,
    aten.cosine_similarity.default,
    aten.cov.default,
    aten.kl_div.default,
    aten.linalg_vecdot.default,
    aten.trapezoid.dx,
    aten.trapezoid.x,
)


def cdist(x, y, p=2, compute_mode=None):
    """Sums squares of differences where their number permits. Torch subtracts products for more than 25 rows, which cancel."""
    lead = torch.broadcast_shapes(x.shape[:-2], y.shape[:-2]).numel()
    # Torch refuses fewer than two dimensions.
    are_few = min(x.dim(), y.dim()) >= 2 and lead * x.shape[-2] * y.shape[-2] * x.shape[-1] <= limits.DISTANCES.most
    mode = 2 if not compute_mode and are_few else compute_mode
    return aten.cdist.default._op_dk(torch._C.DispatchKey.CompositeImplicitAutograd, x, y, p, mode)
