"""Operations on integers, and on truth values beside them, in terms of ones the compiler has.

The device has 32 bits of int32 and int64 alike, and computes with fewer in 32. Each entry replaces one ATen operation while a graph
is captured; what it does not cover stays as it is, or goes to the entry for other types.
"""

import math

import torch

aten = torch.ops.aten

INTEGERS = frozenset({torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64})


def is_integer(*values):
    """Every tensor is of integers or truth values, one of them, or a number, of integers; numbers have the bits of the
    tensors, at most 32."""
    tensors = [v for v in values if isinstance(v, torch.Tensor)]
    numbers = [v for v in values if not isinstance(v, torch.Tensor)]
    dtypes = {t.dtype for t in tensors}
    bounds = [torch.iinfo(d) for d in dtypes & INTEGERS]
    least = max([-(2**31), *(b.min for b in bounds)])
    most = min([2**31 - 1, *(b.max for b in bounds)])
    return (
        bool(tensors)
        and (bool(dtypes & INTEGERS) or any(type(v) is int for v in numbers))
        and dtypes <= {*INTEGERS, torch.bool}
        and all(isinstance(v, int) and least <= v <= most for v in numbers)
    )


def _alike(*values):
    """The operands as tensors of the type torch computes in."""
    device = next(v.device for v in values if isinstance(v, torch.Tensor))
    dtype = torch.result_type(*values) if len(values) == 2 else values[0].dtype
    return [
        v.to(dtype) if isinstance(v, torch.Tensor) else torch.full((), v, dtype=dtype, device=device)
        for v in values
    ]


def _binary(operation):
    def decomposed(x, y):
        return operation(*_alike(x, y)) if is_integer(x, y) else NotImplemented

    return decomposed


def _floor_quotient(x, y):
    return torch.ops.spyre.floordiv(x, y)


def _divide(x, y, *, rounding_mode=None):
    if rounding_mode is None or not is_integer(x, y):
        return NotImplemented
    division = torch.ops.spyre.floordiv if rounding_mode == "floor" else torch.ops.spyre.truncdiv
    return division(*_alike(x, y))


def _gcd(x, y):
    """By Euclid, as many steps as Fibonacci's numbers of these bits take; one of the last two is 0. The rest by nothing is
    the dividend."""
    bits = min(torch.iinfo(x.dtype).bits, 32)
    for _ in range(math.ceil(bits / math.log2((1 + math.sqrt(5)) / 2))):
        x, y = y, torch.ops.spyre.truncmod(x, y)
    return torch.abs(x + y)


def _lcm(x, y):
    """Beyond the type's bits as torch's: the product wraps, and of 32 bits its sign is taken off after that."""
    divisor = _gcd(x, y)
    wide = [torch.abs(v.to(torch.promote_types(v.dtype, torch.int32))) for v in (x, y, divisor)]
    product = torch.ops.spyre.truncdiv(wide[0], wide[2]) * wide[1]
    return torch.abs(product) if x.dtype == torch.int32 else product.to(x.dtype)


def _bitwise(of_truth, operation):
    """Truth values are numbers on the device, which have no bits."""

    def decomposed(x, y):
        if all(v.dtype == torch.bool if isinstance(v, torch.Tensor) else type(v) is bool for v in (x, y)):
            return of_truth(*_alike(x, y)) if of_truth else NotImplemented
        if not is_integer(x, y) or (_is_plain(x) and _is_plain(y) and x.dtype == y.dtype):
            return NotImplemented
        return operation(*_alike(x, y))

    return decomposed


def _is_plain(value):
    return isinstance(value, torch.Tensor) and value.dtype in INTEGERS


def _bitwise_not(x):
    if x.dtype == torch.bool:
        return torch.logical_not(x)
    if not _is_plain(x):
        return NotImplemented
    all_set = -1 if x.dtype.is_signed else torch.iinfo(x.dtype).max
    return torch.bitwise_xor(x, torch.full((), all_set, dtype=x.dtype, device=x.device))


def _clamp(x, min=None, max=None):
    bounds = [b for b in (min, max) if b is not None]
    if x.dtype not in {*INTEGERS, torch.bool}:
        return NotImplemented
    kind = x.dtype
    for bound in bounds:
        kind = torch.promote_types(kind, torch.result_type(x, bound))
    if kind != x.dtype:
        return torch.clamp(x.to(kind), min, max)
    if not _is_plain(x):
        return NotImplemented
    x = x if min is None else torch.maximum(*_alike(x, min))
    return x if max is None else torch.minimum(*_alike(x, max))


