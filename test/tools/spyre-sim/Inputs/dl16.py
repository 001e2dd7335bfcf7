"""Numbers of the device as bytes, with the standard library only."""
import math
import struct


def encode_dl16(value: float) -> int:
    """Sign, 6 exponent bits (bias 31), 9 fraction bits; ties away from zero. For numbers in the normal range."""
    sign = 0x8000 if math.copysign(1, value) < 0 else 0
    if value == 0:
        return sign
    mantissa, exponent = math.frexp(abs(value))
    fraction = math.floor(mantissa * 1024 + 0.5)
    if fraction == 1024:
        fraction, exponent = 512, exponent + 1
    biased = exponent - 1 + 31
    if not 0 < biased < 63:
        raise ValueError(f"{value} is outside the normal range")
    return sign | biased << 9 | fraction - 512


def decode_dl16(bits: int) -> float:
    magnitude = bits & 0x7FFF
    if magnitude == 0x7FFF:
        return math.nan
    value = 0.0 if magnitude == 0 else math.ldexp(512 + (magnitude & 511), (magnitude >> 9) - 31 - 9)
    return -value if bits & 0x8000 else value


def round_dl16(value: float) -> float:
    return decode_dl16(encode_dl16(value))


def dl16_bytes(values) -> bytes:
    codes = [encode_dl16(value) for value in values]
    return struct.pack(f"<{len(codes)}H", *codes)


def dl16_values(data: bytes) -> list[float]:
    return [decode_dl16(bits) for bits in struct.unpack(f"<{len(data) // 2}H", data)]


def int32_bytes(values) -> bytes:
    return struct.pack(f"<{len(values)}i", *values)


def int32_values(data: bytes) -> list[int]:
    return list(struct.unpack(f"<{len(data) // 4}i", data))


def fp32_values(data: bytes) -> list[float]:
    return list(struct.unpack(f"<{len(data) // 4}f", data))


def round_fp32(value: float) -> float:
    return struct.unpack("<f", struct.pack("<f", value))[0]
