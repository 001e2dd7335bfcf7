"""Images of another size: every way of interpolation is a product with a matrix along each dimension (docs/adr/0074).

    result[.., o, ..] = sum over i of weights[o, i] * x[.., i, ..]

The weights depend on sizes alone, so they are constants of the program, and the gradient is the product with the
transposed matrix. Products of 16 bits take weights that 16 bits do not hold in two parts, side by side, so that their sum is
rounded once. The nearest element is copied.
"""


import functools

import torch
from torch.utils._python_dispatch import _disable_current_modes

from torch_spyre.ops.functions import FLOATS

_HALVES = (torch.float16, torch.bfloat16)
aten = torch.ops.aten


class _Axis:
    """One dimension: its number, from how many elements to how many, and how far those are apart in the source."""

    def __init__(self, dim, size, count, scale, align_corners=False):
        self.dim, self.size, self.count = dim, size, count
        if align_corners:
            self.step, self.shift = (size - 1) / (count - 1) if count > 1 else 0.0, 0.0
        else:
            self.step = 1.0 / scale if scale is not None and scale > 0 else size / count
            self.shift = 0.5

    def places(self, device):
        """In the source, of the elements of the result: a column."""
        numbers = torch.arange(self.count, dtype=torch.float32, device=device)[:, None]
        return (numbers + self.shift) * self.step - self.shift

    def numbers(self, device):
        """Of the elements of the source: a row."""
        return torch.arange(self.size, dtype=torch.float32, device=device)[None]


def _linear(axis, device):
    place = torch.clamp(axis.places(device), 0, axis.size - 1)
    return torch.clamp(1 - torch.abs(place - axis.numbers(device)), min=0)