def _relu(x):
    return _clamp(x, 0) if _is_plain(x) else NotImplemented


def _scaled(operation):
    """``x + alpha * y``."""

    def decomposed(x, y, *, alpha=1):
        if alpha == 1 or not is_integer(x, y, alpha):
            return NotImplemented
        return operation(x, y * alpha)

    return decomposed


def _whole(value):
    """A factor as torch takes it for integers: cut."""
    return int(value)


def _product_added(multiply):
    """``beta * x + alpha * (a @ b)``."""

    def decomposed(x, a, b, *, beta=1, alpha=1):
        if not all(map(_is_plain, (x, a, b))) or not is_integer(x, _whole(beta), _whole(alpha)):
            return NotImplemented
        product, beta, alpha = multiply(a, b), _whole(beta), _whole(alpha)
        product = product if alpha == 1 else product * alpha
        if beta == 0:
            return product.expand(torch.broadcast_shapes(x.shape, product.shape)).clone()
        return (x if beta == 1 else x * beta) + product

    return decomposed


def _sum_of_products(a, b):
    return torch.mm(a.permute(1, 0, 2).reshape(a.shape[1], -1), b.reshape(-1, b.shape[2]))


def _addcmul(x, y, z, *, value=1):
    if not all(map(_is_plain, (x, y, z))) or not is_integer(x, _whole(value)):
        return NotImplemented
    product = y * z
    return x + (product if _whole(value) == 1 else product * _whole(value))


def _hardtanh(x, min_val=-1, max_val=1):
    return _clamp(x, _whole(min_val), _whole(max_val)) if _is_plain(x) else NotImplemented


def _compared(operation):
    """A number that is not whole is compared in fp32, as torch does."""

    def decomposed(x, y):
        if not _is_plain(x) or not isinstance(y, float):
            return NotImplemented
        return operation(x.float(), y)

    return decomposed


def _truth(x):
    return x if x.dtype == torch.bool else x != 0


def _logical(operation):
    def decomposed(x, y):
        if x.dtype == y.dtype == torch.bool:
            return NotImplemented
        return operation(_truth(x), _truth(y))

    return decomposed


def over(reduce, truths, dims, keepdim):
    """The largest or the smallest; of nothing 0 or 1, as any and all have it."""
    if all(truths.shape[dim] for dim in dims):
        return reduce(truths, dims, keepdim=keepdim)
    nothing = torch.sum(truths, dims, keepdim=keepdim)
    return 1 - nothing if reduce is torch.amin else nothing


def _reduced(reduce):
    """any and all."""

    def decomposed(x, dim=None, keepdim=False):
        if not _is_plain(x):
            return NotImplemented
        dims = list(range(x.dim())) if dim is None else [dim] if isinstance(dim, int) else list(dim)
        truths = (x != 0).to(torch.float16)
        result = over(reduce, truths, dims, keepdim) if x.dim() and dims else truths
        # Torch's truths of bytes are bytes.
        return result.to(torch.uint8 if x.dtype == torch.uint8 else torch.bool)

    return decomposed


#: Longer rows of floats the device does not search: they lie in its scratchpads, a stick for each element.
_LONG_ROW = 16384


def _takes_no_search(x, count):
    return _is_plain(x) or (x.is_floating_point() and count > _LONG_ROW)


def _extremes(reduce):
    """Values and places; of equal elements the first. Comparing exactly takes no search."""

    def decomposed(x, dim, keepdim=False):
        if x.dim() == 0 or not _takes_no_search(x, x.shape[dim]):
            return NotImplemented
        values, places = _best(reduce, x, dim % x.dim())
        return (values, places) if keepdim else (values.squeeze(dim), places.squeeze(dim))

    return decomposed


def _best(reduce, x, dim):
    count = x.shape[dim]
    best = reduce(x, [dim], keepdim=True)
    shape = [1] * x.dim()
    shape[dim] = count
    numbers = torch.arange(count, device=x.device).reshape(shape)
    is_best = x == best
    if x.is_floating_point():  # what is no number is the best of its row, and equals nothing
        is_best = torch.logical_or(is_best, torch.logical_and(x != x, best != best))
    places = torch.where(is_best, numbers, torch.full((), count, device=x.device))
    return best, torch.amin(places, [dim], keepdim=True)


