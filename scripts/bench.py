#!/usr/bin/env python3
"""Runs every Google Benchmark program of a build and keeps its JSON.

    bench.py BIN_DIRECTORY RESULTS_DIRECTORY [--filter REGEX]

The build was made by `make bench`, without tests: what is no tool (spyre-*) is a benchmark. Host name,
paths and dates are removed from the results: they are kept in the repository and compared across
machines by ratio.
"""

import argparse
import json
import pathlib
import subprocess
import sys

PRIVATE_CONTEXT = ("host_name", "executable", "date", "load_avg")


def run_one(program: pathlib.Path, result: pathlib.Path, pattern: str) -> int:
    print(f"bench: {program.name}", flush=True)
    command = [str(program), f"--benchmark_out={result}", "--benchmark_out_format=json"]
    if pattern:
        command.append(f"--benchmark_filter={pattern}")
    code = subprocess.run(command, check=False).returncode
    if code != 0:
        print(f"bench: {program.name} failed with exit code {code}", file=sys.stderr)
        return code
    data = json.loads(result.read_text())
    for key in PRIVATE_CONTEXT:
        data.get("context", {}).pop(key, None)
    result.write_text(json.dumps(data, indent=1) + "\n")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("--filter", default="", help="regular expression of benchmarks to run")
    args = parser.parse_args()
    programs = sorted(p for p in args.bin.glob("*") if p.is_file() and not p.name.startswith("spyre-"))
    if not programs:
        print(f"bench: no benchmark in {args.bin}; was it built with SPYRE_ENABLE_BENCHMARKS=ON?", file=sys.stderr)
        return 1
    args.results.mkdir(parents=True, exist_ok=True)
    codes = [run_one(program, args.results / f"{program.name}.json", args.filter) for program in programs]
    print(f"bench: {codes.count(0)} of {len(codes)} programs ran; results in {args.results}")
    return max(codes, key=abs)


if __name__ == "__main__":
    sys.exit(main())
