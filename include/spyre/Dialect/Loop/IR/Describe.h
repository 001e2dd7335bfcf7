//===- Describe.h - loop IR as one line per operation, for people ---------------------------===//
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace spyre::loop {

/// Operations in program order, then the buffers; layouts, splits and places where they are known:
///
///   1 t0 = batchmatmul(x, y) over c0=55 c1=130, reducing c2=67; splits c0/11
std::string describeLoops(mlir::ModuleOp module);

} // namespace spyre::loop
