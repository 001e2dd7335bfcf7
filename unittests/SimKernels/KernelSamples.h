//===- KernelSamples.h - floats that tests of the kernels feed in ---------------------------===//
#pragma once

#include "spyre/Base/Random.h"

#include <bit>
#include <cstdint>
#include <iterator>
#include <vector>

namespace spyre::sim {

/// Zeros, subnormals, infinities, NaNs of both signs with payloads, and values where rounding,
/// clamping and comparison change.
inline constexpr uint32_t kSpecialBits[] = {
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x00800000, 0x80800000, 0x3F800000,
    0xBF800000, 0x3F000000, 0xBF000000, 0x40C00000, 0x40C00001, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000,
    0xFF800000, 0x7FC00000, 0xFFC00000, 0x7F800001, 0xFF812345, 0x4B000000, 0xCB000001, 0xBEAAAAAB};

inline float specialFloat(uint64_t index) {
  return std::bit_cast<float>(kSpecialBits[index % std::size(kSpecialBits)]);
}

/// One of \p specialEvery floats is special, the others are moderate numbers.
inline float anyFloat(Random &random, uint64_t specialEvery) {
  if (random.below(specialEvery) == 0) {
    return specialFloat(random.next());
  }
  return random.uniform(-3, 3);
}

inline std::vector<float> anyFloats(Random &random, int64_t count, uint64_t specialEvery) {
  std::vector<float> values(size_t(count), 0.0f);
  for (float &value : values) {
    value = anyFloat(random, specialEvery);
  }
  return values;
}

} // namespace spyre::sim
