"""Products of fp8 matrices. The device multiplies them in 16 bits, in which every fp8 number is exact."""

import torch

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
