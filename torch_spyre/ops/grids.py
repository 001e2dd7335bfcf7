"""Images and volumes sampled at places that are data (grid_sample), from operations the device has (docs/adr/0074).

All channels of a pixel are one row, so that a neighbour of a place is one gather of rows. Weights and sums are in fp32. The
gradient of the image is a product: what each place gives to each pixel is a matrix.
"""

import itertools
import math

import torch

from torch_spyre.ops import limits
from torch_spyre.ops.functions import HALVES as _HALVES
from torch_spyre.ops.functions import is_float, one_of

_LINEAR, _NEAREST, _CUBIC = range(3)
_ZEROS, _BORDER, _REFLECTION = range(3)
#: Of the cubic kernel, as torch has it.
_BEND = -0.75


def _reflected(place, low, high):
    """Into the interval, as if its ends were mirrors; and the sign of the way."""
    span = high - low
    if span == 0:
        return torch.zeros_like(place), torch.zeros_like(place)
    distance = place - low
    sign = one_of(distance < 0, -1.0, 1.0)
    distance = torch.abs(distance)
    turns = torch.floor(distance / span)
    rest = distance - turns * span
    is_back = turns - 2 * torch.floor(turns / 2) > 0.5
    return torch.where(is_back, span - rest, rest) + low, torch.where(is_back, -sign, sign)


def _near(x):
    """The cubic kernel at distances up to 1, and its slope."""
    return ((_BEND + 2) * x - (_BEND + 3)) * x * x + 1, (3 * (_BEND + 2) * x - 2 * (_BEND + 3)) * x


def _far(x):
    """From 1 to 2."""
    value = ((_BEND * x - 5 * _BEND) * x + 8 * _BEND) * x - 4 * _BEND
    return value, (3 * _BEND * x - 10 * _BEND) * x + 8 * _BEND


class _Axis:
    """Where along one dimension the places are, and how they move with the numbers of the grid."""

    def __init__(self, given, size, mode, padding, align_corners, last=False):
        self.size, self.mode, self.padding = size, mode, padding
        self.ends = (0.0, size - 1.0) if align_corners else (-0.5, size - 0.5)
        self.slope = (size - 1) / 2 if align_corners else size / 2
        place = (given.float() + 1) * self.slope - (0.0 if align_corners else 0.5)
        #: 0, or no number where the grid has none or an infinity.
        self.lost = place - place
        self.moves = torch.ones_like(place)
        if mode != _CUBIC:
            place = self._padded(place)
        # Far away is outside, and no integer is so large; what is no number is outside, too, or an edge: torch's.
        if mode == _CUBIC and padding == _REFLECTION:
            place = torch.where(self.lost == 0, place, 0.0)
        else:
            place = torch.clamp(place, -3, size + 2)
        edge = -3.0 if padding == _ZEROS else size - 1.0 if last else 0.0
        self.place = torch.where(place == place, place, edge)

    def _padded(self, place):
        """Places outside are those of the edge, or of the mirror."""
        if self.padding == _REFLECTION:
            place, self.moves = _reflected(place, *self.ends)
        if self.padding != _ZEROS:
            is_inside = torch.logical_and(place > 0, place < self.size - 1)
            self.moves = torch.where(is_inside, self.moves, torch.zeros_like(place))
            place = torch.clamp(place, 0, self.size - 1)
        return place

    def neighbours(self):
        """The number of an element, its weight, and how the weight changes: of each neighbour."""
        return [self._inside(*neighbour) for neighbour in self._neighbours()]

    def _neighbours(self):
        if self.mode == _NEAREST:
            at = torch.round(self.place)
            return [(at, torch.ones_like(at), torch.zeros_like(at))]
        first = torch.floor(self.place)
        share, one = self.place - first, torch.ones_like(first)
        if self.mode == _LINEAR:
            return [(first, 1 - share, -one), (first + 1, share, one)]
        # Neighbours behind the place come nearer when it moves on.
        before = [(first - 1, *_far(share + 1)), (first, *_near(share))]
        behind = [(first + 1, *_near(1 - share)), (first + 2, *_far(2 - share))]
        return [*before, *((at, weight, -change) for at, weight, change in behind)]

    def _inside(self, at, weight, change):
        if self.mode == _CUBIC and self.padding == _REFLECTION:
            at, _ = _reflected(at, *self.ends)
        if self.mode == _CUBIC and self.padding != _ZEROS:
            at = torch.clamp(at, 0, self.size - 1)
        is_inside = torch.logical_and(at >= 0, at <= self.size - 1)
        zero = torch.zeros_like(weight)
        number = torch.clamp(at, 0, self.size - 1).to(torch.int64)
        return number, torch.where(is_inside, weight, zero), torch.where(is_inside, change, zero)

    def matrix(self):
        """[.., places, elements]"""
        numbers = torch.arange(self.size, device=self.place.device)
        total = None
        for number, weight, _ in self.neighbours():
            is_it = number.unsqueeze(-1) == numbers
            part = torch.where(is_it, weight.unsqueeze(-1), 0.0)
            total = part if total is None else total + part
        return total


