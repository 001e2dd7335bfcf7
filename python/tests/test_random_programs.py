"""Random programs with exact inputs, sums that cancel and vectors among the operands, eager and compiled, against float64.

SPYRE_TEST_LONG=1 runs 10,000 of them; SPYRE_TEST_PART=3/50 the third of fifty parts.
"""

import os
import warnings

import pytest
import torch
from random_programs import Program

IS_LONG = os.environ.get("SPYRE_TEST_LONG") == "1"
PROGRAMS, BLOCK = (10_000 if IS_LONG else 16), 8
PART, PARTS = map(int, os.environ.get("SPYRE_TEST_PART", "1/1").split("/"))


def results_of(program, how):
    """Runs a program on the device; returns its results, and a line when the CPU did a part."""
    torch.spyre.reset_counters()
    run = program.run
    if how == "compiled":
        torch._dynamo.reset()
        run = torch.compile(run, backend="spyre", fullgraph=True, dynamic=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        results = [t.cpu() for t in run(*(t.to("spyre") for t in program.inputs))]
    counters = torch.spyre.counters()
    on_cpu = counters["fallback_ops"] or counters["graph_fallback_nodes"]
    return results, [f"on the CPU: {torch.spyre.fallback_counts() or 'graph nodes'}"] if on_cpu else []


def check(seed):
    """Lines that describe wrong results. The long run takes odd programs compiled and even ones eager."""
    program = Program(seed)
    ways = (("eager", "compiled")[seed % 2],) if IS_LONG else ("eager", "compiled")
    found = []
    for how in ways:
        try:
            results, on_cpu = results_of(program, how)
            wrong = [*program.wrong(results), *on_cpu]
        except Exception as error:  # noqa: BLE001 - one line per program, whatever it is
            wrong = [f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"]
        found += [f"{seed} {how}: {text} [{program}]" for text in wrong]
    return found


@pytest.mark.parametrize("block", range(PART - 1, PROGRAMS // BLOCK, PARTS))
def test_random_programs(block):
    seeds = range(block * BLOCK, (block + 1) * BLOCK)
    wrong = [text for seed in seeds for text in check(seed)]
    assert not wrong, "\n".join(wrong)


def test_a_rounded_product_is_found():
    """The bounds refuse products of 16 bits that are rounded before they are summed, and accept a sum that is rounded once."""
    program = Program(0)
    x = program.input([64, 66], torch.float16, opposite=1)
    v = program.factor([66], program.values[x], 1, 0)
    assert program.product("x @ v", torch.matmul, x, v)
    program.outputs = [len(program.values) - 1]
    matrix, vector = program.inputs[-2:]
    assert not program.wrong([(matrix.double() @ vector.double()).half()])
    assert program.wrong([(matrix * vector).double().sum(-1).half()])
