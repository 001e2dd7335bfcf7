#!/usr/bin/env python3
"""Host cost of eager operations on the device beside torch's CPU, in one run; JSON on standard output.

    eager.py [--repeats N]

`add_64x64_half`: one cached add, call to return. `sustained`: 10,000 adds, then one synchronize. `empty`:
making a tensor. Times are the best of several rounds, in microseconds.
"""

import argparse
import json
import time

import torch

SUSTAINED = 10_000


def best(function, repeats, rounds=7):
    for _ in range(max(10, repeats // 10)):
        function()
    fastest = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(repeats):
            function()
        fastest = min(fastest, (time.perf_counter() - start) / repeats)
        torch.spyre.synchronize()
    return 1e6 * fastest


def sustained(x, y):
    torch.spyre.synchronize()
    start = time.perf_counter()
    for _ in range(SUSTAINED):
        x + y
    torch.spyre.synchronize()
    return 1e6 * (time.perf_counter() - start) / SUSTAINED


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=500)
    repeats = parser.parse_args().repeats
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(64, 64, generator=generator).half() for _ in range(2))
    x, y = a.to("spyre"), b.to("spyre")
    cpu, device = best(lambda: a + b, repeats), best(lambda: x + y, repeats)
    result = {
        "add_64x64_half": {"cpu_us": cpu, "spyre_us": device, "ratio": device / cpu, "limit": 3.0},
        "add_in_place": {"spyre_us": best(lambda: x.add_(y), repeats)},
        "add_of_views": {"spyre_us": best(lambda: x.t() + y.t(), repeats)},
        "empty_64x64_half": {
            "cpu_us": best(lambda: torch.empty(64, 64, dtype=torch.half), repeats),
            "spyre_us": best(lambda: torch.empty(64, 64, dtype=torch.half, device="spyre"), repeats),
        },
        "sustained": {"us_per_op": sustained(x, y), "limit": 20.0},
    }
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
