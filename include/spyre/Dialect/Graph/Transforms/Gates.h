//===- Gates.h - why a call cannot run on the device ----------------------------------------===//
//
// An operation passes five gates on its way to the device [spec: front-end A4]. This is the one
// place that says whether it does; the verifier, the split into device and host calls and the
// report all ask here.
//
//     1 compatibility  the callee is in the op table                                     E1002
//     2 schema         arity and attributes fit its row                                  E1005
//     3 dtype          the device holds and computes the element types                   E1003
//     4 shape          ranks and sizes are in range, the result follows the operands     E1004
//     5 template       there is a device operation, or a sequence of them, to emit       E1007
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"
#include "spyre/Dialect/Graph/IR/Graph.h"

#include <string>
#include <vector>

namespace spyre::graph {

enum class Gate { Compatibility = 1, Schema, Dtype, Shape, Template };

const char *gateName(Gate gate);
/// The gate that gave an error; Compatibility for errors that are none of a gate.
Gate gateOf(const Status &status);
/// Adds " [gate 3: dtype]" to an error of a gate; others stay as they are.
Status namingGate(const Status &status);

/// A tensor the device can hold. Errors: E1003, E1004, E1006 (no tensor with a static shape).
Status checkTensorType(mlir::Type type, const std::string &what);
/// Gates 1 to 4 of one call; changes nothing.
Status checkGates(CallOp call);
/// All gates. A composite is decomposed on trial, and what comes of it is checked; the graph is
/// afterwards what it was. A machine without \p extensions (null: it has all) has fewer operations.
Status checkAllGates(CallOp call, const std::vector<std::string> *extensions = nullptr);

} // namespace spyre::graph
