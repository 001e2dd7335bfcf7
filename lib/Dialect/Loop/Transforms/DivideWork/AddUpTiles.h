//===- AddUpTiles.h - reductions whose reduced variable runs in tiles -----------------------===//
#pragma once

#include "spyre/Dialect/Loop/IR/Nests.h"

namespace spyre::loop {

/// How results of two parts of a reduction are one. [spec: work-division 19.5]
struct Combination {
  const char *callee;
  /// The result of no part at all, in the format of \p element type.
  double identity;
};
/// Nothing for a reduction whose parts cannot be put together by one operation.
std::optional<Combination> combinationOf(ComputeOp op);

/// A reduction inside of a loop over its reduced variable has the result of one tile. It gets a
/// temp for that; the result is set to the identity in front of the loop, and every tile is added
/// to it:
///
///     fill out            in the loops around the outermost one that cuts a reduced variable
///     for k: matmul -> part, add out + part -> out
///
/// Loops are those of spyre-loop-form-nests: nothing else in the loop touches the result.
void addUpTiles(mlir::func::FuncOp main);

} // namespace spyre::loop
