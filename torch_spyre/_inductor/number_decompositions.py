"""Operations on numbers and truth values that are a formula over ones the compiler has.

Each replaces one ATen operation while a graph is captured. What an entry does not cover stays as it
is: the compiler then judges it like any other operation.
"""

import math

import torch

from torch_spyre._inductor.integer_decompositions import INTEGERS, over
from torch_spyre.ops import bessel, exponents, functions, gamma, index_writes, limits, normal, orthogonal
from torch_spyre.ops import powers, region_writes, sorting, sums
from torch_spyre.ops.functions import HALVES
from torch_spyre.ops.functions import FLOATS as _FLOATS
from torch_spyre.ops.functions import is_float as _is_float

aten = torch.ops.aten


def _scaled(operation):
    """``x + alpha * y`` where alpha is not 1."""

    def decomposed(x, y, *, alpha=1):
        if alpha == 1 or not _is_float(x, y):
            return NotImplemented
        return operation(x, y * alpha)

    return decomposed


def _scaled_number(operation):
    """``x + alpha * number``."""

    def decomposed(x, number, alpha=1):
        return NotImplemented if alpha == 1 else operation(x, number * alpha)

    return decomposed


def _in_fp32(function):
    """Computed in fp32 and rounded once, where operations of 16 bits would round in between."""

    def decomposed(*args, **kwargs):
        tensors = [v for v in args if isinstance(v, torch.Tensor)]
        if not _is_float(*tensors) or all(t.dtype == functions.WIDE for t in tensors):
            return NotImplemented if not _is_float(*tensors) else function(*args, **kwargs)
        # Tensors without dimensions are numbers, which do not widen others.
        deciding = [t for t in tensors if t.dim()] or tensors
        kind = deciding[0].dtype
        for tensor in deciding[1:]:
            kind = torch.promote_types(kind, tensor.dtype)
        wide = [v.float() if isinstance(v, torch.Tensor) else v for v in args]
        return function(*wide, **kwargs).to(kind)

    return decomposed


def _addcmul(x, y, z, *, value=1):
    product = y * z
    return x + (product if value == 1 else product * value)


def _addcdiv(x, y, z, *, value=1):
    quotient = y / z
    return x + (quotient if value == 1 else quotient * value)


def _lerp(x, y, weight):
    """From the nearer end."""
    rest = y - x
    if isinstance(weight, torch.Tensor):
        return torch.where(torch.abs(weight) < 0.5, x + weight * rest, y - rest * (1 - weight))
    return x + rest * weight if abs(weight) < 0.5 else y - rest * (1 - weight)


def _logit(x, eps=None):
    x = x if eps is None else torch.clamp(x, eps, 1 - eps)
    return torch.log(x / (1 - x))


def _log_sum_exp(x, dim, keepdim=False):
    dims = [dim] if isinstance(dim, int) else list(dim)
    if x.dim() == 0:
        return x.clone()
    if x.numel() == 0:
        return torch.log(torch.sum(x, dims, keepdim=keepdim))
    most = torch.amax(x, dims, keepdim=True)
    base = torch.where(torch.abs(most) == math.inf, 0.0, most)
    total = torch.log(torch.sum(torch.exp(x - base), dims, keepdim=True)) + base
    if keepdim:
        return total
    gone = {d % x.dim() for d in dims}
    return total.reshape([size for d, size in enumerate(x.shape) if d not in gone])


def _mixes_to_float(x, y):
    """One of floats, beside one of any type the device computes with."""
    tensors = [v for v in (x, y) if isinstance(v, torch.Tensor)]
    known = {*_FLOATS, *functions.WHOLE}
    return bool(tensors) and all(t.dtype in known for t in tensors) and torch.result_type(x, y) in _FLOATS


def floor_divide(x, y):
    """Quotients in fp32, which a second step corrects: the first may be rounded up to a whole."""
    if not _mixes_to_float(x, y):
        return NotImplemented
    wide = torch.float32
    a = x.to(wide) if isinstance(x, torch.Tensor) else x
    b = y.to(wide) if isinstance(y, torch.Tensor) else y
    quotient = a / b
    result = torch.floor(quotient)
    result = result + torch.floor((a - result * b) / b)
    if isinstance(b, torch.Tensor):  # by nothing: an infinity, or no number
        result = torch.where(b == 0, quotient, result)
        result = torch.where(b.abs() == math.inf, _by_infinity(a, b, quotient), result)
    elif b == 0:
        result = quotient
    elif math.isinf(b):
        result = _by_infinity(a, b, quotient)
    return result.to(torch.result_type(x, y))


