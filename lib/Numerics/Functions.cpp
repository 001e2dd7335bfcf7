//===- Functions.cpp - elementary functions of the vector unit ------------------------------===//
//
// All in double, where the polynomials and the few roundings lose less than 2^-38, then one
// rounding to float: the result is the nearest float except when the true value lies that close to
// a midpoint. No branch and no integer conversion, so that the loops vectorise; scalar and array
// form share the source, and so the bits.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Numerics/Functions.h"

#include "spyre/Base/TargetClones.h"

#include "DoubleCores.h"

namespace spyre::numerics {

using namespace detail;

static inline float expOf(float x) {
  // Beyond these the float result is certainly 0 or infinity.
  return canonicalNan(static_cast<float>(expCore(clampTo(x, -110, 90))));
}

static inline float logOf(float x) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  auto result = static_cast<float>(logCore(x));
  result = x < kInfinity ? result : x;
  result = x < 0 ? std::numeric_limits<float>::quiet_NaN() : result;
  return canonicalNan(x == 0 ? -kInfinity : result);
}

static inline float sqrtOf(float x) { return canonicalNan(__builtin_sqrtf(x)); }

static inline float rsqrtOf(float x) {
  return canonicalNan(static_cast<float>(1.0 / __builtin_sqrt(double(x))));
}

static inline float reciprocalOf(float x) { return canonicalNan(1.0f / x); }

static inline float tanhOf(float x) {
  double a = clampTo(__builtin_fabs(double(x)), 0, 20);
  double t = expCore(2 * a);
  double large = (t - 1) / (t + 1);
  // Taylor, where t - 1 would cancel.
  double small =
      a * horner(a * a, 6404582.0 / 10854718875, -929569.0 / 638512875, 21844.0 / 6081075,
                 -1382.0 / 155925, 62.0 / 2835, -17.0 / 315, 2.0 / 15, -1.0 / 3, 1.0);
  double result = a < 0.25 ? small : large;
  return canonicalNan(static_cast<float>(__builtin_copysign(result, double(x))));
}

static inline float sigmoidOf(float x) {
  return canonicalNan(static_cast<float>(1.0 / (1.0 + expCore(clampTo(-double(x), -110, 110)))));
}

static inline float siluOf(float x) {
  // The clamp makes -infinity give the limit, -0, and not -infinity * 0.
  double value = x < -kExpLimit ? -kExpLimit : double(x);
  double power = expCore(clampTo(-value, -kExpLimit, kExpLimit));
  return canonicalNan(static_cast<float>(value / (1.0 + power)));
}

static inline float erfOf(float x) {
  constexpr double kTwoOverSqrtPi = 0x1.20dd750429b6dp+0;
  double a = clampTo(__builtin_fabs(double(x)), 0, 6);
  double square = a * a;
  double large = 1 - erfcCore(a, square);
  // Taylor, where the subtraction from 1 would cancel.
  double small = a * kTwoOverSqrtPi *
                 horner(square, -1.0 / 6894720, 1.0 / 685440, -1.0 / 75600, 1.0 / 9360, -1.0 / 1320,
                        1.0 / 216, -1.0 / 42, 1.0 / 10, -1.0 / 3, 1.0);
  double result = a < 0.5 ? small : large;
  return canonicalNan(static_cast<float>(__builtin_copysign(result, double(x))));
}

static inline float geluOf(float x) {
  constexpr double kSqrtHalf = 0x1.6a09e667f3bcdp-1;
  // As in siluOf; the square of 37 / sqrt(2) is still a legal exponent.
  double value = x < -37.0f ? -37.0 : double(x);
  double a = clampTo(__builtin_fabs(value), 0, 37);
  double tail = erfcCore(a * kSqrtHalf, a * a * 0.5);
  return canonicalNan(static_cast<float>(0.5 * value * (x < 0 ? tail : 2 - tail)));
}

