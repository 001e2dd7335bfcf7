//===- UnevenDivision.h - one dim in slices of two sizes ------------------------------------===//
//
// Where no divisor of a dim is near the number of cores: 37 rows over 32 cores are 5 slices of two
// rows and 27 of one (docs/adr/0055). The back end runs it as two operations with equal slices,
// what all cores have and what the first ones have more; the price is the sum of theirs.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Solver/Division/Divide.h"

namespace spyre::solver::division {

struct UnevenDivision {
  Plan plan;
  double nanoseconds = 0;
  int64_t tried = 0;
};

/// The cheapest of those the verifier accepts; nothing when there is none. Errors: E3071.
Expected<std::optional<UnevenDivision>> cheapestUneven(const Op &op, const arch::DeviceDesc &device,
                                                       int64_t cores, const CostModel &costs);

} // namespace spyre::solver::division
