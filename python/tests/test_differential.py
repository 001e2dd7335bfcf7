"""Every operation of the table against float64: types, odd shapes, views, cores, scratchpads and planners.

A sample in which each pair of values of two factors meets; with SPYRE_TEST_LONG=1 the full product, with
SPYRE_TEST_PART=3/50 besides the third of fifty parts of it, each with cases of every operation.
"""

import itertools
import os

import differential
import pytest
import torch
from differential_special import SPECS

LONG = os.environ.get("SPYRE_TEST_LONG") == "1"


def long_cases():
    part, parts = (int(n) for n in os.environ.get("SPYRE_TEST_PART", "1/1").split("/"))
    return itertools.islice(differential.product(SPECS), part - 1, None, parts)


def cases_by_operation():
    cases = long_cases() if LONG else differential.pairwise(SPECS)
    for name, group in itertools.groupby(cases, key=lambda case: case.spec.id):
        yield pytest.param(list(group), id=name)


@pytest.mark.parametrize("cases", cases_by_operation())
def test_operation(cases):
    """All cases of an operation; those that fail are named, each with its configuration."""
    from torch_spyre._inductor import config

    wrong = []
    by_configuration = sorted(cases, key=lambda case: str(case.configuration))
    for _, group in itertools.groupby(by_configuration, key=lambda case: str(case.configuration)):
        torch_spyre_C().clear_eager_cache()
        group = list(group)
        with config.patch(group[0].configuration):
            wrong += [f"{case}: {text}" for case in group for text in differential.check(case)]
    torch_spyre_C().clear_eager_cache()
    assert not wrong, "\n".join(wrong)


def torch_spyre_C():
    import torch_spyre._C as extension

    return extension


def test_every_pair_of_values_meets():
    """What the sample promises, counted without the code that makes it."""
    cases = differential.pairwise(SPECS)
    met = set()
    for case in cases:
        values = [("op", case.spec.id), ("shape", case.shape), ("dtype", case.dtype)]
        values += [("form", case.form), ("cores", case.cores), ("lx", case.lx)]
        values += [("planner", case.planner), ("how", case.how)]
        met.update(itertools.combinations(values, 2))
    for spec in SPECS:
        for shape in differential.SHAPES:
            assert not spec.accepts(shape) or (("op", spec.id), ("shape", shape)) in met
    factors = {
        "cores": differential.CORES,
        "lx": differential.LX,
        "planner": differential.PLANNERS,
        "how": differential.HOW,
    }
    for (one, first), (two, second) in itertools.combinations(factors.items(), 2):
        for a, b in itertools.product(first, second):
            assert ((one, a), (two, b)) in met, (one, a, two, b)
    for shape, form, dtype in itertools.product(differential.SHAPES, differential.FORMS, differential.ALL):
        assert (("shape", shape), ("form", form)) in met or not any(s.accepts(shape) for s in SPECS)
        assert (("shape", shape), ("dtype", dtype)) in met, (shape, dtype)


def test_the_sample_finds_a_wrong_result():
    """A result that is three units off is refused, one that is two off is not."""
    spec = next(s for s in SPECS if s.id == "aten.add.Tensor")
    operands = [torch.tensor([1.0, 2.0]), torch.tensor([0.5, 0.25])]
    right = operands[0] + operands[1]
    assert not differential.compare(spec, operands, [right])
    for units, is_wrong in ((2, False), (3, True), (-3, True)):
        off = right + units * 2.0**-23
        assert bool(differential.compare(spec, operands, [off])) == is_wrong
