"""How far a device result may be from the CPU's, by format and operation, and what the device does in numpy.

The numbers and the formula are in test/tolerances.json, which the C++ tests read too. DLFloat16 (the
device's fp16) has 9 fraction bits, so one unit in the last place is 2^-9 of the value's binade and
rounding to nearest costs at most half of it: 2^-10 relative. Every operation rounds its result once.
Inputs from IEEE fp16 (10 fraction bits) are rounded once more.
"""

import json
import math
import pathlib

import numpy as np

TABLE = json.loads(
    (pathlib.Path(__file__).resolve().parents[2] / "test" / "tolerances.json").read_text()
)
FP32_ULP = 2.0**-23
DL16_MAX = 8573157376.0


def rounding(dtype_name):
    """Relative error of one rounding to the device format of a dtype."""
    return sum(2.0 ** -(bits + 1) for bits in TABLE["formats"][dtype_name]["fractionBits"])


def host_rounding(dtype_name):
    """What values lose on their way through the host's fp16; those of 32 bits travel as they are."""
    bits = TABLE["formats"][dtype_name].get("hostFractionBits")
    return 0.0 if bits is None else 2.0 ** -(bits + 1)


def tolerance(operation, dtype, terms=1):
    """Relative; operations that sum are relative to the sum of magnitudes, as the result may cancel.

    `terms` counts what is summed, or for "chain" the roundings on the way (a factor that enters
    squared twice).
    """
    entry = TABLE["operations"][operation]
    name_of_type = str(dtype).replace("torch.", "")

    def coefficient(name):
        return entry.get(name, 0) + entry.get(name + "PerTerm", 0) * terms

    return (
        entry.get("fixed", 0)
        + coefficient("roundings") * rounding(name_of_type)
        + coefficient("ulpsFp32") * FP32_ULP
        + host_rounding(name_of_type)
    )


def dl16(values):
    """float32 -> nearest DLFloat16 (ties away from zero, overflow saturates), as float32."""
    x = np.asarray(values, dtype=np.float32)
    bits = x.view(np.uint32)
    sign, magnitude = bits & 0x80000000, bits & 0x7FFFFFFF
    rounded = (magnitude.astype(np.uint64) + (1 << 13)) & ~np.uint64((1 << 14) - 1)
    result = rounded.astype(np.uint32).view(np.float32)
    result = np.where(result > DL16_MAX, np.float32(DL16_MAX), result)
    smallest = np.float32(2.0**-31)
    result = np.where(result <= smallest, np.float32(0), result)
    result = np.where(np.isnan(x), np.float32(np.nan), result)
    return np.asarray(result.view(np.uint32) | sign).view(np.float32)


def dl16_bits(values):
    """The 16-bit patterns of dl16(values), ordered so that neighbours differ by one."""
    x = dl16(values)
    bits = x.view(np.uint32)
    exponent = ((bits >> 23) & 0xFF).astype(np.int64) - 127 + 31
    fraction = ((bits >> 14) & 0x1FF).astype(np.int64)
    magnitude = np.where(x == 0, 0, (exponent << 9) | fraction)
    return np.where(np.signbit(x), -magnitude, magnitude)


def ulp_distance(a, b):
    """Largest distance of two arrays in steps of DLFloat16."""
    return int(np.max(np.abs(dl16_bits(a) - dl16_bits(b)))) if np.size(a) else 0


def matmul_fp32(a, b):
    """float32 accumulator per output, one fused multiply-add per step, k ascending.

    The product of two float32 values that came from DLFloat16 is exact in float64, and so is its
    sum with a float32 but for the last bits; rounding that to float32 is the fused operation but
    for ties.
    """
    a64, b64 = a.astype(np.float64), b.astype(np.float64)
    total = np.zeros((*a.shape[:-1], b.shape[-1]), dtype=np.float32)
    for k in range(a.shape[-1]):
        total = (total.astype(np.float64) + a64[..., k : k + 1] * b64[..., k : k + 1, :]).astype(
            np.float32
        )
    return total


def sum_ascending(x, axis):
    """float32 sum over one axis, first to last."""
    total = np.zeros(np.delete(np.array(x.shape), axis), dtype=np.float32)
    for i in range(x.shape[axis]):
        total = (total + np.take(x, i, axis=axis)).astype(np.float32)
    return total


def exp_fp32(x):
    """e^x within 1 ulp of float32."""
    return np.exp(x.astype(np.float64)).astype(np.float32)


def relative_error(result, reference):
    """Largest difference over the largest magnitude of the reference."""
    scale = float(np.max(np.abs(reference))) if np.size(reference) else 0.0
    if scale == 0.0:
        return float(np.max(np.abs(result))) if np.size(result) else 0.0
    difference = float(
        np.max(np.abs(np.asarray(result, np.float64) - np.asarray(reference, np.float64)))
    )
    return difference / scale if math.isfinite(difference) else math.inf