def _axes(x, grid, mode, padding, align_corners):
    """One for each dimension of the image; a grid names them in the reverse order."""
    batch, dims = grid.shape[0], x.dim() - 2
    flat = grid.reshape(batch, -1, dims)
    return [
        _Axis(flat.select(2, dims - 1 - number), x.shape[2 + number], mode, padding, align_corners, last=dims == 3)
        for number in range(dims)
    ]


def _channels_last(x):
    return x.permute(0, *range(2, x.dim()), 1)


class _Pixels:
    """One row for each pixel of all images, of all channels."""

    def __init__(self, x):
        self._size, self._channels = x.shape[2:], x.shape[1]
        self._rows = _channels_last(x).reshape(-1, x.shape[1])
        self._images = torch.arange(x.shape[0], device=x.device)[:, None] * math.prod(self._size)

    def taken(self, numbers):
        """[n, places, channels], fp32; the numbers are one for each dimension."""
        at = None
        for size, number in zip(self._size, numbers):
            at = number if at is None else at * size + number
        at = self._images + at
        found = torch.index_select(self._rows, 0, at.reshape(-1))
        return found.reshape([*at.shape, self._channels]).float()


def _spoils(x, mode, padding):
    """Whether torch's result is no number where a place is none: else it is that of the first pixel, or 0."""
    return mode == _CUBIC or (mode == _LINEAR and padding == _ZEROS and x.dim() == 4)


def _product(factors):
    return math.prod(factors[1:], start=factors[0])


def _is_supported(x, grid, mode):
    is_known = mode in (_LINEAR, _NEAREST) or (mode == _CUBIC and x.dim() == 4)
    return is_float(x, grid) and x.dtype == grid.dtype and is_known and x.numel() * grid.numel() > 0


def grid_sampler(x, grid, interpolation_mode, padding_mode, align_corners):
    if not _is_supported(x, grid, interpolation_mode):
        return NotImplemented
    axes = _axes(x, grid, interpolation_mode, padding_mode, align_corners)
    pixels, total = _Pixels(x), None
    for neighbour in itertools.product(*(axis.neighbours() for axis in axes)):
        numbers, weights, _ = zip(*neighbour)
        part = pixels.taken(numbers) * _product(weights).unsqueeze(-1)
        total = part if total is None else total + part
    if _spoils(x, interpolation_mode, padding_mode):
        total = total + sum(axis.lost for axis in axes).unsqueeze(-1)
    result = total.to(x.dtype).reshape([x.shape[0], *grid.shape[1:-1], x.shape[1]])
    return result.movedim(-1, 1).contiguous()


def _image_gradient(grad, x, axes):
    """[n, channels, places] times [n, places, pixels]; weights in two parts, as in ops/resampling."""
    weights = None
    for axis in axes:
        matrix = axis.matrix()
        weights = matrix if weights is None else (weights.unsqueeze(-1) * matrix.unsqueeze(-2)).flatten(2)
    flat = grad.reshape(grad.shape[0], grad.shape[1], -1)
    if x.dtype in _HALVES:
        coarse = weights.to(torch.bfloat16).to(torch.float32)
        weights, flat = torch.cat([coarse, weights - coarse], 1), torch.cat([flat, flat], 2)
    return torch.matmul(flat, weights.to(x.dtype)).reshape(x.shape)


def _grid_gradient(grad, x, grid, axes):
    """How the result moves with a place, times how the place moves with its numbers."""
    theirs = _channels_last(grad).reshape(x.shape[0], -1, x.shape[1]).float()
    pixels, totals = _Pixels(x), [torch.zeros_like(axis.place) for axis in axes]
    for neighbour in itertools.product(*(axis.neighbours() for axis in axes)):
        numbers, weights, changes = zip(*neighbour)
        value = torch.sum(pixels.taken(numbers) * theirs, -1)
        for number, change in enumerate(changes):
            factors = [*weights[:number], change, *weights[number + 1 :]]
            totals[number] = totals[number] + value * _product(factors)
    parts = [total * axis.moves * axis.slope for total, axis in zip(totals, axes)]
    return torch.stack(parts[::-1], -1).to(grid.dtype).reshape(grid.shape)


def grid_sampler_backward(grad, x, grid, interpolation_mode, padding_mode, align_corners, output_mask):
    places = math.prod(grid.shape[:-1])
    if not _is_supported(x, grid, interpolation_mode) or limits.GRIDS.refuses(places * math.prod(x.shape[2:])):
        return NotImplemented
    axes = _axes(x, grid, interpolation_mode, padding_mode, align_corners)
    of_image = _image_gradient(grad, x, axes) if output_mask[0] else None
    of_grid = _grid_gradient(grad, x, grid, axes) if output_mask[1] else None
    return of_image, of_grid


def decompositions():
    """Operator overload -> function."""
    aten = torch.ops.aten
    return {
        aten.grid_sampler_2d.default: grid_sampler,
        aten.grid_sampler_2d_backward.default: grid_sampler_backward,
        aten.grid_sampler_3d.default: grid_sampler,
        aten.grid_sampler_3d_backward.default: grid_sampler_backward,
    }
