"""Inputs of the programs in examples/programs, and what they must compute.

    examples.py make NAME DIR    writes the input files into DIR
    examples.py check NAME DIR   compares the output files in DIR with a computation of its own

Most results are small numbers that no rounding changes, so they are compared exactly.
"""
import math
import pathlib
import random
import sys

from dl16 import dl16_bytes, dl16_values, fp32_values, int32_bytes, int32_values, round_dl16, round_fp32

LANES = 64
ENCODE = {"dl16": dl16_bytes, "int32": int32_bytes}
DECODE = {"dl16": dl16_values, "int32": int32_values, "fp32": fp32_values}


def numbers(seed: int, count: int, low: int = -64, high: int = 64) -> list[float]:
    source = random.Random(seed)
    return [source.randrange(low, high) / 4 for _ in range(count)]


class Example:
    """inputs() and expected() give file name -> values; `formats` names the files that are not dl16."""

    formats: dict[str, str] = {}

    def inputs(self) -> dict[str, list]:
        raise NotImplementedError

    def expected(self) -> dict[str, list]:
        raise NotImplementedError

    def tolerance(self, value: float) -> float:
        return 0.0


class Add(Example):
    def inputs(self):
        return {"x": numbers(1, 1024), "y": numbers(2, 1024)}

    def expected(self):
        given = self.inputs()
        return {"z": [x + y for x, y in zip(given["x"], given["y"])]}


class DoubleBuffer(Example):
    def inputs(self):
        return {"x": [value / 16 for value in numbers(3, 16384)]}

    def expected(self):
        return {"y": [math.exp(x) for x in self.inputs()["x"]]}

    def tolerance(self, value):
        return abs(value) * 2**-10


class Restickify(Example):
    def inputs(self):
        return {"x": numbers(4, LANES * LANES)}

    def expected(self):
        x = self.inputs()["x"]
        return {"y": [x[row * LANES + column] for column in range(LANES) for row in range(LANES)]}


class KSplitMatmul(Example):
    def inputs(self):
        return {"a": numbers(5, 8 * 128, -8, 8), "b": numbers(6, 128 * LANES, -8, 8)}

    def expected(self):
        a, b = self.inputs()["a"], self.inputs()["b"]
        product = [sum(a[m * 128 + k] * b[k * LANES + n] for k in range(128)) for m in range(8) for n in range(LANES)]
        # Sums of multiples of 1/16 are exact in fp32; what is left is the one rounding of the result.
        return {"c": [round_dl16(value) for value in product]}


class Gather(Example):
    formats = {"index": "int32"}
    INDEX = [3, 15, 0, 3, 8, 1, 14, 7]

    def inputs(self):
        return {"table": numbers(7, 16 * 128), "index": self.INDEX}

    def expected(self):
        table = self.inputs()["table"]
        return {"y": [value for row in self.INDEX for value in table[row * 128 : row * 128 + 128]]}


class RingPermute(Example):
    def inputs(self):
        return {"x": numbers(8, 4 * 128)}

    def expected(self):
        x = self.inputs()["x"]
        return {"y": x[3 * 128 :] + x[: 3 * 128]}


class Multicast(Example):
    def inputs(self):
        return {"x": numbers(9, 4 * 256, -16, 16), "w": numbers(10, 256, -16, 16)}

    def expected(self):
        given = self.inputs()
        return {"y": [x * given["w"][i % 256] for i, x in enumerate(given["x"])]}


class SoftmaxRow(Example):
    """Rows of 128 lanes; 28 of them are padding with large numbers that must not count."""

    def inputs(self):
        x = []
        for row in range(4):
            x += [value / 16 for value in numbers(11 + row, 100)] + [1000.0] * 28
        return {"x": x}

    def expected(self):
        x = self.inputs()["x"]
        result = {}
        for row in range(4):
            values = x[row * 128 : row * 128 + 100]
            parts = [math.exp(value - max(values)) for value in values]
            result[f"y{row}"] = [part / sum(parts) for part in parts]
        return result

    def tolerance(self, value):
        # Four roundings to 10 bits: exp, sum, reciprocal, product. One lane too many or too few is 1 %.
        return abs(value) * 4 * 2**-10


class TopK(Example):
    formats = {"numbers": "int32"}

    def inputs(self):
        return {"x": numbers(15, 8 * LANES, -4, 4)}

    def ranking(self) -> list[list[int]]:
        """Per lane the rows, the largest first; of equal ones the earlier (sorting is stable)."""
        x = self.inputs()["x"]
        return [sorted(range(8), key=lambda row: -x[row * LANES + lane]) for lane in range(LANES)]

    def expected(self):
        x, ranking = self.inputs()["x"], self.ranking()
        places = [(place, lane) for place in range(2) for lane in range(LANES)]
        return {
            "values": [x[ranking[lane][place] * LANES + lane] for place, lane in places],
            "numbers": [ranking[lane][place] for place, lane in places],
        }


class Convert(Example):
    """The wide sticks are looked at too: a wrong order of lanes would cancel out on the way back."""

    formats = {"wide": "fp32"}

    def inputs(self):
        return {"x": numbers(16, 128)}

    def expected(self):
        x = self.inputs()["x"]
        lanes = x[0:64:2] + x[1:64:2] + x[64:128:2] + x[65:128:2]
        return {"y": x, "wide": [round_fp32(round_fp32(value * round_fp32(1 / 3)) * 3) for value in lanes]}


class Symbols(Example):
    def inputs(self):
        return {"x": numbers(17, 128, 1, 64)}

    def expected(self):
        return {"y": [-x for x in self.inputs()["x"]]}


EXAMPLES = {
    "add": Add(),
    "convert": Convert(),
    "double-buffer": DoubleBuffer(),
    "gather": Gather(),
    "ksplit-matmul": KSplitMatmul(),
    "multicast": Multicast(),
    "restickify": Restickify(),
    "ring-permute": RingPermute(),
    "softmax-row": SoftmaxRow(),
    "symbols": Symbols(),
    "topk": TopK(),
}


def make(example: Example, directory: pathlib.Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for name, values in example.inputs().items():
        (directory / f"{name}.bin").write_bytes(ENCODE[example.formats.get(name, "dl16")](values))


def check(example: Example, directory: pathlib.Path) -> None:
    for name, wanted in example.expected().items():
        data = (directory / f"{name}.bin").read_bytes()
        found = DECODE[example.formats.get(name, "dl16")](data)
        if len(found) != len(wanted):
            sys.exit(f"{name}: {len(found)} values, expected {len(wanted)}")
        for i, (value, want) in enumerate(zip(found, wanted)):
            if not abs(value - want) <= example.tolerance(want):
                sys.exit(f"{name}[{i}] is {value}, expected {want}")
        # A result that is left over from an earlier run proves nothing.
        (directory / f"{name}.bin").unlink()


if __name__ == "__main__":
    {"make": make, "check": check}[sys.argv[1]](EXAMPLES[sys.argv[2]], pathlib.Path(sys.argv[3]))
