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

bool isByte(mlir::Type type) { return type.isUnsignedInteger(8); }

bool isSmallInteger(mlir::Type type) { return type.isInteger(8) || type.isInteger(16); }

std::vector<int64_t> shapeOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType()).getShape().vec();
}

static bool isStatic(mlir::Type type) {
  return llvm::cast<mlir::RankedTensorType>(type).hasStaticShape();
}

/// What a buffer of the host can be declared for.
static bool isNumeric(mlir::Type type) {
  mlir::Type element = llvm::cast<mlir::RankedTensorType>(type).getElementType();
  auto complex = llvm::dyn_cast<mlir::ComplexType>(element);
  return (complex ? complex.getElementType() : element).isIntOrFloat();
}

/// Structure only; names and attributes are the op table's business, so that all faults of a graph
/// are reported together.
mlir::LogicalResult CallOp::verify() {
  if (getCallee().empty()) {
    return emitOpError("callee must not be empty");
  }
  if (!llvm::all_of(getOperandTypes(), isStatic) || !isStatic(getResult().getType())) {
    return emitOpError("operands and result must have static shapes");
  }
  return mlir::success();
}

mlir::LogicalResult HostOp::verify() {
  if (getCallee().empty()) {
    return emitOpError("callee must not be empty");
  }
  if (!llvm::all_of(getOperandTypes(), isStatic) || !llvm::all_of(getResultTypes(), isStatic)) {
    return emitOpError("operands and results must have static shapes");
  }
  if (!llvm::all_of(getResultTypes(), isNumeric)) {
    return emitOpError("results are tensors of integers, floats or complex numbers");
  }
  const size_t expected = getResultNumbers().empty() ? 1 : getResultNumbers().size();
  if (getNumResults() != expected) {
    return emitOpError("has ") << getNumResults() << " results, but names " << expected;
  }
  if (int64_t(getNode()) < 0 || getGate() < 1 || getGate() > kGateCount) {
    return emitOpError("node must not be negative, gate is 1..") << kGateCount;
  }
  return mlir::success();
}

} // namespace spyre::graph