def _by_infinity(a, b, quotient):
    """Quotients below zero are rounded to -1, others to 0; where there is none, there is none."""
    return quotient * 0 + functions.one_of(a * b < 0, -1.0, 0.0)


def divide(x, y, *, rounding_mode=None):
    """Quotients that are cut are not rounded before."""
    if rounding_mode == "floor":
        return floor_divide(x, y)
    if not _mixes_to_float(x, y):
        return NotImplemented
    if rounding_mode is None:
        return x / y
    a = x.float() if isinstance(x, torch.Tensor) else x
    b = y.float() if isinstance(y, torch.Tensor) else y
    return torch.trunc(a / b).to(torch.result_type(x, y))


def _clamp(x, min=None, max=None):
    """With one bound: where the other is missing the device has the largest number, but infinities stay."""
    if x.dtype != functions.WIDE:
        return NotImplemented
    min, max = None if min == -math.inf else min, None if max == math.inf else max
    if min is None and max is None:
        return x.clone()
    bound = max if min is None else min
    if min is not None and max is not None:
        return NotImplemented
    bound = torch.full((), float(bound), dtype=x.dtype, device=x.device)
    return torch.maximum(x, bound) if max is None else torch.minimum(x, bound)


def _trunc(x):
    if not _is_float(x):
        return NotImplemented
    return torch.where(x < 0, torch.ceil(x), torch.floor(x))


def _round(x):
    """To the nearest whole number, from the middle to the even one."""
    if not _is_float(x):
        return NotImplemented
    wide = x.float()
    up = torch.floor(wide + 0.5)
    is_odd = up - torch.floor(up * 0.5) * 2
    is_middle = (up - wide == 0.5).to(wide.dtype)
    nearest = up - is_odd * is_middle
    return torch.where(wide.abs() < functions.ALL_WHOLE, nearest, wide).to(x.dtype)


def _round_to(x, *, decimals):
    """The numbers are scaled, and scaled back, as torch does."""
    if not _is_float(x) or limits.DECIMALS.refuses(abs(decimals)):
        return NotImplemented
    wide, scale = x.float(), 10.0 ** abs(decimals)
    result = torch.round(wide * scale) / scale if decimals > 0 else torch.round(wide / scale) * scale
    return result.to(x.dtype)


def _added_to_nothing(x, a, b, *, beta=1, alpha=1):
    """A product over no elements is 0."""
    del alpha
    if (a.numel() and b.numel()) or not _is_float(x):
        return NotImplemented
    shape = [*a.shape[:-1], *b.shape[-1:]] if b.dim() > 1 else a.shape[:-1]
    if beta == 0:
        return torch.zeros(shape, dtype=x.dtype, device=x.device)
    return (x * beta).expand(shape).clone()


def _addmv(x, matrix, vector, *, beta=1, alpha=1):
    if not _is_float(x, matrix, vector):
        return NotImplemented
    if not matrix.numel():
        return _added_to_nothing(x, matrix, vector, beta=beta, alpha=alpha)
    product = sums.mv(matrix, vector)
    product = product if alpha == 1 else product * alpha
    if beta == 0:
        return product
    return product + (x if beta == 1 else x * beta)


#: Below so many elements a norm is likely to meet ones that are all nearly equal.
_FEW_NORMED = 64


def layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-5):
    """With its statistics, in fp32: the backward pass wants them. However x lies in memory, rows of the result are whole,
    and models view them."""
    wide = x.float()
    dims = list(range(x.dim() - len(normalized_shape), x.dim()))
    mean = torch.mean(wide, dims, keepdim=True)
    rest = wide - mean
    scale = torch.rsqrt(torch.mean(rest * rest, dims, keepdim=True) + eps)
    result = rest * scale
    result = result if weight is None else result * weight
    result = result if bias is None else result + bias
    return result.to(x.dtype).contiguous(), mean, scale


def _small_layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-5):
    """The device's mean of squares is rounded before the square of the mean is taken from it: of few elements that are
    nearly equal the difference may be less than nothing."""
    if not _is_float(x) or math.prod(normalized_shape) >= _FEW_NORMED:
        return NotImplemented
    return layer_norm(x, normalized_shape, weight, bias, eps)


def _isnan(x):
    return x != x if _is_float(x) else NotImplemented


def _isinf(x):
    return torch.abs(x) == math.inf if _is_float(x) else NotImplemented


def _isfinite(x):
    return torch.abs(x) < math.inf if _is_float(x) else NotImplemented


def _is_truth(*values):
    return all(isinstance(v, torch.Tensor) and v.dtype == torch.bool for v in values)


