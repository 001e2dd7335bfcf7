"""Sums, means and maxima of rows of a table (EmbeddingBag), from operations the device has (docs/adr/0074).

Where bags begin is data: every number asks how many bags have begun before it. Sums are products with a matrix that has a
row for each bag, so that they are rounded once.
"""

import math

import torch

from torch_spyre._inductor.integer_decompositions import INTEGERS
from torch_spyre.ops import limits
from torch_spyre.ops.distances import size_of
from torch_spyre.ops.functions import FLOATS

_SUM, _MEAN, _MAX = range(3)


def _count(offsets, include_last_offset):
    return offsets.shape[0] - (1 if include_last_offset else 0)


def _bag_numbers(indices, offsets):
    """Of each number, and -1 where no bag has begun."""
    at = torch.arange(indices.shape[0], device=indices.device)
    begun = (offsets.to(torch.int64)[:, None] <= at).to(torch.int64)
    return torch.sum(begun, 0) - 1


def _members(bags, indices, count, padding_idx):
    """Which number is in which bag: [bags, numbers]."""
    is_in = bags == torch.arange(count, device=bags.device)[:, None]
    return is_in if padding_idx < 0 else torch.logical_and(is_in, indices != padding_idx)


def _product(matrix, rows):
    """The matrix is of 0 and 1, or of weights of the type of the rows."""
    return torch.matmul(matrix.to(rows.dtype), rows)


def _is_supported(weight, indices, count):
    return (
        weight.dtype in FLOATS
        and indices.dtype in INTEGERS
        and indices.dim() == 1
        and weight.numel() > 0
        and indices.numel() > 0
        and 0 < count
        and not limits.BAGS.refuses(count * indices.shape[0])
    )


def embedding_bag(
    weight,
    indices,
    offsets,
    scale_grad_by_freq=False,
    mode=_SUM,
    sparse=False,
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=-1,
):
    """The result, the bags of the numbers, how many each has, and the numbers of maxima."""
    del scale_grad_by_freq, sparse  # of the gradient only
    count = _count(offsets, include_last_offset)
    if not _is_supported(weight, indices, count):
        return NotImplemented
    if mode == _MAX and limits.BAGS.refuses(count * indices.shape[0] * weight.shape[1]):
        return NotImplemented
    offsets = offsets.narrow(0, 0, count)
    rows = torch.index_select(weight, 0, indices)
    bags = _bag_numbers(indices, offsets)
    is_in = _members(bags, indices, count, padding_idx)
    sizes = torch.sum(is_in.to(torch.int64), 1)
    places = torch.zeros_like(sizes)  # nobody reads them, but a program of the backward pass takes no empty tensor
    if mode == _MAX:
        result, places = _maxima(rows, indices, is_in, sizes)
    else:
        if per_sample_weights is not None:
            rows = rows * per_sample_weights[:, None]
        result = _product(is_in, rows)
        if mode == _MEAN:
            result = _divided(result, sizes)
    kind = indices.dtype
    return result, bags.to(kind), sizes.to(kind), places.to(kind)


def _divided(rows, sizes):
    return (rows.float() / torch.clamp_min(sizes, 1).float()[:, None]).to(rows.dtype)


def _maxima(rows, indices, is_in, sizes):
    """The largest of each bag, and the row of the table it is of: 0 and -1 of bags without any."""
    lowest = torch.full((), -math.inf, dtype=rows.dtype, device=rows.device)
    values, at = torch.max(torch.where(is_in[..., None], rows, lowest), 1)
    has_any = (sizes > 0)[:, None]
    values = torch.where(has_any, values, torch.zeros((), dtype=rows.dtype, device=rows.device))
    places = torch.index_select(indices, 0, at.reshape(-1)).reshape(at.shape)
    return values, torch.where(has_any, places.to(torch.int64), torch.full((), -1, device=rows.device))


def _named(numbers, count):
    """[count, numbers]: which number names which row."""
    return numbers == torch.arange(count, device=numbers.device)[:, None]


