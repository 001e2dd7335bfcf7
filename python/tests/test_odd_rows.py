"""Rows that cores cannot share (docs/adr/0073): padded or run in two parts, with the bits of the program as it was."""

import json

import pytest
import torch
import torch_spyre

from torch_spyre._inductor import config


def compiled(function, *inputs, **patch):
    """Result, cores of each operation, and device time of one run."""
    torch._dynamo.reset()
    inputs = [x.to("spyre") for x in inputs]
    with torch.no_grad(), config.patch(**patch):
        run = torch.compile(function)
        result = run(*inputs).cpu()
        record = torch_spyre.last_compile()
        before = torch.spyre.counters()["device_ns"]
        run(*inputs)
        torch.spyre.synchronize()
        time = torch.spyre.counters()["device_ns"] - before
    names = [name for name in record.artifacts if "/sdsc_" in name]
    sdscs = [next(iter(json.loads(record.artifacts[name]).values())) for name in names]
    return result, [sdsc["numCoresUsed_"] for sdsc in sdscs], time


def numbers(*shape):
    return ((torch.arange(torch.Size(shape).numel()) % 29 - 14) / 16).reshape(shape).half()


def chain(x):
    for _ in range(4):
        x = torch.nn.functional.gelu(x) * 0.5 + 0.25
    return x


def softmax(x):
    return torch.softmax(chain(x), -1)


def normalised(x):
    return torch.nn.functional.layer_norm(chain(x), (x.shape[-1],))


@pytest.mark.parametrize("rows", [37, 97, 997])
@pytest.mark.parametrize("function", [chain, softmax, normalised])
def test_odd_rows_use_more_cores_and_keep_their_bits(on_device, rows, function):
    x = numbers(rows, 64)
    with on_device():
        result, cores, time = compiled(function, x)
        plain, few, longer = compiled(function, x, padding=False)
    assert torch.equal(result, plain)
    assert min(few) == 1 and max(cores) >= 16
    # A launch alone takes five microseconds.
    assert time < (longer / 2 if rows == 997 else longer), (time, longer)


@pytest.mark.parametrize("dim", [0, -1])
def test_reductions_never_see_more_rows(on_device, dim):
    x = numbers(997, 64)
    with on_device():
        result, _, _ = compiled(lambda x: chain(x).amax(dim), x)
        plain, _, _ = compiled(lambda x: chain(x).amax(dim), x, padding=False)
    assert torch.equal(result, plain)


def test_sticks_of_columns_are_cut_as_well(on_device):
    x = numbers(1, 50257)
    with on_device():
        result, cores, time = compiled(chain, x)
        plain, few, longer = compiled(chain, x, padding=False)
    assert torch.equal(result, plain)
    assert max(few) == 6 and max(cores) == 32 and time < longer


@pytest.mark.parametrize("rows", [1024, 32, 96])
def test_rows_that_cores_share_stay_as_they_are(on_device, rows):
    x = numbers(rows, 64)
    with on_device():
        result, cores, time = compiled(chain, x)
        plain, same, alike = compiled(chain, x, padding=False)
    assert torch.equal(result, plain) and cores == same and time == alike


def test_eager_operations_are_cut_as_well(on_device):
    x = numbers(997, 64).to("spyre")
    with on_device():
        assert torch.equal((x + x).cpu(), numbers(997, 64) + numbers(997, 64))


def test_the_choice_is_explained(on_device):
    with on_device():
        explanation = torch_spyre.explain(chain, numbers(997, 64).to("spyre"))
    *choices, taken = explanation.rows
    assert {entry["reason"] for entry in choices} == {"choice"}
    assert any("padded from 997 to 1024 rows" in entry["detail"] for entry in choices)
    assert taken["taken"] and taken["numbers"]["ns_after"] < taken["numbers"]["ns_before"]
    assert "997 rows run as 992 and 5: up to 32 cores instead of 1" in str(explanation)


@pytest.mark.parametrize("planner", ["compat", "compat-s1"])
def test_documented_planners_know_nothing_of_it(on_device, planner):
    x = numbers(997, 64)
    with on_device():
        _, cores, _ = compiled(chain, x, planner=planner)
        _, same, _ = compiled(chain, x, planner=planner, padding=False)
    assert cores == same
