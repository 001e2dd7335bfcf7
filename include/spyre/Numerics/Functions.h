//===- Functions.h - the arithmetic of the vector and matrix units, bit for bit -------------===//
//
// One policy for simulator and evaluator (docs/numerics.md): element-wise functions work on
// fp32 and are rounded once to the device format by the caller; transcendental functions are our
// own code (no libm, no contraction), at most 1 ulp of fp32 away from the true value, the same bits
// on every host.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace spyre::numerics {

/// e^x; NaN stays NaN, overflow gives +infinity (which saturates when stored), underflow gives 0 or
/// a subnormal.
float expF32(float x);
/// The same bits for \p count elements, vectorised. in == out is allowed, partial overlap is not.
void expF32(const float *in, float *out, int64_t count);

/// NaN if either is NaN, else the larger.
inline float maxF32(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  return a > b ? a : b;
}

/// The one quiet NaN when \p value is any NaN. Hosts differ in the sign and payload an arithmetic
/// instruction gives to a NaN (and compilers may swap operands), so the results below pass here.
inline float canonicalNan(float value) {
  return value != value ? std::numeric_limits<float>::quiet_NaN() : value;
}
inline float addF32(float a, float b) { return canonicalNan(a + b); }
inline float mulF32(float a, float b) { return canonicalNan(a * b); }

/// One fused multiply-add with a single rounding.
inline float fmaF32(float a, float b, float c) { return canonicalNan(__builtin_fmaf(a, b, c)); }

} // namespace spyre::numerics
