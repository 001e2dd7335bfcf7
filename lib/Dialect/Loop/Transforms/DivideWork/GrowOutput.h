//===- GrowOutput.h - more room for a result, so that its loop can be padded ----------------===//
//
// A restickify walks whole sticks of both dimensions. The sticks of its input are whole, but rows
// of its result end with the last element, so that the last rows have no memory and the dimension
// is not cut. A result that only the compiler knows can be given these rows (docs/adr/0063).
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Dialect/Loop/Transforms/Stick.h"

namespace spyre::loop {

/// Nobody else writes the result, nobody outside of the program sees it, and all readers can step
/// over entries at the end of a dimension.
bool mayGrow(ComputeOp op);

/// Whether \p reader may read a part of a larger \p buffer, as it reads slices.
bool stepsOver(ComputeOp reader, mlir::Value buffer);

/// Gives \p op these extents, and its result the room for them.
void grow(ComputeOp op, llvm::ArrayRef<int64_t> extents);

} // namespace spyre::loop
