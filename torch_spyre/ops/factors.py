"""Factors of matrices, and what is solved with them, from operations the device has (docs/adr/0076).

One step per column: each takes the matrices of a batch whole, and which column it is, is data, so that in eager mode all
steps are one program. In graphs they stand one behind the other. In fp32; larger matrices are left to the CPU.
"""

import math
import warnings

import torch

from torch_spyre.ops import fallbacks, limits, triangular
from torch_spyre.ops.functions import HALVES


def _in_graph(*matrices):
    """In graphs tensors are no tensors of the device."""
    from torch._subclasses.fake_tensor import FakeTensor

    return any(isinstance(m, FakeTensor) for m in matrices) or torch.compiler.is_compiling()


def _is_supported(*matrices):
    """Square ones come first."""
    columns = limits.COLUMNS_IN_GRAPHS if _in_graph(*matrices) else limits.COLUMNS
    return all(
        m.dtype == torch.float32
        and m.dim() >= 2
        and m.numel() > 0
        and not limits.MATRICES.refuses(m.numel())
        and not columns.refuses(min(m.shape[-2:]))
        for m in matrices
    )


def _flat(matrices):
    return matrices.reshape(-1, *matrices.shape[-2:])


def _rows(matrices):
    return torch.arange(matrices.shape[-2], device=matrices.device)[:, None]


def _columns(matrices):
    return torch.arange(matrices.shape[-1], device=matrices.device)


def _one(matrices):
    """1 on the diagonal, of as many rows as there are columns."""
    return torch.eye(matrices.shape[-1], dtype=matrices.dtype, device=matrices.device)


def _numbers(count, device, backwards=False):
    """One after the other, as data."""
    number = torch.full((1,), count - 1 if backwards else 0, dtype=torch.int64, device=device)
    for _ in range(count):
        yield number
        number = number - 1 if backwards else number + 1


def _diagonal(matrices):
    return torch.diagonal(matrices, 0, -2, -1).contiguous()


def _first_bad(is_bad):
    """From 1, or 0 where none is."""
    count = is_bad.shape[-1]
    at = torch.arange(count, device=is_bad.device)
    first = torch.amin(torch.where(is_bad, at, torch.full_like(at, count)), -1)
    return torch.where(first < count, first + 1, torch.zeros_like(first)).to(torch.int32)


# --------------------------------------------------------------------------------------------------
# Lower and upper triangles with exchanged rows


def lu_step(a, pivots, number):
    """The largest element of a column goes up, and what lies below it is taken off all rows below."""
    rows, columns = _rows(a), _columns(a)
    zero = torch.zeros((), dtype=a.dtype, device=a.device)
    size = torch.where(rows >= number, torch.abs(torch.index_select(a, 2, number)), -1.0)
    is_most = size == torch.amax(size, 1, keepdim=True)
    place = torch.amin(torch.where(is_most, rows, torch.full_like(rows, a.shape[1])), 1, keepdim=True)
    place = torch.where(place < a.shape[1], place, number)  # of what is no number
    is_there = rows == place
    mine = torch.index_select(a, 1, number)
    top = torch.sum(torch.where(is_there, a, zero), 1, keepdim=True)
    a = torch.where(rows == number, top, torch.where(is_there, mine, a))
    pivot, column = torch.index_select(top, 2, number), torch.index_select(a, 2, number)
    share = torch.where(pivot == 0, column, column / pivot)
    # What is infinite is taken off nothing else: its product with 0 is no number.
    rest = torch.where(torch.logical_and(rows > number, columns > number), a - share * top, a)
    is_share = torch.logical_and(rows > number, columns == number)
    at = torch.arange(pivots.shape[1], device=a.device)
    return torch.where(is_share, share, rest), torch.where(at == number, place.squeeze(2) + 1, pivots)


