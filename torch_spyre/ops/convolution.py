"""Convolutions as products of matrices, from operations the device has.

The windows of the input become the columns of a matrix, once per place of the kernel; the product with
the weights sums over channels and places in one accumulator. Windows that do not overlap and cover
the input (the patches of an image) are a reshape. Those of large kernels are made of one dimension after
the other: a kernel of 16 x 16 takes 16 + 16 copies of slices, not 256.

    x [n, c, height, width]  ->  columns [n, groups, c / groups * places, windows]
    weight                   ->  rows    [groups, out / groups, c / groups * places]

Transposed convolutions are the same with the roles of input and result exchanged (docs/adr/0074): the elements of the
input stand ``stride`` apart, with zeros between them, and the kernel is turned around. Where each element has places of its
own in the result, their product is the result in another order.

Products of fp32 are made by the vector unit (docs/adr/0062): use halves where speed matters.
"""

import itertools
import math

import torch

from torch_spyre.ops.functions import FLOATS

#: Places of a kernel of which each is one copy; of more, the copies between are fewer.
_MOST_COPIES = 128


def _per_dim(given, count):
    return [int(v) for v in (list(given) * count)[:count]]


class _Geometry:
    """Sizes of one convolution of an image of the shape; all lists have an entry per spatial dimension."""

    def __init__(self, shape, weight, stride, padding, dilation, groups):
        spatial = len(shape) - 2
        self.stride, self.padding, self.dilation = (
            _per_dim(given, spatial) for given in (stride, padding, dilation)
        )
        self.groups = groups
        self.batch, self.channels, self.size = shape[0], shape[1], list(shape[2:])
        self.out, self.kernel = weight.shape[0], list(weight.shape[2:])
        self.padded = [s + 2 * p for s, p in zip(self.size, self.padding)]
        self.windows = [
            (s - d * (k - 1) - 1) // step + 1
            for s, d, k, step in zip(self.padded, self.dilation, self.kernel, self.stride)
        ]
        self.places = math.prod(self.kernel)
        self.depth = self.channels // groups * self.places

    def is_supported(self):
        return min(self.windows, default=0) > 0

    def is_large(self):
        return self.places > _MOST_COPIES

    def is_tiling(self):
        """Every element is in exactly one window."""
        return (
            self.kernel == self.stride
            and not any(self.padding)
            and all(d == 1 for d in self.dilation)
            and all(s % k == 0 for s, k in zip(self.size, self.kernel))
        )

    def pads(self):
        return [p for padding in reversed(self.padding) for p in (padding, padding)]


def _columns(x, g):
    """[n, groups, depth, windows]"""
    if g.is_tiling():
        split = [n for w, k in zip(g.windows, g.kernel) for n in (w, k)]
        parts = x.reshape([g.batch, g.channels, *split])
        dims = range(2, 2 + len(split))
        columns = parts.permute(0, 1, *dims[1::2], *dims[0::2])
    else:
        x = torch.constant_pad_nd(x, g.pads()) if any(g.padding) else x
        columns = _by_dimension(x, g) if g.is_large() else torch.stack([_window(x, place, g) for place in _places(g)], 2)
    return columns.reshape(g.batch, g.groups, g.depth, math.prod(g.windows))


def _places(g):
    return itertools.product(*(range(k) for k in g.kernel))


def _window(x, place, g):
    """The element of all windows at one place of the kernel."""
    for i, at in enumerate(place):
        x = _slice(x, i + 2, i, at, g)
    return x


def _slice(x, dim, i, at, g):
    """Of spatial dimension i, which stands at ``dim``, the elements of all windows at one place of the kernel."""
    start = at * g.dilation[i]
    return torch.ops.aten.slice.Tensor(x, dim, start, start + (g.windows[i] - 1) * g.stride[i] + 1, g.stride[i])


def _by_dimension(x, g):
    """[batch, channels, places, *windows]"""
    x = x.unsqueeze(2)
    for i, kernel in enumerate(g.kernel):
        x = torch.stack([_slice(x, 3 + i, i, at, g) for at in range(kernel)], 3)
        x = x.reshape([*x.shape[:2], x.shape[2] * kernel, *x.shape[4:]])
    return x


def _geometry(x, weight, stride, padding, dilation, transposed, output_padding, groups):
    """None for what the CPU does. That of a transposed convolution is of the one it is the gradient of: its image is the
    result, its windows are the elements of ``x``."""
    is_plain = (
        x.dim() in (3, 4, 5)
        and (transposed or not any(output_padding))
        and x.dtype in FLOATS
        and weight.dtype == x.dtype
        and x.numel() > 0
        and weight.numel() > 0
    )
    if not is_plain:
        return None
    shape = _shape_before(x, weight, stride, padding, dilation, output_padding, groups) if transposed else x.shape
    if min(shape) <= 0:
        return None
    g = _Geometry(shape, weight, stride, padding, dilation, groups)
    if transposed:
        g.windows = list(x.shape[2:])  # padding of the result may leave room for more
    return g if g.is_supported() else None


def _shape_before(x, weight, stride, padding, dilation, output_padding, groups):
    """Of the result of a transposed convolution."""
    count = x.dim() - 2
    each = [_per_dim(given, count) for given in (stride, padding, dilation, output_padding)]
    sizes = [
        (size - 1) * step - 2 * pad + d * (k - 1) + more + 1
        for size, k, step, pad, d, more in zip(x.shape[2:], weight.shape[2:], *each)
    ]
    return [x.shape[0], weight.shape[1] * groups, *sizes]


