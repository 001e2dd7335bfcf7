#!/usr/bin/env python3
"""Runs a long command with its output in a log file: one progress line, and the fault if it fails.

    run_quietly.py LABEL LOG -- COMMAND ...

Ninja's "[12/340]" counters become progress: rewritten in place on a terminal, one line per half
minute elsewhere, so that a log of continuous integration stays short.
"""

import pathlib
import re
import subprocess
import sys
import time

PROGRESS_SECONDS = 30
TAIL_LINES = 60


def show_failure(log: pathlib.Path) -> None:
    lines = log.read_text(errors="replace").splitlines()
    # Ninja and CMake say what broke first; what follows are other jobs that were still running.
    marks = [i for i, line in enumerate(lines) if line.startswith(("FAILED:", "CMake Error"))]
    first = marks[0] if marks else max(0, len(lines) - TAIL_LINES)
    print("\n".join(lines[first : first + TAIL_LINES]))


def run(label: str, log: pathlib.Path, command: list[str]) -> int:
    log.parent.mkdir(parents=True, exist_ok=True)
    on_terminal = sys.stdout.isatty()
    begin = reported = time.monotonic()
    with log.open("w") as out, subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        for line in process.stdout:
            out.write(line)
            counter = re.match(r"\[\d+/\d+\]", line)
            if not counter:
                continue
            now = time.monotonic()
            if on_terminal:
                print(f"\r{label}: {counter[0]} ", end="", flush=True)
            elif now - reported > PROGRESS_SECONDS:
                reported = now
                print(f"{label}: {counter[0]} after {now - begin:.0f} s", flush=True)
    seconds = time.monotonic() - begin
    end = "\r" if on_terminal else ""
    if process.returncode != 0:
        print(f"{end}{label}: FAILED after {seconds:.0f} s; whole log: {log}")
        show_failure(log)
    else:
        print(f"{end}{label}: done in {seconds:.0f} s", flush=True)
    return process.returncode


def main() -> int:
    if len(sys.argv) < 5 or sys.argv[3] != "--":
        print(__doc__, file=sys.stderr)
        return 2
    return run(sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[4:])


if __name__ == "__main__":
    sys.exit(main())
