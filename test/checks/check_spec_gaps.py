#!/usr/bin/env python3
"""docs/spec-gaps.md has one row per numbered statement, and every claim names a test that exists.

    check_spec_gaps.py ROOT [--build BUILD]

Rows: | Id | Summary | Status | Tests | Notes |. Status is open, partial, done or deviates; all but open
carry at least one test id, separated by blanks or commas:

    ctest:NAME                a CTest case of BUILD
    gtest:Binary.Suite.Name   a test in unittests/ or conformance/ whose binary BUILD runs
    pytest:file::test         a function in python/tests
    lit:path                  a file below test/, run by the CTest case "lit"

Without --build only what the sources show is checked.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

STATEMENTS = {"A": 6, "F": 14, "W": 13, "L": 23, "R": 15}
STATUSES = ("open", "partial", "done", "deviates")
ROW = re.compile(r"^\| *([A-Z]\d+) *\|(.*)\|\s*$", re.M)


def expected_ids() -> list[str]:
    return [f"{letter}{n}" for letter, last in STATEMENTS.items() for n in range(1, last + 1)]


def ctest_names(build: pathlib.Path) -> set[str]:
    out = subprocess.run(
        ["ctest", "--test-dir", str(build), "--show-only=json-v1"],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    return {test["name"] for test in json.loads(out)["tests"]}


def gtest_exists(root: pathlib.Path, name: str, known: set[str] | None) -> str | None:
    parts = name.split(".")
    if len(parts) != 3:
        return "must be gtest:Binary.Suite.Name"
    binary, suite, test = parts
    if known is not None and not any(case == binary or case.endswith(f".{binary}") for case in known):
        return f"no CTest case runs '{binary}'"
    macro = re.compile(rf"\bTEST(?:_F|_P)?\(\s*{re.escape(suite)}\s*,\s*{re.escape(test)}\s*\)|"
                       rf"\bTYPED_TEST(?:_P)?\(\s*{re.escape(suite)}\s*,\s*{re.escape(test)}\s*\)")
    for top in ("unittests", "conformance"):
        for file in (root / top).rglob("*.cpp"):
            if macro.search(file.read_text(errors="replace")):
                return None
    return f"no TEST({suite}, {test}) in unittests/ or conformance/"


def pytest_exists(root: pathlib.Path, name: str) -> str | None:
    file, _, test = name.partition("::")
    path = root / "python" / "tests" / file.removeprefix("python/tests/")
    if not path.is_file():
        return f"there is no file python/tests/{file}"
    function = test.split("::")[-1].split("[")[0]
    if not re.search(rf"^\s*(?:async )?def {re.escape(function)}\(", path.read_text(), re.M):
        return f"there is no test '{function}' in {file}"
    return None


def lit_exists(root: pathlib.Path, name: str, known: set[str] | None) -> str | None:
    path = root / "test" / name.removeprefix("test/")
    if not path.is_file() or "RUN:" not in path.read_text(errors="replace"):
        return "there is no such lit test"
    return "no CTest case 'lit' runs it" if known is not None and "lit" not in known else None


def check_test(root: pathlib.Path, test_id: str, known: set[str] | None) -> str | None:
    kind, _, name = test_id.partition(":")
    if kind == "ctest":
        return f"no CTest case '{name}'" if known is not None and name not in known else None
    if kind == "gtest":
        return gtest_exists(root, name, known)
    if kind == "pytest":
        return pytest_exists(root, name)
    if kind == "lit":
        return lit_exists(root, name, known)
    return "must begin with ctest:, gtest:, pytest: or lit:"


def check_row(root: pathlib.Path, statement: str, cells: list[str], known: set[str] | None) -> list[str]:
    if len(cells) != 4:
        return [f"{statement}: the row has {len(cells) + 1} cells, 5 are needed"]
    summary, status, tests, _ = cells
    problems = []
    if not summary:
        problems.append(f"{statement}: the summary is empty")
    if status not in STATUSES:
        problems.append(f"{statement}: status '{status}' is none of {', '.join(STATUSES)}")
    ids = [t for t in re.split(r"[\s,`]+", tests) if t and t != "-"]
    if status != "open" and not ids:
        problems.append(f"{statement}: status '{status}' needs a test id")
    for test_id in ids:
        fault = check_test(root, test_id, known)
        if fault:
            problems.append(f"{statement}: {test_id}: {fault}")
    return problems


def check(root: pathlib.Path, known: set[str] | None) -> list[str]:
    rows = ROW.findall((root / "docs" / "spec-gaps.md").read_text())
    seen = [statement for statement, _ in rows]
    expected = expected_ids()
    problems = [f"{statement}: no row" for statement in expected if statement not in seen]
    problems += [f"{statement}: {seen.count(statement)} rows" for statement in sorted(set(seen)) if seen.count(statement) > 1]
    problems += [f"{statement}: not a numbered statement" for statement in sorted(set(seen) - set(expected))]
    for statement, rest in rows:
        problems += check_row(root, statement, [cell.strip() for cell in rest.split("|")], known)
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path)
    args = parser.parse_args()
    problems = check(args.root, ctest_names(args.build) if args.build else None)
    print("\n".join(problems) or "spec gaps: ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
