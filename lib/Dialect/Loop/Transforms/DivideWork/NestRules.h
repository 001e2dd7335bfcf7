//===- NestRules.h - which operations may stand in one loop ---------------------------------===//
#pragma once

#include "spyre/Dialect/Loop/IR/Nests.h"

namespace spyre::loop {

/// What an operand touches in the first iteration of some loops, and how far each of them moves it.
struct Footprint {
  struct Range {
    int64_t first = 0, last = 0;
  };
  /// Per dimension of the buffer.
  llvm::SmallVector<Range, 4> ranges;
  /// Per loop, per dimension: elements.
  llvm::SmallVector<llvm::SmallVector<int64_t, 4>, 4> motion;

  bool movesAt(size_t level) const;
  /// The smallest motion along \p dim, or 0.
  int64_t stepAlong(size_t dim) const;
};
/// Of operand \p operand in the first \p depth of \p levels.
Footprint footprintOf(ComputeOp op, unsigned operand, const Levels &levels, size_t depth);

/// Whether the levels cut a variable that is reduced; its outermost one.
std::optional<size_t> accumulatingLevel(ComputeOp op, const Levels &levels);

/// Whether nothing that one writes is touched by the other.
bool areIndependent(ComputeOp earlier, ComputeOp later);

/// How many of the first \p shared loops two operations can share, so that every iteration of the
/// later one finds what it would find after all iterations of the earlier one, and the earlier one
/// never what the later one has changed.
size_t levelsTogether(ComputeOp earlier, const Levels &earlierLevels, ComputeOp later,
                      const Levels &laterLevels, size_t shared);

/// Levels in which running once per iteration is the same as running once: an operation that reads
/// what it writes must move on, and one that adds up its tiles must not do so twice.
Levels soundLevels(ComputeOp op, Levels levels);

} // namespace spyre::loop
