//===- PlanMemo.h - equal operations of one compilation are divided once --------------------===//
//
// A division depends on an operation's attributes and on the layouts, types and strides of its
// buffers, nothing else. Attributes of one context are unique, so their addresses are an exact key.
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
