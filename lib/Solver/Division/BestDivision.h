//===- BestDivision.h - the cheapest division of an operation as it is ----------------------===//
#pragma once

#include "spyre/Solver/Division/Divide.h"

namespace spyre::solver::division {

struct BestDivision {
  PricedSplits best;
  int64_t tried = 0;
  /// Those that were priced; the others have bounds.
  int64_t priced = 0;
  /// No candidate costs less.
  double leastNanoseconds = 0;
  bool cut = false;
  /// The documented plan was as cheap as any.
  bool documented = false;
  std::vector<PricedSplits> all;
};

/// Nothing when no division is legal. \p preferred wins among equals; with \p slack one may be
/// taken that another undercuts by that part. Errors: E3071.
Expected<std::optional<BestDivision>> cheapestDivision(const Op &op, const arch::DeviceDesc &device,
                                                       int64_t cores, const CostModel &costs,
                                                       const Splits &preferred, bool keepAll,
                                                       double slack = 0);

/// The operation with \p count units of \p dim; nothing where a tensor has no room.
std::optional<Op> paddedOp(const Op &op, const Units &units, size_t dim, int64_t count);

/// Why no combination of divisors is legal; nothing when one is, and only rules forbid it.
std::optional<NoDivision> proveNoDivision(const Op &op, const arch::DeviceDesc &device,
                                          int64_t cores);

} // namespace spyre::solver::division
