//===- DimFlip.h - divisions and scratchpad plan together, the documented way -----------------===//
//
// Neighbours that divide a tensor differently keep it in memory. The documented co-optimiser moves
// the one split of an operation to its other output dimensions and keeps what leaves the fewest
// bytes in memory [spec: scratchpad L13, 10]. It looks at bytes alone, not at what a division
// costs.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Solver/Placement/LxPlan.h"
#include "spyre/Solver/Placement/SpecList.h"

namespace spyre::solver::placement {

/// Splits per symbol of the iteration space.
using CoreSplits = std::vector<int64_t>;

constexpr size_t kMaxFlipVariants = 6;
/// So many operations that can be divided otherwise are searched to the end.
constexpr size_t kCompleteFlips = 8;

/// The operation's own split first, then the factor of its only split output dimension moved to
/// each other one that it divides. One entry: nothing can be moved.
std::vector<CoreSplits> flipVariants(const spec::OpSpec &op);

struct FlipLimits {
  /// Of more operations than that: plans made, and choices looked at.
  int64_t leaves = 4'096;
  int64_t nodes = 1 << 20;
  /// Memory one core may touch of a tensor.
  int64_t spanBytes = int64_t(256) << 20;
};

struct FlipResult {
  /// Per step of the program: the splits to take; empty where nothing changes.
  std::vector<CoreSplits> splits;
  /// Bytes to and from memory before and with the splits.
  int64_t bytesBefore = 0, bytesAfter = 0;
  int64_t leaves = 0, nodes = 0, flippable = 0;
  /// All combinations were tried or excluded by a bound.
  bool isComplete = true;
};

/// Depth first over the variants of all operations, the first best one wins. A branch is left when
/// the tensors it has already lost cost as much as the best plan: same winner as without that.
Expected<FlipResult> flipDims(const SpecProgram &program, const LxOptions &options, int cores,
                              int64_t capacityBytes, bool kFastCores,
                              const FlipLimits &limits = {});

} // namespace spyre::solver::placement
