//===- OpTable.h - the framework operations the compiler knows ------------------------------===//
//
// One row per operation: what kind of loop it becomes, how many tensor positions it has, which
// device operation does the work, and which attributes are allowed. The graph verifier, the
// conversion to loop IR, the eager path and the documentation all read this table.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"

#include <string>
#include <vector>

namespace spyre::graph {

class CallOp;

enum class OpKind {
  Pointwise, ///< lane by lane, operands broadcast to the result
  Reduction, ///< over the dimensions in attribute "dim"
  Matmul,    ///< [.., m, k] x [.., k, n]
  View,      ///< another reading of the same elements
  Copy,      ///< a fresh tensor with the same elements
};

struct OpRow {
  const char *name;
  OpKind kind;
  int tensorPositions;
  /// Device operation; empty for views and copies.
  const char *deviceOp;
  /// Attributes the operation may carry (besides scalar<i>).
  std::vector<const char *> attributes;
};

/// Sorted by name.
const std::vector<OpRow> &opTable();
const OpRow *findOp(const std::string &name);

/// One call against its row: arity, attributes, element types, ranks, result shape. Errors: E1003
/// (element type), E1004 (rank, shape), E1005 (arity or attributes). The callee must be in the
/// table.
Status checkCall(CallOp call, const OpRow &row);

} // namespace spyre::graph
