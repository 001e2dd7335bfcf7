"""Torch's own samples of its modules, forward and backward in fp32, against the CPU. With SPYRE_TEST_LONG=1 more of them.

Nobody here chose the arguments: the list is the one torch tests its devices with (torch.testing._internal).
"""

import copy
import os
import warnings

import pytest
import torch
from tolerances import tolerance
from torch.utils._pytree import tree_leaves, tree_map

modules = pytest.importorskip(
    "torch.testing._internal.common_modules",
    reason="torch's list of samples needs expecttest; scripts/setup.sh installs it",
)

COUNT = 8 if os.environ.get("SPYRE_TEST_LONG") == "1" else 1
#: Roundings on the way to a result or gradient, relative to the largest.
ROUNDINGS = 512
#: Random numbers of the device are its own.
RANDOM = ("Dropout", "FractionalMaxPool", "RReLU")
#: Nothing is computed.
VIEWS = ("nn.Flatten", "nn.Identity", "nn.Unflatten")


def moved(tree, device):
    def leaf(value):
        if not isinstance(value, torch.Tensor):
            return value
        return value.detach().to(device).requires_grad_(value.requires_grad)

    return tree_map(leaf, tree)


def tensors(tree):
    return [t for t in tree_leaves(tree) if isinstance(t, torch.Tensor)]


def results_of(module, args, kwargs):
    """Results, gradients of parameters, gradients of operands."""
    results = tensors(module(*args, **kwargs))
    differentiable = [t for t in results if t.requires_grad]
    if differentiable:
        sum(t.sum() for t in differentiable).backward()
    grads = [p.grad for p in module.parameters()] + [t.grad for t in tensors((args, kwargs))]
    return [t.detach() for t in results] + grads


def samples_of(info):
    """Modules with their operands that the CPU takes, and its results."""
    found = info.module_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=True, training=True)
    for sample in found:
        if sample.forward_input is None:
            continue
        torch.manual_seed(0)
        made, given = sample.constructor_input, sample.forward_input
        try:
            module = info.module_cls(*made.args, **made.kwargs).train()
            other = copy.deepcopy(module)
            results = results_of(module, *moved((given.args, given.kwargs), "cpu"))
        except Exception:  # noqa: BLE001, S112 - what torch refuses on the CPU is nobody's
            continue
        is_known = not any(t.dtype in (torch.float64, torch.complex64) for t in tensors((given.args, given.kwargs, results)))
        if is_known and all(t.numel() for t in tensors((given.args, given.kwargs))):
            yield other, given, module, results


def is_near(result, right):
    if (result is None) != (right is None):
        return False
    if result is None:
        return True
    result, right = result.cpu().double(), right.double()
    if result.shape != right.shape or not torch.equal(result.isnan(), right.isnan()):
        return False
    result, right = result.nan_to_num(), right.nan_to_num()
    allowed = tolerance("chain", torch.float32, ROUNDINGS) * max(1.0, float(right.abs().max()))
    return bool(((result - right).abs() <= allowed).all())


@pytest.mark.parametrize("info", modules.module_db, ids=lambda info: info.name)
def test_module(info):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, (module, given, host, rights) in enumerate(samples_of(info)):
            if number == COUNT:
                break
            if "Lazy" in info.name:  # has parameters once it was called
                module = copy.deepcopy(host).requires_grad_(True)
                module.zero_grad()
            torch.spyre.reset_counters()
            results = results_of(module.to("spyre"), *moved((given.args, given.kwargs), "spyre"))
            torch.spyre.synchronize()
            assert not torch.spyre.fallback_counts(), (number, torch.spyre.fallback_counts())
            assert torch.spyre.counters()["programs_launched"] > 0 or not tensors(rights) or info.name in VIEWS, number
            if any(name in info.name for name in RANDOM):
                continue
            wrong = [i for i, pair in enumerate(zip(results, rights, strict=True)) if not is_near(*pair)]
            assert not wrong, (number, wrong)
