#!/usr/bin/env python3
"""Every registered pass over every IR of the tests, also of levels it is not made for: a diagnostic, never a crash.

    every_pass.py SPYRE_OPT TEST_DIRECTORY

All inputs go through one process per pass (--split-input-file). When that process dies, the inputs are tried one by
one and the first that kills it is printed. What the pipeline makes of the graphs is an input, too.
"""

import pathlib
import re
import subprocess
import sys

SEPARATOR = "\n// -----\n"
ODD = [
    "module {}",
    "func.func private @main()",
    "func.func @main() { return }",
    "func.func @other() { return }",
    "func.func @main() { return }\nfunc.func @second() { return }",
    "func.func @main() {\n^a:\n  return\n^b:\n  return\n}",
    "func.func @main(%x: i32) -> i32 { return %x : i32 }",
    "func.func @main(%x: tensor<4x64xf16>) -> tensor<4x64xf16> { return %x : tensor<4x64xf16> }",
    "func.func private @main(tensor<4x64xf16>) -> tensor<4x64xf16>",
    "func.func @main() { loop.host \"f\" () -> () { node = 0 : i64 }\n return }",
    'module { module { func.func @main() { return } } }',
]


def inputs_of(directory: pathlib.Path) -> list:
    chunks = []
    for path in sorted(directory.rglob("*.mlir")):
        for chunk in re.split(r"^// -----.*$", path.read_text(errors="replace"), flags=re.MULTILINE):
            if chunk.strip():
                chunks.append(chunk)
    return chunks + ODD


def run(tool: str, flag: str, chunks: list) -> subprocess.CompletedProcess:
    command = [tool, "--split-input-file", flag, "-"]
    return subprocess.run(command, input=SEPARATOR.join(chunks), capture_output=True, text=True, timeout=600)


def passes_of(tool: str) -> list:
    text = subprocess.run([tool, "--help"], capture_output=True, text=True, check=True).stdout
    return sorted(set(re.findall(r"^ +(--spyre-[a-z-]+)", text, flags=re.MULTILINE)))


def main() -> int:
    tool, directory = sys.argv[1], pathlib.Path(sys.argv[2])
    chunks, flags = inputs_of(directory), passes_of(tool)
    planned = run(tool, "--spyre-graph-to-division-pipeline", chunks).stdout.split("// -----")
    chunks += [chunk for chunk in planned if chunk.strip()]
    faults = 0
    for flag in flags:
        if run(tool, flag, chunks).returncode in (0, 1):
            continue
        for chunk in chunks:
            result = run(tool, flag, [chunk])
            if result.returncode not in (0, 1):
                faults += 1
                print(f"{flag} ends with {result.returncode} on\n{chunk}\n{result.stderr[-2000:]}")
                break
        else:
            faults += 1
            print(f"{flag} ends otherwise on all inputs together than on each")
    print(f"{len(flags)} passes, {len(chunks)} inputs, {faults} faults")
    return 1 if faults or len(flags) < 10 or len(chunks) < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
