"""Adds the last lines of pytest's logs: "3 passed, 1 skipped in 2.00s" twice is "6 passed, 2 skipped in 2 s".

Fails, and says which log it is, when one has no such line or nothing passed in it.
"""

import collections
import pathlib
import re
import sys

COUNT = re.compile(r"(\d+) (passed|failed|errors?|skipped|xfailed|xpassed)")
TIME = re.compile(r" in ([\d.]+)s")


def main(paths):
    totals, seconds, bad = collections.Counter(), 0.0, []
    for path in paths:
        lines = pathlib.Path(path).read_text(errors="replace").splitlines() or [""]
        counts = {kind.rstrip("s"): int(number) for number, kind in COUNT.findall(lines[-1])}
        time = TIME.search(lines[-1])
        if not time or not counts.get("passed"):
            bad.append(f"no result in {path}")
        totals.update(counts)
        seconds = max(seconds, float(time[1]) if time else 0.0)
    text = ", ".join(f"{totals[kind]} {kind}" for kind in sorted(totals, key=lambda kind: kind != "failed"))
    print("; ".join([*bad, f"{text or 'nothing ran'} in {seconds:.0f} s"]))
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
