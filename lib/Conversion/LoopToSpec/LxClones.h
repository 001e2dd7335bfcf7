//===- LxClones.h - copies of inputs and outputs at the border of the graph ------------------===//
//
// The copy of an input is read by all operations that read the input: one way from memory for all
// of them. An output that operations read is computed in a temp, which is copied to the output
// once. Copies are divided over the cores as the operation beside them reads or writes the tensor.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Dialect/Loop/IR/Loop.h"

namespace spyre {

/// Is \p op such a copy?
bool isLxClone(loop::ComputeOp op);

/// A temp with the contents of \p input, copied before \p before; all operations read it instead.
loop::BufferOp cloneInput(mlir::func::FuncOp main, loop::BufferOp input, mlir::Operation *before);

/// One read of an operation.
struct LxRead {
  loop::ComputeOp op;
  unsigned operand = 0;
};
/// A temp with the contents of \p source, copied before \p before, which \p readers (at least one)
/// read instead.
loop::BufferOp cloneForReaders(mlir::func::FuncOp main, loop::BufferOp source,
                               mlir::Operation *before, const std::vector<LxRead> &readers);

/// A temp that is written and read instead of \p output, and copied to it behind its writer.
loop::BufferOp cloneOutput(mlir::func::FuncOp main, loop::BufferOp output);

} // namespace spyre