def _of_truth(operation):
    """Truth values are 1 and 0 on the device, so numbers do what is asked of them."""

    def decomposed(x, y):
        if not _is_truth(x, y):
            return NotImplemented
        return operation(x.to(torch.float16), y.to(torch.float16))

    return decomposed


def _logical(operation, otherwise):
    """Of truth values; what ``otherwise`` says of other types."""

    def decomposed(x, y, *more, **named):
        both = [v if isinstance(v, torch.Tensor) else _truth_like(x, v) for v in (x, y)]
        return operation(*both) if _is_truth(*both) else otherwise(x, y, *more, **named)

    return decomposed


def _truth_like(x, value):
    """True and False as tensors."""
    return torch.full((), value, device=x.device) if isinstance(value, bool) else value


def _not_covered(*_args, **_kwargs):
    return NotImplemented


def _compared(operation):
    """Of truth values with numbers that are none."""

    def decomposed(x, number):
        is_number = _is_truth(x) and number not in (0, 1)
        return operation(x.to(torch.float32), float(number)) if is_number else NotImplemented

    return decomposed


def subtracted(x, y, *, alpha=1):
    """Torch refuses truth values."""
    if any(isinstance(v, torch.Tensor) and v.dtype == torch.bool for v in (x, y)):
        raise RuntimeError("Subtraction, the `-` operator, with a bool tensor is not supported.")
    return _scaled(torch.sub)(x, y, alpha=alpha)


def _where(condition, x, y):
    if not _is_truth(condition, x, y):
        return NotImplemented
    return torch.where(condition, x.to(torch.float16), y.to(torch.float16)).to(torch.bool)


def _truths(x):
    """Whether elements are not 0, as numbers; None for types the device does not compute with."""
    if x.dtype == torch.bool:
        return x.to(torch.float16)
    return (x != 0).to(torch.float16) if x.dtype in _FLOATS else None


def _reduced(reduce):
    def decomposed(x, dim=None, keepdim=False):
        truths = _truths(x)
        if truths is None:
            return NotImplemented
        dims = list(range(x.dim())) if dim is None else [dim] if isinstance(dim, int) else list(dim)
        result = over(reduce, truths, dims, keepdim) if x.dim() and dims else truths
        return result.to(torch.bool)

    return decomposed


def _summed(operation):
    """Over several dimensions in fp32: the device reduces one after the other, and would round in between."""

    def decomposed(x, dim=None, keepdim=False, *, dtype=None):
        dims = list(range(x.dim())) if dim is None or dim == [] else dim
        dims = [dims] if isinstance(dims, int) else list(dims)
        kind = dtype or x.dtype
        is_long = sum(x.shape[d] > 1 for d in dims) > 1
        if x.dtype not in HALVES or kind not in _FLOATS or not is_long:
            return NotImplemented
        return operation(x.float(), dims, keepdim=keepdim).to(kind)

    return decomposed


def _summed_up(operation):
    reduce = _summed(operation)
    return lambda x, *, dtype=None: reduce(x, dtype=dtype)


def _cat(tensors, dim=0):
    """Parts of several types are converted to the type of the result."""
    dtypes = {t.dtype for t in tensors}
    if len(dtypes) == 1 or not dtypes <= {*_FLOATS, *INTEGERS, torch.bool}:
        return NotImplemented
    result = next(iter(dtypes))
    for dtype in dtypes:
        result = torch.promote_types(result, dtype)
    return torch.cat([t.to(result) for t in tensors], dim)


def _elementary():
    """Functions of one and two numbers; the names are those of ops/functions."""
    one = "acos acosh angle asin asinh atan atanh cos cosh erf erfc exp2 expm1 log1p sin sinc sinh tan".split()
    two = "atan2 fmax fmin hypot logaddexp logaddexp2".split()
    table = {
        aten.log10.default: functions.of_float(functions.logarithm(10)),
        aten.log2.default: functions.of_float(functions.logarithm(2)),
        aten.special_entr.default: functions.of_float(functions.entr),
    }
    for name in one:
        table[getattr(aten, name).default] = functions.of_float(getattr(functions, name))
    for name in two:
        # Extremes of integers are integers.
        of_integers = name not in ("fmax", "fmin")
        table[getattr(aten, name).default] = functions.of_floats(getattr(functions, name), of_integers)
    for name in ("copysign", "fmod", "remainder"):
        function = functions.of_floats(getattr(functions, name), name == "copysign")
        table[getattr(aten, name).Tensor] = table[getattr(aten, name).Scalar] = function
    return table


def _polygamma(n, x):
    if n < 0 or limits.DERIVATIVES.refuses(n):
        return NotImplemented
    return functions.of_float(lambda wide: gamma.polygamma(n, wide))(x)