def dense_backward(
    grad,
    indices,
    bags,
    sizes,
    maxima,
    num_weights,
    scale_grad_by_freq,
    mode,
    per_sample_weights,
    padding_idx=-1,
):
    """Every row of the table asks which numbers name it."""
    many = num_weights * (grad.numel() if mode == _MAX else indices.numel())
    if grad.dtype not in FLOATS or not many or limits.BAGS.refuses(many) or (scale_grad_by_freq and mode == _MAX):
        return NotImplemented
    if mode == _MAX:
        zero = torch.zeros((), dtype=grad.dtype, device=grad.device)
        named = maxima == torch.arange(num_weights, device=grad.device)[:, None, None]
        return torch.sum(torch.where(named, grad, zero), 1)
    if mode == _MEAN:
        grad = _divided(grad, sizes)
    # Numbers before the first bag are in none.
    rows = torch.index_select(grad, 0, torch.clamp_min(bags, 0).to(torch.int64))
    if per_sample_weights is not None:
        rows = rows * per_sample_weights[:, None]
    is_named = _named(indices, num_weights)
    named = torch.logical_and(is_named, bags >= 0)
    named = named if padding_idx < 0 else torch.logical_and(named, indices != padding_idx)
    if not scale_grad_by_freq:
        return _product(named, rows)
    # The CPU's kernel divides by the frequency of another row than the one it means.
    return _divided(_product(named, rows.float()), torch.sum(is_named.to(torch.int64), 1)).to(grad.dtype)


def backward(
    grad,
    indices,
    offsets,
    bags,
    sizes,
    maxima,
    num_weights,
    scale_grad_by_freq,
    mode,
    sparse,
    per_sample_weights,
    padding_idx=-1,
):
    if sparse:
        return NotImplemented
    # Torch may hand over no numbers of bags where it could find them again.
    bags = bags if bags.numel() == indices.numel() else _bag_numbers(indices, offsets)
    return dense_backward(
        *(grad, indices, bags, sizes, maxima, num_weights, scale_grad_by_freq, mode, per_sample_weights, padding_idx)
    )


def weights_backward(grad, weight, indices, offsets, bags, mode, padding_idx=-1):
    """Of the weights of the numbers: the product of their row and the gradient of their bag."""
    if grad.dtype not in FLOATS or indices.numel() == 0 or mode != _SUM:
        return NotImplemented
    bags = bags if bags.numel() == indices.numel() else _bag_numbers(indices, offsets)
    theirs = torch.index_select(grad, 0, torch.clamp_min(bags, 0).to(torch.int64)).float()
    rows = torch.index_select(weight, 0, indices).float()
    counts = bags >= 0 if padding_idx < 0 else torch.logical_and(bags >= 0, indices != padding_idx)
    return torch.where(counts, torch.sum(theirs * rows, 1), torch.zeros((), device=grad.device)).to(grad.dtype)


def renormed(weight, indices, max_norm, norm_type):
    """The table, in which rows that are named and larger than the norm have it."""
    many = weight.shape[0] * indices.numel()
    if weight.dtype not in FLOATS or not many or limits.BAGS.refuses(many):
        return NotImplemented
    size = size_of(weight.float(), norm_type, [1], True)
    is_named = torch.amax(_named(indices.reshape(-1), weight.shape[0]).to(torch.float16), 1, keepdim=True) > 0
    # The small number is torch's.
    scaled = (weight.float() * (max_norm / (size + 1e-7))).to(weight.dtype)
    return torch.where(torch.logical_and(is_named, size > max_norm), scaled, weight)


def decompositions():
    """Operator overload -> function."""
    aten = torch.ops.aten
    return {
        aten.embedding_renorm.default: renormed,
        aten._embedding_bag.default: embedding_bag,
        aten._embedding_bag_forward_only.default: embedding_bag,
        aten._embedding_bag_backward.default: backward,
        aten._embedding_bag_dense_backward.default: dense_backward,
        aten._embedding_bag_per_sample_weights_backward.default: weights_backward,
    }
