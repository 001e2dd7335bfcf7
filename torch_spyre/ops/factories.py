"""Tensors of numbers in order, and of ones on a diagonal, made on the device: ones are added up. What the device has no format
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


def _linspace_out(start, end, steps, *, out):
    """From both ends, as torch does."""
    if tuple(out.shape) != (steps,):
        out.resize_(steps)
    numbers = (start, end)
    if not 1 < steps <= _MOST or out.dtype not in _FLOATS or not all(isinstance(n, (int, float)) for n in numbers):
        return out.copy_(torch.linspace(start, end, steps, dtype=out.dtype))
    at = torch.arange(steps, dtype=torch.float32, device=out.device)
    step = (end - start) / (steps - 1)
    return out.copy_(torch.where(at < steps // 2, at * step + start, end - (steps - 1 - at) * step))


def _eye_out(n, m=None, *, out):
    """One where the number of the row is that of the column."""
    m = n if m is None else m
    meta = torch.eye(n, m, dtype=out.dtype, device="meta")  # refuses what torch refuses
    if out.shape != meta.shape:
        out.resize_(meta.shape)
    if out.dtype not in {*_FLOATS, *_WORDS, torch.bool} or not out.numel():
        return out.copy_(torch.eye(n, m, dtype=out.dtype))
    rows = torch.arange(n, device=out.device).unsqueeze(1)
    return out.copy_(rows == torch.arange(m, device=out.device))


def _pair_numbers(rows, columns, offset, is_lower, kind, device):
    """Rows and columns of the places of a triangle: the row of a place is the number of rows that end before it."""
    numbers = torch.arange(rows, device=device)
    begins = torch.clamp(numbers + offset, 0, columns)
    counts = torch.clamp(numbers + offset + 1, 0, columns) if is_lower else columns - begins
    ends = torch.cumsum(counts, 0)
    count = torch.tril_indices(rows, columns, offset - (not is_lower), device="meta").shape[1]
    count = count if is_lower else rows * columns - count
    if count == 0 or count * rows > _MOST or kind not in _WORDS:
        return None
    place = torch.arange(count, device=device)
    row = torch.sum((place[:, None] >= ends).to(torch.int64), 1)
    first = ends - counts if is_lower else ends - counts - begins
    column = place - torch.index_select(first, 0, row)
    return torch.stack([row, column]).to(kind)


def _triangle(name, is_lower):
    def indices(row, col, offset=0, *, dtype=torch.int64, layout=None, device=None, pin_memory=None):
        found = _pair_numbers(row, col, offset, is_lower, dtype, device)
        on_host = getattr(torch, name)
        return on_host(row, col, offset, dtype=dtype).to(device) if found is None else found

    return indices


def _logspace_out(start, end, steps, base=10.0, *, out):
    if tuple(out.shape) != (steps,):
        out.resize_(steps)
    numbers = (start, end, base)
    if not steps or out.dtype not in _FLOATS or not all(isinstance(n, (int, float)) for n in numbers):
        return out.copy_(torch.logspace(start, end, steps, base, dtype=out.dtype))
    return out.copy_(torch.pow(base, torch.linspace(start, end, steps, dtype=torch.float32, device=out.device)))


def _kaiser_window(window_length, *args, dtype=None, layout=None, device=None, pin_memory=None):
    """The device has no function of Bessel's."""
    return torch.kaiser_window(window_length, *args, dtype=dtype).to(device)


def _zeros(size, *, dtype=None, layout=None, device=None, pin_memory=None):
    """Gradients that are nothing: torch's have no memory, which a device cannot copy."""
    return torch.zeros(size, dtype=dtype, layout=layout, device=device)


_library.impl("_efficientzerotensor", _zeros, "PrivateUse1")
for _name in ("tril_indices", "triu_indices"):
    _library.impl(_name, _triangle(_name, _name.startswith("tril")), "PrivateUse1")
for _name in ("kaiser_window", "kaiser_window.periodic", "kaiser_window.beta"):
    _library.impl(_name, _kaiser_window, "PrivateUse1")
_library.impl("logspace.out", _logspace_out, "PrivateUse1")
_library.impl("eye.out", _eye_out, "PrivateUse1")
_library.impl("eye.m_out", _eye_out, "PrivateUse1")
_library.impl("linspace.out", _linspace_out, "PrivateUse1")
_library.impl("arange.start_out", _arange_out, "PrivateUse1")