static inline float softplusOf(float x, float beta, float threshold) {
  // The product of two floats is exact in double.
  double z = double(x) * double(beta);
  double power = expCore(clampTo(-__builtin_fabs(z), -kExpLimit, 0));
  double positive = z < 0 ? 0.0 : z;
  auto result = static_cast<float>((positive + log1pCore(power)) / double(beta));
  return canonicalNan(z > double(threshold) ? x : result);
}

static inline float mishOf(float x) {
  // As in siluOf. tanh(ln(1 + t)) is n / (n + 2) with n = t (t + 2); from 40 on it is 1 in double.
  double value = x < -kExpLimit ? -kExpLimit : double(x);
  double t = expCore(clampTo(value, -kExpLimit, 40));
  double n = t * (t + 2);
  return canonicalNan(static_cast<float>(value * (n / (n + 2))));
}

/// in == out is allowed: element i depends on element i only.
template <typename Function>
static inline __attribute__((always_inline)) void forEach(const float *in, float *out,
                                                          int64_t count, Function function) {
  SPYRE_INDEPENDENT_LOOP
  for (int64_t i = 0; i < count; ++i) {
    out[i] = function(in[i]);
  }
}

float expF32(float x) { return expOf(x); }
float logF32(float x) { return logOf(x); }
float sqrtF32(float x) { return sqrtOf(x); }
float rsqrtF32(float x) { return rsqrtOf(x); }
float reciprocalF32(float x) { return reciprocalOf(x); }
float tanhF32(float x) { return tanhOf(x); }
float sigmoidF32(float x) { return sigmoidOf(x); }
float siluF32(float x) { return siluOf(x); }
float erfF32(float x) { return erfOf(x); }
float geluF32(float x) { return geluOf(x); }
float softplusF32(float x, float beta, float threshold) { return softplusOf(x, beta, threshold); }
float mishF32(float x) { return mishOf(x); }

SPYRE_TARGET_CLONES
void expF32(const float *in, float *out, int64_t count) { forEach(in, out, count, expOf); }
SPYRE_TARGET_CLONES
void logF32(const float *in, float *out, int64_t count) { forEach(in, out, count, logOf); }
SPYRE_TARGET_CLONES
void sqrtF32(const float *in, float *out, int64_t count) { forEach(in, out, count, sqrtOf); }
SPYRE_TARGET_CLONES
void rsqrtF32(const float *in, float *out, int64_t count) { forEach(in, out, count, rsqrtOf); }
SPYRE_TARGET_CLONES
void reciprocalF32(const float *in, float *out, int64_t count) {
  forEach(in, out, count, reciprocalOf);
}
SPYRE_TARGET_CLONES
void tanhF32(const float *in, float *out, int64_t count) { forEach(in, out, count, tanhOf); }
SPYRE_TARGET_CLONES
void sigmoidF32(const float *in, float *out, int64_t count) { forEach(in, out, count, sigmoidOf); }
SPYRE_TARGET_CLONES
void siluF32(const float *in, float *out, int64_t count) { forEach(in, out, count, siluOf); }
SPYRE_TARGET_CLONES
void erfF32(const float *in, float *out, int64_t count) { forEach(in, out, count, erfOf); }
SPYRE_TARGET_CLONES
void geluF32(const float *in, float *out, int64_t count) { forEach(in, out, count, geluOf); }
SPYRE_TARGET_CLONES
void softplusF32(const float *in, float *out, int64_t count, float beta, float threshold) {
  forEach(in, out, count, [=](float x) { return softplusOf(x, beta, threshold); });
}
SPYRE_TARGET_CLONES
void softplusF32(const float *x, const float *beta, const float *threshold, float *out,
                 int64_t count) {
  SPYRE_INDEPENDENT_LOOP
  for (int64_t i = 0; i < count; ++i) {
    out[i] = softplusOf(x[i], beta[i], threshold[i]);
  }
}
SPYRE_TARGET_CLONES
void mishF32(const float *in, float *out, int64_t count) { forEach(in, out, count, mishOf); }

} // namespace spyre::numerics
