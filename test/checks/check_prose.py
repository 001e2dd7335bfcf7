#!/usr/bin/env python3
"""Counts comments and docstrings that a reader cannot understand on their own, and compares the counts with a budget per folder.

    check_prose.py ROOT [--show FOLDER] [--shrink]

The budget, prose_budget.json beside this file, may only shrink: a folder above its budget fails, and a folder below it asks for
`--shrink`, which writes the new counts. `--show FOLDER` lists the places of one folder. A place is a pattern that readers stumbled
over (docs/style.md), not a verdict: rewrite the sentence, or leave it within the budget.
"""

import argparse
import collections
import dataclasses
import json
import pathlib
import re
import sys
from collections.abc import Iterator

from project_files import project_files

BUDGET = pathlib.Path(__file__).with_name("prose_budget.json")
SOURCES = {".cpp", ".h", ".td", ".py", ".mlir"}
#: First line of a comment or docstring, without its marker.
COMMENT = re.compile(r'^\s*(?:///?<?|#:?|\*)\s+(?:\\brief\s+)?(\S.*)$|^\s*r?"""(\S.*?)(?:""")?\s*$')
#: Directives of tools, which are not prose.
DIRECTIVE = re.compile(r"^(RUN|CHECK[A-Z-]*|XFAIL|REQUIRES|NOLINT\w*|noqa|fmt|type|pylint|clang-format|expected-)\b|^-\*-|===-")


@dataclasses.dataclass(frozen=True)
class Rule:
    """One pattern on the first line of a comment, and what to write instead."""

    pattern: re.Pattern[str]
    advice: str


def _rule(pattern: str, advice: str) -> Rule:
    return Rule(re.compile(pattern), advice)


RULES = (
    _rule(r"^(Of|From|By|With|As|In|For)\b[^,:(]*\.$", "begin with the subject or a verb"),
    _rule(r"^Of\b", "name the subject first"),
    _rule(
        r"^(What|Whose|Who|Whether|Those|These|That which|Where|One that|The one|The same|It|Its|They|Their)\b",
        "say what the declaration returns or does",
    ),
    _rule(r"^(?:[A-Za-z']+\s*){1,3}\.$", "write a whole sentence or no comment"),
    _rule(
        r"\b(is no number|are no numbers?|truth values?|(?<!there )is none\b|(?<!there )are none\b|of nothing)\b",
        "use the field's word: NaN, bool, None, empty, count",
    ),
    _rule(r"\b(nobody|who) (asks?|knows?|reads?|writes?|names?|wants?)\b", "name the function or class"),
    _rule(
        r"(?<!there )(?<!here )\b(is|are) no (?!longer|more|less|such|need|room|way|matter)[a-z]+\b",
        "write 'is not a ...'",
    ),
)


def comments(text: str) -> Iterator[tuple[int, str]]:
    """Yields line number and first line of each block of comment lines."""
    previous = -1
    for number, line in enumerate(text.splitlines(), 1):
        match = COMMENT.match(line)
        if match is None:
            continue
        words = (match[1] or match[2] or "").strip()
        if previous != number - 1 and words[:1].isalpha() and not DIRECTIVE.search(words):
            yield number, words
        previous = number


def folder_of(path: pathlib.PurePath) -> str:
    """Returns the first two folders of a path, which have a budget of their own."""
    return "/".join(path.parent.parts[:2]) or "."


def places(root: pathlib.Path) -> Iterator[tuple[str, str, str]]:
    """Yields folder, place with its words, and advice."""
    for file in project_files(root):
        if file.suffix not in SOURCES:
            continue
        path = file.relative_to(root)
        for number, words in comments(file.read_text(errors="replace")):
            rule = next((rule for rule in RULES if rule.pattern.search(words)), None)
            if rule is not None:
                yield folder_of(path), f'{path}:{number}: "{words[:90]}"', rule.advice


def compare(counts: dict[str, int], budget: dict[str, int]) -> list[str]:
    """Returns one problem per folder whose count is not its budget."""
    problems = []
    for folder in sorted(counts.keys() | budget.keys()):
        count, allowed = counts.get(folder, 0), budget.get(folder, 0)
        if count > allowed:
            problems.append(
                f"{folder}: {count} comments that need rewriting, {allowed} allowed; see them with "
                f"test/checks/check_prose.py . --show {folder} and docs/style.md"
            )
        elif count < allowed:
            problems.append(f"{folder}: {count} comments need rewriting, {allowed} allowed; run test/checks/check_prose.py . --shrink")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--show", metavar="FOLDER")
    parser.add_argument("--shrink", action="store_true")
    arguments = parser.parse_args()
    found = list(places(arguments.root.resolve()))
    if arguments.show:
        for folder, place, advice in found:
            if folder == arguments.show:
                print(f"{place} -> {advice}")
        return 0
    counts = dict(sorted(collections.Counter(folder for folder, _, _ in found).items()))
    budget = json.loads(BUDGET.read_text()) if BUDGET.exists() else counts
    if arguments.shrink:
        budget = {folder: min(count, budget.get(folder, 0)) for folder, count in counts.items() if budget.get(folder, 0)}
        BUDGET.write_text(json.dumps(budget, indent=1) + "\n")
    problems = compare(counts, budget)
    for problem in problems:
        print(f"check_prose: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
