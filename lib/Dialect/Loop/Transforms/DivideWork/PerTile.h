//===- PerTile.h - intermediates that are needed one tile at a time -------------------------===//
#pragma once

#include "spyre/Base/Decision.h"
#include "spyre/Dialect/Loop/IR/Nests.h"

namespace spyre::loop {

/// A temp that is used only inside of one nest, and by every iteration at the same place of its
/// tile, becomes as large as that tile (`per_tile`). Others stay as they are.
void shrinkToTiles(mlir::func::FuncOp main, DecisionTrace *trace);

} // namespace spyre::loop
