//===- Nests.h - counted loops around runs of operations ------------------------------------===//
//
// `loops` lists the loops around an operation, outermost first: the number of the loop, how often
// it runs, and the variable that it cuts in tiles, or -1 when every iteration does the same.
// Neighbours with the same numbers stand in the same loops:
//
//     exp   loops [[0, 4, 0]]            for i in 0..4:
//     sum   loops [[0, 4, 0]]              exp on rows i; sum of rows i
//     neg   loops [[1, 2, 1]]            for j in 0..2: neg on columns j
//
// Extents and maps stay those of all iterations. A temp with `per_tile` has the size of one tile
// and is the same memory in every iteration: indices into it count from the start of the tile.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Dialect/Loop/IR/Loop.h"

namespace spyre::loop {

constexpr const char *kLoops = "loops";
constexpr const char *kPerTile = "per_tile";

struct Level {
  int64_t loop = 0;
  int64_t count = 1;
  /// Of the operation, or -1.
  int64_t var = -1;
};
using Levels = llvm::SmallVector<Level, 4>;

/// Empty when the operation is in no loop of others. The attribute must have been verified.
Levels levelsOf(ComputeOp op);
/// Also sets `tiles` to what the levels say, and takes away what is not needed.
void setLevels(ComputeOp op, const Levels &levels);
/// How many loops two operations share, from the outermost on.
size_t sharedLevels(const Levels &a, const Levels &b);

/// Elements of its variable that an iteration of level \p level moves on.
int64_t stepOf(ComputeOp op, const Levels &levels, size_t level);

inline bool isPerTile(BufferOp buffer) { return buffer->hasAttr(kPerTile); }

/// Of one operation: sound levels, whose counts `tiles` has.
mlir::LogicalResult verifyLevels(ComputeOp op);

} // namespace spyre::loop
