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
constexpr uint32_t kFloatInfinity = 0x7F800000;
constexpr uint32_t kFloatQuietNan = 0x7FC00000;

/// Works on the magnitude: adding half a unit of the last kept place rounds ties away from zero,
/// and a carry out of the fraction enters the exponent by itself. [spec: device-and-layouts 2.4]
inline uint16_t dl16FromFloat(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t sign = (bits >> 16) & 0x8000u;
  uint32_t magnitude = bits & 0x7FFFFFFFu;
  uint32_t rounded = magnitude + 0x2000u;
  uint32_t result = (rounded - kDl16Rebias) >> 14;
  result = result > kDl16Largest ? kDl16Largest : result;
  // Below 2^-31 the subtraction wrapped.
  result = rounded < kDl16Rebias ? 0u : result;
  result = magnitude > kFloatInfinity ? kDl16Nan : result;
  return uint16_t(sign | result);
}

inline float floatFromDl16(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000u) << 16;
  uint32_t magnitude = bits & 0x7FFFu;
  uint32_t result = (magnitude << 14) + kDl16Rebias;
  result = magnitude == 0 ? 0u : result;
  result = magnitude == kDl16Nan ? kFloatQuietNan : result;
  return std::bit_cast<float>(sign | result);
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

} // namespace spyre::numerics::detail