def _lu(a):
    """[batch, rows, columns] -> both triangles in one, and which rows were exchanged, from 1."""
    count = min(a.shape[-2:])
    pivots = torch.zeros((a.shape[0], count), dtype=torch.int64, device=a.device)
    for number in _numbers(count, a.device):
        a, pivots = torch.ops.spyre.lu_step(a, pivots, number)
    return a, pivots


def pivot_step(order, pivots, number):
    """Two rows change places."""
    at = torch.arange(order.shape[1], device=order.device)
    place = torch.index_select(pivots, 1, number) - 1
    is_there = at == place
    other = torch.sum(torch.where(is_there, order, torch.zeros_like(order)), 1, keepdim=True)
    mine = torch.index_select(order, 1, number)
    return torch.where(at == number, other, torch.where(is_there, mine, order))


def _order(pivots, count):
    """[batch, rows]: which row of the matrix stands where."""
    order = torch.arange(count, device=pivots.device).expand(pivots.shape[0], count).contiguous()
    for number in _numbers(pivots.shape[1], pivots.device):
        order = torch.ops.spyre.pivot_step(order, pivots.to(torch.int64), number)
    return order


def _exchange(order, is_back=False):
    """A matrix of 0 and 1 times which a matrix has its rows in an order, or has them back."""
    at = torch.arange(order.shape[1], device=order.device)
    matrix = (order.unsqueeze(2) == at).to(torch.float32)
    return matrix.mT if is_back else matrix


def triangular_step(x, a, number, upper, unitriangular):
    """A row of the solution is known, and taken off all that follow."""
    rows = _rows(a)
    row = torch.index_select(x, 1, number)
    if not unitriangular:
        row = row / torch.index_select(torch.index_select(a, 1, number), 2, number)
    follows = rows < number if upper else rows > number
    column = torch.index_select(a, 2, number)
    return torch.where(rows == number, row, torch.where(follows, x - column * row, x))


def _triangular(a, b, upper, unitriangular=False):
    for number in _numbers(a.shape[-1], a.device, backwards=upper):
        b = torch.ops.spyre.triangular_step(b, a, number, upper, unitriangular)
    return b


def _both(a, b):
    """With the same batch, in one dimension; and how to have it back."""
    batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return [_flat(t.expand(*batch, *t.shape[-2:])).contiguous() for t in (a, b)], batch


def solve_triangular(a, b, *, upper, left=True, unitriangular=False):
    """Column by column, or by the inverse where that would be too many."""
    if not _is_supported(a, b):
        return triangular.solve(a, b, upper=upper, left=left, unitriangular=unitriangular)
    if not left:
        return solve_triangular(a.mT, b.mT, upper=not upper, unitriangular=unitriangular).mT.contiguous()
    (flat, right), batch = _both(a, b)
    return _triangular(flat, right, upper, unitriangular).reshape(*batch, *b.shape[-2:])


def _can_check(a, check_errors):
    """Errors are told apart from results by the host, which a graph does not ask."""
    return not check_errors or not _in_graph(a)


def _check(info, a, name, check_errors):
    """Raises torch's error of the first matrix that has no result."""
    if check_errors:
        torch.ops.aten._linalg_check_errors(info, name, is_matrix=a.dim() == 2)


def lu_factor_ex(a, *, pivot=True, check_errors=False):
    if not pivot or not _can_check(a, check_errors) or not _is_supported(a):
        return NotImplemented
    lu, pivots = _lu(_flat(a).contiguous())
    lead = a.shape[:-2]
    info = _first_bad(_diagonal(lu) == 0).reshape(lead)
    _check(info, a, "torch.linalg.lu_factor_ex", check_errors)
    return lu.reshape(a.shape), pivots.to(torch.int32).reshape(*lead, -1), info