def _place(reduce):
    def decomposed(x, dim=None, keepdim=False):
        if x.dim() == 0 or not _takes_no_search(x, x.numel() if dim is None else x.shape[dim]):
            return NotImplemented
        if dim is None:
            place = _best(reduce, x.reshape(-1), 0)[1]
            return place.reshape([1] * x.dim() if keepdim else [])
        place = _best(reduce, x, dim % x.dim())[1]
        return place if keepdim else place.squeeze(dim)

    return decomposed


# Name of the operation, of truth values, and of integers.
_BITWISE = (
    ("bitwise_and", torch.logical_and, torch.bitwise_and),
    ("bitwise_or", torch.logical_or, torch.bitwise_or),
    ("bitwise_xor", torch.ne, torch.bitwise_xor),
    ("bitwise_left_shift", None, torch.bitwise_left_shift),
    ("bitwise_right_shift", None, torch.bitwise_right_shift),
)


def _bitwise_forms():
    """With numbers on one side, and under their other names."""
    table = {}
    for name, of_truth, operation in _BITWISE:
        packet = getattr(aten, name)
        for overload in packet.overloads():
            if overload in ("Tensor", "Scalar", "Tensor_Scalar", "Scalar_Tensor"):
                table[getattr(packet, overload)] = _bitwise(of_truth, operation)
    for overload in ("Tensor", "Scalar"):
        table[getattr(aten.__lshift__, overload)] = _binary(torch.bitwise_left_shift)
        table[getattr(aten.__rshift__, overload)] = _binary(torch.bitwise_right_shift)
    return table


def decompositions():
    """Operator overload -> function."""
    comparisons = {
        getattr(aten, name).Scalar: _compared(getattr(torch, name))
        for name in ("eq", "ne", "gt", "ge", "lt", "le")
    }
    return {
        **comparisons,
        **_bitwise_forms(),
        aten.add.Tensor: _scaled(torch.add),
        aten.addbmm.default: _product_added(_sum_of_products),
        aten.addcmul.default: _addcmul,
        aten.addmm.default: _product_added(torch.mm),
        aten.addmv.default: _product_added(torch.mv),
        aten.baddbmm.default: _product_added(torch.bmm),
        aten.hardtanh.default: _hardtanh,
        aten.sub.Tensor: _scaled(torch.sub),
        aten.all.default: _reduced(torch.amin),
        aten.all.dim: _reduced(torch.amin),
        aten.all.dims: _reduced(torch.amin),
        aten.any.default: _reduced(torch.amax),
        aten.any.dim: _reduced(torch.amax),
        aten.any.dims: _reduced(torch.amax),
        aten.argmax.default: _place(torch.amax),
        aten.argmin.default: _place(torch.amin),
        aten.max.dim: _extremes(torch.amax),
        aten.min.dim: _extremes(torch.amin),
        aten.bitwise_not.default: _bitwise_not,
        aten.clamp.default: _clamp,
        aten.clamp_min.default: lambda x, min: _clamp(x, min),
        aten.clamp_max.default: lambda x, max: _clamp(x, None, max),
        aten.relu.default: _relu,
        aten.div.Tensor_mode: _divide,
        aten.div.Scalar_mode: _divide,
        aten.floor_divide.default: _binary(_floor_quotient),
        aten.floor_divide.Scalar: _binary(_floor_quotient),
        aten.fmod.Tensor: _binary(lambda x, y: torch.ops.spyre.truncmod(x, y)),
        aten.fmod.Scalar: _binary(lambda x, y: torch.ops.spyre.truncmod(x, y)),
        aten.remainder.Tensor: _binary(lambda x, y: torch.ops.spyre.floormod(x, y)),
        aten.remainder.Scalar: _binary(lambda x, y: torch.ops.spyre.floormod(x, y)),
        aten.remainder.Scalar_Tensor: _binary(lambda x, y: torch.ops.spyre.floormod(x, y)),
        aten.gcd.default: _binary(_gcd),
        aten.lcm.default: _binary(_lcm),
        aten.logical_and.default: _logical(torch.logical_and),
        aten.logical_or.default: _logical(torch.logical_or),
        aten.logical_xor.default: _logical(torch.logical_xor),
    }
