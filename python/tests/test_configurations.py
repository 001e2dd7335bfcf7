"""What the configuration may change in a result: with scratchpads and without them the bits are the same, and the two planners
agree as closely as each of them must with the CPU. On operations drawn from those of the differential tests."""

import random

import differential
import pytest
import torch
from differential_special import SPECS

DRAWN = sorted(random.Random(2026).sample(SPECS, 48), key=lambda spec: spec.id)
#: The first that an operation takes: several rows, so that there is something to divide.
SHAPES = ((67, 71), (2, 1, 3, 2, 5, 33), (2, 3, 4, 5), (65,), (2, 65), (3, 1, 5), (67, 71, 256), ())


def case_of(spec, **configuration):
    shape = next(s for s in SHAPES if spec.accepts(s))
    dtype = spec.dtypes[len(spec.id) % len(spec.dtypes)]
    return differential.Case(spec, dtype, shape, how="compiled", **configuration)


def run(spec, **configuration):
    """Operands, results on the host, and the counters of the device."""
    from torch_spyre._inductor import config

    case = case_of(spec, **configuration)
    torch.spyre.reset_counters()
    with config.patch(case.configuration):
        operands, results = differential.run(case)
    counters = torch.spyre.counters()
    assert counters["programs_launched"] or spec.copies, str(case)
    assert counters["fallback_ops"] == counters["graph_fallback_nodes"] == 0, str(case)
    return operands, [t.cpu() for t in results], counters


def moved(counters):
    return counters["ddr_read_bytes"] + counters["ddr_write_bytes"]


def bits(tensor):
    return tensor.contiguous().flatten().view(torch.uint8).tolist()


@pytest.mark.parametrize("cores", (7, 32))
def test_scratchpads_change_no_bit(cores):
    """Of one division, which is the documented one: the other planner divides for the scratchpads, too. And they are used, or
    this says nothing."""
    wrong, less = [], 0
    for spec in DRAWN:
        _, with_them, counters = run(spec, cores=cores, lx=True, planner="compat")
        _, without, counters_without = run(spec, cores=cores, lx=False, planner="compat")
        less += moved(counters) < moved(counters_without)
        if list(map(bits, with_them)) != list(map(bits, without)):
            wrong.append(str(case_of(spec, cores=cores)))
    assert not wrong
    assert less > len(DRAWN) // 10


def test_planners_agree():
    """Though they divide differently."""
    wrong, others = [], 0
    for spec in DRAWN:
        operands, best, counters = run(spec, planner="best")
        _, compat, counters_of_compat = run(spec, planner="compat")
        others += counters["device_ns"] != counters_of_compat["device_ns"]
        for one, other in zip(best, compat, strict=True):
            other = other.double() if other.is_floating_point() else other
            allowed = differential.allowed_distance(spec, operands, other, one.dtype)
            text = differential.distance_text(one, other, allowed)
            wrong += [f"{case_of(spec)}: {text}"] if text else []
    assert not wrong, "\n".join(wrong)
    assert others > len(DRAWN) // 4
