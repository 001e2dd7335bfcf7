//===- AskedSplits.h - splits that a function of the user's asks for before layouts exist -----===//
//
// Between pre-scheduling and division operations are rewritten and their variables merged, so the
// splits are kept by the names of the variables: `asked = {c0 = 8 : i64}`. spyre-loop-assign-hints
// makes hints of them.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"
#include "spyre/Dialect/Loop/IR/Loop.h"

namespace spyre::loop {

/// One split per variable of \p op, 0 where nothing is asked for.
void askForSplits(ComputeOp op, llvm::ArrayRef<int64_t> splits);

/// Makes hints of all that was asked for. Error: E1504 (an operation or a variable was rewritten
/// before its splits could be taken).
Status takeAskedSplits(mlir::func::FuncOp main);

} // namespace spyre::loop
