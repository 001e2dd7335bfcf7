//===- BringNear.h - operands whose elements lie too far apart are copied together ----------===//
//
// A variable that is reduced, or that runs through the lanes of another operand, cannot be cut in
// tiles. Where it is the outermost dimension of a large tensor, a core that walks it reaches over
// the whole tensor, and no division keeps the span limit. A copy between equal sticks can be tiled
// along every variable, so the operand is copied into a temp with that variable innermost; the
// operation then reads or writes the temp in tiles:
//
//     x[769, 64, 4096] -> y[769, 4096, 64]    x -> t (64 next to the stick),   t -> y
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Arch/DeviceDesc.h"
#include "spyre/Dialect/Loop/IR/Loop.h"
#include "spyre/Solver/Division/Problem.h"

#include <string>
#include <vector>

namespace spyre::loop {

struct NearCopies {
  /// Operations before the original that do the same.
  std::vector<ComputeOp> pieces;
  /// Names of the operands that were copied, for the decision.
  std::string operands;
  int64_t bytes = 0;
};

/// Copies of the operands that a core reaches over too far, and the operation on the copies; no
/// pieces where no copy brings an operand nearer. \p problem is the division problem of \p op,
/// which is left to the caller.
NearCopies bringNear(ComputeOp op, const solver::division::Op &problem,
                     const arch::DeviceDesc &device, int64_t cores);

} // namespace spyre::loop
