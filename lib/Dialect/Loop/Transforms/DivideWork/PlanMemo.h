//===- PlanMemo.h - equal operations of one compilation are divided once --------------------===//
//
// A division depends on an operation's attributes, on the layouts, types and strides of its
// buffers, and on whether its result may grow; nothing else. Attributes of one context are unique,
// so their addresses are an exact key.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Decision.h"
#include "spyre/Dialect/Loop/IR/Loop.h"
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
  /// Null when no equal operation has been divided; then keep() is for this one.
  const PlannedDivision *find(ComputeOp op);
  const PlannedDivision &keep(PlannedDivision planned);

private:
  using Key = llvm::SmallVector<const void *, 24>;
  struct Hash {
    size_t operator()(const Key &key) const {
      return llvm::hash_combine_range(key.begin(), key.end());
    }
  };
  static Key keyOf(ComputeOp op);

  Key asked;
  std::unordered_map<Key, const PlannedDivision *, Hash> known;
  std::deque<PlannedDivision> plans;
};

} // namespace spyre::loop
