//===- OpTable.h - the framework operations the compiler knows ------------------------------===//
//
// One row per operation: what kind of loop it becomes, how many tensor positions it has, which
// device operation does the work, which element types it takes, and which attributes are allowed.
// The graph verifier, the conversion to loop IR, the eager path and the documentation all read this
// table.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"

#include <limits>
#include <string>
#include <vector>

namespace spyre::graph {

class CallOp;

enum class OpKind {
  Pointwise, ///< lane by lane, operands broadcast to the result
  Reduction, ///< over the dimensions in attribute "dim"
  Matmul,    ///< [.., m, k] x [.., k, n]
  View,      ///< another reading of the same elements
  Copy,      ///< a fresh tensor with the same elements, perhaps in another element type
  Rearrange, ///< a fresh tensor with the same elements in another order
  TopK,      ///< the largest along "dim", or where they are
  Gather,    ///< entries of the first operand that the others name
  Cat,       ///< operands one behind the other along "dim"
  Scatter,   ///< the first operand with a part of one dimension replaced by the second
  Fill,      ///< one number everywhere
  Composite, ///< rewritten to other rows by spyre-graph-decompose
};

/// Element types of operands and result.
enum class TypeRule {
  Float,   ///< f16, bf16 or f32; operands that differ from the result are converted to it
  Number,  ///< Float, or integers, which take i1 and integers
  Integer, ///< i8 to i64; operands of these and i1 are converted
  Product, ///< f16, bf16, f32 or integers, all the same
  Compare, ///< the same of operands; where they differ f32, or i64 of integers; the result is i1
  Logical, ///< i1
  Where,   ///< i1, then Number
  Any,     ///< all the same; elements are moved, not computed on
  Indexed, ///< the first as the result, the others i32 or i64
  Place,   ///< f16, bf16 or f32; the result is i64
  Cast,    ///< any pair the device converts
  Free,    ///< decided where the row is decomposed
};

/// A number of the device operation: the value of an attribute of the call.
struct OpConstant {
  const char *name;
  const char *attribute;
  double otherwise;
};

struct OpRow {
  const char *name;
  OpKind kind;
  /// -1: any number.
  int tensorPositions;
  /// Device operation; empty where there is not one.
  const char *deviceOp;
  /// Attributes the operation may carry (besides scalar<i>).
  std::vector<const char *> attributes = {};
  TypeRule types = TypeRule::Float;
  std::vector<OpConstant> constants = {};
  /// Attribute with a number that takes the last tensor position, or null.
  const char *scalar = nullptr;
};

/// An open end of a range, and infinity in constants: beyond every number of the device's formats.
constexpr double kLargest = std::numeric_limits<float>::max();

/// Sorted by name.
const std::vector<OpRow> &opTable();
/// Looks for "spyre.device.<name>" in deviceOpTable(), for all others in opTable().
const OpRow *findOp(const std::string &name);

/// Words for people: what kind of loop, and which element types.
const char *kindText(OpKind kind);
const char *ruleText(TypeRule rule);

/// One call against its row: arity, attributes, element types, ranks, result shape. Errors: E1003
/// (element type), E1004 (rank, shape), E1005 (arity or attributes). The callee must be in the
/// table.
Status checkCall(CallOp call, const OpRow &row);

/// Attributes of a call by the framework's rules: an integer, a number, a flag, a list, or what is
/// given for an absent one.
int64_t intAttribute(CallOp call, const char *name, int64_t otherwise);
double numberAttribute(CallOp call, const char *name, double otherwise);
bool flagAttribute(CallOp call, const char *name, bool otherwise);
std::vector<int64_t> listAttribute(CallOp call, const char *name);
/// A dimension, counted from the front.
int64_t dimAttribute(CallOp call, const char *name, int64_t otherwise, int64_t rank);

/// Views that take a part of one dimension.
bool isSlice(const std::string &name);
struct Slice {
  int64_t start = 0, extent = 0, step = 1;
};
/// What of a dimension of \p size such a call takes; an extent below 1 when that is nothing.
Slice sliceOf(CallOp call, int64_t size);

} // namespace spyre::graph
