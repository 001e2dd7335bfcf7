#!/usr/bin/env python3
"""What the plug-in adds to `import torch`; JSON on standard output.

    import_time.py [--rounds N]

Each round starts two fresh interpreters, one that lets torch load the plug-in and one that does not, in turn, so that a
busy moment of the host hits both alike. Seconds: the best of each, and the median of the differences.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

PROGRAM = "import time; start = time.perf_counter(); import torch; print(time.perf_counter() - start)"


def import_seconds(autoload):
    environment = dict(os.environ, TORCH_DEVICE_BACKEND_AUTOLOAD="1" if autoload else "0")
    printed = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    return float(printed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9, help="pairs of interpreters")
    rounds = parser.parse_args().rounds
    for autoload in (False, True):
        import_seconds(autoload)  # the files come into the host's cache
    alone, both = zip(*((import_seconds(False), import_seconds(True)) for _ in range(rounds)))
    growth = statistics.median(b - a for a, b in zip(alone, both))
    result = {"torch_s": min(alone), "with_plugin_s": min(both), "growth_s": growth, "limit": 0.15}
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