def _cubic_part(x, a):
    """The cubic kernel at distances."""
    x = torch.abs(x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return torch.where(x <= 1, near, torch.where(x < 2, far, torch.zeros_like(x)))


def _cubic(axis, device):
    """Four neighbours; those beyond the edge are the edge."""
    place, numbers = axis.places(device), axis.numbers(device)
    first = torch.floor(place)
    total = torch.zeros_like(place * numbers)
    for neighbour in (-1, 0, 1, 2):
        at = first + neighbour
        is_it = torch.clamp(at, 0, axis.size - 1) == numbers
        total = total + torch.where(is_it, _cubic_part(place - at, -0.75), torch.zeros_like(total))
    return total


def _smooth(kernel):
    """Of images that become smaller the weighted mean of all elements that fall together."""

    def weights(axis, device):
        centre = (torch.arange(axis.count, dtype=torch.float32, device=device)[:, None] + 0.5) * axis.step
        distance = (axis.numbers(device) + 0.5 - centre) / max(axis.step, 1.0)
        found = kernel(distance)
        return found / found.sum(1, keepdim=True)

    return weights


def _triangle(x):
    return torch.clamp(1 - torch.abs(x), min=0)


_smooth_linear = _smooth(_triangle)
_smooth_cubic = _smooth(lambda x: _cubic_part(x, -0.5))


def _nearest(axis, device):
    """Numbers of the elements that are copied."""
    place = torch.arange(axis.count, dtype=torch.float32, device=device)
    return torch.clamp(torch.floor((place + axis.offset) * axis.step), max=axis.size - 1)


def _coarse(matrix):
    """As many bits as all formats of 16 bits share."""
    return matrix.to(torch.bfloat16).to(torch.float32)


def _is_coarse(axis, weights):
    with _disable_current_modes():
        matrix = weights(axis, "cpu")
        return torch.equal(_coarse(matrix), matrix)


def _product(x, axis, weights, is_gradient):
    """With the matrix of an axis along its dimension."""
    matrix = weights(axis, x.device)
    matrix = matrix.t() if is_gradient else matrix
    if x.dtype in _HALVES and not _is_coarse(axis, weights):
        coarse = _coarse(matrix)
        matrix, x = torch.cat([coarse, matrix - coarse], 1), torch.cat([x, x], axis.dim)
    matrix = matrix.to(x.dtype)
    if axis.dim == x.dim() - 1:
        return torch.matmul(x, matrix.t())
    shape = [*x.shape[: axis.dim], matrix.shape[0], *x.shape[axis.dim + 1 :]]
    return torch.matmul(matrix, x.flatten(axis.dim + 1)).reshape(shape)


def _axes(sizes, counts, scales, align_corners=False):
    """Those that change, the ones that shrink first."""
    axes = [
        _Axis(dim + 2, size, count, scale, align_corners)
        for dim, (size, count, scale) in enumerate(zip(sizes, counts, scales))
        if size != count or (scale not in (None, 1.0) and not align_corners)
    ]
    return sorted(axes, key=lambda axis: axis.count / axis.size)


def _is_supported(x, *sizes):
    """Weights are made for sizes that are known."""
    numbers = [*x.shape, *(n for size in sizes for n in size)]
    return x.dtype in FLOATS and all(isinstance(n, int) and n > 0 for n in numbers)


def interpolate(weights):
    """Forward, with or without ``align_corners``; ``scales`` has one entry per dimension."""

    def function(x, output_size, align_corners, *scales):
        if not _is_supported(x, output_size):
            return NotImplemented
        scales = scales or [None] * len(output_size)
        for axis in _axes(x.shape[2:], output_size, scales, align_corners):
            x = _product(x, axis, weights, False)
        return x.clone()

    return function


def interpolate_backward(weights):
    def function(grad, output_size, input_size, align_corners, *scales):
        if not _is_supported(grad, output_size, input_size):
            return NotImplemented
        scales = scales or [None] * len(output_size)
        for axis in reversed(_axes(input_size[2:], output_size, scales, align_corners)):
            grad = _product(grad, axis, weights, True)
        return grad.clone()

    return function


def _repeated(axis):
    """How often each element stands in a row, if all do alike; else None."""
    times = axis.count // axis.size
    numbers = [at // times for at in range(axis.count)] if times else None
    is_even = axis.count == times * axis.size
    with _disable_current_modes():
        return times if is_even and _nearest(axis, "cpu").tolist() == numbers else None


def _copied(x, axis):
    times = _repeated(axis)
    if times:
        shape = [*x.shape[: axis.dim + 1], times, *x.shape[axis.dim + 1 :]]
        return x.unsqueeze(axis.dim + 1).expand(shape).flatten(axis.dim, axis.dim + 1)
    return torch.index_select(x, axis.dim, _nearest(axis, x.device).to(torch.int64))


def _one_hot(axis, device):
    return (_nearest(axis, device)[:, None] == axis.numbers(device)).to(torch.float32)


def _added(grad, axis):
    times = _repeated(axis)
    if times:
        return grad.unflatten(axis.dim, [axis.size, times]).sum(axis.dim + 1)
    return _product(grad, axis, _one_hot, True)


def _nearest_axes(sizes, counts, scales, offset):
    axes = _axes(sizes, counts, scales or [None] * len(counts))
    for axis in axes:
        axis.offset = offset
    return axes


def nearest(offset):
    """``offset`` is where in an element its place is: 0, or the middle."""

    def function(x, output_size, *scales):
        if not _is_supported(x, output_size):
            return NotImplemented
        for axis in _nearest_axes(x.shape[2:], output_size, scales, offset):
            x = _copied(x, axis)
        return x.clone()

    return function


def nearest_backward(offset):
    def function(grad, output_size, input_size, *scales):
        if not _is_supported(grad, output_size, input_size):
            return NotImplemented
        for axis in reversed(_nearest_axes(input_size[2:], output_size, scales, offset)):
            grad = _added(grad, axis)
        return grad.clone()

    return function


def replication_backward(grad, x, padding):
    """Copies of an edge are added to it."""
    if not _is_supported(grad) or x.numel() == 0 or min(padding) < 0:
        return NotImplemented
    for number in range(len(padding) // 2):
        dim = grad.dim() - 1 - number
        before, after = padding[2 * number], padding[2 * number + 1]
        size = grad.shape[dim] - before - after
        grad = _edges_added(grad, dim, before, after, size)
    return grad.clone()


def _edges_added(grad, dim, before, after, size):
    if size == 1:
        return grad.sum(dim, keepdim=True)
    first = grad.narrow(dim, 0, before + 1).sum(dim, keepdim=True)
    last = grad.narrow(dim, before + size - 1, after + 1).sum(dim, keepdim=True)
    return torch.cat([first, grad.narrow(dim, before + 1, size - 2), last], dim)


def _kinds():
    """Name of an operation -> function, and that of its gradient."""
    linear, cubic = ((interpolate(w), interpolate_backward(w)) for w in (_linear, _cubic))
    smooth_linear, smooth_cubic = ((interpolate(w), interpolate_backward(w)) for w in (_smooth_linear, _smooth_cubic))
    kinds = {
        "upsample_linear1d": linear,
        "upsample_bilinear2d": linear,
        "upsample_trilinear3d": linear,
        "upsample_bicubic2d": cubic,
        "_upsample_bilinear2d_aa": smooth_linear,
        "_upsample_bicubic2d_aa": smooth_cubic,
    }
    for dims in (1, 2, 3):
        kinds[f"upsample_nearest{dims}d"] = nearest(0.0), nearest_backward(0.0)
        kinds[f"_upsample_nearest_exact{dims}d"] = nearest(0.5), nearest_backward(0.5)
    return kinds


def decompositions():
    """Operator overload -> function."""
    table = {getattr(aten, f"replication_pad{dims}d_backward").default: replication_backward for dims in (1, 2, 3)}
    for name, (forward, backward) in _kinds().items():
        table[getattr(aten, name).default] = forward
        table[getattr(aten, f"{name}_backward").default] = backward
    return table


class _Resampled(torch.autograd.Function):
    """A formula with the formula of its gradient, which is rounded less often than what autograd makes of the first."""

    @staticmethod
    def forward(ctx, x, formulas, size, arguments):
        ctx.given = formulas[1], size, x.shape, arguments
        return formulas[0](x, size, *arguments)

    @staticmethod
    def backward(ctx, grad):
        formula, size, shape, arguments = ctx.given
        return formula(grad, size, shape, *arguments), None, None, None


def _in_graphs(formulas, otherwise, has_sizes):
    """What captured graphs are made of in place of torch's own formula, which gathers single elements at places that are
    computed in 16 bits."""
    from torch._decomp.decompositions import upsample_compute_output_size

    def kernel(x, output_size, *rest, **named):
        size, arguments = output_size, list(rest)
        if not has_sizes:
            *arguments, scales = rest
            size = upsample_compute_output_size(x.shape, output_size, scales)
            arguments += scales or []
        if named or not _is_supported(x, size):
            return otherwise(x, output_size, *rest, **named)
        return _Resampled.apply(x, formulas, size, arguments)

    return kernel


@functools.cache
def install():
    """Registers what captured graphs are made of; before the first is captured, when torch has its own."""
    key, own = torch._C.DispatchKey.Autograd, torch._C.DispatchKey.AutogradPrivateUse1
    for name, formulas in _kinds().items():
        for overload in ("vec", "default"):
            op = getattr(getattr(aten, name), overload)
            if key in op.py_kernels and own not in op.py_kernels:
                op.py_impl(own)(_in_graphs(formulas, op.py_kernels[key], overload == "default"))
