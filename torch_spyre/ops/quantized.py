"""Products of fp8 matrices, which the device multiplies in 16 bits, in which every fp8 number is exact; and numbers that are
rounded as if they were small integers (fake quantisation)."""

import struct

import torch

from torch_spyre._inductor.integer_decompositions import INTEGERS
from torch_spyre.ops.functions import is_float

_RESULTS = {torch.float16, torch.bfloat16, torch.float32, torch.float8_e4m3fn}
_FP8 = torch.float8_e4m3fn


def _is_scale(scale, rows):
    """One number, or one for each row (``rows``: their shape)."""
    return scale.dtype == torch.float32 and (scale.numel() == 1 or tuple(scale.shape) == rows)


def scaled_mm(x, y, scale_a, scale_b, bias=None, scale_result=None, out_dtype=None, use_fast_accum=False):
    """(x * scale_a) @ (y * scale_b) + bias. Sums are in fp32, the product has 16 bits, scales and bias are fp32."""
    kind = out_dtype or x.dtype
    if x.dtype != _FP8 or y.dtype != _FP8 or kind not in _RESULTS:
        return NotImplemented
    if not _is_scale(scale_a, (x.shape[0], 1)) or not _is_scale(scale_b, (1, y.shape[1])):
        return NotImplemented
    # bf16, not fp16: sums of fp8 products may be beyond the largest fp16 number, not beyond the device's.
    product = torch.mm(x.to(torch.bfloat16), y.to(torch.bfloat16)).float()
    result = product * scale_a.reshape(-1, 1) * scale_b.reshape(1, -1)
    if bias is not None:
        result = result + bias.float()
    if scale_result is not None and kind == _FP8:
        result = result * scale_result
    return result.to(kind)


#: Whole numbers up to this one are exact in fp32, and so are their sums.
_MOST_NUMBER = 1 << 22


def _is_range(x, quant_min, quant_max):
    return is_float(x) and -_MOST_NUMBER <= quant_min <= quant_max <= _MOST_NUMBER


def _on_fp32(number):
    """The nearest number of fp32."""
    return struct.unpack("<f", struct.pack("<f", number))[0]


def _rounded(x, scale, zero_point, quant_min, quant_max):
    """The nearest numbers that integers of a range stand for, and where no number was out of the range: in fp32. A zero
    point that is a fraction is added before it is rounded. What is no number counts as the least."""
    wide = x.float() * (1 / scale)
    is_whole = not isinstance(zero_point, torch.Tensor) or zero_point.dtype in INTEGERS
    number = torch.round(wide) + zero_point if is_whole else torch.round(wide + zero_point.float())
    is_inside = torch.logical_and(number >= quant_min, number <= quant_max)
    number = torch.where(number == number, torch.clamp(number, quant_min, quant_max), quant_min)
    return ((number - zero_point) * scale).to(x.dtype), is_inside


def fake_quantize(x, scale, zero_point, quant_min, quant_max):
    if not _is_range(x, quant_min, quant_max) or not quant_min <= zero_point <= quant_max:
        return NotImplemented
    return _rounded(x, _on_fp32(scale), zero_point, quant_min, quant_max)


def fake_quantize_by_tensors(x, scale, zero_point, fake_quant_enabled, quant_min, quant_max):
    """Where it is switched off, all numbers stay."""
    if not is_float(x, scale) or scale.numel() != 1 or zero_point.numel() != 1 or fake_quant_enabled.numel() != 1:
        return NotImplemented
    if not _is_range(x, quant_min, quant_max):
        return NotImplemented
    values, is_inside = _rounded(x, scale.float().reshape([]), zero_point.reshape([]), quant_min, quant_max)
    is_on = fake_quant_enabled.reshape([]) != 0
    return torch.where(is_on, values, x), torch.logical_or(is_inside, torch.logical_not(is_on))


def fake_quantize_channels(x, scale, zero_point, axis, quant_min, quant_max):
    if not is_float(x, scale) or not _is_range(x, quant_min, quant_max):
        return NotImplemented
    if not (is_float(zero_point) or zero_point.dtype == torch.int32) or not 0 <= axis < x.dim():
        return NotImplemented
    if not scale.shape == zero_point.shape == x.shape[axis : axis + 1]:
        return NotImplemented
    shape = [1] * x.dim()
    shape[axis] = -1
    return _rounded(x, scale.float().reshape(shape), zero_point.reshape(shape), quant_min, quant_max)


def decompositions():
    """Operator overload -> function."""
    aten = torch.ops.aten
    return {
        aten._scaled_mm.default: scaled_mm,
        aten.fake_quantize_per_tensor_affine_cachemask.default: fake_quantize,
        aten.fake_quantize_per_channel_affine_cachemask.default: fake_quantize_channels,
        aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default: fake_quantize_by_tensors,
    }
