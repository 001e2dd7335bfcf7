"""The two processes of `make test` share the Python tests: every test runs in one of them, and their counts are added."""

import pathlib
import re
import subprocess
import sys

import conftest
import pytest

HERE = pathlib.Path(__file__).resolve().parent
SUM_COUNTS = HERE.parents[1] / "scripts" / "sum_counts.py"
FILES = ["test_parts.py", "test_traffic.py", "test_views.py", "test_layouts.py"]


def collected(*options):
    """Names of the tests pytest would run."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", *options, *(str(HERE / name) for name in FILES)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    return [line for line in done.stdout.splitlines() if "::" in line], done


def test_every_test_is_in_one_part():
    whole, _ = collected()
    parts = [collected("--part", f"{part}/2")[0] for part in (1, 2)]
    assert sorted(parts[0] + parts[1]) == sorted(whole) and min(map(len, parts)) > 0


@pytest.mark.parametrize("part", ["0/2", "3/2"])
def test_there_is_no_such_part(part):
    names, done = collected("--part", part)
    assert not names and done.returncode != 0 and "there are parts 1/2 to 2/2" in done.stdout + done.stderr


def test_parts_take_equally_long():
    """Nearly, by what is known of them; seconds are written down of files that exist."""
    names = sorted(path.name for path in HERE.glob("test_*.py"))
    assert set(conftest.SECONDS) <= set(names)
    seconds = conftest.seconds_of({name: 10 for name in names})
    parts = conftest.part_of_each(seconds, 2)
    assert parts == conftest.part_of_each(dict(reversed(seconds.items())), 2)
    times = [sum(seconds[name] for name in names if parts[name] == part) for part in (0, 1)]
    assert abs(times[0] - times[1]) <= max(seconds.values()) / 10


GOOD = "....\n12 passed, 3 skipped, 100 deselected in 12.34s\n"


@pytest.mark.parametrize(
    "second,text",
    [
        ("2 passed in 70.00s (0:01:10)", r"14 passed, 3 skipped in 70 s"),
        ("1 failed, 2 passed, 1 error in 1.00s", r"1 failed, 14 passed, 3 skipped, 1 error in 12 s"),
        ("9 deselected in 1.00s", r"no result in .*2\.log; 12 passed, 3 skipped in 12 s"),
        ("Segmentation fault", r"no result in .*2\.log; 12 passed, 3 skipped in 12 s"),
        ("", r"no result in .*2\.log; 12 passed, 3 skipped in 12 s"),
    ],
)
def test_counts_are_added(second, text, tmp_path):
    """A part without a test that passed is a failure, whatever its exit code was."""
    logs = [tmp_path / "1.log", tmp_path / "2.log"]
    logs[0].write_text(GOOD)
    logs[1].write_text(second)
    done = subprocess.run([sys.executable, SUM_COUNTS, *logs], capture_output=True, text=True)
    assert re.fullmatch(text, done.stdout.strip()), done.stdout
    assert done.returncode == ("no result" in text)
