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
void softplusF32(const float *x, const float *beta, const float *threshold, float *out,
                 int64_t count);

/// x tanh(ln(1 + e^x)). The limits at the infinities: -0 and +infinity.
float mishF32(float x);
void mishF32(const float *in, float *out, int64_t count);

// The functions below are one or a few IEEE operations, without branches so that loops around them
// vectorise. The array forms are the loops of the vector unit.

/// The one quiet NaN when \p value is any NaN. Hosts differ in the sign and payload an arithmetic
/// instruction gives to a NaN (and compilers may swap operands), so the results below pass here.
inline float canonicalNan(float value) {
  return value != value ? std::numeric_limits<float>::quiet_NaN() : value;
}
inline float addF32(float a, float b) { return canonicalNan(a + b); }
inline float mulF32(float a, float b) { return canonicalNan(a * b); }

inline float subF32(float a, float b) { return canonicalNan(a - b); }
inline float divF32(float a, float b) { return canonicalNan(a / b); }

/// One fused multiply-add with a single rounding.
inline float fmaF32(float a, float b, float c) { return canonicalNan(__builtin_fmaf(a, b, c)); }

/// NaN if either is NaN, else the larger (smaller); of two zeros the second.
inline float maxF32(float a, float b) {
  float larger = a > b ? a : b;
  return __builtin_isunordered(a, b) ? std::numeric_limits<float>::quiet_NaN() : larger;
}
inline float minF32(float a, float b) {
  float smaller = a < b ? a : b;
  return __builtin_isunordered(a, b) ? std::numeric_limits<float>::quiet_NaN() : smaller;
}

inline float negF32(float x) { return canonicalNan(-x); }
inline float absF32(float x) { return canonicalNan(__builtin_fabsf(x)); }
/// Largest integer not above x; -0 stays -0.
inline float floorF32(float x) { return canonicalNan(__builtin_floorf(x)); }

/// max(x, 0), and min(max(x, 0), 6): both zeros give +0.
inline float reluF32(float x) { return maxF32(x, 0.0f); }
inline float relu6F32(float x) { return minF32(maxF32(x, 0.0f), 6.0f); }
/// x above zero, else x * slope.
inline float leakyReluF32(float x, float slope) { return canonicalNan(x > 0 ? x : x * slope); }
/// min(max(x, low), high): high where the limits cross.
inline float clipF32(float x, float low, float high) { return minF32(maxF32(x, low), high); }

/// 1 or 0. Comparisons with NaN are false, so notEqual is true.
inline float equalF32(float a, float b) { return a == b ? 1.0f : 0.0f; }
inline float notEqualF32(float a, float b) { return a != b ? 1.0f : 0.0f; }
inline float greaterEqualF32(float a, float b) { return a >= b ? 1.0f : 0.0f; }
inline float greaterF32(float a, float b) { return a > b ? 1.0f : 0.0f; }
inline float lessEqualF32(float a, float b) { return a <= b ? 1.0f : 0.0f; }
inline float lessF32(float a, float b) { return a < b ? 1.0f : 0.0f; }

/// Steps of reductions: acc + x * x with the square rounded before the sum, and max(acc, |x|).
inline float addSquareF32(float acc, float x) { return addF32(acc, mulF32(x, x)); }
inline float maxAbsF32(float acc, float x) { return maxF32(acc, absF32(x)); }

/// meanOfSquares - mean * mean + eps from the left, every step rounded to float. The pair was
/// rounded before: the difference of nearly equal elements may come out below zero, where no
/// variance is.
inline float layerNormVarianceF32(float mean, float meanOfSquares, float eps) {
  return addF32(maxF32(subF32(meanOfSquares, mulF32(mean, mean)), 0.0f), eps);
}
inline float layerNormScaleF32(float mean, float meanOfSquares, float eps) {
  return rsqrtF32(layerNormVarianceF32(mean, meanOfSquares, eps));
}
/// (x - mean) * scale * weight + bias from the left, every step rounded to float.
inline float layerNormNormF32(float x, float mean, float scale, float weight, float bias) {
  return addF32(mulF32(mulF32(subF32(x, mean), scale), weight), bias);
}

} // namespace spyre::numerics
