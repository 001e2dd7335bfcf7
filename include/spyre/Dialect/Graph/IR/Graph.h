//===- Graph.h - the graph dialect ----------------------------------------------------------===//
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "spyre/Dialect/Graph/IR/GraphDialect.h.inc"

namespace spyre::graph {
/// Gates an operation passes on its way to the device; Transforms/Gates.h names them.
constexpr uint64_t kGateCount = 5;

/// Of a tensor.
std::vector<int64_t> shapeOf(mlir::Value value);
/// i8 and i16: the device holds them, and computes with them in 32 bits (docs/adr/0072).
bool isSmallInteger(mlir::Type type);
/// Numbers of 0 to 255: they have 32 bits on the device.
bool isByte(mlir::Type type);
} // namespace spyre::graph

#define GET_OP_CLASSES
#include "spyre/Dialect/Graph/IR/GraphOps.h.inc"
