//===- TimingSpecs.h - published timings as OpSpecs -----------------------------------------===//
//
// Each row of the published timings says an operation, a shape and mostly a split. Here it becomes
// the OpSpecs of one kernel (two kernels for a ratio) with split, tiling and residency fixed, so
// that no planner stands between the row and the clock.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/CostModel/TimingRows.h"
#include "spyre/Spec/OpSpec.h"

namespace spyre::bench {

struct RowSpecs {
  /// One kernel, or both of a ratio.
  std::vector<std::vector<spec::OpSpec>> kernels;
  /// The planner's part of LX when the row was measured, or -1 for the machine's own.
  int64_t lxPlannerBytes = -1;
};

/// Errors: E7035 with the line of a row whose operation, shape or split is none that is known here.
Expected<RowSpecs> specsOf(const costmodel::TimingRow &row);

} // namespace spyre::bench
