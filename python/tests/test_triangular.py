"""Triangular systems of equations on the device, as gated delta rules solve them."""

import pytest
import torch
from tolerances import FP32_ULP, tolerance

SOLVE = torch.linalg.solve_triangular


def system(count, batch=(), seed=0):
    """A matrix whose inverse is not much larger than itself; all of it is numbers, also what is not to be read."""
    generator = torch.Generator().manual_seed(seed)
    matrix = torch.randn(*batch, count, count, generator=generator) / count**0.5
    return matrix + 2 * torch.eye(count), torch.randn(*batch, count, 5, generator=generator)


def check(result, matrix, right, **how):
    """The residual is small: every row of it is a sum of ``count`` products, in each of which the solution has been rounded."""
    count, x = matrix.shape[-1], result.cpu().double()
    triangle = matrix.double().triu() if how["upper"] else matrix.double().tril()
    if how.get("unitriangular"):
        triangle = triangle - torch.diag_embed(triangle.diagonal(dim1=-2, dim2=-1)) + torch.eye(count).double()
    given = triangle @ x if how.get("left", True) else x @ triangle
    scale = triangle.abs() @ x.abs() if how.get("left", True) else x.abs() @ triangle.abs()
    bound = (tolerance("matmulOfMatmul", torch.float32, count) + FP32_ULP) * scale.max()
    assert (given - right.double()).abs().max() <= bound


@pytest.mark.parametrize("unitriangular", [False, True])
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("count", [1, 5, 64])
def test_systems(count, compiled, upper, unitriangular, on_device):
    matrix, right = system(count, (2, 3))
    solve = torch.compile(SOLVE) if compiled else SOLVE
    with on_device():
        result = solve(matrix.to("spyre"), right.to("spyre"), upper=upper, unitriangular=unitriangular)
    check(result, matrix, right, upper=upper, unitriangular=unitriangular)


def test_from_the_other_side(on_device):
    matrix, right = system(20)
    with on_device():
        result = SOLVE(matrix.to("spyre"), right.mT.contiguous().to("spyre"), upper=False, left=False)
    check(result, matrix, right.mT, upper=False, left=False)


def test_one_matrix_for_many_right_sides(on_device):
    """Of batches that differ torch asks for the ones they make together."""
    matrix, _ = system(9)
    _, right = system(9, (3,))
    with on_device():
        result = SOLVE(matrix.to("spyre"), right.to("spyre"), upper=True)
    check(result, matrix, right, upper=True)


def test_gradients(on_device):
    matrix, right = system(12)
    given = [matrix.to("spyre").requires_grad_(), right.to("spyre").requires_grad_()]
    with on_device():
        SOLVE(*given, upper=False).square().sum().backward()
    wanted = [matrix.double().requires_grad_(), right.double().requires_grad_()]
    SOLVE(*wanted, upper=False).square().sum().backward()
    for device, host in zip(given, wanted):
        error = (device.grad.cpu() - host.grad).abs().max() / host.grad.abs().max()
        assert error <= tolerance("matmulOfMatmul", torch.float32, 3 * 12)
