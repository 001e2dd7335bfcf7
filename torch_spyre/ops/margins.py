"""Margin losses of classes, and their gradients, from operations the device has: in fp32, rounded once.

Which class is meant is data: every class asks whether it is the one. What would be too many comparisons is left to the CPU.
"""

import functools

import torch

from torch_spyre._inductor.integer_decompositions import INTEGERS
from torch_spyre.ops import limits
from torch_spyre.ops.functions import is_float

_NONE, _MEAN, _SUM = range(3)


def _positive(x):
    """And 0 for what is no number, as torch has it."""
    return torch.where(x > 0, x, 0.0)


def _reduced(losses, reduction, shape):
    """Of rows, one number or one for each."""
    if reduction == _NONE:
        return losses.reshape(shape)
    return (torch.mean if reduction == _MEAN else torch.sum)(losses)


def _shares(grad, reduction, rows):
    """What of the gradient of the result each row gets: a column."""
    share = grad.float() / rows if reduction == _MEAN else grad.float()
    return share.reshape(-1, 1).expand(rows, 1)


def _is_soft(x, target):
    return is_float(x, target) and x.numel() > 0


def soft_margin_loss(x, target, reduction=_MEAN):
    """ln(1 + e^z): of a large z it is z, which 16 bits hold and its power does not."""
    if not _is_soft(x, target):
        return NotImplemented
    z = -(x.float() * target.float())
    losses = torch.clamp_min(z, 0.0) + torch.log1p(torch.exp(-torch.abs(z)))
    return _reduced(losses, reduction, losses.shape).to(torch.promote_types(x.dtype, target.dtype))


def soft_margin_loss_backward(grad, x, target, reduction):
    if not _is_soft(x, target) or not is_float(grad):
        return NotImplemented
    wide, sign = x.float(), target.float()
    share = grad.float() / x.numel() if reduction == _MEAN else grad.float()
    return (-sign * torch.sigmoid(-(wide * sign)) * share).to(x.dtype)


def _is_supported(x, target):
    return is_float(x) and target.dtype in INTEGERS and 0 < x.dim() <= 2 and x.numel() > 0 and target.numel() > 0


class _OfOne:
    """Rows with one right class each, from which all others should keep a distance."""

    def __init__(self, x, target, margin, weight):
        rows = x.reshape(-1, x.shape[-1])
        target = target.reshape(-1, 1)
        self.count, classes = rows.shape
        self.is_right = target == torch.arange(classes, device=x.device)
        distance = margin - torch.gather(rows, 1, target).float() + rows.float()
        self.excess = torch.where(self.is_right, 0.0, _positive(distance))
        self.factor = 1 / classes
        if weight is not None:
            self.factor = torch.index_select(weight, 0, target.reshape(-1)).float()[:, None] / classes


def _is_of_one(x, target, p, weight):
    is_weighted = weight is None or is_float(weight)
    return _is_supported(x, target) and p in (1, 2) and is_weighted and target.numel() * x.shape[-1] == x.numel()


def multi_margin_loss(x, target, p=1, margin=1, weight=None, reduction=_MEAN):
    if not _is_of_one(x, target, p, weight):
        return NotImplemented
    rows = _OfOne(x, target, margin, weight)
    excess = rows.excess if p == 1 else rows.excess * rows.excess
    return _reduced(torch.sum(excess * rows.factor, 1), reduction, target.shape).to(x.dtype)


def multi_margin_loss_backward(grad, x, target, p, margin, weight=None, reduction=_MEAN):
    if not _is_of_one(x, target, p, weight):
        return NotImplemented
    rows = _OfOne(x, target, margin, weight)
    slope = (rows.excess > 0).to(torch.float32) if p == 1 else 2 * rows.excess
    slope = slope * rows.factor
    slope = torch.where(rows.is_right, -torch.sum(slope, 1, keepdim=True), slope)
    return (slope * _shares(grad, reduction, rows.count)).to(x.dtype).reshape(x.shape)


class _OfMany:
    """Rows with a list of right classes each, which ends at the first number below 0."""

    def __init__(self, x, target):
        rows = x.reshape(-1, x.shape[-1])
        target = target.reshape(rows.shape)
        self.count, self.classes = rows.shape
        classes = torch.arange(self.classes, device=x.device)
        end = torch.amin(torch.where(target < 0, classes, torch.full_like(classes, self.classes)), 1, keepdim=True)
        is_listed = classes < end
        at = torch.where(is_listed, target, torch.zeros_like(target))
        # [rows, places of the list, classes]
        self.is_named = torch.logical_and(at.unsqueeze(2) == classes, is_listed.unsqueeze(2))
        self.is_right = torch.amax(self.is_named.to(torch.float32), 1)
        distance = 1 - torch.gather(rows, 1, at).float().unsqueeze(2) + rows.float().unsqueeze(1)
        is_counted = torch.logical_and(is_listed.unsqueeze(2), self.is_right.unsqueeze(1) == 0)
        self.excess = torch.where(is_counted, _positive(distance), 0.0)


def _is_of_many(x, target):
    is_plain = _is_supported(x, target) and x.shape == target.shape
    return is_plain and not limits.CLASSES.refuses(x.numel() * x.shape[-1])


def multilabel_margin_loss(x, target, reduction=_MEAN):
    """The loss, and which classes are right."""
    if not _is_of_many(x, target):
        return NotImplemented
    rows = _OfMany(x, target)
    losses = torch.sum(torch.sum(rows.excess, 2), 1) / rows.classes
    is_right = rows.is_right.to(x.dtype).reshape(target.shape)
    return _reduced(losses, reduction, x.shape[:-1]).to(x.dtype), is_right


def multilabel_margin_loss_backward(grad, x, target, reduction, is_target):
    del is_target  # the target says it
    if not _is_of_many(x, target):
        return NotImplemented
    rows = _OfMany(x, target)
    slope = (rows.excess > 0).to(torch.float32)
    taken = torch.where(rows.is_named, torch.sum(slope, 2, keepdim=True), torch.zeros_like(slope))
    slope = torch.sum(slope - taken, 1) / rows.classes
    return (slope * _shares(grad, reduction, rows.count)).to(x.dtype).reshape(x.shape)


def decompositions():
    """Operator overload -> function."""
    aten = torch.ops.aten
    return {
        aten.multi_margin_loss.default: multi_margin_loss,
        aten.multi_margin_loss_backward.default: multi_margin_loss_backward,
        aten.multilabel_margin_loss_forward.default: multilabel_margin_loss,
        aten.multilabel_margin_loss_backward.default: multilabel_margin_loss_backward,
        aten.soft_margin_loss.default: soft_margin_loss,
        aten.soft_margin_loss_backward.default: soft_margin_loss_backward,
    }


@functools.cache
def install():
    """Captured graphs get torch's gradients and the formulas above: the formula that torch takes apart while it captures counts
    what stands behind the end of a list."""
    own, of_torch = torch._C.DispatchKey.AutogradPrivateUse1, torch._C.DispatchKey.Autograd
    for name in ("multi_margin_loss", "multilabel_margin_loss_forward"):
        op = getattr(torch.ops.aten, name).default
        op.py_kernels[own] = of_torch
        op._dispatch_cache.clear()
