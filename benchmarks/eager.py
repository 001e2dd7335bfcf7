#!/usr/bin/env python3
"""Host cost of eager operations on the device beside torch's CPU, in one run; JSON on standard output.

    eager.py [--rounds N]

`add_64x64_half`: one cached add, call to return. Launches are asynchronous, so a round is 500 calls and one
synchronize that is not timed: the queue is never full. `sustained`: 10,000 adds, then one synchronize that is.
`empty`: making a tensor.
`prepared_launch`: launch_jobplan of that add. In microseconds: the best round, the median round, and `thread_us`, the median of what the
calling thread itself computed. On a busy host the device's worker and other jobs take the caller's processor away;
the median has that in it, the best round and `thread_us` have not.
"""

import argparse
import json
import pathlib
import statistics
import tempfile
import time

import torch
import torch_spyre

SUSTAINED = 10_000
# Below the 1,024 operations a device holds before the caller has to wait.
ROUND = 500


def host_cost(function, rounds):
    """Per call: best and median round, and median of the calling thread's own time."""
    for _ in range(ROUND):
        function()
    torch.spyre.synchronize()
    wall, thread = [], []
    for _ in range(rounds):
        start, begun = time.perf_counter(), time.thread_time()
        for _ in range(ROUND):
            function()
        thread.append(1e6 * (time.thread_time() - begun) / ROUND)
        wall.append(1e6 * (time.perf_counter() - start) / ROUND)
        torch.spyre.synchronize()
    return {
        "best_us": min(wall),
        "median_us": statistics.median(wall),
        "thread_us": statistics.median(thread),
    }


def sustained(x, y):
    torch.spyre.synchronize()
    start = time.perf_counter()
    for _ in range(SUSTAINED):
        x + y
    torch.spyre.synchronize()
    return 1e6 * (time.perf_counter() - start) / SUSTAINED


def prepared_launch(x, y, rounds):
    """A kernel that was prepared once, launched on tensors that exist."""
    (x + y).cpu()
    with tempfile.TemporaryDirectory() as folder:
        torch_spyre.last_compile().save(folder)
        code = next(pathlib.Path(folder).glob("*/spyreCodeDir"))
        plan = torch.spyre.prepare_kernel(str(code))
    arguments = [x, y, torch.empty_like(x)]
    cost = host_cost(lambda: torch.spyre.launch_jobplan(plan, arguments), rounds)
    assert arguments[2].cpu().equal((x + y).cpu()), "the prepared kernel is not the add"
    return cost


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=21, help="rounds of %d calls" % ROUND)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(64, 64, generator=generator).half() for _ in range(2))
    x, y = a.to("spyre"), b.to("spyre")
    cpu, device = host_cost(lambda: a + b, rounds), host_cost(lambda: x + y, rounds)
    prepared = prepared_launch(x, y, rounds)
    result = {
        "add_64x64_half": {
            "cpu": cpu,
            "spyre": device,
            "ratio": device["best_us"] / cpu["best_us"],
            "ratio_median": device["median_us"] / cpu["median_us"],
            "ratio_thread": device["thread_us"] / cpu["thread_us"],
            "limit": 3.0,
        },
        "prepared_launch": {"spyre": prepared, "limit": 20.0},
        "add_in_place": {"spyre": host_cost(lambda: x.add_(y), rounds)},
        "add_of_views": {"spyre": host_cost(lambda: x.t() + y.t(), rounds)},
        "empty_64x64_half": {
            "cpu": host_cost(lambda: torch.empty(64, 64, dtype=torch.half), rounds),
            "spyre": host_cost(
                lambda: torch.empty(64, 64, dtype=torch.half, device="spyre"), rounds
            ),
        },
        "sustained": {"us_per_op": sustained(x, y), "limit": 20.0},
    }
    # Numbers of a device that did not run are no numbers.
    assert torch.spyre.counters()["fallback_ops"] == 0, "an operation ran on the CPU"
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
