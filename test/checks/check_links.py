#!/usr/bin/env python3
"""Every relative link of the project's Markdown pages leads to a file, and to a heading if it names one.

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


def anchors(page: pathlib.Path) -> set[str]:
    """Headings as the usual renderers turn them into anchors."""
    text = FENCE.sub("", page.read_text())
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in HEADING.findall(text)}


def check(root: pathlib.Path) -> list[str]:
    problems = []
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
