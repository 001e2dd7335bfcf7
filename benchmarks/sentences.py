#!/usr/bin/env python3
"""A whole real model on the simulated device beside torch's CPU, in one run; JSON on standard output.

    sentences.py [--rounds N]

`forward`: the sentence encoder of examples/sentences.py on 8 sequences of 128 tokens, compiled and in fp16 on the
device, eager and in fp32 on the CPU, two host threads on both sides, the rounds of both in turn. `compile`: graph of
the model to loaded programs, nothing from the cache, capture excluded. The figures are medians of wall time.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import time

THREADS = 2
os.environ["SPYRE_SIM_THREADS"] = str(THREADS)
os.environ["SPYRE_CACHE"] = "0"

import torch  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "examples"))
import sentences  # noqa: E402

BATCH, TOKENS = 8, 128


def compile_seconds(model, inputs):
    """Of the model's one graph, when it is called for the first time."""
    from torch_spyre._inductor import compile as capture

    taken, call = [], capture._StaticGraph.__call__

    def timed(graph, *args):
        begin = time.perf_counter()
        graph.compile_for(*args)
        taken.append(time.perf_counter() - begin)
        return call(graph, *args)

    capture._StaticGraph.__call__ = timed
    try:
        model(*inputs)
    finally:
        capture._StaticGraph.__call__ = call
    assert len(taken) == 1, f"{len(taken)} graphs"
    return taken[0]


def seconds(function):
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(THREADS)
    if sentences.model_directory() is None:
        print(json.dumps({}))
        return
    _, host = sentences.load()
    ids = torch.randint(1000, 20000, (BATCH, TOKENS), generator=torch.Generator().manual_seed(0))
    mask = torch.ones_like(ids, dtype=torch.bool)
    device = sentences.load()[1].half().to("spyre")
    compiled = torch.compile(device)
    inputs = ids.to("spyre"), mask.to("spyre")
    with torch.no_grad():
        cold = compile_seconds(compiled, inputs)
        torch.spyre.reset_counters()
        pairs = []
        for _ in range(rounds):
            ours = seconds(lambda: (compiled(*inputs), torch.spyre.synchronize()))
            pairs.append((ours, seconds(lambda: host(ids, mask))))
        counters = torch.spyre.counters()
    # Numbers of a device that did not run are no numbers.
    assert counters["fallback_ops"] == 0 and counters["graph_fallback_nodes"] == 0, "ran on the CPU"
    ours, theirs = (statistics.median(side) for side in zip(*pairs))
    result = {
        "forward": {
            "spyre_s": ours,
            "cpu_s": theirs,
            "ratio": statistics.median(a / b for a, b in pairs),
            "limit": 3.0,
            "simulated_us": counters["device_ns"] / rounds / 1000,
        },
        "compile": {"seconds": cold, "limit": 1.0},
    }
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
