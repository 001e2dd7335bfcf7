"""Images sampled at places that are data (grid_sample), from operations the device has (docs/adr/0074).

All channels of a pixel are one row, so that a neighbour of a place is one gather of rows. Weights and sums are in fp32. The
gradient of the image is a product: what each place gives to each pixel is a matrix.
"""

import itertools
import math

import torch

from torch_spyre.ops.functions import is_float
from torch_spyre.ops.index_writes import MOST_COMPARED

_LINEAR, _NEAREST = range(2)
_ZEROS, _BORDER, _REFLECTION = range(3)
_HALVES = (torch.float16, torch.bfloat16)


def _reflected(place, low, high):
    """Into the interval, as if its ends were mirrors; and the sign of the way."""
    span = high - low
    if span == 0:
        return torch.zeros_like(place), torch.zeros_like(place)
    distance = place - low
    sign = torch.where(distance < 0, -1.0, 1.0)
    distance = torch.abs(distance)
    turns = torch.floor(distance / span)
    rest = distance - turns * span
    is_back = turns - 2 * torch.floor(turns / 2) > 0.5
    return torch.where(is_back, span - rest, rest) + low, torch.where(is_back, -sign, sign)


class _Axis:
    """Where along one dimension the places are, and how they move with the numbers of the grid."""

    def __init__(self, given, size, padding, align_corners):
        self.size = size
        self.slope = (size - 1) / 2 if align_corners else size / 2
        place = (given.float() + 1) * self.slope - (0.0 if align_corners else 0.5)
        self.moves = torch.ones_like(place)
        if padding == _REFLECTION:
            low, high = (0.0, size - 1.0) if align_corners else (-0.5, size - 0.5)
            place, self.moves = _reflected(place, low, high)
        if padding != _ZEROS:
            is_inside = torch.logical_and(place > 0, place < size - 1)
            self.moves = torch.where(is_inside, self.moves, torch.zeros_like(place))
            place = torch.clamp(place, 0, size - 1)
        # Far away is outside, and no integer is so large.
        self.place = torch.clamp(place, -2, size + 1)

    def neighbours(self, mode):
        """Pairs: the number of an element, and its weight; and how the weight changes."""
        if mode == _NEAREST:
            at = torch.round(self.place)
            return [self._inside(at, torch.ones_like(at), torch.zeros_like(at))]
        first = torch.floor(self.place)
        share, one = self.place - first, torch.ones_like(first)
        return [self._inside(first, 1 - share, -one), self._inside(first + 1, share, one)]

    def _inside(self, at, weight, change):
        is_inside = torch.logical_and(at >= 0, at <= self.size - 1)
        zero = torch.zeros_like(weight)
        number = torch.clamp(at, 0, self.size - 1).to(torch.int64)
        return number, torch.where(is_inside, weight, zero), torch.where(is_inside, change, zero)

    def matrix(self, mode):
        """[.., places, elements]"""
        numbers = torch.arange(self.size, dtype=torch.float32, device=self.place.device)
        if mode == _NEAREST:
            return (torch.round(self.place).unsqueeze(-1) == numbers).to(torch.float32)
        return torch.clamp(1 - torch.abs(self.place.unsqueeze(-1) - numbers), min=0)


def _axes(x, grid, padding, align_corners):
    """Rows and columns of the image."""
    batch, count = grid.shape[0], grid.shape[1] * grid.shape[2]
    flat = grid.reshape(batch, count, 2)
    return [
        _Axis(flat.select(2, 1 - number), x.shape[2 + number], padding, align_corners) for number in range(2)
    ]


def _rows(x):
    """One for each pixel, of all channels."""
    return x.permute(0, 2, 3, 1).reshape(-1, x.shape[1])


def _taken(x, rows, row, column):
    """The pixels of all images at numbers of rows and columns: [n, places, channels], fp32."""
    batch, _, height, width = x.shape
    image = torch.arange(batch, device=x.device)[:, None] * (height * width)
    at = image + row * width + column
    return torch.index_select(rows, 0, at.reshape(-1)).reshape([*at.shape, x.shape[1]]).float()


def _is_supported(x, grid, mode):
    return is_float(x, grid) and x.dtype == grid.dtype and mode in (_LINEAR, _NEAREST) and x.numel() * grid.numel() > 0


def grid_sampler_2d(x, grid, interpolation_mode, padding_mode, align_corners):
    if not _is_supported(x, grid, interpolation_mode):
        return NotImplemented
    down, across = (axis.neighbours(interpolation_mode) for axis in _axes(x, grid, padding_mode, align_corners))
    rows, total = _rows(x), None
    for (row, of_row, _), (column, of_column, _) in itertools.product(down, across):
        part = _taken(x, rows, row, column) * (of_row * of_column).unsqueeze(-1)
        total = part if total is None else total + part
    shape = [x.shape[0], *grid.shape[1:3], x.shape[1]]
    return total.to(x.dtype).reshape(shape).permute(0, 3, 1, 2).contiguous()


def _image_gradient(grad, x, axes, mode):
    """[n, channels, places] times [n, places, pixels]; weights in two parts, as in ops/resampling."""
    down, across = (axis.matrix(mode) for axis in axes)
    weights = (down.unsqueeze(-1) * across.unsqueeze(-2)).flatten(2)
    flat = grad.reshape(grad.shape[0], grad.shape[1], -1)
    if x.dtype in _HALVES:
        coarse = weights.to(torch.bfloat16).to(torch.float32)
        weights, flat = torch.cat([coarse, weights - coarse], 1), torch.cat([flat, flat], 2)
    return torch.matmul(flat, weights.to(x.dtype)).reshape(x.shape)


def _grid_gradient(grad, x, grid, axes, mode):
    """How the result moves with a place, times how the place moves with its numbers."""
    down, across = (axis.neighbours(mode) for axis in axes)
    rows = _rows(x)
    theirs = grad.permute(0, 2, 3, 1).reshape(x.shape[0], -1, x.shape[1]).float()
    of_rows = of_columns = torch.zeros_like(axes[0].place)
    for (row, of_row, row_change), (column, of_column, column_change) in itertools.product(down, across):
        value = torch.sum(_taken(x, rows, row, column) * theirs, -1)
        of_rows = of_rows + value * row_change * of_column
        of_columns = of_columns + value * of_row * column_change
    parts = [g * axis.moves * axis.slope for g, axis in zip((of_columns, of_rows), reversed(axes))]
    return torch.stack(parts, -1).to(grid.dtype).reshape(grid.shape)


def grid_sampler_2d_backward(grad, x, grid, interpolation_mode, padding_mode, align_corners, output_mask):
    places = grid.shape[0] * grid.shape[1] * grid.shape[2]
    if not _is_supported(x, grid, interpolation_mode) or places * math.prod(x.shape[2:]) > MOST_COMPARED:
        return NotImplemented
    axes = _axes(x, grid, padding_mode, align_corners)
    of_image = _image_gradient(grad, x, axes, interpolation_mode) if output_mask[0] else None
    of_grid = _grid_gradient(grad, x, grid, axes, interpolation_mode) if output_mask[1] else None
    return of_image, of_grid


def decompositions():
    """Operator overload -> function."""
    aten = torch.ops.aten
    return {
        aten.grid_sampler_2d.default: grid_sampler_2d,
        aten.grid_sampler_2d_backward.default: grid_sampler_2d_backward,
    }
