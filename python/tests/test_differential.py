"""Every operation of the table against float64: types, odd shapes, views, cores, scratchpads and planners.

A sample in which each pair of values of two factors meets; with SPYRE_TEST_LONG=1 the full product, with
SPYRE_TEST_PART=3/50 besides the third of fifty parts of it, each with cases of every operation.
"""

import functools
import itertools
import os

import differential
import differential_ops
import pytest
import torch
from differential_special import SPECS

LONG = os.environ.get("SPYRE_TEST_LONG") == "1"
PART, PARTS = map(int, os.environ.get("SPYRE_TEST_PART", "1/1").split("/"))


@functools.cache
def pairwise_cases():
    return differential.pairwise(SPECS)


def cases_of(spec):
    """The product is made operation by operation: all of it would fill the memory."""
    if LONG:
        return list(itertools.islice(differential.product([spec]), PART - 1, None, PARTS))
    return [case for case in pairwise_cases() if case.spec is spec]


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.id)
def test_operation(spec):
    """All cases of an operation; those that fail are named, each with its configuration."""
    from torch_spyre._inductor import config

    wrong, fails = [], {}
    by_configuration = sorted(cases_of(spec), key=lambda case: str(case.configuration))
    for _, group in itertools.groupby(by_configuration, key=lambda case: str(case.configuration)):
        torch_spyre_C().clear_eager_cache()
        group = list(group)
        with config.patch(group[0].configuration):
            for case in group:
                found = [f"{case}: {text}" for text in differential.check(case)]
                if why := differential.known(case):
                    fails[why] = fails.get(why, False) or bool(found)
                else:
                    wrong += found
    torch_spyre_C().clear_eager_cache()
    if PARTS == 1:
        wrong += [f"take it from differential.KNOWN: {why}" for why, has_failed in fails.items() if not has_failed]
    assert not wrong, "\n".join(wrong)


@pytest.fixture(scope="module", autouse=True)
def _evaluated():
    with differential.evaluated():
        yield


def torch_spyre_C():
    import torch_spyre._C as extension

    return extension


@pytest.fixture(scope="module")
def sample():
    return pairwise_cases()


def values(case):
    return {name: getattr(case, name) for name in differential.FACTORS}


def can_meet(spec, pair):
    """Some shape the operation takes has both values."""
    given = {"form": "contiguous", "layout": "default", **dict(pair)}
    shapes = [given["shape"]] if "shape" in given else differential.SHAPES
    return any(spec.accepts(shape) and differential.fits(shape, given["form"], given["layout"]) for shape in shapes)


def missing_pairs(spec, factors, met):
    for one, two in itertools.combinations(factors, 2):
        for pair in itertools.product(((one, a) for a in factors[one]), ((two, b) for b in factors[two])):
            if pair not in met and can_meet(spec, pair):
                yield pair


def test_each_pair_of_values_meets_in_each_operation(sample):
    """What the sample promises, counted without the code that makes it: shapes one by one, the other factors in pairs; of
    compiled cases those with forms and layouts, in one entry of an operation."""
    compiled_names = set()
    for spec, cases in itertools.groupby(sample, key=lambda case: case.spec):
        cases = [values(case) for case in cases]
        met = {pair for case in cases for pair in itertools.combinations(case.items(), 2)}
        factors = {
            "dtype": spec.dtypes,
            "form": spec.forms,
            "layout": differential.LAYOUTS,
            "cores": differential.CORES,
            "lx": differential.LX,
            "planner": differential.PLANNERS,
        }
        assert list(missing_pairs(spec, factors, met)) == [], spec.id
        is_first = spec.name not in compiled_names
        compiled_names.add(spec.name)
        for factor in ("form", "layout") if is_first else ():
            compiled = {factor: factors[factor], "how": ("compiled",)}
            assert list(missing_pairs(spec, compiled, met)) == [], spec.id
        shapes = {shape for shape in differential.SHAPES if spec.accepts(shape)}
        assert {case["shape"] for case in cases} == shapes, spec.id


def test_each_shape_meets_each_value(sample):
    """In some operation that takes both."""
    met = {pair for case in sample for pair in itertools.combinations(values(case).items(), 2)}
    others = {
        "dtype": differential.ALL,
        "form": differential.FORMS,
        "layout": differential.LAYOUTS,
        "cores": differential.CORES,
        "lx": differential.LX,
        "planner": differential.PLANNERS,
        "how": differential.HOW,
    }
    for spec in SPECS:
        for factor, taken in others.items():
            taken = {"dtype": spec.dtypes, "form": spec.forms}.get(factor, taken)
            assert list(missing_pairs(spec, {"shape": differential.SHAPES, factor: taken}, met)) == []


def test_the_product_has_all_values_of_scratchpads_and_planners_with_all_others():
    """Of the first operation, which no other one helps; the same cases in each process."""
    cases = list(differential.product(SPECS[:1]))
    assert len(set(map(str, cases))) == len(cases)
    met = {pair for case in cases for pair in itertools.combinations(values(case).items(), 2)}
    factors = {**differential.values_of(SPECS[0]), "how": differential.HOW}
    assert list(missing_pairs(SPECS[0], factors, met)) == []
    places = {(case.shape, case.form, case.layout, case.cores, case.lx, case.planner) for case in cases}
    assert len(places) > len(cases) / 2


def evaluator_report():
    return torch_spyre_C()._evaluated_launches()


def test_the_evaluator_repeats_what_the_device_runs(on_device):
    """Runs that agree, those that are too large, and those of programs it has not seen are told apart."""
    small, large = torch.ones(3, 5).to("spyre"), torch.ones(differential.EVALUATED_BYTES // 4).to("spyre")
    double = torch.compile(lambda x: x * 2, backend="spyre", dynamic=False)
    with on_device():
        torch_spyre_C()._evaluate_launches(0)
        double(small)
        torch_spyre_C()._evaluate_launches(differential.EVALUATED_BYTES)
        assert evaluator_report() == {"agreed": 0, "too_large": 0, "differing": [], "not_run": []}
        torch.abs(small)
        torch.abs(large)
        double(small)
    report = evaluator_report()
    assert (report["agreed"], report["too_large"], report["differing"]) == (1, 1, [])
    assert report["not_run"] == ["the program was loaded before the evaluator was asked"]


def test_an_entry_has_a_name_of_its_own():
    with pytest.raises(ValueError, match="two entries aten.abs.default"):
        differential_ops.add("aten.abs.default", torch.abs, None)


def test_the_sample_finds_a_wrong_result():
    """A result that is three units off is refused, one that is two off is not."""
    spec = next(s for s in SPECS if s.id == "aten.add.Tensor")
    operands = [torch.tensor([1.0, 2.0]), torch.tensor([0.5, 0.25])]
    right = operands[0] + operands[1]
    assert not differential.compare(spec, operands, [right])
    for units, is_wrong in ((2, False), (3, True), (-3, True)):
        off = right + units * 2.0**-23
        assert bool(differential.compare(spec, operands, [off])) == is_wrong
