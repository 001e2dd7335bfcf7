//===- Narrowing.h - int64 values that 32 bits cannot hold ----------------------------------===//
#pragma once

#include <cstdint>

namespace spyre::numerics {

/// Number of the values below -2^31 or above 2^31 - 1. Vectorised.
int64_t countBeyondInt32(const int64_t *values, int64_t count);

} // namespace spyre::numerics
