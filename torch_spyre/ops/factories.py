"""Tensors of numbers in order, of ones on a diagonal, and of the places of a triangle, made on the device: ones are added up.
What the device has no format for, or no integers in (far beyond 2^24 elements), torch makes on the CPU."""

import torch

from torch_spyre.ops.functions import FLOATS as _FLOATS

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


def _spaced(start, end, steps, out):
    """Numbers of fp32 from both ends, as torch has them; None for what the device does not make."""
    numbers = (start, end)
    if not 1 < steps <= _MOST or out.dtype not in _FLOATS or not all(isinstance(n, (int, float)) for n in numbers):
        return None
    at = torch.arange(steps, dtype=torch.float32, device=out.device)
    step = (end - start) / (steps - 1)
    return torch.where(at < steps // 2, at * step + start, end - (steps - 1 - at) * step)


def _linspace_out(start, end, steps, *, out):
    if tuple(out.shape) != (steps,):
        out.resize_(steps)
    numbers = _spaced(start, end, steps, out)
    return out.copy_(torch.linspace(start, end, steps, dtype=out.dtype) if numbers is None else numbers)


def _logspace_out(start, end, steps, base=10.0, *, out):
    """Powers of the base; of no or a negative one torch makes them."""
    if tuple(out.shape) != (steps,):
        out.resize_(steps)
    numbers = _spaced(start, end, steps, out) if base > 0 else None
    if numbers is None:
        return out.copy_(torch.logspace(start, end, steps, base, dtype=out.dtype))
    return out.copy_(torch.pow(base, numbers))


def _triangle_indices(makes, counts):
    """Rows and columns of the elements of a triangle, one row after the other: an element's row is the number of rows that
    end before it. ``counts`` says where the elements of a row begin, and how many they are."""

    def made(row, col, offset=0, *, dtype=torch.int64, layout=None, device=None, pin_memory=None):
        count = makes(row, col, offset, device="meta").shape[1]  # refuses what torch refuses
        if not 0 < count * row <= _MOST or dtype not in _WORDS:
            return makes(row, col, offset, dtype=dtype).to(device)
        rows = torch.arange(row, device=device)
        first, of_row = counts(rows, col, offset)
        ends = torch.cumsum(of_row, 0)
        at = torch.arange(count, device=device)
        number = torch.sum((ends[:, None] <= at).to(torch.int64), 0)
        column = at - torch.index_select(ends - of_row - first, 0, number)
        return torch.stack([number, column]).to(dtype)

    return made


def _lower(rows, col, offset):
    return torch.zeros_like(rows), torch.clamp(rows + (offset + 1), 0, col)


def _upper(rows, col, offset):
    first = torch.clamp(rows + offset, 0, col)
    return first, col - first


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


def _kaiser_window(
    window_length, periodic=True, beta=12.0, *, dtype=None, layout=None, device=None, pin_memory=None
):
    """Torch's looks for a kernel of its own that a device cannot have."""
    kind = dtype or torch.get_default_dtype()
    if window_length < 2:
        return torch.ones(window_length, dtype=kind, device=device)
    half = (window_length - (0 if periodic else 1)) / 2
    place = torch.arange(window_length, dtype=torch.float32, device=device) / half - 1
    top = torch.special.i0(torch.tensor(beta, dtype=torch.float64)).item()
    return (torch.special.i0(beta * torch.sqrt(torch.clamp_min(1 - place * place, 0))) / top).to(kind)


def _zeros(size, *, dtype=None, layout=None, device=None, pin_memory=None):
    """Gradients that are nothing: torch's have no memory, which a device cannot copy."""
    return torch.zeros(size, dtype=dtype, layout=layout, device=device)


_library.impl("_efficientzerotensor", _zeros, "PrivateUse1")
for _name in ("kaiser_window", "kaiser_window.periodic", "kaiser_window.beta"):
    _library.impl(_name, _kaiser_window, "PrivateUse1")
_library.impl("eye.out", _eye_out, "PrivateUse1")
_library.impl("eye.m_out", _eye_out, "PrivateUse1")
_library.impl("linspace.out", _linspace_out, "PrivateUse1")
_library.impl("logspace.out", _logspace_out, "PrivateUse1")
_library.impl("tril_indices", _triangle_indices(torch.tril_indices, _lower), "PrivateUse1")
_library.impl("triu_indices", _triangle_indices(torch.triu_indices, _upper), "PrivateUse1")
_library.impl("arange.start_out", _arange_out, "PrivateUse1")
