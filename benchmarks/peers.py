#!/usr/bin/env python3
"""What good host libraries need for the operations of DeviceSpeed.cpp, as JSON.

    peers.py [--threads N]

OpenBLAS through numpy for the matmul, torch's own CPU kernels (eager, float32) for the others; the median
of five runs after one that warms up.
"""

import argparse
import json
import os
import statistics
import time

RUNS = 5


def median_seconds(body) -> float:
    body()
    times = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        body()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def numpy_rows(threads: int) -> dict:
    os.environ["OPENBLAS_NUM_THREADS"] = str(threads)
    import numpy

    random = numpy.random.default_rng(1)
    a = random.random((1024, 1024), dtype=numpy.float32)
    b = random.random((1024, 1024), dtype=numpy.float32)
    out = numpy.empty_like(a)
    return {"matmul_1024": {"peer": "OpenBLAS sgemm", "seconds": median_seconds(lambda: numpy.dot(a, b, out=out))}}


def torch_rows(threads: int) -> dict:
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    import torch

    torch.set_num_threads(threads)
    torch.manual_seed(1)
    x = torch.randn(4096, 4096)
    weight, bias = torch.randn(4096), torch.randn(4096)
    bodies = {
        "exp_4096": lambda: torch.exp(x),
        "layernorm_4096": lambda: torch.nn.functional.layer_norm(x, (4096,), weight, bias),
        "softmax_4096": lambda: torch.softmax(x, dim=1),
    }
    return {name: {"peer": "torch CPU fp32", "seconds": median_seconds(body)} for name, body in bodies.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    # numpy first: OpenBLAS reads its thread count when it is loaded.
    print(json.dumps({**numpy_rows(args.threads), **torch_rows(args.threads)}, indent=1))


if __name__ == "__main__":
    main()
