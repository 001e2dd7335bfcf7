//===- Graph.cpp - the graph dialect --------------------------------------------------------===//
#include "spyre/Dialect/Graph/IR/Graph.h"

#include "mlir/IR/Builders.h"

#include "spyre/Dialect/Graph/IR/GraphDialect.cpp.inc"
#define GET_OP_CLASSES
#include "spyre/Dialect/Graph/IR/GraphOps.cpp.inc"

namespace spyre::graph {

void GraphDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "spyre/Dialect/Graph/IR/GraphOps.cpp.inc"
      >();
}

/// Structure only; names and attributes are the op table's business, so that all faults of a graph
/// are reported together.
mlir::LogicalResult CallOp::verify() {
  if (getCallee().empty()) {
    return emitOpError("callee must not be empty");
  }
  auto isStatic = [](mlir::Type type) {
    return llvm::cast<mlir::RankedTensorType>(type).hasStaticShape();
  };
  if (!llvm::all_of(getOperandTypes(), isStatic) || !isStatic(getResult().getType())) {
    return emitOpError("operands and result must have static shapes");
  }
  return mlir::success();
}

} // namespace spyre::graph
