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

// Each function has a scalar form and an array form with the same bits for \p count elements,
// vectorised. in == out is allowed, partial overlap is not. A NaN result is the one quiet NaN.

/// e^x; overflow gives +infinity (which saturates when stored), underflow gives 0 or a subnormal.
float expF32(float x);
void expF32(const float *in, float *out, int64_t count);

/// Natural logarithm; -infinity at both zeros, NaN below.
float logF32(float x);
void logF32(const float *in, float *out, int64_t count);

/// IEEE square root; -0 stays -0, NaN below.
float sqrtF32(float x);
void sqrtF32(const float *in, float *out, int64_t count);

/// 1 / sqrt(x); infinity with the sign of x at both zeros, NaN below, 0 at +infinity.
float rsqrtF32(float x);
void rsqrtF32(const float *in, float *out, int64_t count);

/// IEEE 1 / x; zeros and infinities keep their sign.
float reciprocalF32(float x);
void reciprocalF32(const float *in, float *out, int64_t count);

/// Odd functions, 1 and -1 at the infinities; zeros keep their sign.
float tanhF32(float x);
void tanhF32(const float *in, float *out, int64_t count);
float erfF32(float x);
void erfF32(const float *in, float *out, int64_t count);

/// For every argument, however large; NaN at the infinities. sin keeps the sign of zero.
float sinF32(float x);
void sinF32(const float *in, float *out, int64_t count);
float cosF32(float x);
void cosF32(const float *in, float *out, int64_t count);

/// 1 / (1 + e^-x); 0 and 1 at the infinities.
float sigmoidF32(float x);
void sigmoidF32(const float *in, float *out, int64_t count);

/// x / (1 + e^-x), and x (1 + erf(x / sqrt 2)) / 2. The limits at the infinities: -0 and +infinity.
float siluF32(float x);
void siluF32(const float *in, float *out, int64_t count);
float geluF32(float x);
void geluF32(const float *in, float *out, int64_t count);

/// ln(1 + e^(beta x)) / beta, and x itself where beta x is above \p threshold. beta 0 gives
/// infinity, as the division does.
float softplusF32(float x, float beta, float threshold);
void softplusF32(const float *in, float *out, int64_t count, float beta, float threshold);

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
