"""Slices of cores that differ by a piece (docs/adr/0055): an option of the best planner, off by default."""

import json

import pytest
import torch
import torch_spyre

from torch_spyre._inductor import config


def compiled(function, *inputs, **patch):
    """Result and SuperDSCs of one compilation. Rows that are cut need no uneven slices."""
    torch._dynamo.reset()
    with torch.no_grad(), config.patch(**{"padding": False, **patch}):
        result = torch.compile(function)(*(x.to("spyre") for x in inputs)).cpu()
    artifacts = torch_spyre.last_compile().artifacts
    names = sorted(name for name in artifacts if "/sdsc_" in name)
    return result, [next(iter(json.loads(artifacts[name]).values())) for name in names]


def has_two_sizes(sdsc):
    """Two entries, selected per core, and every core once."""
    chosen = sdsc["coreIdToDsc_"]
    if len(sdsc["dscs_"]) == 1:
        assert set(chosen.values()) == {0}
        return False
    used = [next(iter(entry.values()))["coreIdsUsed_"] for entry in sdsc["dscs_"]]
    assert len(used) == 2 and sorted(used[0] + used[1]) == list(range(sdsc["numCoresUsed_"]))
    for part, cores in enumerate(used):
        assert all(chosen[str(core)] == part for core in cores), chosen
    return True


def numbers(*shape):
    return ((torch.arange(torch.Size(shape).numel()) % 29) / 16).reshape(shape).half()


@pytest.mark.parametrize("rows", [37, 97, 8193])
@pytest.mark.parametrize("name", ["exp", "sum", "product"])
def test_prime_sizes_use_all_cores(on_device, rows, name):
    functions = {
        "exp": lambda x, w: x.exp(),
        "sum": lambda x, w: x.sum(-1),
        "product": lambda x, w: x @ w,
    }
    x, w = numbers(rows, 832), numbers(832, 64)
    with on_device():
        one, _ = compiled(functions[name], x, w, sencores=1)
        result, sdscs = compiled(functions[name], x, w, uneven_division=True)
        plain, even = compiled(functions[name], x, w)
    assert torch.equal(result, one) and torch.equal(plain, one)
    assert not any(map(has_two_sizes, even)), "off unless asked for"
    assert any(map(has_two_sizes, sdscs)), [s["numWkSlicesPerDim_"] for s in sdscs]
    if name != "product":  # whose reduced dimension is divided otherwise
        (wide,) = [s for s in sdscs if has_two_sizes(s)]
        assert wide["numCoresUsed_"] > max(e["numCoresUsed_"] for e in even)


@pytest.mark.parametrize("rows", [32, 64, 8192])
def test_equal_slices_stay_where_they_cost_the_same(on_device, rows):
    with on_device():
        _, sdscs = compiled(lambda x: x.exp(), numbers(rows, 832), uneven_division=True)
    assert not any(map(has_two_sizes, sdscs))


def test_documented_planners_know_nothing_of_it(on_device):
    with on_device():
        _, sdscs = compiled(
            lambda x: x.exp(), numbers(37, 832), uneven_division=True, planner="compat"
        )
    assert not any(map(has_two_sizes, sdscs))


def test_nothing_of_such_an_operation_stays_in_lx(on_device):
    def function(x):
        return (x.exp() + x).sum(-1)

    x = numbers(37, 832)
    with on_device():
        expected, _ = compiled(function, x)
        result, sdscs = compiled(function, x, uneven_division=True, lx_planning=True)
    assert torch.equal(result, expected)
    assert any(map(has_two_sizes, sdscs))


def test_the_trace_says_so(on_device):
    with on_device(), config.patch(uneven_division=True, padding=False):
        text = str(torch_spyre.explain(lambda x: x.exp(), numbers(37, 832).to("spyre")))
    assert "slices of c0 differ by a unit" in text, text


def test_a_padded_restickify_uses_more_cores(on_device):
    """Neither dimension is whole sticks; the temp between is given the rows of the padded tail."""
    x = numbers(1000, 1000)

    def function(x):
        return (x.t() + x).exp()

    with on_device():
        one, _ = compiled(function, x, sencores=1)
        result, sdscs = compiled(function, x, padding=True)
    assert torch.equal(result, one)
    (copy,) = [s for s in sdscs if "ReStickify" in json.dumps(s)]
    # Without the padding its 16 by 15.6 sticks could be given to one core only. Eight are as fast as 16.
    assert copy["numCoresUsed_"] >= 8
    with on_device():
        _, sdscs = compiled(function, x, planner="compat")
    (copy,) = [s for s in sdscs if "ReStickify" in json.dumps(s)]
    assert copy["numCoresUsed_"] == 1
