"""Triangular systems of equations, by the inverse of the matrix.

The inverse of a block triangle [[A, 0], [C, D]] has -D^-1 C A^-1 in the place of C. Blocks of 1, 2, 4, .. elements are
joined to blocks of twice as many, all of a size at once: two products of whole matrices, of which all but the blocks is 0.
"""

import torch

#: Rows up to which the zeros among the products are worth it.
MOST_ROWS = 256


def _joined_to(rows, size):
    """Where the blocks below the diagonal stand that join neighbours of ``size`` rows: a mask of the matrix."""
    block = torch.div(rows, size, rounding_mode="floor")
    is_second = block - torch.div(block, 2, rounding_mode="floor") * 2 == 1
    return torch.logical_and(block[:, None] == block[None] + 1, is_second[:, None])


def _inverse(lower, unitriangular):
    """Of the triangle below and on the diagonal; what is above is not read."""
    count = lower.shape[-1]
    rows = torch.arange(count, device=lower.device, dtype=torch.int32)
    one = (rows[:, None] == rows[None]).to(lower.dtype)
    inverse = one.expand(lower.shape) if unitriangular else one / torch.where(one != 0, lower, 1.0)
    size = 1
    while size < count:
        corners = torch.where(_joined_to(rows, size), lower, 0.0)
        inverse = inverse - inverse @ corners @ inverse
        size *= 2
    return inverse


def solve(matrix, right, *, upper, left=True, unitriangular=False):
    """linalg.solve_triangular: the x with matrix @ x = right, or x @ matrix = right."""
    count = matrix.shape[-1]
    if matrix.dtype != torch.float32 or right.dtype != torch.float32 or not 0 < count <= MOST_ROWS or not right.numel():
        return NotImplemented
    lower = matrix.mT if upper else matrix
    inverse = _inverse(lower, unitriangular)
    inverse = inverse.mT if upper else inverse
    return inverse @ right if left else right @ inverse
