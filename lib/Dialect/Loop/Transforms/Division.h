//===- Division.h - splits of one operation over the cores, under the span limit ------------===//
//
// What spyre-loop-divide-work chooses, and what spyre-loop-chunk-large asks before it: whether any
// split keeps every core below the DDR range it may touch per tensor.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Dialect/Loop/Transforms/Stick.h"

namespace spyre::loop {

/// Pieces a variable can be divided into at most when the operation runs over \p extents; 1 when it
/// must stay whole.
Expected<std::vector<int64_t>> piecesPerVar(ComputeOp op, llvm::ArrayRef<int64_t> extents);

/// How far, in sticks, each variable of an operation moves through one tensor.
struct Reach {
  /// Any row of an indirect dimension may be meant, on every core.
  int64_t anyRow = 0;
  struct Step {
    unsigned var;
    int64_t sticks;  ///< per step of the variable, or per stick of lanes
    int64_t divisor; ///< lanes for the stick variable, else 1
  };
  std::vector<Step> steps;

  int64_t spanBytes(llvm::ArrayRef<int64_t> extents, const std::vector<int64_t> &splits) const;
};

class Division {
public:
  /// \p extents are those of the operation, or of a part of it.
  Division(ComputeOp op, std::vector<int64_t> extents, int64_t cores, int64_t spanLimitBytes)
      : op(op), cores(cores), spanLimitBytes(spanLimitBytes), extents(std::move(extents)) {}

  /// Chooses the splits. Errors: E3003 when none keeps the limit, and those of layouts.
  Status run();

  std::vector<int64_t> pieces, splits;
  bool bySize = true;
  /// The smallest range a core touches with any split that was tried.
  int64_t smallestSpan = 0;

private:
  /// A core has whole sticks of indices, or less than one.
  Status findIndexSticks();
  bool canSplit(unsigned var, int64_t split) const;
  void chooseBySize();
  bool isLegal(const std::vector<int64_t> &candidate);
  /// All combinations of divisors, first variable slowest; keeps the first one with the most cores.
  void search(std::vector<int64_t> &partial, int64_t used);

  mutable ComputeOp op;
  int64_t cores, spanLimitBytes;
  std::vector<Reach> reaches;
  std::vector<int64_t> extents, best;
  /// Per variable: indices in a stick of them, 0 where it is none of theirs.
  std::vector<int64_t> indexLanes;
  int64_t bestCores = 0;
};

} // namespace spyre::loop
