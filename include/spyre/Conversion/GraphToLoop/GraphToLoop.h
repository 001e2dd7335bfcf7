//===- GraphToLoop.h - graph IR to loop IR --------------------------------------------------===//
//
// Each call that computes becomes one loop.compute; views become index maps. A value of the graph
// is a View: per dimension a list of atoms, outermost first, each a piece of a buffer dimension:
//
//     x [50, 10, 200] viewed as [500, 200]:  dim 0 = [(x dim 0, 50), (x dim 1, 10)], dim 1 = [(x
//     dim 2, 200)]
//
// Reshaping concatenates and cuts the lists; an atom is cut where sizes divide. When operands of
// one operation cut a dimension differently, its loop variable is split at all cuts, so every
// access is linear and no division or modulo is left. What cannot be cut (sizes that do not divide)
// is copied through a buffer with one element per stick, whose rows can be renumbered freely
// (docs/adr/0006).
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <memory>

namespace spyre {

std::unique_ptr<mlir::Pass> createGraphToLoopPass();
void registerGraphToLoopPass();

} // namespace spyre
