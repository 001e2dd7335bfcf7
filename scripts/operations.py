#!/usr/bin/env python3
"""Writes docs/operations.md from the table of operations; with --check says whether it is what it should be."""

import pathlib
import sys

PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs" / "operations.md"


def main(arguments):
    from torch_spyre.ops import table

    text = table.document()
    if arguments == ["--check"]:
        if PAGE.read_text() != text:
            print(f"{PAGE} is not what the table says; run scripts/operations.py")
            return 1
        return 0
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
