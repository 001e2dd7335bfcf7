"""Products of groups of rows with a matrix each, as mixtures of experts make them; where groups end is data.

A row takes part in the product of its own group and is 0 in all others, so that their sum is the product of its group,
with no bit lost.
"""

import torch

from torch_spyre.ops import limits
from torch_spyre.ops.functions import FLOATS


def _is_in_group(offsets, rows):
    """[groups, rows]: whether a row lies before the end of a group, and not before its start."""
    numbers = torch.arange(rows, dtype=offsets.dtype, device=offsets.device)
    is_before_end = numbers < offsets.unsqueeze(1)
    starts = torch.cat([torch.zeros_like(offsets[:1]), offsets[:-1]]).unsqueeze(1)
    return torch.logical_and(is_before_end, numbers >= starts)


def grouped_mm(x, weight, offs=None, bias=None, out_dtype=None):
    """[rows, k] with [groups, k, n]; row numbers from offs[g - 1] to offs[g] are group g's."""
    is_plain = x.dim() == 2 and weight.dim() == 3 and offs is not None and bias is None
    if not is_plain or x.dtype not in FLOATS or weight.dtype != x.dtype:
        return NotImplemented
    products = x.shape[0] * weight.shape[0] * weight.shape[2]
    if not products or limits.GROUPS.refuses(products):
        return NotImplemented
    is_own = _is_in_group(offs, x.shape[0]).unsqueeze(2)
    zero = torch.zeros((), dtype=x.dtype, device=x.device)
    rows = torch.where(is_own, x.unsqueeze(0), zero)
    result = torch.sum(torch.bmm(rows, weight), 0)
    return result if out_dtype is None else result.to(out_dtype)
