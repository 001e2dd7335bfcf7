//===- Graph.h - the graph dialect ----------------------------------------------------------===//
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "spyre/Dialect/Graph/IR/GraphDialect.h.inc"
#define GET_OP_CLASSES
#include "spyre/Dialect/Graph/IR/GraphOps.h.inc"
