//===- LayoutModel.h - loop IR as a problem of layouts --------------------------------------===//
//
// A buffer may be cut into sticks along each of its dimensions, or hold one element per stick:
// these are its options, in this order. An operation works on lanes that follow one of its
// variables (or none); that is its choice. Which options of an operand fit a choice is a matter of
// the access alone (Stick.h):
//
//     element-wise   all operands follow the lanes or do not depend on their variable
//     reduction      the same; lanes along the reduced variable leave one element per stick
//     matmul         x follows K, y and the result follow N
//     copy           any reading and any writing that is legal
//
// Costs are bytes moved: of copies, and of results that are larger than they could be.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Dialect/Loop/Transforms/Stick.h"
#include "spyre/Solver/LayoutChoice.h"

#include "llvm/ADT/DenseMap.h"

#include <optional>
#include <vector>

namespace spyre::loop {

/// The variable lanes follow, or none.
using Lanes = std::optional<unsigned>;

/// Dimension that is cut into sticks in option \p option of a buffer, -1 for one element per stick.
int64_t stickDimOf(BufferOp buffer, int option);
/// The reverse.
int optionOf(BufferOp buffer, int64_t stickDim);
/// Bytes of the buffer in an option.
int64_t bytesOf(BufferOp buffer, int64_t stickDim);
/// Dimension order with \p stick last: the layouts the compiler gives.
std::vector<int64_t> orderWithStick(int64_t rank, int64_t stick);

/// What operand \p index of an operation on \p lanes follows: a matmul has its own rule for each.
Lanes lanesOf(ComputeOp op, unsigned index, Lanes lanes);
/// Whether an operand with lanes cut from \p stickDim can be used as it is.
bool fits(ComputeOp op, unsigned index, int64_t stickDim, Lanes lanes);
/// Whether the access is legal at all: nothing begins or ends inside a stick.
bool isLegal(ComputeOp op, unsigned index, int64_t stickDim);

struct LayoutModel {
  std::vector<BufferOp> buffers;
  std::vector<ComputeOp> operations;
  llvm::DenseMap<mlir::Operation *, int> tensorOf;
  /// Lanes of each choice of each operation.
  std::vector<std::vector<Lanes>> lanes;
  solver::LayoutProblem problem;
};

/// Errors: E2007, E2010 (a given layout is unsound), E2011 (an operation cannot write the layout
/// given to its result), E1206 (a malformed matmul).
Expected<LayoutModel> buildLayoutModel(mlir::func::FuncOp function);

} // namespace spyre::loop
