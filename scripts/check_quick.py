#!/usr/bin/env python3
"""Runs the checks that a change needs before it is committed: at most three minutes with a warm compiler cache.

    check_quick.py [--base REV] [--build DIR] [--jobs N]

In this order: formatting, build, repository checks, unit tests of the libraries that the change touches or that use them, lit. A file counts as changed if it differs from REV; the default is the last commit of the main line for a branch and the
commit before HEAD on the main line itself. The output ends with one line per step and its seconds.
"""

import argparse
import dataclasses
import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterable

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAIN_LINE = "main"
CPP = {".h", ".cpp"}
#: Unit tests that take longer than the whole check may; `make test` runs them.
LONG_TESTS = {"GraphFuzzTests"}


def output(*command: str) -> str:
    """Returns what a command prints; an empty text if it fails."""
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout


def default_base() -> str:
    """Returns the revision that the change starts from."""
    branch = output("git", "rev-parse", "--abbrev-ref", "HEAD").strip()
    if branch != MAIN_LINE and (base := output("git", "merge-base", "HEAD", MAIN_LINE).strip()):
        return base
    return "HEAD~1"


def changed_files(base: str) -> list[pathlib.PurePath]:
    """Returns the files that differ from `base` and still exist, new ones included."""
    names = output("git", "diff", "--name-only", base) + output("git", "ls-files", "--others", "--exclude-standard")
    return sorted({pathlib.PurePath(name) for name in names.split("\n") if name and (ROOT / name).exists()})


def objects_of(build: pathlib.Path, changed: Iterable[pathlib.PurePath]) -> set[str]:
    """Returns the object files whose recorded dependencies contain a changed file."""
    wanted = {os.path.normpath(ROOT / path) for path in changed}
    found, current = set(), ""
    for line in output("ninja", "-C", str(build), "-t", "deps").splitlines():
        if line.startswith(" "):
            if os.path.normpath(build / line.strip()) in wanted:
                found.add(current)
        elif ":" in line:
            current = line.split(":")[0]
    return found


def affected_tests(build: pathlib.Path, changed: Iterable[pathlib.PurePath]) -> list[str]:
    """Returns the unit test programs that link an object which a changed file goes into."""
    objects = objects_of(build, changed)
    programs = sorted(path.name for path in (build / "bin").glob("*Tests") if path.name not in LONG_TESTS)
    return [
        program
        for program in programs
        if objects & set(output("ninja", "-C", str(build), "-t", "inputs", f"bin/{program}").split("\n"))
    ]


@dataclasses.dataclass
class Steps:
    """Runs steps, keeps their results and prints a table at the end."""

    rows: list[tuple[str, float, bool]] = dataclasses.field(default_factory=list)

    def run(self, name: str, step: Callable[[], bool]) -> None:
        """Runs one step; a failure does not keep later steps from running."""
        begin = time.monotonic()
        passed = step()
        self.rows.append((name, time.monotonic() - begin, passed))

    def report(self) -> int:
        """Prints one line per step and returns the exit status."""
        print()
        for name, seconds, passed in self.rows:
            print(f"  {'ok    ' if passed else 'FAILED'}  {seconds:6.1f} s  {name}")
        return 0 if all(passed for _, _, passed in self.rows) else 1


def command(*words: str, quiet: bool = True) -> Callable[[], bool]:
    """Returns a step that runs a command and shows its output if it fails."""

    def step() -> bool:
        done = subprocess.run(words, cwd=ROOT, capture_output=quiet, text=True, check=False)
        if done.returncode != 0 and quiet:
            print(f"$ {' '.join(words)}\n{done.stdout}{done.stderr}")
        return done.returncode == 0

    return step


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", default=None, metavar="REV")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    arguments = parser.parse_args()
    build, changed = arguments.build.resolve(), changed_files(arguments.base or default_base())
    steps = Steps()
    if any(path.suffix in CPP for path in changed):
        steps.run("clang-format", command("scripts/format.sh", "--check"))
    steps.run("build", command("cmake", "--build", str(build), f"-j{arguments.jobs}"))
    steps.run("repository checks", command("ctest", "--test-dir", str(build), "-L", "check", "-j", str(arguments.jobs)))
    tests = affected_tests(build, changed)
    if tests:
        names = "^unit\\.(" + "|".join(tests) + ")$"
        run = command("ctest", "--test-dir", str(build), "-R", names, "-j", str(arguments.jobs), "--output-on-failure")
        steps.run(f"unit tests: {' '.join(tests)}", run)
    steps.run("lit", command("ctest", "--test-dir", str(build), "-R", "^lit$", "--output-on-failure"))
    return steps.report()


if __name__ == "__main__":
    sys.exit(main())
