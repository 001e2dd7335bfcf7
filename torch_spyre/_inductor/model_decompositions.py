"""Operations of real models that torch keeps whole, in terms of ones the compiler has.

Each replaces one ATen operation while a graph is captured. What an entry does not cover stays as it
is: the compiler then judges it like any other operation.
"""

import math

import torch

from torch_spyre.constants import DEVICE_NAME
from torch_spyre.ops import (
    bags,
    convolution,
    distances,
    fractional_pooling,
    functions,
    grids,
    groups,
    index_writes,
    limits,
    margins,
    normalisations,
    optimizers,
    pooling,
    powers,
    products,
    quantized,
    recurrent,
    region_writes,
    resampling,
    scans,
    sorting,
    sums,
)

aten = torch.ops.aten


def _elu(x, alpha=1, scale=1, input_scale=1):
    if not functions.is_float(x):
        return NotImplemented
    wide = x.float()
    below = functions.expm1(torch.clamp(wide * input_scale, max=0))
    if alpha * scale != 1:
        below, lost = functions.product(below, alpha * scale)
        below = below + lost
    return torch.where(wide > 0, wide * scale, below).to(x.dtype)


def _shrunk_backward(grad, x, bound):
    """Of hardshrink and softshrink, which are 0 up to the bound."""
    if not functions.is_float(grad, x):
        return NotImplemented
    return torch.where(torch.abs(x) > bound, grad, torch.where(x != x, grad, 0.0))


def _fma(a, b, c):
    """Compiled optimisers write it. Rounded twice: the documented interface has no fused operation."""
    return a * b + c


def _histc(x, bins=100, min=0, max=0):
    """Of whole numbers with a bin for each, as routers of experts count; the CPU has none of integers."""
    if x.dtype.is_floating_point:
        return scans.histc(x, bins, min, max)
    if x.dtype not in (torch.int32, torch.int64) or x.numel() == 0 or max - min != bins - 1:
        return NotImplemented
    if limits.COUNTED.refuses(bins * x.numel()):
        return NotImplemented
    numbers = torch.arange(bins, device=x.device, dtype=x.dtype) + int(min)

    def counted(first, last):
        return (x.reshape(1, -1) == numbers[first:last, None]).to(x.dtype).sum(1, dtype=x.dtype)

    return limits.in_blocks(bins, x.numel(), counted)


def _index_add(x, dim, index, source, *, alpha=1):
    """Torch's formula would repeat a source of another shape."""
    from torch._decomp import decomposition_table

    if [n for d, n in enumerate(x.shape) if d != dim % max(x.dim(), 1)] != [
        n for d, n in enumerate(source.shape) if d != dim % max(x.dim(), 1)
    ]:
        return NotImplemented
    return decomposition_table[aten.index_add.default](x, dim, index, source, alpha=alpha)


def _copied(view):
    """What functional graphs have in place of a view."""

    def decomposed(x, *args, **kwargs):
        result = view(x, *args, **kwargs)
        return result.clone() if isinstance(result, torch.Tensor) else [part.clone() for part in result]

    return decomposed


def _clamp(x, min=None, max=None):
    x = x if min is None else torch.maximum(x, min)
    return x if max is None else torch.minimum(x, max)


def _addbmm(x, first, second, *, beta=1, alpha=1):
    """One product: the batch is a part of what is summed over."""
    if not functions.is_float(x, first, second) or first.numel() == 0 or second.numel() == 0:
        return NotImplemented
    left = first.permute(1, 0, 2).reshape(first.shape[1], -1)
    return torch.addmm(x, left, second.reshape(-1, second.shape[2]), beta=beta, alpha=alpha)


def _dropout(x, p, train=True):
    """The CPU draws what is kept, as for an operation that runs there whole; nothing else leaves the device."""
    if not functions.is_float(x) or train is False or not 0 < p < 1:
        return NotImplemented
    kept = torch.ops.aten.bernoulli.p(torch.zeros(x.shape, dtype=torch.bool, device=x.device), 1 - p)
    return x * kept.to(x.dtype) * (1 / (1 - p)), kept