def lu_unpack(lu, pivots, unpack_data=True, unpack_pivots=True):
    if not _is_supported(lu):
        return NotImplemented
    rows, columns = lu.shape[-2:]
    count = min(rows, columns)
    empty = lu.new_zeros(0)
    lower = upper = exchange = empty
    if unpack_data:
        lower = torch.tril(lu[..., :count], -1) + torch.eye(rows, count, dtype=lu.dtype, device=lu.device)
        upper = torch.triu(lu[..., :count, :]).contiguous()
    if unpack_pivots:
        flat = pivots.reshape(-1, pivots.shape[-1])
        exchange = _exchange(_order(flat, rows), True).reshape(*lu.shape[:-2], rows, rows).contiguous()
    return exchange, lower, upper


def linalg_lu(a, *, pivot=True):
    result = lu_factor_ex(a, pivot=pivot)
    return result if result is NotImplemented else lu_unpack(*result[:2])


def lu_solve(lu, pivots, b, *, left=True, adjoint=False):
    if not _is_supported(lu, b):
        return NotImplemented
    if not left:
        return lu_solve(lu, pivots, b.mT, adjoint=not adjoint).mT.contiguous()
    (flat, right), batch = _both(lu, b)
    order = _order(pivots.expand(*batch, pivots.shape[-1]).reshape(flat.shape[0], -1), flat.shape[-1])
    if adjoint:
        right = _triangular(flat.mT.contiguous(), right, False)
        right = _triangular(flat.mT.contiguous(), right, True, True)
        found = torch.matmul(_exchange(order, True), right)
    else:
        right = torch.matmul(_exchange(order), right)
        found = _triangular(flat, _triangular(flat, right, False, True), True)
    return found.reshape(*batch, *b.shape[-2:])


def solve_ex(a, b, *, left=True, check_errors=False):
    is_vector = b.dim() == 1 or (a.dim() - 1 == b.dim() and b.shape == a.shape[:-1])
    right = b.unsqueeze(-1) if is_vector else b
    if not _can_check(a, check_errors) or not _is_supported(a, right) or a.shape[-1] != a.shape[-2]:
        return NotImplemented
    lu, pivots, info = lu_factor_ex(a)
    _check(info, a, "torch.linalg.solve_ex", check_errors)
    found = lu_solve(lu, pivots, right, left=left)
    return found.squeeze(-1) if is_vector else found, lu, pivots, info


def inv_ex(a, *, check_errors=False):
    if not _can_check(a, check_errors) or not _is_supported(a) or a.shape[-1] != a.shape[-2]:
        return NotImplemented
    lu, pivots, info = lu_factor_ex(a)
    _check(info, a, "linalg.inv_ex", check_errors)
    return lu_solve(lu, pivots, _one(a).expand(a.shape)), info


def _parity(pivots):
    """-1 for an odd number of exchanges."""
    at = torch.arange(pivots.shape[-1], device=pivots.device) + 1
    count = torch.sum((pivots != at).to(torch.float32), -1)
    return 1 - 2 * (count - 2 * torch.floor(count / 2))


def _factors_of(a):
    """Torch's gradients of determinants take them for those of the transposed matrix where the matrix is contiguous."""
    return lu_factor_ex(a.mT.contiguous() if a.is_contiguous() else a)


def det(a):
    if not _is_supported(a) or a.shape[-1] != a.shape[-2]:
        return NotImplemented
    lu, pivots, _ = _factors_of(a)
    return torch.prod(_diagonal(lu), -1) * _parity(pivots), lu, pivots


def slogdet(a):
    if not _is_supported(a) or a.shape[-1] != a.shape[-2]:
        return NotImplemented
    lu, pivots, _ = _factors_of(a)
    diagonal = _diagonal(lu)
    sign = torch.prod(torch.sign(diagonal), -1) * _parity(pivots)
    return sign, torch.sum(torch.log(torch.abs(diagonal)), -1), lu, pivots


# --------------------------------------------------------------------------------------------------
# Roots of matrices


