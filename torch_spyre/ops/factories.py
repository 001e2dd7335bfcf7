"""Tensors of numbers in order, made on the device: ones are added up. What the device has no format
for, or no integers in (far beyond 2^24 elements), torch makes on the CPU."""

import torch

_FLOATS = (torch.float16, torch.bfloat16, torch.float32)
_WORDS = (torch.int32, torch.int64)
_MOST = 1 << 24

_library = torch.library.Library("aten", "IMPL")


def _fits(number):
    return -(2**31) <= number < 2**31


def _is_counted(count, start, step, dtype):
    if not 0 < count <= _MOST:
        return False
    if dtype in _WORDS:
        last = start + step * (count - 1)
        return all(isinstance(n, int) and _fits(n) for n in (start, step, last))
    return dtype in _FLOATS


def _arange_out(start, end, step=1, *, out):
    count = torch.arange(start, end, step, dtype=out.dtype, device="meta").numel()
    if tuple(out.shape) != (count,):
        out.resize_(count)
    if not _is_counted(count, start, step, out.dtype):
        return out.copy_(torch.arange(start, end, step, dtype=out.dtype))
    kind = torch.int64 if out.dtype in _WORDS else torch.float32
    numbers = torch.cumsum(torch.ones(count, dtype=kind, device=out.device), 0) - 1
    numbers = numbers if step == 1 else numbers * step
    return out.copy_(numbers if start == 0 else numbers + start)


_library.impl("arange.start_out", _arange_out, "PrivateUse1")
