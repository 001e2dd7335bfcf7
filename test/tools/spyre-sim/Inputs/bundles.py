"""The worked examples of the interface as bundles of one operation, with inputs and what they must give.

    bundles.py make NAME DIR    writes DIR/bundle (bundle.mlir, sdsc_<n>.json) and the input files
    bundles.py check NAME DIR   compares the output files in DIR with a computation of its own

add: [8, 64] on two cores, the sum stays in LX; symbolic: the same with addresses that the bundle's arguments give;
looped: two iterations, the second one overwrites LX with the sum of the next tensors; matmul: [16, 128] x [128, 64], K
divided over two cores. All numbers are small, so no rounding changes a result.
"""
import json
import pathlib
import random
import sys

from dl16 import dl16_bytes, dl16_values

GOLDEN = pathlib.Path(__file__).resolve().parents[4] / "golden" / "superdsc"
ADD = "example-a-add-lx.json"
MATMUL = "example-b-batchmatmul-ksplit.json"
ARGUMENT = "!sdscbundle.input_arg<index>"


def numbers(seed: int, count: int) -> list[float]:
    source = random.Random(seed)
    return [float(source.randrange(-2, 3)) for _ in range(count)]


def execute(name: str, operands: str = "", ids: str = "") -> str:
    symbols = f', "symbol_ids"=[{ids}]' if ids else ""
    return f'sdscbundle.sdsc_execute ({operands}) {{sdsc_filename="{name}"{symbols}}}\n'


def baked(name: str) -> str:
    return f"module {{ func.func @sdsc_bundle() {{\n{execute(name)}return }} }}\n"


def symbolic(body: str, maps: str = "") -> str:
    parameters = ", ".join(f"%arg_{i}_base_addr: {ARGUMENT}" for i in range(2))
    extracts = "".join(
        f"%arg_{i} = sdscbundle.input_arg_extract value from %arg_{i}_base_addr : {ARGUMENT} -> index\n" for i in range(2)
    )
    return f"{maps}module {{ func.func @sdsc_bundle({parameters}) {{\n{extracts}{body}return }} }}\n"


def with_symbols(text: str) -> str:
    """Start addresses of the DDR tensors become the ids -1, -2, ..."""
    file = json.loads(text)
    next_id = -1
    for node in file["0_add"]["dscs_"][0]["add"]["scheduleTree_"]:
        if node["component_"] == "hbm":
            node["isStartAddrSymbolic_"] = 1
            for core in node["startAddressCoreCorelet_"]["data_"]:
                node["startAddressCoreCorelet_"]["data_"][core] = str(next_id)
                next_id -= 1
    return json.dumps(file)


def make(name: str, directory: pathlib.Path) -> None:
    bundle = directory / "bundle"
    bundle.mkdir(parents=True, exist_ok=True)
    file = "sdsc_1.json" if name == "matmul" else "sdsc_0.json"
    text = (GOLDEN / (MATMUL if name == "matmul" else ADD)).read_text()
    if name in ("add", "matmul"):
        (bundle / "bundle.mlir").write_text(baked(file))
    else:
        text = with_symbols(text)
        values = "%c512 = arith.constant 512 : index\n"
        if name == "symbolic":
            values += "".join(f"%next_{i} = arith.addi %arg_{i}, %c512 : index\n" for i in range(2))
            body = values + execute(file, "%arg_0, %next_0, %arg_1, %next_1", "-1, -2, -3, -4")
            (bundle / "bundle.mlir").write_text(symbolic(body))
        else:
            maps = "#map_0 = affine_map<(d0)[s0] -> (s0 + 1024*d0)>\n"
            values += "%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n%n = arith.constant 2 : index\n"
            values += "".join(f"%next_{i} = arith.addi %arg_{i}, %c512 : index\n" for i in range(2))
            names = ["%arg_0", "%next_0", "%arg_1", "%next_1"]
            inner = "".join(f"%addr_{i} = affine.apply #map_0(%i_0)[{base}]\n" for i, base in enumerate(names))
            inner += execute(file, ", ".join(f"%addr_{i}" for i in range(4)), "-1, -2, -3, -4")
            body = f"{values}scf.for %i_0 = %c0 to %n step %c1 {{\n{inner}}}\n"
            (bundle / "bundle.mlir").write_text(symbolic(body, maps))
    (bundle / file).write_text(text)
    for input_name, values in inputs(name).items():
        (directory / f"{input_name}.bin").write_bytes(dl16_bytes(values))


def inputs(name: str) -> dict[str, list[float]]:
    if name == "matmul":
        return {"x": numbers(3, 2 * 16 * 64), "w": numbers(4, 128 * 64)}
    count = 2 * 512 if name == "looped" else 512
    return {"x": numbers(1, count), "y": numbers(2, count)}


def expected(name: str) -> dict[str, list[float]]:
    given = inputs(name)
    if name != "matmul":
        total = [x + y for x, y in zip(given["x"], given["y"])][-512:]
        return {"z0": total[:256], "z1": total[256:]}
    out = []
    for row in range(16):
        # Device order: stick k // 64 of row, lane k % 64.
        left = [given["x"][(k // 64) * 16 * 64 + row * 64 + k % 64] for k in range(128)]
        out += [sum(left[k] * given["w"][k * 64 + n] for k in range(128)) for n in range(64)]
    return {"z": out}


def check(name: str, directory: pathlib.Path) -> None:
    for output, values in expected(name).items():
        found = dl16_values((directory / f"{output}.bin").read_bytes())
        if found != values:
            wrong = next(i for i, (a, b) in enumerate(zip(found, values)) if a != b)
            sys.exit(f"{output}[{wrong}] is {found[wrong]}, expected {values[wrong]}")


if __name__ == "__main__":
    {"make": make, "check": check}[sys.argv[1]](sys.argv[2], pathlib.Path(sys.argv[3]))
