//===- MatmulKernel.h - the multiply-add loops of the matrix unit ---------------------------===//
//
// One kernel per class of host, written with the instructions of that class because the compiler
// does not find the register blocking by itself. All give the same bits: every step is one fused
// multiply-add, and the order of k is fixed.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <span>

namespace spyre::sim {

/// Lanes of one block of B and of one row of accumulators.
inline constexpr int64_t kMatmulLanes = 64;

/// For each row m < \p rows and lane n < 64:
///   acc[m * accStride + n] <- fma(a[m * aStride + k], b[k * 64 + n], acc[m * accStride + n])
/// for k = 0 to \p depth - 1 in this order, one rounding each. A NaN result becomes the one quiet
/// NaN. Strides are in floats; no pointer needs an alignment beyond float's. acc must not overlap a
/// or b.
void matmulRows(const float *a, int64_t aStride, const float *b, float *acc, int64_t accStride,
                int64_t rows, int64_t depth);

using MatmulKernel = void (*)(const float *a, int64_t aStride, const float *b, float *acc,
                              int64_t accStride, int64_t rows, int64_t depth);

struct MatmulVariant {
  const char *name;
  MatmulKernel run;
};

/// The kernels this host can run, the fastest first; matmulRows uses that one. The last is always
/// the portable one. For tests and benchmarks.
std::span<const MatmulVariant> matmulVariants();

} // namespace spyre::sim
