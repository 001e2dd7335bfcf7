//===- PlanMemo.h - equal operations of one compilation are divided once --------------------===//
//
// By operationKey(): a division depends on nothing else.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Decision.h"
#include "spyre/Dialect/Loop/Transforms/DivisionProblem.h"
#include "spyre/Solver/Division/Tiling.h"

#include <deque>
#include <unordered_map>

namespace spyre::loop {

struct PlannedDivision {
  std::vector<int64_t> splits;
  /// The variable whose slices differ by a piece, or -1.
  int uneven = -1;
  /// Of the operation with padded dims; empty: as they are.
  std::vector<int64_t> extents;
  /// Partners of a split reduction have consecutive cores.
  bool fastReduction = false;
  /// The operation runs in these tiles instead.
  std::optional<solver::division::TilingPlan> tiling;
  double nanoseconds = 0;
  int64_t candidates = 0;
  std::vector<Decision> decisions;
};

class PlanMemo {
public:
  /// Division of an operation with this operationKey(); null when none has been divided.
  const PlannedDivision *find(const OperationKey &key) const;
  const PlannedDivision &keep(OperationKey key, PlannedDivision planned);

private:
  struct Hash {
    size_t operator()(const OperationKey &key) const {
      return llvm::hash_combine_range(key.begin(), key.end());
    }
  };

  std::unordered_map<OperationKey, const PlannedDivision *, Hash> known;
  std::deque<PlannedDivision> plans;
};

} // namespace spyre::loop
