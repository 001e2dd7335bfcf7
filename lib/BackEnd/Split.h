//===- Split.h - a reduced dimension that is cut over several cores -------------------------===//
//
// Cores that differ only in their slice of the reduced dimension share one slice of the output:
// they are a cohort, and nothing but coreIdToWkSlice_ says which cores these are. Each accumulates
// its own slice. Then the root, the core with slice 0, takes the accumulators of the others over
// the ring, slices ascending, and it alone finishes and stores (ADR 0012, 0016):
//
//     slice            0 (root)   1        2
//     Exchange 1       + <------- acc
//     Exchange 2       + <---------------- acc
//     Finish, Store    x
//
// Only the last slice may have a masked tail: its cores and the others run different instructions.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "PhaseBuilder.h"

#include <string>
#include <vector>

namespace spyre::backend {

/// Tables of a split; all -1 and empty when the dimension is not split: every core is a root then.
struct Split {
  int32_t roots = -1;
  /// Cores with the last slice, and the rest; -1 when all slices are alike.
  int32_t lastSlice = -1, otherSlices = -1;
  /// Per further slice, ascending: for each root the core that holds it.
  std::vector<int32_t> peers;
};

/// The cohorts along \p dim. \p hasTail: the last slice is masked. Error: E5302 when the cores do
/// not cover the slices, or a cohort disagrees where its output is.
Expected<Split> planSplit(const Kernel &kernel, const std::string &dim, bool hasTail,
                          PhaseBuilder &builder);

/// Combines the accumulators of each cohort in its root's: those at \p acc, \p accBytes long, over
/// the current tile. \p integers: they are int32, not fp32.
void combineSlices(const Split &split, program::Function function, const Place &acc,
                   int64_t accBytes, PhaseBuilder &builder, bool integers = false);

} // namespace spyre::backend
