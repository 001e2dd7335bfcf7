#!/usr/bin/env python3
"""Checks the include graph against the layers of docs/architecture.md.

    check_layers.py ROOT [--layers BUILD/layers.json]

A library includes lower layers only; inside a layer only the pairs named in SIDEWAYS. The table here
is the contract; layers.json (what CMake was told) must agree with it.
"""

import argparse
import json
import pathlib
import re
import sys

LAYERS = {
    "Base": 0,
    "Arch": 1, "Numerics": 1, "Layout": 1, "Program": 1, "Spec": 1,
    "Solver": 2, "CostModel": 2, "BackEnd": 2, "Evaluator": 2,
    "Sim": 3, "Runtime": 3,
    "Dialect": 4, "Conversion": 4, "Transforms": 4,
    "Pipelines": 5, "CAPI": 5,
}  # fmt: skip
OUTERMOST = 6  # the plug-in and the tools

# Inside one layer: who may include whom.
SIDEWAYS = {
    "Numerics": {"Arch"},
    "Layout": {"Arch", "Numerics"},
    "Program": {"Arch", "Numerics", "Layout"},
    "Spec": {"Arch", "Numerics", "Layout"},
    "Solver": {"CostModel"},
    "BackEnd": {"CostModel"},
    "Conversion": {"Dialect"},
    "Transforms": {"Dialect"},
    "CAPI": {"Pipelines"},
}
# Lower, yet forbidden: the judge of the compiler must not know it, and the second opinion must not
# share the first one's sources.
FORBIDDEN = {
    "Sim": {"BackEnd", "Evaluator"},
    "Runtime": {"BackEnd", "Evaluator"},
    "Evaluator": {"Program", "BackEnd", "Sim"},
    "Dialect": {"Sim"},
}
PLUGIN_MAY = {"Runtime", "CAPI", "Evaluator", "Solver", "Layout", "Numerics", "Base", "Arch", "Spec"}
MLIR = ("mlir/", "llvm/", "mlir-c/", "llvm-c/")
TORCH = ("torch/", "ATen/", "c10/", "pybind11/")
SIM_INTERFACE = "spyre/Sim/SpyreSim.h"
SOURCE_SUFFIXES = {".h", ".cpp", ".cc", ".c", ".td"}
INCLUDE = re.compile(r'^[ \t]*#?[ \t]*include[ \t]+["<]([^">]+)[">]', re.M)


def owner_of(path: pathlib.PurePath) -> str | None:
    """Library family ("Dialect") of a file, "tools", "plug-in", or None when it is outside."""
    parts = path.parts
    if parts[:2] == ("include", "spyre") and len(parts) > 3:
        return parts[2]
    if parts[:1] == ("lib",) and len(parts) > 2:
        return parts[1]
    if parts[:1] == ("tools",):
        return "tools"
    if parts[:2] == ("torch_spyre", "csrc"):
        return "plug-in"
    return None


def target_of(root: pathlib.Path, file: pathlib.Path, include: str) -> str | None:
    """Library family an include reaches, or None for a third-party or own private header."""
    if include.startswith("spyre/"):
        parts = include.split("/")
        return parts[1] if len(parts) > 2 else None
    for base in (file.parent, root):  # "../Sim/Memory.h" or "lib/Sim/Memory.h"
        beside = (base / include).resolve()
        if beside.is_file() and beside.is_relative_to(root):
            return owner_of(beside.relative_to(root))
    return None


def judge_external(owner: str, layer: int, include: str) -> str | None:
    if include.startswith(TORCH) and owner != "plug-in":
        return "only torch_spyre/csrc knows torch"
    if include.startswith(MLIR) and (layer <= 3 or owner == "plug-in"):
        return "the plug-in reaches the compiler through CAPI" if owner == "plug-in" else "layers 0-3 build without MLIR"
    return None


def judge_internal(owner: str, layer: int, target: str, include: str, file: pathlib.PurePath) -> str | None:
    if target == owner or owner == "tools":
        return None
    if owner == "plug-in":
        return None if target in PLUGIN_MAY else f"the plug-in may use {', '.join(sorted(PLUGIN_MAY))} only"
    if target not in LAYERS:
        return f"'{target}' has no layer in check_layers.py"
    if owner == "Runtime" and target == "Sim":
        if include == SIM_INTERFACE and "sim" in file.name.lower() + file.parent.name.lower():
            return None
        return f"only Runtime's sim driver may include the simulator, and only {SIM_INTERFACE}"
    if target in FORBIDDEN.get(owner, ()):
        return f"{owner} must stay independent of {target}"
    if LAYERS[target] < layer or target in SIDEWAYS.get(owner, ()):
        return None
    direction = "upward" if LAYERS[target] > layer else "sideways"
    return f"{direction} include: {owner} is layer {layer}, {target} is layer {LAYERS[target]}"


def check_declared(declared: dict[str, int]) -> list[str]:
    problems = []
    for name, layer in declared.items():
        family = name.split("/")[0]
        if family not in LAYERS:
            problems.append(f"library {name} is not in the table of check_layers.py; give it a layer there")
        elif LAYERS[family] != layer:
            problems.append(f"library {name} says LAYER {layer} in CMake, the table says {LAYERS[family]}")
    return problems


def check_tree(root: pathlib.Path) -> list[str]:
    root = root.resolve()
    problems = []
    for top in ("include/spyre", "lib", "tools", "torch_spyre/csrc"):
        for file in sorted((root / top).rglob("*")):
            if file.suffix not in SOURCE_SUFFIXES or not file.is_file():
                continue
            relative = file.relative_to(root)
            owner = owner_of(relative)
            if owner is None:
                continue
            if owner not in LAYERS and owner not in ("tools", "plug-in"):
                problems.append(f"{relative}: library '{owner}' has no layer in check_layers.py")
                continue
            layer = LAYERS.get(owner, OUTERMOST)
            for include in INCLUDE.findall(file.read_text(errors="replace")):
                target = target_of(root, file, include)
                fault = (
                    judge_internal(owner, layer, target, include, relative)
                    if target
                    else judge_external(owner, layer, include)
                )
                if fault:
                    problems.append(f'{relative}: includes "{include}": {fault}')
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--layers", type=pathlib.Path, help="layers.json of the build")
    args = parser.parse_args()
    problems = check_tree(args.root)
    if args.layers:
        problems += check_declared(json.loads(args.layers.read_text()))
    print("\n".join(problems) or "include graph: ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
