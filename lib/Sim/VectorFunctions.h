//===- VectorFunctions.h - from functions of the program to arithmetic loops ----------------===//
#pragma once

#include "spyre/Numerics/Dl16Table.h"
#include "spyre/Program/Program.h"

#include <cstdint>

namespace spyre::sim {

/// out[i] <- fn(in[0][i], in[1][i], ...); in place is allowed.
void applyVector(program::Function function, const float *const *in, float *out, int64_t count);
/// The same on IeeeInt32 lanes; compares give 1 or 0.
void applyVector(program::Function function, const int32_t *const *in, int32_t *out, int64_t count);

/// The results of a costly function of one DLFloat16 value, or NULL: looking up is faster.
const numerics::Dl16Table *tableOf(program::Function function);

/// acc[i] <- fn(acc[i], x[s * lanes + i]) for sticks s ascending.
void accumulateSticks(program::Function function, float *acc, const float *x, int64_t sticks,
                      int64_t lanes);
void accumulateSticks(program::Function function, int32_t *acc, const int32_t *x, int64_t sticks,
                      int64_t lanes);

/// Halving tree over the lanes; destroys values.
float treeOf(program::Function function, float *values, int64_t lanes);
int32_t treeOf(program::Function function, int32_t *values, int64_t lanes);

} // namespace spyre::sim
