#!/usr/bin/env python3
"""Relative links of Markdown pages lead to a file and heading, and marks like `[spec: page 2.8, W3]` to a section of docs/spec.

    check_links.py ROOT
"""

import argparse
import pathlib
import re
import sys

from project_files import project_files

LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.M | re.S)
CODE = re.compile(r"`[^`\n]*`")
HEADING = re.compile(r"^#+\s+(.*)$", re.M)
MARK = re.compile(r"\[spec: ([^\]]+)\]")
MARKED = {".cpp", ".h", ".td", ".py", ".mlir", ".test", ".md"}
SECTION = re.compile(r"[AFWLR]?\d+(?:\.\d+)*")


def anchors(page: pathlib.Path) -> set[str]:
    """Headings as the usual renderers turn them into anchors."""
    text = FENCE.sub("", page.read_text())
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in HEADING.findall(text)}


def sections(page: pathlib.Path) -> set[str]:
    """Numbers of headings ("2.8") and of statements in tables ("W3")."""
    text = page.read_text()
    return set(re.findall(r"^#+ (\d+(?:\.\d+)*) ", text, re.M)) | set(re.findall(r"^\| ([AFWLR]\d+) \|", text, re.M))


def check_marks(root: pathlib.Path, files: list[pathlib.Path]) -> list[str]:
    folder = root / "docs" / "spec"
    known = {page.stem: sections(page) for page in folder.glob("*.md")}
    problems = []
    for file in files:
        if file.suffix not in MARKED or file.is_relative_to(folder) or file.is_relative_to(root / "test" / "checks"):
            continue
        for mark in MARK.findall(file.read_text(errors="replace")):
            page, _, rest = mark.partition(" ")
            where = f"{file.relative_to(root).as_posix()}: mark '[spec: {mark}]'"
            if page not in known:
                problems.append(f"{where}: docs/spec has no page {page}")
                continue
            numbers = SECTION.findall(re.split(r",? (?:row|step|with|the|runtime)", rest)[0])
            problems += [f"{where}: {page}.md has no section {number}" for number in numbers if number not in known[page]]
    return problems


def check(root: pathlib.Path) -> list[str]:
    problems = check_marks(root, project_files(root))
    for page in project_files(root):
        if page.suffix != ".md":
            continue
        name = page.relative_to(root).as_posix()
        for link in LINK.findall(CODE.sub("", FENCE.sub("", page.read_text()))):
            if re.match(r"[a-z]+:", link):
                continue
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            if not target.exists() or not target.is_relative_to(root):
                problems.append(f"{name}: link '{link}' leads nowhere")
            elif anchor and target.suffix == ".md" and anchor not in anchors(target):
                problems.append(f"{name}: link '{link}': no such heading")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=pathlib.Path)
    problems = check(parser.parse_args().root.resolve())
    print("\n".join(problems) or "links: ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
