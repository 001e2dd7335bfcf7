"""TORCH_SPYRE_TIMING=1: how long compilations took. At exit the times go to TORCH_SPYRE_TIMING_OUT as
JSON, or as lines to standard error."""

import atexit
import json
import sys
import time

from torch_spyre import _C, environment

_rows = []
_registered = False


def enabled():
    return environment.get("TORCH_SPYRE_TIMING")


def rows():
    """[{"stage": ..., "name": ..., "seconds": ...}] so far."""
    return list(_rows)


def add(stage, name, seconds):
    global _registered
    if not _registered:
        _registered = True
        atexit.register(_write)
    _rows.append({"stage": stage, "name": name, "seconds": round(seconds, 6)})


def timed(stage, function, name="graph"):
    """Calls of the function that compile something are timed, others pass."""

    def call(*args, **kwargs):
        before = _C.counters()["compile_cache_misses"]
        start = time.perf_counter()
        result = function(*args, **kwargs)
        if _C.counters()["compile_cache_misses"] != before:
            add(stage, name, time.perf_counter() - start)
        return result

    return call


def _write():
    path = environment.get("TORCH_SPYRE_TIMING_OUT")
    if path:
        try:
            with open(path, "w") as file:
                json.dump(_rows, file, indent=1)
            return
        except OSError as error:
            print(f"SPYRE-E6508: TORCH_SPYRE_TIMING_OUT: {error}; the times follow", file=sys.stderr)
    for row in _rows:
        print(f"spyre timing {row['stage']} {row['name']} {row['seconds']:.6f} s", file=sys.stderr)
