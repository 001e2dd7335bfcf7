"""``(x @ y).exp().sum(0)`` over core counts, machines and thread counts."""

import json

import numpy as np
import pytest
from tolerances import (
    dl16,
    exp_fp32,
    matmul_fp32,
    relative_error,
    sum_ascending,
    tolerance,
    ulp_distance,
)

SHAPES = [(256, 512, 192), (55, 67, 130)]

# Prints the bits of the result and the counters.
PROGRAM = """
import json, sys, torch
m, k, n = map(int, sys.argv[1:4])
g = torch.Generator().manual_seed(m)
x = (torch.randn(m, k, generator=g) / k**0.5).half()
y = torch.randn(k, n, generator=g).half()
f = torch.compile(lambda a, b: (a @ b).exp().sum(0))
torch.spyre.reset_counters()
result = f(x.to("spyre"), y.to("spyre"))
counters = torch.spyre.counters()
from torch_spyre import _C
print(json.dumps({
    "result": result.to(device="cpu", dtype=torch.float32).tolist(), "counters": counters,
    "sanitizer": _C.sanitizer_checks()}))
"""


def inputs(m, k, n):
    import torch

    generator = torch.Generator().manual_seed(m)
    x = (torch.randn(m, k, generator=generator) / k**0.5).half()
    y = torch.randn(k, n, generator=generator).half()
    return x.float().numpy(), y.float().numpy()


def emulate(x, y):
    """The device's arithmetic in numpy: DLFloat16 after every operation."""
    product = dl16(matmul_fp32(dl16(x), dl16(y)))
    return dl16(sum_ascending(dl16(exp_fp32(product)), 0))


def run(python, shape, **env):
    return json.loads(
        python(PROGRAM, args=shape, env={key: str(value) for key, value in env.items()})
    )


def prove_device(report, m, k, n):
    counters = report["counters"]
    assert counters["programs_launched"] > 0 and counters["fallback_ops"] == 0, counters
    assert report["sanitizer"] > 0
    assert counters["pt_macs"] == m * -(-k // 64) * 64 * -(-n // 64) * 64, counters
    assert counters["sfp_lane_ops"] == 2 * m * -(-n // 64) * 64, counters


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(
    "env",
    [
        {"SENCORES": 1},
        {"SENCORES": 4},
        {"SENCORES": 32},
        {"SPYRE_DEVICE_DESC": "tiny"},
        {"SPYRE_DEVICE_DESC": "spyre"},
    ],
    ids=str,
)
def test_acceptance(python, shape, env):
    report = run(python, shape, **env)
    prove_device(report, *shape)
    x, y = inputs(*shape)
    result = np.array(report["result"], dtype=np.float32)
    with np.errstate(over="raise"):
        reference = np.exp((x @ y).astype(np.float64)).sum(0)
    assert relative_error(result, reference) <= tolerance("acceptance", "float16")
    emulated = emulate(x, y)
    assert ulp_distance(result, emulated) <= 1
    assert (
        np.mean(result == emulated) >= 0.9
    ), "a neighbour is for the rare tie of the emulation's fp32 sums"


def test_the_host_thread_count_does_not_change_a_bit(python):
    reports = [run(python, (55, 67, 130), SPYRE_SIM_THREADS=threads) for threads in (1, 2, 3)]
    assert reports[0]["result"] == reports[1]["result"] == reports[2]["result"]
    assert reports[0]["counters"] == reports[1]["counters"] == reports[2]["counters"]


def test_one_ulp_is_a_sharp_bound():
    """A machine that truncates instead of rounding would not pass."""
    x, y = inputs(55, 67, 130)

    def truncate(values):
        bits = np.asarray(values, dtype=np.float32).view(np.uint32) & np.uint32(0xFFFFC000)
        return bits.view(np.float32)

    product = truncate(matmul_fp32(truncate(x), truncate(y)))
    careless = truncate(sum_ascending(truncate(exp_fp32(product)), 0))
    assert ulp_distance(emulate(x, y), careless) > 1