def runs_on_device(x, weight, stride, padding, dilation, transposed, output_padding, groups):
    shape = (stride, padding, dilation, transposed, output_padding, groups)
    return _geometry(x, weight, *shape) is not None


def convolution(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    g = _geometry(x, weight, stride, padding, dilation, transposed, output_padding, groups)
    if g is None:
        return NotImplemented
    result = _transposed(x, weight, g) if transposed else _product(x, weight, g)
    return result if bias is None else result + bias.reshape(1, -1, *[1] * len(g.windows))


def _product(x, weight, g):
    rows = weight.reshape(1, g.groups, g.out // g.groups, g.depth)
    return torch.matmul(rows, _columns(x, g)).reshape(g.batch, g.out, *g.windows)


def _transposed(x, weight, g):
    """The result in one accumulator per element: the sum of what each place gives would be rounded for each."""
    if g.is_tiling():
        rows = weight.reshape(1, g.groups, g.out // g.groups, g.depth)
        flat = x.reshape(g.batch, g.groups, g.out // g.groups, math.prod(g.windows))
        return _untiled(torch.matmul(rows.transpose(2, 3), flat), g)
    spatial = range(len(g.kernel))
    for i in spatial:
        before = g.dilation[i] * (g.kernel[i] - 1) - g.padding[i]
        wanted = g.size[i] + g.dilation[i] * (g.kernel[i] - 1)
        x = _spread(x, i + 2, g.stride[i], g.stride[i] * x.shape[i + 2])
        x = _fitted(x, i + 2, before, wanted)
    parts = weight.reshape(g.groups, g.out // g.groups, -1, *g.kernel).transpose(1, 2)
    turned = parts.flip([3 + i for i in spatial]).reshape(g.channels, g.out // g.groups, *g.kernel)
    ones = [1] * len(g.kernel)
    plain = _Geometry(x.shape, turned, ones, [0] * len(ones), g.dilation, g.groups)
    return _product(x, turned, plain)


def _fitted(x, dim, before, size):
    """With zeros before, or so many elements less, and zeros or nothing behind up to the size."""
    if before < 0:
        x, before = x.narrow(dim, -before, x.shape[dim] + before), 0
    x = x.narrow(dim, 0, min(x.shape[dim], size - before))
    pads = [0] * (2 * (x.dim() - dim))
    pads[-2:] = before, size - before - x.shape[dim]
    return torch.constant_pad_nd(x, pads) if any(pads) else x


def told_bias_sizes(backward):
    """Gradients that are asked for without the sizes of the bias, which has one per channel."""

    def gradients(grad, x, weight, *shape):
        return backward(grad, x, weight, [grad.shape[1]], *shape)

    return gradients


def _spread(x, dim, step, size):
    """The elements of a dimension ``step`` apart, zeros between and behind them up to ``size``."""
    if step > 1:
        zeros = x.new_zeros([*x.shape[: dim + 1], step - 1, *x.shape[dim + 1 :]])
        x = torch.cat([x.unsqueeze(dim + 1), zeros], dim + 1)
        x = x.reshape([*x.shape[:dim], x.shape[dim] * step, *x.shape[dim + 2 :]])
    pads = [0] * (2 * (x.dim() - dim))
    pads[-1] = size - x.shape[dim]
    return torch.constant_pad_nd(x, pads)


def _untiled(columns, g):
    """Puts elements of windows that cover the image once into their places: the reverse of _columns."""
    spatial = len(g.kernel)
    parts = columns.reshape(g.batch, g.channels, *g.kernel, *g.windows)
    order = [d for i in range(spatial) for d in (2 + spatial + i, 2 + i)]
    return parts.permute(0, 1, *order).reshape(g.batch, g.channels, *g.size)


def _joined(columns):
    """[n, groups, rows, windows] -> [groups, rows, n * windows]: a gradient of weights is one sum over all images."""
    return columns.permute(1, 2, 0, 3).reshape(*columns.shape[1:3], -1)


def convolution_backward(
    grad,
    x,
    weight,
    bias_sizes,
    stride,
    padding,
    dilation,
    transposed,
    output_padding,
    groups,
    output_mask,
):
    g = _geometry(x, weight, stride, padding, dilation, transposed, output_padding, groups)
    if g is None or grad.dtype != x.dtype:
        return NotImplemented
    image, result = (grad, x) if transposed else (x, grad)
    flat = result.reshape(g.batch, groups, g.out // groups, math.prod(g.windows))
    of_input = of_weight = of_bias = None
    if output_mask[0] and transposed:
        of_input = _product(grad, weight, g)
    elif output_mask[0]:
        of_input = _transposed(grad, weight, g)
    if output_mask[1]:
        of_weight = torch.matmul(_joined(flat), _joined(_columns(image, g)).transpose(1, 2)).reshape(weight.shape)
    if output_mask[2]:
        of_bias = grad.sum([0, *range(2, grad.dim())])
    return of_input, of_weight, of_bias


def conv_tbc(x, weight, bias, pad=0):
    """A convolution in which time comes first."""
    images, kernels = x.permute(1, 2, 0), weight.permute(2, 1, 0)
    return torch.ops.aten.convolution(images, kernels, bias, [1], [pad], [1], False, [0], 1).permute(2, 0, 1).contiguous()
