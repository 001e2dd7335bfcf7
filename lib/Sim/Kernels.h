//===- Kernels.h - the arithmetic loops of the vector unit on fp32 lanes --------------------===//
//
// Each computes, lane by lane, what the scalar function of the same name in
// spyre/Numerics/Functions.h computes; the loops are compiled for several hosts and all give the
// same bits. The functions that are not here (exp, log, ...) have their array forms there.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace spyre::sim {

// An output may be one of the inputs; partial overlap is not allowed.

void negLanes(const float *x, float *out, int64_t count);
void absLanes(const float *x, float *out, int64_t count);
void floorLanes(const float *x, float *out, int64_t count);
void reluLanes(const float *x, float *out, int64_t count);
void relu6Lanes(const float *x, float *out, int64_t count);

void addLanes(const float *a, const float *b, float *out, int64_t count);
void subLanes(const float *a, const float *b, float *out, int64_t count);
void mulLanes(const float *a, const float *b, float *out, int64_t count);
void divLanes(const float *a, const float *b, float *out, int64_t count);
void maxLanes(const float *a, const float *b, float *out, int64_t count);
void minLanes(const float *a, const float *b, float *out, int64_t count);
void equalLanes(const float *a, const float *b, float *out, int64_t count);
void notEqualLanes(const float *a, const float *b, float *out, int64_t count);
void greaterEqualLanes(const float *a, const float *b, float *out, int64_t count);
void greaterLanes(const float *a, const float *b, float *out, int64_t count);
void lessEqualLanes(const float *a, const float *b, float *out, int64_t count);
void lessLanes(const float *a, const float *b, float *out, int64_t count);
void leakyReluLanes(const float *x, const float *slope, float *out, int64_t count);

/// condition != 0 ? a : b; a NaN condition counts as non-zero.
void whereLanes(const float *condition, const float *a, const float *b, float *out, int64_t count);
/// Fused also on hosts without a fused instruction, where it is slow.
void fmaLanes(const float *a, const float *b, const float *c, float *out, int64_t count);
void clipLanes(const float *x, const float *low, const float *high, float *out, int64_t count);
void layerNormScaleLanes(const float *mean, const float *meanOfSquares, const float *eps,
                         float *out, int64_t count);
void layerNormNormLanes(const float *x, const float *mean, const float *scale, const float *weight,
                        const float *bias, float *out, int64_t count);

// acc[i] <- step(acc[i], x[s * lanes + i]) for sticks s ascending; acc must not overlap x. The
// steps: addF32, maxF32, minF32, addSquareF32, maxAbsF32.

void sumSticks(float *acc, const float *x, int64_t sticks, int64_t lanes);
void maxSticks(float *acc, const float *x, int64_t sticks, int64_t lanes);
void minSticks(float *acc, const float *x, int64_t sticks, int64_t lanes);
void sumSquaresSticks(float *acc, const float *x, int64_t sticks, int64_t lanes);
void absMaxSticks(float *acc, const float *x, int64_t sticks, int64_t lanes);

/// Halving tree over \p lanes (a power of two): lane i with lane i + n/2, and so on. Destroys
/// values.
float treeSum(float *values, int64_t lanes);
float treeMax(float *values, int64_t lanes);
float treeMin(float *values, int64_t lanes);

} // namespace spyre::sim
