//===- Functions.cpp - transcendental functions of the vector unit --------------------------===//
//
// e^x = 2^k * e^r with k = round(x / ln 2) and |r| <= ln 2 / 2. All in double, where the polynomial
// and the few roundings lose less than 2^-33, then one rounding to float: the result is the nearest
// float except when the true value lies within 2^-33 of a midpoint. No branch and no integer
// conversion, so that the loop vectorises; scalar and array form share the source.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Numerics/Functions.h"

#include "spyre/Base/TargetClones.h"

namespace spyre::numerics {

static inline float expOf(float x) {
  constexpr double kLog2E = 0x1.71547652b82fep+0;
  // ln 2 in two parts; the high one has 21 trailing zero bits, so k * kLn2High is exact.
  constexpr double kLn2High = 0x1.62e42feep-1;
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  // Adding and subtracting this rounds to an integer, which then stands in the low bits.
  constexpr double kRounder = 0x1.8p52;
  // Beyond these the float result is certainly 0 or infinity, while 2^k is still a normal double.
  constexpr double kLow = -110, kHigh = 90;

  double value = x;
  value = value < kLow ? kLow : value;
  value = value > kHigh ? kHigh : value;
  double shifted = value * kLog2E + kRounder;
  double k = shifted - kRounder;
  double r = (value - k * kLn2High) - k * kLn2Low;
  double p = 1.0 / 3628800;
  p = p * r + 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  uint64_t scaleBits = (std::bit_cast<uint64_t>(shifted) + 1023) << 52;
  auto result = static_cast<float>(p * std::bit_cast<double>(scaleBits));
  return x != x ? std::numeric_limits<float>::quiet_NaN() : result;
}

float expF32(float x) { return expOf(x); }

SPYRE_TARGET_CLONES
void expF32(const float *in, float *out, int64_t count) {
  // in == out is allowed: element i depends on element i only.
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
  for (int64_t i = 0; i < count; ++i) {
    out[i] = expOf(in[i]);
  }
}

} // namespace spyre::numerics
