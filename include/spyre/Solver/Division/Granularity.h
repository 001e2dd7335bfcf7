//===- Granularity.h - the step of sizes that are known at run time only --------------------===//
//
// A dim whose size is known at run time has a largest size and a granularity: admissible sizes are
// its multiples, and slices must divide it, so that every size is divided evenly.
// [spec: work-division 9]
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"

#include <cstdint>

namespace spyre::solver::division {

/// Sizes one dim may have.
constexpr int64_t kMaxSizes = 32;
/// The least granularity that is chosen where the user gave none.
constexpr int64_t kLeastGranularity = 4;

/// \p least is the lower bound the user gave; up to 2 counts as none, since that is what the
/// framework records by itself. Errors: E3075.
Expected<int64_t> granularityOf(int64_t largest, int64_t least);

} // namespace spyre::solver::division
