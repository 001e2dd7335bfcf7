//===- Random.h - seeded random numbers, the same on every host -----------------------------===//
#pragma once

#include <cstdint>

namespace spyre {

/// SplitMix64. std::mt19937 is portable but the std distributions are not; these are.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next() {
    uint64_t z = (state += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  /// Uniform in [0, bound); bound > 0. The modulo bias is below 2^-32 for the bounds we use.
  uint64_t below(uint64_t bound) { return next() % bound; }
  /// Uniform in [low, high], both included.
  int64_t between(int64_t low, int64_t high) {
    return low + int64_t(below(uint64_t(high - low) + 1));
  }
  /// Uniform in [low, high).
  float uniform(float low, float high) {
    return low + (high - low) * float(next() >> 40) * 0x1p-24f;
  }

private:
  uint64_t state;
};

} // namespace spyre
