"""What torch refuses on the CPU the device refuses, with an exception of the same type: torch's own samples of errors.

Eager. Texts may differ where the device has more to say. The list is the one of torch.testing._internal, as in test_torch_samples.
"""

import warnings

import pytest
import torch
from torch.utils._pytree import tree_leaves, tree_map

samples = pytest.importorskip(
    "torch.testing._internal.common_methods_invocations",
    reason="torch's list of samples needs expecttest; scripts/setup.sh installs it",
)

OPERATIONS = [op for op in samples.op_db if op.error_inputs_func is not None]

#: Samples that are no error, or another one, and why. It only gets shorter.
OVERLAPS = "the result is stored when all is read, so that what it overlaps with does not change it"
COMPLEX = "the type of the samples, which the device does not hold, is asked for first"
EXCEPTIONS = {
    ("cat", 6): OVERLAPS,
    ("cat", 7): OVERLAPS,
    ("gather", 6): OVERLAPS,
    ("kthvalue", 0): OVERLAPS,
    ("take", 1): OVERLAPS,
    ("fft.hfft", 0): COMPLEX,
    ("fft.irfft", 0): COMPLEX,
}


class _OnDevice:
    """Tensors on the device; those that share memory share it there."""

    def __init__(self):
        self._storages = {}

    def __call__(self, value):
        is_here = isinstance(value, torch.Tensor) and value.device.type == "cpu"
        if not is_here:
            return torch.device("spyre") if isinstance(value, torch.device) else value
        if value.numel() == 0 or value.layout != torch.strided:
            return value.detach().to("spyre")
        key = value.untyped_storage().data_ptr(), value.dtype
        if key not in self._storages:
            count = value.untyped_storage().nbytes() // value.element_size()
            self._storages[key] = torch.as_strided(value.detach(), (count,), (1,), 0).to("spyre")
        owner = self._storages[key]
        if owner.numel() == value.numel() and value.is_contiguous():
            return owner.view(value.shape)
        return torch.as_strided(owner, value.shape, value.stride(), value.storage_offset())


def _single(tree):
    """Of float64, which the device does not hold, fp32."""
    if not any(isinstance(v, torch.Tensor) and v.dtype == torch.float64 for v in tree_leaves(tree)):
        return tree
    return tree_map(lambda v: v.float() if isinstance(v, torch.Tensor) and v.dtype == torch.float64 else v, tree)


def _error_of(op, given):
    args, kwargs = given
    try:
        op(*args, **kwargs)
        torch.spyre.synchronize()
    except Exception as error:  # noqa: BLE001 - whatever torch has to say
        if "SPYRE-E7017" in str(error):  # a number that is no place: the device finds out
            torch.spyre.reset_device()
        return error
    return None


def _moved(given):
    """On the device, or None where it holds no such type."""
    try:
        args, kwargs = tree_map(_OnDevice(), given)
    except RuntimeError as error:
        assert "SPYRE-E6502" in str(error), error
        return None
    return args, {**kwargs, "device": "spyre"} if "device" in kwargs else kwargs


@pytest.mark.parametrize("op", OPERATIONS, ids=[op.full_name for op in OPERATIONS])
def test_what_torch_refuses(op):
    wrong = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, sample in enumerate(op.error_inputs("cpu")):
            given = sample.sample_input
            given = _single(((given.input, *given.args), given.kwargs))
            expected = _error_of(op.op, given)
            there = _moved(given) if expected is not None else None
            if there is None:
                continue
            error = _error_of(op.op, there)
            is_same = isinstance(error, type(expected))
            if is_same == ((op.full_name, number) in EXCEPTIONS):
                wrong.append(f"{number}: {error!r:.200} for {expected!r:.200}; see EXCEPTIONS")
    assert not wrong, "\n".join(wrong)
