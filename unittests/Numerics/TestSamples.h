//===- TestSamples.h - how many and which floats the tests of Numerics look at --------------===//
#pragma once

#include "spyre/Base/Random.h"

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <vector>

namespace spyre::numerics {

/// SPYRE_TEST_LONG=1 in the environment asks for the samples that take minutes.
inline bool longTests() {
  const char *value = std::getenv("SPYRE_TEST_LONG");
  return value != nullptr && *value != '\0' && *value != '0';
}

/// 2^20 floats (2^24 in long tests). One half has every upper half of a pattern equally often, so
/// every sign and exponent; the other half is uniform where the function at hand is interesting.
inline std::vector<float> stratifiedFloats(float low, float high, uint64_t seed) {
  const uint32_t perUpper = longTests() ? 128 : 8;
  std::vector<float> values;
  values.reserve(size_t(perUpper) << 17);
  Random random(seed);
  for (uint32_t upper = 0; upper < 0x10000; ++upper) {
    for (uint32_t i = 0; i < perUpper; ++i) {
      values.push_back(std::bit_cast<float>(upper << 16 | uint32_t(random.below(0x10000))));
    }
  }
  for (uint32_t i = 0; i < perUpper << 16; ++i) {
    values.push_back(random.uniform(low, high));
  }
  return values;
}

/// Every upper half of a float with \p perUpper lower halves: the borders of rounding, the rest
/// random.
template <typename Check>
void forStratifiedFloats(uint32_t perUpper, const Check &check) {
  const uint32_t borders[] = {0,      1,      0x0FFF, 0x1000, 0x1001, 0x1FFF,
                              0x2000, 0x2001, 0x7FFF, 0x8000, 0x8001, 0xFFFF};
  Random random(2);
  for (uint32_t upper = 0; upper < 0x10000; ++upper) {
    for (uint32_t i = 0; i < perUpper; ++i) {
      uint32_t lower = i < std::size(borders) ? borders[i] : uint32_t(random.below(0x10000));
      check(std::bit_cast<float>(upper << 16 | lower));
    }
  }
}

} // namespace spyre::numerics
