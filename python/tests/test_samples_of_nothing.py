"""Torch's own samples without elements: those of its list, and others of which one size became 0. Results, or types of errors,
are the CPU's, and nothing falls back that is on the device with elements. Eager; some compiled."""

import warnings

import pytest
import torch
from torch.utils._pytree import tree_leaves, tree_map

pytest.importorskip("expecttest", reason="torch's list of samples needs it; scripts/setup.sh installs it")
import test_torch_samples as samples  # noqa: E402

#: One in how many operations is compiled.
COMPILED_EVERY = 12

#: Names, or beginnings of names, and why they are not the CPU's. The list only gets shorter.
ACCEPTED = "a result without elements is made without asking what the CPU's kernel asks"
PARTS = "beside operands with elements those without are the CPU's in eager mode"
WIDE = "the least number has 64 bits"
EXCEPTIONS = {
    "__getitem__": ACCEPTED,
    "_segment_reduce": "the CPU's kernel stops the process",
    "addmm": PARTS,
    "histogram": PARTS,
    "index_put": ACCEPTED,
    "index_reduce": ACCEPTED,
    "linalg.householder_product": PARTS,
    "lu_unpack": PARTS,
    "masked.median": ACCEPTED,
    "max.reduction_with_dim": ACCEPTED,
    "median": WIDE,
    "min.reduction_with_dim": ACCEPTED,
    "mode": ACCEPTED,
    "mv": PARTS,
    "nanmedian": WIDE,
    "native_group_norm": ACCEPTED,
    "nn.functional.adaptive_avg_pool": ACCEPTED,
    "nn.functional.batch_norm": ACCEPTED,
    "nn.functional.embedding": ACCEPTED,
    "nn.functional.instance_norm": ACCEPTED,
    "nn.functional.interpolate": ACCEPTED,
    "nn.functional.linear": PARTS,
    "nn.functional.multi_margin_loss": "the CPU's result is what the memory has",
    "nn.functional.rrelu": "random numbers are the CPU's",
    "nn.functional.upsample_bilinear": ACCEPTED,
    "put": PARTS,
    "resize_": samples.MEMORY,
    "scatter": ACCEPTED,
    "select_scatter": ACCEPTED,
    "slice_scatter": ACCEPTED,
    "tensor_split": "the places are a tensor of the CPU, on any device",
    "triangular_solve": PARTS,
}
#: No results to compare, or no tensors of the device.
_LEFT_OUT = (samples.COMPLEX, samples.SPARSE)


def _reason(name):
    return next((why for start, why in EXCEPTIONS.items() if name.startswith(start)), None)


OPERATIONS = [
    op for op in samples.OPERATIONS if torch.float32 in op.dtypes and samples.reason_for(op.full_name) not in _LEFT_OUT
]


def _emptied(tree, size):
    def leaf(value):
        if not isinstance(value, torch.Tensor) or size not in value.shape:
            return value
        return torch.empty([0 if n == size else n for n in value.shape], dtype=value.dtype)

    return tree_map(leaf, tree)


def _cases(op):
    """Torch's own of nothing, and two samples of which a size is 0."""
    given = list(op.sample_inputs("cpu", torch.float32))
    parts = [(g.input, g.args, g.kwargs) for g in given]
    cases = [g for g in parts if any(t.numel() == 0 for t in tree_leaves(g) if isinstance(t, torch.Tensor))][:2]
    for chosen in samples.spread(given)[:2]:
        sample = (chosen.input, chosen.args, chosen.kwargs)
        first = next((t for t in tree_leaves(sample) if isinstance(t, torch.Tensor)), None)
        sizes = [n for n in first.shape if n] if first is not None else []
        cases += [_emptied(sample, n) for n in sizes[:1]]
    return cases


def _result(op, function, sample, device=None):
    try:
        return samples.call(op, function, sample, device), None
    except Exception as error:  # noqa: BLE001 - whatever torch has to say
        return None, error


def _wrong_with(op, function, sample, left):
    expected, refused = _result(op, op.op, sample)
    torch.spyre.reset_counters()
    found, error = _result(op, function, samples.moved(sample, "spyre"), "spyre")
    if refused is not None:
        return "" if error is not None else f"no {type(refused).__name__}"
    if error is not None:
        return "" if "SPYRE-E65" in str(error) else f"{error!r:.200}"
    others = [name for name in torch.spyre.fallback_counts() if samples.base_of(name) not in left]
    if others:
        return f"on the CPU: {others}"
    for ours, theirs in zip(tree_leaves(samples.moved(found, "cpu")), tree_leaves(expected), strict=True):
        if isinstance(theirs, torch.Tensor) and (ours.shape != theirs.shape or ours.dtype != theirs.dtype):
            return f"{ours.dtype} {list(ours.shape)} for {theirs.dtype} {list(theirs.shape)}"
        text = samples.wrong_with(ours, theirs, theirs, torch.float32) if op.full_name not in samples._RANDOM else ""
        if text and samples.reason_for(op.full_name) is None:
            return text
    return ""


@pytest.fixture(scope="module")
def left_to_the_cpu():
    return samples.on_the_cpu()


@pytest.mark.parametrize("number", range(len(OPERATIONS)), ids=[op.full_name for op in OPERATIONS])
def test_samples_without_elements(number, left_to_the_cpu):
    op = OPERATIONS[number]
    if _reason(op.full_name):
        return
    function = op.op
    if number % COMPILED_EVERY == 0:
        function = torch.compile(lambda *args, **kwargs: op.op(*args, **kwargs))
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        texts = [(_wrong_with(op, function, sample, left_to_the_cpu), sample) for sample in _cases(op)]
    wrong = [f"{text} of {sample!r:.300}" for text, sample in texts if text]
    assert not wrong, "\n".join(wrong)
