//===- Kernels.cpp - arithmetic loops, vectorised by the compiler ---------------------------===//
#include "Kernels.h"

#include "spyre/Base/TargetClones.h"
#include "spyre/Numerics/Functions.h"

#include "Lx.h"

namespace spyre::sim {

SPYRE_TARGET_CLONES
void addLanes(const float *__restrict a, const float *__restrict b, float *__restrict out,
              int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    out[i] = numerics::addF32(a[i], b[i]);
  }
}

SPYRE_TARGET_CLONES
void mulLanes(const float *__restrict a, const float *__restrict b, float *__restrict out,
              int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    out[i] = numerics::mulF32(a[i], b[i]);
  }
}

SPYRE_TARGET_CLONES
void whereLanes(const float *__restrict condition, const float *__restrict a,
                const float *__restrict b, float *__restrict out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    out[i] = condition[i] != 0 ? a[i] : b[i];
  }
}

SPYRE_TARGET_CLONES
void sumSticks(float *__restrict acc, const float *__restrict x, int64_t sticks, int64_t lanes) {
  for (int64_t s = 0; s < sticks; ++s) {
    for (int64_t i = 0; i < lanes; ++i) {
      acc[i] = numerics::addF32(acc[i], x[s * lanes + i]);
    }
  }
}

/// maxF32 without branches, so that the loop vectorises.
static inline float maxOf(float a, float b) {
  float larger = a > b ? a : b;
  return a != a || b != b ? std::numeric_limits<float>::quiet_NaN() : larger;
}

SPYRE_TARGET_CLONES
void maxSticks(float *__restrict acc, const float *__restrict x, int64_t sticks, int64_t lanes) {
  for (int64_t s = 0; s < sticks; ++s) {
    for (int64_t i = 0; i < lanes; ++i) {
      acc[i] = maxOf(acc[i], x[s * lanes + i]);
    }
  }
}

SPYRE_TARGET_CLONES
void matmulRows(const float *__restrict a, const float *__restrict b, float *__restrict acc,
                int64_t rows) {
  float sum[kMaxLanes];
  for (int64_t n = 0; n < kMaxLanes; ++n) {
    sum[n] = acc[n];
  }
  for (int64_t k = 0; k < rows; ++k) {
    float factor = a[k];
    const float *__restrict row = b + k * kMaxLanes;
    for (int64_t n = 0; n < kMaxLanes; ++n) {
      sum[n] = __builtin_fmaf(factor, row[n], sum[n]);
    }
  }
  // A NaN stays one through all later k, so making it the one NaN at the end is enough.
  for (int64_t n = 0; n < kMaxLanes; ++n) {
    acc[n] = numerics::canonicalNan(sum[n]);
  }
}

float treeSum(float *values, int64_t lanes) {
  for (int64_t half = lanes / 2; half >= 1; half /= 2) {
    for (int64_t i = 0; i < half; ++i) {
      values[i] = numerics::addF32(values[i], values[i + half]);
    }
  }
  return values[0];
}

float treeMax(float *values, int64_t lanes) {
  for (int64_t half = lanes / 2; half >= 1; half /= 2) {
    for (int64_t i = 0; i < half; ++i) {
      values[i] = numerics::maxF32(values[i], values[i + half]);
    }
  }
  return values[0];
}

} // namespace spyre::sim