def _zeta(s, q):
    """Of a number beside the tensor."""
    return functions.of_float(lambda wide: gamma.zeta(wide, float(q)))(s) if 0 < q < 1e6 else NotImplemented


def _special():
    """Functions of mathematics; names with "special" before them are those of its modules without it."""
    of = {
        bessel: (
            "i0 special_i0e special_i1 special_i1e special_modified_bessel_i0 special_modified_bessel_i1 "
            "special_modified_bessel_k0 special_modified_bessel_k1 special_scaled_modified_bessel_k0 "
            "special_scaled_modified_bessel_k1 special_spherical_bessel_j0"
        ),
        gamma: "digamma lgamma",
        normal: "erfinv special_erfcx special_log_ndtr special_ndtri",
    }
    table = {aten.polygamma.default: _polygamma, aten.special_zeta.other_scalar: _zeta}
    for name, function in orthogonal.polynomials().items():
        table[getattr(aten, f"special_{name}").n_scalar] = function
    for module, names in of.items():
        for name in names.split():
            function = getattr(module, name.removeprefix("special_"))
            table[getattr(aten, name).default] = functions.of_float(function)
    return table


def decompositions():
    """Operator overload -> function."""
    comparisons = {
        getattr(aten, name).Scalar: _compared(getattr(torch, name))
        for name in ("eq", "ne", "gt", "ge", "lt", "le")
    }
    return {
        **comparisons,
        aten.add.Scalar: _logical(torch.logical_or, _scaled_number(torch.add)),
        aten.add.Tensor: _logical(torch.logical_or, _scaled(torch.add)),
        aten.signbit.default: functions.signbit,
        aten.sub.Scalar: _scaled_number(torch.sub),
        aten.sub.Tensor: subtracted,
        aten.addcdiv.default: _in_fp32(_addcdiv),
        aten.addcmul.default: _in_fp32(_addcmul),
        aten.addmm.default: _added_to_nothing,
        aten.addmv.default: _addmv,
        aten.baddbmm.default: _added_to_nothing,
        aten.all.default: _reduced(torch.amin),
        aten.all.dim: _reduced(torch.amin),
        aten.all.dims: _reduced(torch.amin),
        aten.any.default: _reduced(torch.amax),
        aten.any.dim: _reduced(torch.amax),
        aten.any.dims: _reduced(torch.amax),
        aten.bitwise_xor.Tensor: _of_truth(torch.ne),
        aten.cat.default: _cat,
        aten.clamp.default: _clamp,
        aten.clamp_max.default: lambda x, max: _clamp(x, None, max),
        aten.clamp_min.default: _clamp,
        aten.hardtanh.default: lambda x, min_val=-1, max_val=1: _clamp(x, min_val, max_val),
        aten.div.Scalar_mode: divide,
        aten.div.Tensor_mode: divide,
        aten.eq.Tensor: _of_truth(torch.eq),
        aten.frexp.Tensor: exponents.frexp,
        aten.gather.default: index_writes.gather,
        aten.gelu.default: functions.gelu,
        aten.isfinite.default: _isfinite,
        aten.isinf.default: _isinf,
        aten.isnan.default: _isnan,
        aten.ldexp.Tensor: functions.of_floats(lambda x, n: x * torch.pow(2.0, n), True),
        aten.lerp.Scalar: _in_fp32(_lerp),
        aten.lerp.Tensor: _in_fp32(_lerp),
        aten.logical_xor.default: _of_truth(torch.ne),
        aten.logit.default: _in_fp32(_logit),
        aten.logsumexp.default: _in_fp32(_log_sum_exp),
        aten.mean.default: _summed_up(torch.mean),
        aten.mean.dim: _summed(torch.mean),
        aten.maximum.default: _logical(torch.logical_or, _not_covered),
        aten.minimum.default: _logical(torch.logical_and, _not_covered),
        aten.mul.Scalar: _logical(torch.logical_and, _not_covered),
        aten.mul.Tensor: _logical(torch.logical_and, _not_covered),
        aten.native_layer_norm.default: _small_layer_norm,
        aten.ne.Tensor: _of_truth(torch.ne),
        aten.nextafter.default: exponents.nextafter,
        aten.pow.Tensor_Scalar: powers.tensor_scalar,
        aten.round.decimals: _round_to,
        aten.round.default: _round,
        aten.slice_scatter.default: region_writes.slice_scatter,
        aten.sum.default: _summed_up(torch.sum),
        aten.sum.dim_IntList: _summed(torch.sum),
        aten.topk.default: sorting.topk,
        aten.trunc.default: _trunc,
        aten.where.self: _where,
        **_elementary(),
        **_special(),
    }
