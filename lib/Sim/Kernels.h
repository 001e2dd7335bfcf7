//===- Kernels.h - the arithmetic loops of the units on fp32 lanes --------------------------===//
//
// Each computes, lane by lane, what the scalar function of spyre/Numerics/Functions.h computes; the
// loops are compiled for several hosts and all give the same bits.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace spyre::sim {

void addLanes(const float *a, const float *b, float *out, int64_t count);
void mulLanes(const float *a, const float *b, float *out, int64_t count);
/// condition != 0 ? a : b; a NaN condition counts as non-zero.
void whereLanes(const float *condition, const float *a, const float *b, float *out, int64_t count);

/// acc[i] <- acc[i] + x[s][i] (or the larger), sticks s ascending.
void sumSticks(float *acc, const float *x, int64_t sticks, int64_t lanes);
void maxSticks(float *acc, const float *x, int64_t sticks, int64_t lanes);

/// acc[n] <- fma(a[k], b[k][n], acc[n]), k ascending below \p rows; 64 lanes.
void matmulRows(const float *a, const float *b, float *acc, int64_t rows);

/// Halving tree over \p lanes (a power of two): lane i with lane i + n/2, and so on. Destroys
/// values.
float treeSum(float *values, int64_t lanes);
float treeMax(float *values, int64_t lanes);

} // namespace spyre::sim