def cholesky_step(a, number):
    """A column below its root, and what it has taken off the columns behind it."""
    rows, columns = _rows(a), _columns(a)
    zero = torch.zeros((), dtype=a.dtype, device=a.device)
    column = torch.index_select(a, 2, number)
    root = torch.sqrt(torch.index_select(column, 1, number))
    below = column / root
    rest = torch.where(torch.logical_and(rows > number, columns > number), a - below * below.mT, a)
    here = torch.where(rows == number, root, torch.where(rows > number, below, zero))
    return torch.where(columns == number, here, rest)


def cholesky_ex(a, *, upper=False, check_errors=False):
    if not _can_check(a, check_errors) or not _is_supported(a) or a.shape[-1] != a.shape[-2]:
        return NotImplemented
    flat = _flat(a.mT if upper else a).contiguous()
    for number in _numbers(flat.shape[-1], flat.device):
        flat = torch.ops.spyre.cholesky_step(flat, number)
    lower = torch.tril(flat)
    info = _first_bad(torch.logical_not(_diagonal(lower) > 0)).reshape(a.shape[:-2])
    _check(info, a, "linalg.cholesky_ex", check_errors)
    return (lower.mT.contiguous() if upper else lower).reshape(a.shape), info


def cholesky_solve(b, a, upper=False):
    if not _is_supported(a, b):
        return NotImplemented
    (flat, right), batch = _both(a.mT if upper else a, b)
    right = _triangular(flat.mT.contiguous(), _triangular(flat, right, False), True)
    return right.reshape(*batch, *b.shape[-2:])


def cholesky_inverse(a, upper=False):
    if not _is_supported(a):
        return NotImplemented
    return cholesky_solve(_one(a).expand(a.shape), a, upper)


# --------------------------------------------------------------------------------------------------
# Mirrors


def qr_step(r, q, number):
    """All that is below a column's place is mirrored into it; ``q`` has the product of the mirrors so far."""
    rows = _rows(r)
    column = torch.where(rows >= number, torch.index_select(r, 2, number), 0.0)
    # Squares of what is far from 1 would be 0, or infinite; a mirror has no size.
    most = torch.amax(torch.abs(column), 1, keepdim=True)
    column = torch.where(most == 0, column, column / most)
    first = torch.index_select(column, 1, number)
    below = torch.sum(torch.where(rows > number, column * column, 0.0), 1, keepdim=True)
    length = torch.sqrt(first * first + below)
    target = torch.where(first >= 0, -length, length)
    normal = torch.where(rows == number, first - target, column)
    size = torch.sum(normal * normal, 1, keepdim=True)
    # Where nothing is below, nothing is mirrored.
    factor = torch.where(below == 0, 0.0, 2 / size)
    r = r - normal * (factor * torch.sum(normal * r, 1, keepdim=True))
    q = q - torch.matmul(q, normal) * (factor * normal.mT)
    return r, q


def qr(a, mode="reduced"):
    rows, columns = a.shape[-2:]
    # The product of the mirrors has as many columns as rows, whatever is kept of it.
    is_small = a.numel() * rows <= limits.MATRICES.most * columns
    if not _is_supported(a) or not is_small or mode not in ("reduced", "complete", "r"):
        return NotImplemented
    flat = _flat(a).contiguous()
    count = min(rows, columns)
    q = _one(a.mT).expand(flat.shape[0], rows, rows).contiguous()
    # The last row has nothing below it.
    for number in _numbers(min(count, rows - 1), a.device):
        flat, q = torch.ops.spyre.qr_step(flat, q, number)
    kept = rows if mode == "complete" else count
    r = torch.triu(flat[:, :kept]).reshape(*a.shape[:-2], kept, columns)
    q = a.new_zeros(0) if mode == "r" else q[:, :, :kept].reshape(*a.shape[:-2], rows, kept).contiguous()
    return q, r


# --------------------------------------------------------------------------------------------------
# Powers of e

_TERMS = 12
#: In graphs, and where fp32 ends.
_DOUBLINGS, _MOST_DOUBLINGS = 20, 128


