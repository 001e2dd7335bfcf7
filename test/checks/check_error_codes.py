#!/usr/bin/env python3
"""Every error code used in the sources has a page docs/error-codes/Ennnn.md, and the reverse.

    check_error_codes.py ROOT

A code is used where `error<nnnn>(` or the text "SPYRE-Ennnn" stands outside a comment; in lib/Sim,
whose interface is plain C, also "E7nnn" and an enumerator `= 7nnn`.
"""

import argparse
import pathlib
import re
import sys

SOURCE_FOLDERS = ("include", "lib", "tools", "torch_spyre")
SOURCE_SUFFIXES = {".h", ".cpp", ".cc", ".c", ".py"}
ANYWHERE = re.compile(r"\berror<\s*(\d{4})\s*>|SPYRE-E(\d{4})")
IN_SIM = re.compile(r"\bE(7\d{3})\b|=\s*(7\d{3})\s*[,;}\n]")
PAGE_NAME = re.compile(r"E(\d{4})\.md")
SECTIONS = ("## Example", "## Cause", "## What to do")
# A string or character literal is kept, a comment goes: the alternation sees whichever begins first.
CPP_TOKENS = re.compile(r'("(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')|//[^\n]*|/\*.*?\*/', re.S)


def without_comments(text: str, suffix: str) -> str:
    if suffix == ".py":
        return re.sub(r"(?m)^\s*#.*$", "", text)
    return CPP_TOKENS.sub(lambda match: match[1] or " ", text)


def codes_in(text: str, suffix: str, in_sim: bool) -> set[str]:
    code = without_comments(text, suffix)
    patterns = (ANYWHERE, IN_SIM) if in_sim else (ANYWHERE,)
    return {next(filter(None, match.groups())) for p in patterns for match in p.finditer(code)}


def used_codes(root: pathlib.Path) -> dict[str, str]:
    """Code -> first file that uses it."""
    used: dict[str, str] = {}
    for top in SOURCE_FOLDERS:
        for file in sorted((root / top).rglob("*")):
            if file.suffix not in SOURCE_SUFFIXES or not file.is_file():
                continue
            relative = file.relative_to(root)
            in_sim = relative.parts[:2] == ("lib", "Sim")
            for code in codes_in(file.read_text(errors="replace"), file.suffix, in_sim):
                used.setdefault(code, str(relative))
    return used


def check_page(page: pathlib.Path, code: str) -> list[str]:
    lines = page.read_text().splitlines()
    problems = []
    if not lines or not re.match(rf"# SPYRE-E{code}: \S", lines[0]):
        problems.append(f"{page.name}: the first line must be '# SPYRE-E{code}: <short title>'")
    return problems + [f"{page.name}: section '{s}' is missing" for s in SECTIONS if s not in lines]


def check(root: pathlib.Path) -> list[str]:
    folder = root / "docs" / "error-codes"
    pages = {m[1]: page for page in sorted(folder.glob("*.md")) if (m := PAGE_NAME.fullmatch(page.name))}
    used = used_codes(root)
    problems = [
        f"{used[code]} uses SPYRE-E{code}, which has no page docs/error-codes/E{code}.md"
        for code in sorted(used.keys() - pages.keys())
    ]
    problems += [
        f"docs/error-codes/E{code}.md describes a code that no source uses; remove it"
        for code in sorted(pages.keys() - used.keys())
    ]
    for code, page in pages.items():
        problems += check_page(page, code)
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=pathlib.Path)
    problems = check(parser.parse_args().root)
    print("\n".join(problems) or "error codes: ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
