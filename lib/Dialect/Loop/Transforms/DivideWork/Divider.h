//===- Divider.h - what the passes of work division share -----------------------------------===//
#pragma once

#include "spyre/Base/Decision.h"
#include "spyre/Dialect/Loop/Transforms/DivisionProblem.h"
#include "spyre/Dialect/Loop/Transforms/Passes.h"
#include "spyre/Solver/Division/Divide.h"

#include "../LoopPass.h"

namespace spyre::loop {

/// What the first pass leaves to the second: {output = [coefficient, slices, ...], reduction =
/// [...]}.
constexpr const char *kSpanSplits = "span_splits";
/// Of a buffer: names of its dimensions.
constexpr const char *kDims = "dims";
/// Running sums: every result needs all that are in front of it along the last variable.
constexpr const char *kScan = "x_cumsum";

/// \p given, or those of a pass that was made from text. Errors: E9201, E9202 (device), E3074
/// (planner).
Expected<DivisionSettings> settingsFrom(const std::optional<DivisionSettings> &given,
                                        const std::string &device, int64_t cores,
                                        int64_t spanLimitBytes, const std::string &planner);

void storeSplits(ComputeOp op, const solver::division::StoredSplits &stored);
/// Empty where nothing is stored. Errors: E3076.
Expected<solver::division::StoredSplits> storedSplitsOf(ComputeOp op);

/// What one division takes.
double priceOf(const DivisionProblem &problem, const arch::DeviceDesc &device,
               llvm::ArrayRef<int64_t> splits);

/// A pass with settings, from within the compiler.
template <typename PassT>
std::unique_ptr<PassT> createDivisionPass(const DivisionSettings &settings, DecisionTrace *trace) {
  auto pass = createLoopPass<PassT>(trace);
  pass->given = settings;
  return pass;
}

/// Operations on the CPU are nobody's to divide.
void recordSkipped(HostOp op, const char *stage, DecisionTrace *trace);

} // namespace spyre::loop