def matrix_exp(a):
    """By the series of a matrix that is halved until its norm is at most 1, and squared again: how often is data. In eager
    mode the host asks; in graphs matrices of a norm beyond 2^20 have no result."""
    if a.dtype in HALVES:
        wide = matrix_exp(a.float())
        return wide if wide is NotImplemented else wide.to(a.dtype)
    if not _is_supported(a):
        return NotImplemented
    flat = _flat(a)
    norm = torch.amax(torch.sum(torch.abs(flat), 1), 1).reshape(-1, 1, 1)
    halvings = torch.ceil(torch.log2(torch.clamp_min(norm, 1.0)))
    is_known = halvings <= (_DOUBLINGS if _in_graph(a) else _MOST_DOUBLINGS)
    halvings = torch.where(is_known, halvings, 0.0)
    count = _DOUBLINGS if _in_graph(a) else int(torch.amax(halvings))
    small = flat * torch.exp2(-halvings)
    one = _one(a)
    result = one + small / _TERMS
    for term in range(_TERMS - 1, 0, -1):
        result = one + torch.matmul(small, result) / term
    for doubling in range(count):
        result = torch.where(halvings > doubling, torch.matmul(result, result), result)
    return torch.where(is_known, result, math.nan).reshape(a.shape)


# --------------------------------------------------------------------------------------------------

STEPS = {
    "lu_step(Tensor a, Tensor pivots, Tensor number) -> (Tensor, Tensor)": lu_step,
    "pivot_step(Tensor order, Tensor pivots, Tensor number) -> Tensor": pivot_step,
    "triangular_step(Tensor x, Tensor a, Tensor number, bool upper, bool unitriangular) -> Tensor": triangular_step,
    "cholesky_step(Tensor a, Tensor number) -> Tensor": cholesky_step,
    "qr_step(Tensor r, Tensor q, Tensor number) -> (Tensor, Tensor)": qr_step,
}


def _whole():
    """Operator overload -> function."""
    aten = torch.ops.aten
    return {
        aten._cholesky_solve_helper.default: cholesky_solve,
        aten._linalg_det.default: det,
        aten._linalg_slogdet.default: slogdet,
        aten._linalg_solve_ex.default: solve_ex,
        aten.cholesky_solve.default: cholesky_solve,
        aten.cholesky_inverse.default: cholesky_inverse,
        aten.linalg_cholesky_ex.default: cholesky_ex,
        aten.linalg_inv_ex.default: inv_ex,
        aten.linalg_lu.default: linalg_lu,
        aten.linalg_lu_factor_ex.default: lu_factor_ex,
        aten.linalg_lu_solve.default: lu_solve,
        aten.linalg_matrix_exp.default: matrix_exp,
        aten.linalg_qr.default: qr,
        aten.linalg_solve_triangular.default: solve_triangular,
        aten.lu_unpack.default: lu_unpack,
    }


def _on_cpu():
    """Made of singular values, with bounds that torch makes in float64."""
    aten = torch.ops.aten
    return aten.linalg_matrix_rank.atol_rtol_tensor, aten.linalg_pinv.atol_rtol_tensor


def decompositions():
    """Those, and their steps."""
    steps = {getattr(torch.ops.spyre, schema.split("(")[0]).default: function for schema, function in STEPS.items()}
    return {**_whole(), **steps}


_kernels = []


def install():
    """Registers the kernels of the device; once. In eager mode all steps of a factor are one program."""
    if _kernels:
        return
    _kernels.append(torch.library.Library("aten", "IMPL"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some replace a kernel that falls back
        for op, function in _whole().items():
            name = op.name().removeprefix("aten::")
            _kernels[0].impl(name, fallbacks.otherwise_on_cpu(function, op), "PrivateUse1", allow_override=True)
        for op in _on_cpu():
            _kernels[0].impl(op.name().removeprefix("aten::"), fallbacks.kernel_for(op, op), "PrivateUse1")
