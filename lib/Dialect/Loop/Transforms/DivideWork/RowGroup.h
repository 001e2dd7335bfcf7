//===- RowGroup.h - operations that can walk more, or in parts, of one dimension --------------===//
//
// 997 rows have no divisor but 1 and 997: cores cannot share them. Operations that treat rows apart
// can walk 1024 instead, if all tensors between them have as many; or run twice, over 992 rows and
// over the last 5.
//
//     x --copies--> x_rows    entry: x has the caller's layout
//     exp  x_rows -> t        padded: t is a temp and is given 1024 rows
//     sum  t -> s             padded: it reduces another dimension
//     neg  s -> y             exit: y is an output of 997 rows; runs over 992 and over 5
//
// Rows behind the extent hold copies of the first ones. They are never reduced and never leave the
// group. docs/adr/0073-rows-that-cores-cannot-share.md
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Dialect/Loop/Transforms/Stick.h"

#include "llvm/ADT/MapVector.h"

namespace spyre::loop {

/// Operations, each with the variable that walks the dimension, in the order of the program.
using RowVars = llvm::MapVector<mlir::Operation *, unsigned>;
/// Buffers, each with the dimension that is walked.
using RowDims = llvm::MapVector<mlir::Value, unsigned>;

/// Everything that treats rows of one extent apart.
struct RowGroup {
  int64_t extent = 0;
  RowVars ops;
  /// Temps between them: one of them writes it, and nobody else sees more of it than its rows.
  RowDims inner;
  /// Of padded ones: what they read that has no room.
  RowDims entries;
  /// Of padded ones: they read what has grown and write what cannot. Not part of `ops`.
  RowVars exits;
};

/// Operations whose results can be given more rows, and where that begins and ends.
RowGroup findPadded(mlir::func::FuncOp main, int64_t extent);
enum class Cut {
  Rows,
  /// Products read their second operand once per part: these stay whole.
  RowsWithoutProducts,
  /// The dimension is the stick of all operands that have it; parts are whole sticks.
  Columns,
};
/// Operations that can run in two parts; their inner temps are read by the group alone.
RowGroup findCut(mlir::func::FuncOp main, int64_t extent, Cut cut = Cut::Rows);

/// Gives all of the group \p rows; exits and copies of entries run over \p even rows and over the
/// rest.
void padRows(mlir::func::FuncOp main, const RowGroup &group, int64_t rows, int64_t even);
/// Runs all of the group over \p even rows, and once more over the rest.
void cutRows(mlir::func::FuncOp main, const RowGroup &group, int64_t even);

} // namespace spyre::loop
