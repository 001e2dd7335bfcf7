#!/usr/bin/env python3
"""House rules no compiler checks: file sizes, white space, machine paths, environment, licence.

    check_style.py ROOT

Layout of the C++ itself is clang-format's business (`make format`).
"""

import argparse
import pathlib
import re
import sys

from project_files import project_files

MAX_LINES = 800
MAX_BYTES = 1 << 20
CPP = {".h", ".cpp", ".cc", ".c", ".inc"}
COUNTED = CPP | {".py", ".td"}
# Put together here so that this file does not contain what it looks for.
MACHINE_PATH = re.compile(r"(?<![\w.-])/(?:" + "|".join(("root", "work", "farm", "home")) + r")/\w")
UNFINISHED = re.compile(r"\b(?:" + "|".join(("TO" + "DO", "FIX" + "ME")) + r")\b")
ENVIRONMENT = re.compile(r"\b(?:std::)?(?:secure_)?getenv\s*\(")
# Tests prove nothing without the simulator's sanitizer.
UNSANITIZED = "--no-" + "sanitizer"
TESTS = ("test/", "python/tests/", "unittests/", "conformance/")
# Bytes of other programs, kept as they are.
VERBATIM = ("golden/", "LICENSE")


def check_lines(name: str, text: str, suffix: str) -> list[str]:
    problems = []
    in_library = name.startswith(("lib/", "include/"))
    for number, line in enumerate(text.split("\n"), 1):
        if MACHINE_PATH.search(line):
            problems.append(f"{name}:{number}: names a path of one machine")
        if name.startswith(VERBATIM):
            continue
        if line != line.rstrip():
            problems.append(f"{name}:{number}: trailing white space")
        if suffix in CPP and "\t" in line:
            problems.append(f"{name}:{number}: tab in a C++ file")
        if suffix in COUNTED and UNFINISHED.search(line):
            problems.append(f"{name}:{number}: unfinished work; finish it")
        if name.startswith(TESTS) and UNSANITIZED in line:
            problems.append(f"{name}:{number}: runs a simulator without the sanitizer")
        if in_library and ENVIRONMENT.search(line):
            problems.append(f"{name}:{number}: libraries take options, only main() reads the environment")
    return problems


def check_file(root: pathlib.Path, file: pathlib.Path) -> list[str]:
    name = file.relative_to(root).as_posix()
    data = file.read_bytes()
    if len(data) > MAX_BYTES:
        return [f"{name}: {len(data)} bytes; files above {MAX_BYTES} are refused"]
    if b"\0" in data:
        return []
    text = data.decode(errors="replace")
    problems = check_lines(name, text, file.suffix)
    lines = text.count("\n")
    if file.suffix in COUNTED and lines > MAX_LINES:
        problems.append(f"{name}: {lines} lines, the limit is {MAX_LINES}; split it")
    if text and not text.endswith("\n") and not name.startswith(VERBATIM):
        problems.append(f"{name}: no newline at the end")
    return problems


def check(root: pathlib.Path) -> list[str]:
    problems = []
    licence = root / "LICENSE"
    if not licence.is_file() or "Apache License" not in licence.read_text():
        problems.append("LICENSE: the text of the Apache License 2.0 is missing")
    for file in project_files(root):
        problems += check_file(root, file)
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=pathlib.Path)
    problems = check(parser.parse_args().root.resolve())
    print("\n".join(problems) or "style: ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
