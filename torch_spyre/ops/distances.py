"""Norms of any order, weights of given norms, and distances of all pairs of rows, from operations the device has: in fp32,
rounded once."""

import math

import torch

from torch_spyre.ops import limits
from torch_spyre.ops.functions import is_float


def size_of(wide, order, dims, keepdim=False):
    """The norm of tensors in fp32."""
    size = torch.abs(wide)
    if order == 0:
        return torch.sum((wide != 0).to(torch.float32), dims, keepdim=keepdim)
    if order == 1:
        return torch.sum(size, dims, keepdim=keepdim)
    if order == 2:
        return torch.sqrt(torch.sum(wide * wide, dims, keepdim=keepdim))
    if math.isinf(order):
        return (torch.amax if order > 0 else torch.amin)(size, dims, keepdim=keepdim)
    return torch.pow(torch.sum(torch.pow(size, order), dims, keepdim=keepdim), 1 / order)


def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    if not is_float(x) or x.numel() == 0:
        return NotImplemented
    kind = x.dtype if dtype is None else dtype
    dims = list(range(x.dim())) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    dims = dims if x.dim() else []
    return size_of(x.float(), ord, dims, keepdim).to(kind)


def dist(x, y, p=2):
    if not is_float(x, y) or x.dtype != y.dtype or x.numel() == 0 or y.numel() == 0:
        return NotImplemented
    rest = x.float() - y.float()
    return size_of(rest, p, list(range(rest.dim()))).to(x.dtype)


def _differences(x, y):
    """[.., rows of x, rows of y, width], or None where they are too many."""
    if not is_float(x, y) or x.dtype != y.dtype or x.dim() < 2 or 0 in (x.numel(), y.numel()):
        return None
    lead = math.prod(torch.broadcast_shapes(x.shape[:-2], y.shape[:-2]))
    if limits.DISTANCES.refuses(lead * x.shape[-2] * y.shape[-2] * x.shape[-1]):
        return None
    return x.float().unsqueeze(-2) - y.float().unsqueeze(-3)


def cdist(x, y, p, compute_mode=None):
    del compute_mode  # torch asks for the way by products where it wants that
    rest = _differences(x, y)
    return NotImplemented if rest is None else size_of(rest, p, [-1]).to(x.dtype)


def cdist_backward(grad, x, y, p, distance):
    """The gradient of the rows of x; rows that are the same have none."""
    rest = _differences(x, y)
    return NotImplemented if rest is None else _rows_gradient(grad, rest, p, distance).to(x.dtype)


def _rows_gradient(grad, rest, p, distance):
    if p == 0:
        return torch.zeros_like(rest.select(-2, 0))
    grad, far = grad.float().unsqueeze(-1), distance.float().unsqueeze(-1)
    if p == 1:
        slope = torch.sign(rest)
    elif math.isinf(p):
        size = torch.abs(rest)  # the distance is rounded
        slope = torch.where(size == torch.amax(size, -1, keepdim=True), torch.sign(rest), torch.zeros_like(rest))
    else:
        share = torch.abs(rest) / torch.where(far == 0, torch.ones_like(far), far)
        slope = torch.sign(rest) * (share if p == 2 else torch.pow(share, p - 1))
        slope = slope if p >= 1 else torch.where(rest == 0, torch.zeros_like(slope), slope)
    return torch.sum(grad * slope, -2)


def _pair_numbers(count, device):
    """[count, count]: where the distance of two rows stands in the list of all pairs; of a row with itself, anywhere."""
    numbers = torch.arange(count, device=device)
    first = torch.minimum(numbers[:, None], numbers)
    second = torch.maximum(numbers[:, None], numbers)
    before = first * (2 * count - first - 1)
    place = torch.div(before, 2, rounding_mode="floor") + second - first - 1
    return torch.clamp(place, 0, count * (count - 1) // 2 - 1)


def pdist(x, p=2):
    """Distances of each row to those behind it, in a row."""
    rest = _differences(x, x)
    if rest is None or x.dim() != 2 or x.shape[0] < 2:
        return NotImplemented
    far = size_of(rest, p, [-1]).to(x.dtype)
    first, second = torch.triu_indices(x.shape[0], x.shape[0], 1, device=x.device)
    return torch.index_select(far.reshape(-1), 0, first * x.shape[0] + second)


def pdist_backward(grad, x, p, distance):
    rest = _differences(x, x)
    if rest is None or x.dim() != 2 or x.shape[0] < 2 or grad.numel() == 0:
        return NotImplemented
    count = x.shape[0]
    places = _pair_numbers(count, x.device).reshape(-1)
    grads, far = (torch.index_select(t, 0, places).reshape(count, count) for t in (grad, distance))
    # A row has no distance to itself, and no difference.
    return _rows_gradient(grads, rest, p, far).to(x.dtype)


def _other_dims(v, dim):
    return [d for d in range(v.dim()) if d != dim % v.dim()]


def weight_norm(v, g, dim=0):
    """Weights with the sizes ``g`` along a dimension, and the sizes they had."""
    if not is_float(v, g) or v.numel() == 0:
        return NotImplemented
    norms = size_of(v.float(), 2, _other_dims(v, dim), True)
    return (v.float() * (g.float() / norms)).to(v.dtype), norms


def weight_norm_backward(grad, v, g, norms, dim):
    if not is_float(grad, v, g) or v.numel() == 0:
        return NotImplemented
    grad, wide, norms = grad.float(), v.float(), norms.float()
    along = torch.sum(grad * wide, _other_dims(v, dim), keepdim=True) / norms
    of_v = (grad - wide * (along / norms)) * (g.float() / norms)
    return of_v.to(v.dtype), along.to(g.dtype)
