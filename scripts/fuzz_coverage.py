#!/usr/bin/env python3
"""Line coverage of every parser by its own fuzz target, printed as a table; fails when one is too low.

    fuzz_coverage.py BUILD [--found FOLDER] [--minimum PERCENT]

BUILD is a build of the preset fuzz-coverage. Each target is run over its seeds and over what the fuzzers
found before (FOLDER/<target>, the corpus folder of the preset fuzz); only lines that its own run reaches
count. A percentage is of the lines of the whole files named in PARSERS, writers beside a reader included.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

# What is read, the target that reads it, its files; a pattern without a file yet is left out.
PARSERS = [
    ("program binary", "FuzzProgram", ["lib/Program/Binary*.cpp"]),
    ("program text", "FuzzAssembly", ["lib/Program/Assembler*.cpp"]),
    ("device description", "FuzzDeviceDesc", ["lib/Arch/DeviceDesc.cpp"]),
    ("JSON", "FuzzJson", ["lib/Base/JsonParser.cpp"]),
    ("npy", "FuzzNpy", ["lib/Runtime/Npy.cpp"]),
    ("OpSpec text", "FuzzOpSpec", ["lib/Spec/OpSpecLexer.cpp", "lib/Spec/OpSpecParser.cpp"]),
    ("SuperDSC", "FuzzSuperDsc", ["lib/Spec/SuperDscReader.cpp", "lib/Spec/SuperDscFields.cpp", "lib/Spec/SuperDscNodes.cpp"]),
    ("bundle.mlir", "FuzzBundleMlir", ["lib/Spec/BundleLexer.cpp", "lib/Spec/BundleParser.cpp"]),
    ("spyrecode.json", "FuzzSpyreCode", ["lib/Spec/SpyreCode.cpp"]),
    ("model.json", "FuzzModel", ["lib/Spec/Model.cpp"]),
]  # fmt: skip


def run(command: list[str | pathlib.Path], **options) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        sys.exit(f"fuzz_coverage: {pathlib.Path(command[0]).name} failed ({done.returncode})\n{done.stdout}{done.stderr}")
    return done.stdout


def source_folder(build: pathlib.Path) -> pathlib.Path:
    cache = (build / "CMakeCache.txt").read_text()
    return pathlib.Path(re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$", cache, re.M)[1])


def profile(build: pathlib.Path, target: str, found: pathlib.Path | None) -> tuple[pathlib.Path, int]:
    """Runs the target over all its inputs; the indexed profile and the number of inputs."""
    seeds = (build / "fuzz" / f"{target}.seeds").read_text().splitlines()[1:]
    if found is not None and (found / target).is_dir():
        seeds.append(str(found / target))
    folder = build / "fuzz" / "profiles"
    folder.mkdir(exist_ok=True)
    raw, indexed = folder / f"{target}.profraw", folder / f"{target}.profdata"
    out = run(
        [build / "bin" / f"{target}Replay", *seeds],
        cwd=folder, env=os.environ | {"LLVM_PROFILE_FILE": str(raw)},
    )  # fmt: skip
    run(["llvm-profdata-19", "merge", "-sparse", raw, "-o", indexed])
    raw.unlink()
    return indexed, int(out.split()[0])


def coverage(build: pathlib.Path, target: str, indexed: pathlib.Path, sources: list[str]) -> tuple[int, int]:
    """Lines reached and lines there are, in files whose path ends with one of the sources."""
    binary = build / "bin" / f"{target}Replay"
    text = run(["llvm-cov-19", "export", "-summary-only", f"-instr-profile={indexed}", binary])
    covered = total = 0
    for file in json.loads(text)["data"][0]["files"]:
        # Relative where the compiler cache maps the source folder away.
        if any(("/" + file["filename"]).endswith("/" + source) for source in sources):
            covered += file["summary"]["lines"]["covered"]
            total += file["summary"]["lines"]["count"]
    return covered, total


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--found", type=pathlib.Path, help="corpus folder of the fuzzers")
    parser.add_argument("--minimum", type=float, default=85.0, help="percent of lines (default: 85)")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    found = arguments.found.resolve() if arguments.found else None
    root = source_folder(build)
    failed = False
    print(f"{'parser':20} {'target':15} {'inputs':>6} {'lines':>9} {'covered':>8}  files")
    for what, target, patterns in PARSERS:
        sources = [str(f.relative_to(root)) for pattern in patterns for f in sorted(root.glob(pattern))]
        if not sources:
            continue
        indexed, inputs = profile(build, target, found)
        covered, total = coverage(build, target, indexed, sources)
        percent = 100.0 * covered / total if total else 0.0
        low = percent < arguments.minimum
        failed |= low
        note = f"  below {arguments.minimum:.0f} %" if low else ""
        lines = f"{covered}/{total}"
        print(f"{what:20} {target:15} {inputs:6} {lines:>9} {percent:6.1f} %  {', '.join(sources)}{note}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
