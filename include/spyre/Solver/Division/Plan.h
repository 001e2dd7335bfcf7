//===- Plan.h - which core does which slice -------------------------------------------------===//
#pragma once

#include "spyre/Solver/Division/Units.h"

namespace spyre::solver::division {

struct Plan {
  Splits splits;
  /// Product of the splits.
  int64_t cores = 1;
  /// The dim whose first slices have one unit more than the others, or -1 (docs/adr/0055).
  int uneven = -1;
  /// Dims in the order their slices change from core to core, fastest first.
  std::vector<int> order;
  /// owner[core][dim] is the slice.
  std::vector<std::vector<int64_t>> owner;
  bool operator==(const Plan &) const = default;
};

/// First dim fastest, as documented, or partners of a split reduction side by side: its partial
/// results then travel one hop. [spec: work-division 16.2]
enum class CoreOrder { FirstFastest, ReductionFastest };

Plan makePlan(const Op &op, const Splits &splits, CoreOrder order);

/// The same in the documented order, but that dim \p uneven, which the splits do not divide,
/// changes slowest: the first cores have more to do.
Plan makeUnevenPlan(const Op &op, const Splits &splits, int uneven);

/// ReductionFastest for a matmul of three or more dims whose last dim is split.
CoreOrder documentedOrder(const Op &op, const Splits &splits);

} // namespace spyre::solver::division