def _empty(size, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
    """What is read of it before it is written may be anything; zeros cost nothing."""
    if device is None or torch.device(device).type != DEVICE_NAME or memory_format not in (None, torch.contiguous_format):
        return NotImplemented
    return torch.zeros(size, dtype=dtype, device=device)


def _var_mean(x, dim=None, *, correction=None, keepdim=False):
    """In fp32: what the mean loses would count squared."""
    if not functions.is_float(x):
        return NotImplemented
    dim = [dim] if isinstance(dim, int) else dim
    dims = list(range(x.dim())) if not dim else [d % max(x.dim(), 1) for d in dim]
    count = math.prod(x.shape[d] for d in dims) if x.dim() else 1
    divisor = count - (1 if correction is None else correction)
    if divisor <= 0:
        return NotImplemented
    wide = x.float()
    mean = torch.mean(wide, dims, keepdim=True)
    rest = wide - mean
    var = torch.mean(rest * rest, dims, keepdim=True) * (count / divisor)
    if not keepdim:
        shape = [size for d, size in enumerate(x.shape) if d not in dims]
        var, mean = var.reshape(shape), mean.reshape(shape)
    return var.to(x.dtype), mean.to(x.dtype)


def _var(x, dim=None, *, correction=None, keepdim=False):
    result = _var_mean(x, dim, correction=correction, keepdim=keepdim)
    return result if result is NotImplemented else result[0]


def _repeat(x, repeats):
    """Dimensions together, as many as there are free."""
    x = x.reshape([1] * (len(repeats) - x.dim()) + list(x.shape))
    repeated = [d for d, count in enumerate(repeats) if count != 1]
    free = max(limits.RANK.most - x.dim(), 1)
    for start in range(0, len(repeated), free):
        x = _repeat_some(x, {d: repeats[d] for d in repeated[start : start + free]})
    return x.clone()


def _repeat_some(x, counts):
    """Each repeated dimension gets one before it, which is expanded and joined again."""
    split, expanded = [], []
    for d, size in enumerate(x.shape):
        if d in counts:
            split.append(1)
            expanded.append(counts[d])
        split.append(size)
        expanded.append(size)
    return x.reshape(split).expand(expanded).reshape([size * counts.get(d, 1) for d, size in enumerate(x.shape)])


def _strided_scatter(x, part, size, stride, storage_offset=None):
    """Inputs that share memory come as one tensor of which they are parts: most of them are dense."""
    dense = torch.empty(tuple(size), device="meta").stride() == tuple(stride)
    if not dense or not x.is_contiguous() or x.storage_offset() != 0 or part.numel() == 0:
        return region_writes.as_strided_scatter(x, part, size, stride, storage_offset)
    if part.numel() == x.numel():
        return part.reshape(x.shape).clone()
    start = storage_offset or 0
    flat = torch.slice_scatter(x.reshape(-1), part.reshape(-1), 0, start, start + part.numel(), 1)
    return flat.reshape(x.shape)


def _heads(x, count):
    batch, length, width = x.shape
    return x.reshape(batch, length, count, width // count).transpose(1, 2)


def _allowed(mask, mask_type):
    """What the fast paths take as a mask has something where attention must not look: type 0 is
    [rows, columns], type 1 [batch, columns], type 2 [batch, heads, rows, columns]."""
    if mask is None:
        return None
    seen = torch.logical_not(mask) if mask.dtype == torch.bool else mask == 0
    return seen[:, None, None, :] if mask_type == 1 else seen


def _attend(query, key, value, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask):
    weights, biases = qkv_weight.chunk(3), qkv_bias.chunk(3)
    q, k, v = (
        _heads(torch.nn.functional.linear(x, w, b), num_heads)
        for x, w, b in zip((query, key, value), weights, biases)
    )
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    out = out.transpose(1, 2).reshape(query.shape)
    return torch.nn.functional.linear(out, proj_weight, proj_bias)


def _encoder_layer(
    src,
    embed_dim,
    num_heads,
    qkv_weight,
    qkv_bias,
    proj_weight,
    proj_bias,
    use_gelu,
    norm_first,
    eps,
    norm_weight_1,
    norm_bias_1,
    norm_weight_2,
    norm_bias_2,
    ffn_weight_1,
    ffn_bias_1,
    ffn_weight_2,
    ffn_bias_2,
    mask=None,
    mask_type=None,
):
    """The fast path of nn.TransformerEncoderLayer."""
    if src.is_nested or src.dim() != 3:
        return NotImplemented
    allowed = _allowed(mask, mask_type)

    def norm(x, weight, bias):
        return torch.nn.functional.layer_norm(x, (embed_dim,), weight, bias, eps)

    def attend(x):
        return _attend(x, x, x, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, allowed)

    def feed_forward(x):
        inner = torch.nn.functional.linear(x, ffn_weight_1, ffn_bias_1)
        inner = torch.nn.functional.gelu(inner) if use_gelu else torch.relu(inner)
        return torch.nn.functional.linear(inner, ffn_weight_2, ffn_bias_2)

    if norm_first:
        x = src + attend(norm(src, norm_weight_1, norm_bias_1))
        return x + feed_forward(norm(x, norm_weight_2, norm_bias_2))
    x = norm(src + attend(src), norm_weight_1, norm_bias_1)
    return norm(x + feed_forward(x), norm_weight_2, norm_bias_2)


def _multi_head_attention(
    query,
    key,
    value,
    embed_dim,
    num_head,
    qkv_weight,
    qkv_bias,
    proj_weight,
    proj_bias,
    mask=None,
    need_weights=True,
    average_attn_weights=True,
    mask_type=None,
):
    """The fast path of nn.MultiheadAttention, without the weights."""
    if need_weights or query.is_nested or query.dim() != 3:
        return NotImplemented
    out = _attend(
        *(query, key, value, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias),
        _allowed(mask, mask_type),
    )
    return out, query.new_empty((0,))


def _batch_norm(x, weight, bias, running_mean, running_var, momentum, eps):
    """With the statistics of earlier batches."""
    shape = [1, -1] + [1] * (x.dim() - 2)
    scale = torch.rsqrt(running_var + eps)
    scale = scale if weight is None else scale * weight
    out = (x - running_mean.reshape(shape)) * scale.reshape(shape)
    out = out if bias is None else out + bias.reshape(shape)
    return out.to(x.dtype), x.new_empty((0,)), x.new_empty((0,))


def decompositions():
    """Operator overload -> function."""
    table = sums.decompositions()
    table.update(
        {
            aten._fused_rms_norm.default: normalisations.rms_norm,
            aten._fused_rms_norm_backward.default: normalisations.rms_norm_backward,
            aten._grouped_mm.default: groups.grouped_mm,
            aten._adaptive_avg_pool2d.default: pooling.adaptive_avg_pool,
            aten._adaptive_avg_pool2d_backward.default: pooling.adaptive_avg_pool_backward(2),
            aten._adaptive_avg_pool3d.default: pooling.adaptive_avg_pool,
            aten._adaptive_avg_pool3d_backward.default: pooling.adaptive_avg_pool_backward(3),
            aten.adaptive_max_pool2d.default: pooling.adaptive_max_pool(2),
            aten.adaptive_max_pool2d_backward.default: pooling.adaptive_max_pool_backward(2),
            aten.adaptive_max_pool3d.default: pooling.adaptive_max_pool(3),
            aten.adaptive_max_pool3d_backward.default: pooling.adaptive_max_pool_backward(3),
            aten.avg_pool2d.default: pooling.avg_pool(2),
            aten.avg_pool2d_backward.default: pooling.avg_pool_backward(2),
            aten.avg_pool3d.default: pooling.avg_pool(3),
            aten.avg_pool3d_backward.default: pooling.avg_pool_backward(3),
            aten._cdist_backward.default: distances.cdist_backward,
            aten._cdist_forward.default: distances.cdist,
            aten._pdist_backward.default: distances.pdist_backward,
            aten._pdist_forward.default: distances.pdist,
            aten._logcumsumexp.default: scans.logcumsumexp,
            aten.logcumsumexp.default: scans.logcumsumexp,
            aten._weight_norm_interface.default: distances.weight_norm,
            aten._weight_norm_interface_backward.default: distances.weight_norm_backward,
            aten.addbmm.default: _addbmm,
            aten.bucketize.Scalar: scans.bucketize_number,
            aten.bucketize.Tensor: scans.bucketize,
            aten.clamp.Tensor: _clamp,
            aten.conv_tbc.default: convolution.conv_tbc,
            aten.convolution.default: convolution.convolution,
            aten.convolution_backward.default: convolution.convolution_backward,
            aten.cummax.default: sorting.cummax,
            aten.cummin.default: sorting.cummin,
            aten.cumprod.default: scans.cumprod,
            aten.cumsum.default: scans.cumsum,
            aten.diagonal_scatter.default: region_writes.diagonal_scatter,
            aten.dist.default: distances.dist,
            aten.elu.default: _elu,
            aten.empty.memory_format: _empty,
            aten.histc.default: _histc,
            aten.hardshrink_backward.default: _shrunk_backward,
            aten.index_add.default: _index_add,
            aten.index_fill.int_Scalar: index_writes.index_fill,
            aten.index_fill.int_Tensor: index_writes.index_fill,
            aten.index_reduce.default: index_writes.index_reduce,
            aten.isin.Tensor_Scalar: scans.isin_number,
            aten.isin.Tensor_Tensor: scans.isin,
            aten.kthvalue.default: sorting.kthvalue,
            aten.narrow_copy.default: _copied(torch.narrow),
            aten.nonzero_static.default: scans.nonzero_static,
            aten.linalg_vector_norm.default: distances.vector_norm,
            aten.masked_scatter.default: index_writes.masked_scatter,
            aten.masked_scatter_backward.default: index_writes.masked_scatter_backward,
            aten.max_unpool2d.default: index_writes.max_unpool,
            aten.max_unpool3d.default: index_writes.max_unpool,
            aten.max_pool2d_with_indices.default: pooling.max_pool(2),
            aten.max_pool2d_with_indices_backward.default: pooling.max_pool_backward(2),
            aten.max_pool3d_with_indices.default: pooling.max_pool(3),
            aten.max_pool3d_with_indices_backward.default: pooling.max_pool_backward(3),
            **dict(zip((aten.median.dim, aten.median.default), sorting.median_of(False))),
            **dict(zip((aten.nanmedian.dim, aten.nanmedian.default), sorting.median_of(True))),
            aten.mode.default: sorting.mode,
            aten.native_dropout.default: _dropout,
            aten.pow.Scalar: powers.scalar,
            aten.pow.Tensor_Tensor: powers.tensor_tensor,
            aten.put.default: index_writes.put,
            aten.prod.default: products.default,
            aten.prod.dim_int: products.dim_int,
            aten.scatter.reduce: index_writes.scatter_by_name,
            aten.scatter.src: index_writes.scatter,
            aten.scatter.value: index_writes.scatter,
            aten.scatter.value_reduce: index_writes.scatter_by_name,
            aten.scatter_add.default: index_writes.scatter_add,
            aten.scatter_reduce.two: index_writes.scatter_reduce,
            aten.searchsorted.Scalar: scans.searchsorted_number,
            aten.searchsorted.Tensor: scans.searchsorted,
            aten.softshrink_backward.default: _shrunk_backward,
            aten.sort.default: sorting.sort,
            aten.sort.stable: sorting.sort_stable,
            aten.take.default: index_writes.take,
            aten.tril.default: scans.tril,
            aten.triu.default: scans.triu,
            aten.var.correction: _var,
            aten.var_mean.correction: _var_mean,
            aten.as_strided_copy.default: _copied(torch.as_strided),
            aten.unbind_copy.int: _copied(torch.unbind),
            aten.unfold_copy.default: _copied(torch.Tensor.unfold),
            aten.as_strided_scatter.default: _strided_scatter,
            aten.repeat.default: _repeat,
            aten._native_batch_norm_legit_no_training.default: _batch_norm,
            aten._transformer_encoder_layer_fwd.default: _encoder_layer,
            aten._native_multi_head_attention.default: _multi_head_attention,
            **bags.decompositions(),
            **fractional_pooling.decompositions(),
            **grids.decompositions(),
            **margins.decompositions(),
            **optimizers.decompositions(),
            **quantized.decompositions(),
            **recurrent.CELLS,
            **resampling.decompositions(),
        }
    )
    return table


def of_others():
    """Operations that Inductor and transformers define when they are imported; no graph has them before."""
    found = {
        getattr(torch.ops.prims, "fma", None): _fma,
        getattr(torch.ops.transformers, "grouped_mm_fallback", None): groups.grouped_mm,
    }
    return {packet.default: function for packet, function in found.items() if packet is not None}
