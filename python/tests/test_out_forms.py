"""``out=``: the same bits as the call without it, in the memory it was given; what the CPU refuses is refused.

Operations and operands are torch's own list (test_torch_samples.py).
"""

import warnings

import pytest
import torch
from test_torch_samples import OPERATIONS, base_of, is_small, moved, reason_for
from tolerances import tolerance
from torch.utils._pytree import tree_leaves

#: Compared although the result is not the only one: both calls make the same choice.
_SAME_CHOICE = "kthvalue linalg.qr mode sort topk".split()
#: With out= one program, without it one for each step: sums in another order.
_OTHER_PROGRAMS = ("linalg.qr",)
#: Random, complex or float64.
_NOT_HERE = ("bernoulli", "linalg.eig", "log_softmax.with_dtype", "softmax.with_dtype")


def is_wanted(op):
    is_compared = op.full_name in _SAME_CHOICE or not reason_for(op.full_name)
    return op.supports_out and is_compared and not op.full_name.startswith(_NOT_HERE)


def call(op, sample, device, **named):
    kwargs = {k: v for k, v in sample.kwargs.items() if k != "out"}
    given, args, kwargs = moved((sample.input, sample.args, kwargs), device)
    if "device" in kwargs:
        kwargs["device"] = device
    return op.op(given, *args, **kwargs, **named)


def empty_like(results, device):
    """Memory for results: with another number between each two of them."""

    def leaf(result):
        if result.dim() == 0:
            return torch.empty_like(result, device=device)
        shape = (*result.shape[:-1], 2 * result.shape[-1])
        return torch.full(shape, 1, dtype=result.dtype, device=device)[..., ::2]

    made = [leaf(result) for result in tree_leaves(results)]
    return made[0] if isinstance(results, torch.Tensor) else tuple(made)


def is_same(name, out, right):
    if name not in _OTHER_PROGRAMS:
        return torch.equal(out, right)
    return float((out - right).abs().max() / right.abs().max()) <= tolerance("chain", torch.float32, 8)


def refused(function):
    """The error, and what was returned."""
    try:
        return None, function()
    except Exception as error:  # noqa: BLE001 - whatever torch has to say
        return type(error), None


def first_sample(op, dtype):
    """One whose operands and results have elements, and that the CPU takes."""
    for sample in op.sample_inputs("cpu", dtype):
        tensors = [t for t in tree_leaves((sample.input, sample.args, sample.kwargs)) if isinstance(t, torch.Tensor)]
        if all(t.numel() for t in tensors) and is_small(sample):
            error, results = refused(lambda s=sample: call(op, s, "cpu"))
            if error is None and all(isinstance(t, torch.Tensor) and t.numel() for t in tree_leaves(results)):
                return sample, results
    return None, None


@pytest.mark.parametrize("op", [op for op in OPERATIONS if is_wanted(op)], ids=lambda op: op.full_name)
def test_out(op):
    dtype = next((t for t in (torch.float32, torch.int64, torch.bool) if t in op.dtypes), None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sample, results = first_sample(op, dtype) if dtype else (None, None)
        if sample is None:
            return
        error, _ = refused(lambda: call(op, sample, "cpu", out=empty_like(results, "cpu")))
        torch.spyre.reset_counters()
        plain = call(op, sample, "spyre")
        before = {base_of(name) for name in torch.spyre.fallback_counts()}
        given = empty_like(results, "spyre")
        own_error, returned = refused(lambda: call(op, sample, "spyre", out=given))
        assert (own_error is None) == (error is None), (own_error, error)
        if error is not None:
            return
        rest = {base_of(name) for name in torch.spyre.fallback_counts()} - before
    assert not rest, f"the call without out= is on the device: {rest}"
    if returned is not None:  # some return nothing, as on the CPU
        assert all(one is other for one, other in zip(tree_leaves(returned), tree_leaves(given), strict=True))
    for out, right in zip(tree_leaves(given), tree_leaves(plain), strict=True):
        assert is_same(op.full_name, out.cpu().nan_to_num(), right.cpu().nan_to_num())


def test_memory_beside_the_elements_is_kept():
    whole = torch.full((3, 8), 7.0).to("spyre")
    torch.exp(torch.zeros(3, 4).to("spyre"), out=whole[:, ::2])
    assert torch.equal(whole.cpu()[:, ::2], torch.ones(3, 4))
    assert torch.equal(whole.cpu()[:, 1::2], torch.full((3, 4), 7.0))


def test_other_shapes_are_resized_with_torchs_warning():
    x = torch.rand(3, 5).to("spyre")
    with pytest.warns(UserWarning, match="was resized"):
        torch.exp(x, out=(out := torch.empty(2).to("spyre")))
    assert out.shape == (3, 5)
    torch.exp(x, out=(out := torch.empty(0).to("spyre")))
    assert torch.equal(out.cpu(), torch.exp(x).cpu())


@pytest.mark.parametrize("kind", [torch.int32, torch.bool])
def test_types_that_cannot_hold_the_result_are_refused(kind):
    x = torch.rand(3).to("spyre")
    with pytest.raises(RuntimeError, match="can't be cast"):
        torch.exp(x, out=torch.empty(3, dtype=kind).to("spyre"))
    with pytest.raises(RuntimeError, match="can't be cast"):
        torch.add(x, x, out=torch.empty(3, dtype=kind).to("spyre"))
