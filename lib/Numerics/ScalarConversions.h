//===- ScalarConversions.h - number formats bit by bit, without branches --------------------===//
//
// Each function is one straight line of integer operations and selections, so that the same source
// serves the scalar interface and the vectorised loops of BulkConversions.cpp: they cannot differ.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include <bit>
#include <cstdint>

namespace spyre::numerics::detail {

/// Adds to a float's exponent field turn bias 31 into bias 127, as DLFloat16 fraction units.
constexpr uint32_t kDl16Rebias = 96u << 23;
constexpr uint32_t kDl16Largest = 0x7FFE;
constexpr uint32_t kDl16Nan = 0x7FFF;
/// The largest patterns that read back finite: 65,472 as float16, 8,556,380,160 as bfloat16. The
/// next numbers round to 2^16 and to 2^33, which are infinity there (docs/adr/0083).
constexpr uint32_t kDl16LargestHalf = 0x5DFF;
constexpr uint32_t kDl16LargestBfloat16 = 0x7FFC;
constexpr uint32_t kFloatInfinity = 0x7F800000;
constexpr uint32_t kFloatQuietNan = 0x7FC00000;

/// Works on the magnitude: adding half a unit of the last kept place rounds ties away from zero,
/// and a carry out of the fraction enters the exponent by itself. The difference is negative below
/// 2^-31, where the result is zero. [spec: device-and-layouts 2.4]
inline uint16_t dl16FromFloat(float value) {
  constexpr int32_t kHalfUnit = 0x2000, kUnitBits = 14;
  constexpr int32_t kEnd = int32_t(kDl16Nan << kUnitBits);
  int32_t bits = std::bit_cast<int32_t>(value);
  int32_t magnitude = bits & 0x7FFFFFFF;
  int32_t scaled = magnitude - (int32_t(kDl16Rebias) - kHalfUnit);
  scaled = scaled > 0 ? scaled : 0;
  scaled = scaled < kEnd - 1 ? scaled : kEnd - 1;
  scaled = magnitude > int32_t(kFloatInfinity) ? kEnd : scaled;
  return uint16_t(((bits >> 16) & 0x8000) | (scaled >> kUnitBits));
}

/// The two halves of a float. Bulk loops store them side by side: in 16-bit arithmetic a vector
/// holds twice the elements.
struct FloatHalves {
  uint16_t low, high;
};

inline FloatHalves floatHalvesFromDl16(uint16_t bits) {
  constexpr uint16_t kRebiasHigh = kDl16Rebias >> 16, kNanHigh = kFloatQuietNan >> 16;
  uint16_t magnitude = bits & 0x7FFF;
  auto high = uint16_t((magnitude >> 2) + kRebiasHigh);
  high = magnitude == 0 ? uint16_t(0) : high;
  high = magnitude == kDl16Nan ? kNanHigh : high;
  auto low = uint16_t(magnitude << 14);
  low = magnitude == kDl16Nan ? uint16_t(0) : low;
  return {low, uint16_t(high | (bits & 0x8000))};
}

inline float floatFromDl16(uint16_t bits) {
  FloatHalves halves = floatHalvesFromDl16(bits);
  return std::bit_cast<float>(uint32_t(halves.high) << 16 | halves.low);
}

/// IEEE binary16, to nearest even. Subnormal results come from one float addition that aligns the
/// last place of the half with the last place of the float.
inline uint16_t halfFromFloat(float value) {
  constexpr uint32_t kOverflow = 143u << 23; // 2^16
  constexpr uint32_t kSmallest = 113u << 23; // 2^-14, the smallest normal half
  constexpr uint32_t kAligner = 126u << 23;  // 2^-1: its last place is 2^-24
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t sign = (bits >> 16) & 0x8000u;
  uint32_t magnitude = bits & 0x7FFFFFFFu;
  uint32_t odd = (magnitude >> 13) & 1u;
  uint32_t normal = (magnitude - (112u << 23) + 0xFFFu + odd) >> 13;
  // A large magnitude must not enter the addition: its value is thrown away below.
  uint32_t small = magnitude < kSmallest ? magnitude : 0u;
  float aligned = std::bit_cast<float>(small) + std::bit_cast<float>(kAligner);
  uint32_t subnormal = std::bit_cast<uint32_t>(aligned) - kAligner;
  uint32_t result = magnitude < kSmallest ? subnormal : normal;
  result = magnitude >= kOverflow ? 0x7C00u : result;
  result = magnitude > kFloatInfinity ? 0x7E00u : result;
  return uint16_t(sign | result);
}

inline float floatFromHalf(uint16_t bits) {
  constexpr uint32_t kAligner = 113u << 23; // 2^-14
  uint32_t sign = uint32_t(bits & 0x8000u) << 16;
  uint32_t magnitude = bits & 0x7FFFu;
  uint32_t normal = (magnitude << 13) + (112u << 23);
  // A subnormal fraction with the exponent of 2^-14 is 2^-14 too large.
  uint32_t fraction = magnitude < 0x400u ? magnitude : 0u;
  float aligned = std::bit_cast<float>((fraction << 13) + kAligner);
  uint32_t subnormal = std::bit_cast<uint32_t>(aligned - std::bit_cast<float>(kAligner));
  uint32_t result = magnitude < 0x400u ? subnormal : normal;
  result = magnitude >= 0x7C00u ? normal + (112u << 23) : result;
  result = magnitude > 0x7C00u ? result | kFloatQuietNan : result;
  return std::bit_cast<float>(sign | result);
}

/// To nearest even; a carry out of the fraction enters the exponent and ends at infinity.
inline uint16_t bfloat16FromFloat(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t rounded = (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
  uint32_t nan = ((bits >> 16) & 0x8000u) | 0x7FC0u;
  return uint16_t((bits & 0x7FFFFFFFu) > kFloatInfinity ? nan : rounded);
}

inline float floatFromBfloat16(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

// Between the formats of two bytes, in 16-bit arithmetic: a vector holds twice the elements it
// would hold as float. Each gives the bits of the way through float.

/// A subnormal half is a normal DLFloat16: it needs the way through float.
inline bool isSubnormalHalf(uint16_t bits) { return uint16_t((bits & 0x7FFF) - 1) < 0x3FF; }

/// For all but subnormal halves. One fraction bit less; ties go away from zero, but a finite half
/// stays finite.
inline uint16_t dl16FromNormalHalf(uint16_t bits) {
  constexpr int16_t kInfinity = 0x7C00, kRebias = 16 << 9;
  auto magnitude = int16_t(bits & 0x7FFF);
  auto result = int16_t(((magnitude + 1) >> 1) + kRebias);
  result = result > int16_t(kDl16LargestHalf) ? int16_t(kDl16LargestHalf) : result;
  result = magnitude == 0 ? int16_t(0) : result;
  result = magnitude >= kInfinity ? int16_t(kDl16Largest) : result;
  result = magnitude > kInfinity ? int16_t(kDl16Nan) : result;
  return uint16_t((bits & 0x8000) | uint16_t(result));
}

/// Below 2^-14 and not zero: a subnormal half or nothing.
inline bool isBelowNormalHalf(uint16_t bits) {
  return uint16_t((bits & 0x7FFF) - 1) < (17 << 9) - 1;
}

/// For all but those: exact.
inline uint16_t normalHalfFromDl16(uint16_t bits) {
  constexpr int16_t kOverflow = 47 << 9, kRebias = 16 << 9;
  auto magnitude = int16_t(bits & 0x7FFF);
  auto result = int16_t((magnitude - kRebias) << 1);
  result = magnitude == 0 ? int16_t(0) : result;
  result = magnitude >= kOverflow ? int16_t(0x7C00) : result;
  result = magnitude == int16_t(kDl16Nan) ? int16_t(0x7E00) : result;
  return uint16_t((bits & 0x8000) | uint16_t(result));
}

/// Exact in the range of DLFloat16; a finite number beyond it stays finite.
inline uint16_t dl16FromBfloat16(uint16_t bits) {
  constexpr int16_t kInfinity = 0x7F80, kRebias = 96 << 7;
  auto magnitude = int16_t(bits & 0x7FFF);
  auto offset = int16_t(magnitude - kRebias);
  int16_t result = offset < 0 ? int16_t(0) : int16_t(offset << 2);
  result = offset > 0x1FFF ? int16_t(kDl16LargestBfloat16) : result;
  result = magnitude >= kInfinity ? int16_t(kDl16Largest) : result;
  result = magnitude > kInfinity ? int16_t(kDl16Nan) : result;
  return uint16_t((bits & 0x8000) | uint16_t(result));
}

/// Two fraction bits less, to nearest even. The largest number would become 2^33 and is infinity.
inline uint16_t bfloat16FromDl16(uint16_t bits) {
  constexpr int16_t kRebias = 96 << 7;
  uint16_t magnitude = bits & 0x7FFF;
  auto rounded = int16_t(uint16_t(magnitude + 1 + ((magnitude >> 2) & 1)) >> 2);
  int16_t result = magnitude == 0 ? int16_t(0) : int16_t(rounded + kRebias);
  result = magnitude == kDl16Largest ? int16_t(0x7F80) : result;
  result = magnitude == kDl16Nan ? int16_t(0x7FC0) : result;
  return uint16_t((bits & 0x8000) | uint16_t(result));
}

/// The value rounds to a finite number of the type. False for NaN.
inline bool isFiniteHalf(float value) { return value > -0x1.ffep15f && value < 0x1.ffep15f; }
inline bool isFiniteBfloat16(float value) { return value > -0x1.ffp127f && value < 0x1.ffp127f; }

/// The pattern, or \p largest with its sign where the pattern is beyond.
inline uint16_t dl16AtMost(float value, uint32_t largest) {
  const uint32_t bits = dl16FromFloat(value), magnitude = bits & 0x7FFF;
  return uint16_t((bits & 0x8000) | (magnitude < largest ? magnitude : largest));
}

/// The DLFloat16 of a float16 or bfloat16 element with this value: what rounds to a finite number
/// of the type stays finite.
inline uint16_t dl16OfHalf(float value) {
  return dl16AtMost(value, isFiniteHalf(value) ? kDl16LargestHalf : kDl16Nan);
}
inline uint16_t dl16OfBfloat16(float value) {
  return dl16AtMost(value, isFiniteBfloat16(value) ? kDl16LargestBfloat16 : kDl16Nan);
}

/// float8_e4m3fn: bias 7, 3 fraction bits, no infinity. To nearest even; overflow and infinity
/// saturate to 448. [spec: device-and-layouts 2.5]
inline uint8_t e4m3fnFromFloat(float value) {
  constexpr uint32_t kSmallest = 121u << 23; // 2^-6, the smallest normal number
  constexpr uint32_t kAligner = 141u << 23;  // 2^14: its last place is 2^-9
  constexpr uint32_t kLargest = 0x7E, kNan = 0x7F;
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t sign = (bits >> 24) & 0x80u;
  uint32_t magnitude = bits & 0x7FFFFFFFu;
  uint32_t odd = (magnitude >> 20) & 1u;
  uint32_t normal = (magnitude - (120u << 23) + 0x7FFFFu + odd) >> 20;
  normal = normal > kLargest ? kLargest : normal;
  uint32_t small = magnitude < kSmallest ? magnitude : 0u;
  float aligned = std::bit_cast<float>(small) + std::bit_cast<float>(kAligner);
  uint32_t subnormal = std::bit_cast<uint32_t>(aligned) - kAligner;
  uint32_t result = magnitude < kSmallest ? subnormal : normal;
  result = magnitude > kFloatInfinity ? kNan : result;
  return uint8_t(sign | result);
}

inline float floatFromE4m3fn(uint8_t bits) {
  uint32_t sign = uint32_t(bits & 0x80u) << 24;
  uint32_t magnitude = bits & 0x7Fu;
  uint32_t normal = (magnitude << 20) + (120u << 23);
  uint32_t subnormal = std::bit_cast<uint32_t>(float(int32_t(magnitude)) * 0x1p-9f);
  uint32_t result = magnitude < 8 ? subnormal : normal;
  result = magnitude == 0x7Fu ? kFloatQuietNan : result;
  return std::bit_cast<float>(sign | result);
}

/// float8_e5m2fnuz: bias 16, 2 fraction bits, no infinity, no negative zero: that pattern is the
/// NaN. To nearest even; overflow and infinity saturate to 57344. [spec: device-and-layouts 2.5]
inline uint8_t e5m2fnuzFromFloat(float value) {
  constexpr uint32_t kSmallest = 112u << 23; // 2^-15, the smallest normal number
  constexpr uint32_t kAligner = 133u << 23;  // 2^6: its last place is 2^-17
  constexpr uint32_t kLargest = 0x7F, kNan = 0x80;
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t sign = (bits >> 24) & 0x80u;
  uint32_t magnitude = bits & 0x7FFFFFFFu;
  uint32_t odd = (magnitude >> 21) & 1u;
  uint32_t normal = (magnitude - (111u << 23) + 0xFFFFFu + odd) >> 21;
  normal = normal > kLargest ? kLargest : normal;
  uint32_t small = magnitude < kSmallest ? magnitude : 0u;
  float aligned = std::bit_cast<float>(small) + std::bit_cast<float>(kAligner);
  uint32_t subnormal = std::bit_cast<uint32_t>(aligned) - kAligner;
  uint32_t result = magnitude < kSmallest ? subnormal : normal;
  result = result == 0 ? 0u : sign | result;
  return uint8_t(magnitude > kFloatInfinity ? kNan : result);
}

inline float floatFromE5m2fnuz(uint8_t bits) {
  uint32_t sign = uint32_t(bits & 0x80u) << 24;
  uint32_t magnitude = bits & 0x7Fu;
  uint32_t normal = (magnitude << 21) + (111u << 23);
  uint32_t subnormal = std::bit_cast<uint32_t>(float(int32_t(magnitude)) * 0x1p-17f);
  uint32_t result = sign | (magnitude < 4 ? subnormal : normal);
  return std::bit_cast<float>(bits == 0x80u ? kFloatQuietNan : result);
}

/// Both ends are integers that float (up to 16 bits) or double (32 bits) holds exactly.
struct IntegerRange {
  double low, high;
};
constexpr IntegerRange kInt2 = {-2, 1}, kUint2 = {0, 3}, kInt4 = {-8, 7}, kInt8 = {-128, 127};
constexpr IntegerRange kInt16 = {-32768, 32767};
constexpr IntegerRange kInt32 = {-0x1p31, 0x1p31 - 1}, kUint32 = {0, 0x1p32 - 1};

/// Nearest integer of the range, ties to even; NaN gives 0. For ranges within 16 bits. The addition
/// leaves the rounded integer in the low bits.
inline int32_t shortFromFloat(float value, IntegerRange range) {
  constexpr float kRounder = 0x1.8p23f;
  auto low = float(range.low), high = float(range.high);
  float kept = value < low ? low : value;
  kept = kept > high ? high : kept;
  kept = value == value ? kept : 0.0f;
  return std::bit_cast<int32_t>(kept + kRounder) - std::bit_cast<int32_t>(kRounder);
}

/// The same for ranges within 32 bits, signed or not.
inline uint32_t wordFromFloat(float value, IntegerRange range) {
  constexpr double kRounder = 0x1.8p52;
  double kept = value < range.low ? range.low : double(value);
  kept = kept > range.high ? range.high : kept;
  kept = value == value ? kept : 0.0;
  return uint32_t(std::bit_cast<uint64_t>(kept + kRounder));
}

/// The same for 64 bits. From 2^23 on every float is an integer.
inline int64_t longFromFloat(float value) {
  if (value >= 0x1p63f) {
    return INT64_MAX;
  }
  if (value < -0x1p63f) {
    return INT64_MIN;
  }
  if (value >= 0x1p23f || value <= -0x1p23f) {
    return static_cast<int64_t>(value);
  }
  return static_cast<int32_t>(wordFromFloat(value, kInt32));
}

} // namespace spyre::numerics::detail
