//===- Gather.h - calls with indices as copies of chosen rows -------------------------------===//
//
// The device copies rows of a table whose numbers stand in an index tensor (`indirect` of
// loop.compute). Everything else is made of that:
//
//     negative indices         where(-size <= i < 0, i + size, i) on the indices, in integers: what
//                              is further below stays for the device's error to name
//     several index tensors    the indexed dimensions as one, and one number: i * size + j. One
//                              that is outside could be another place: each is checked before
//     one table per row        a gather per row of a batch, into parts of the result
//     one index for all        one row, repeated
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Dialect/Graph/IR/Gathers.h"

#include "llvm/ADT/DenseMap.h"

#include "LoopBuilder.h"

namespace spyre {

class GatherCalls {
public:
  explicit GatherCalls(LoopBuilder &loops) : loops(loops) {}

  /// \p operands are the views of the call's operands.
  views::View convert(graph::CallOp call, const std::vector<views::View> &operands);

private:
  /// table[.., index, ..] into a buffer of its own.
  views::View rows(const views::View &table, int64_t dim, const views::View &index);
  views::View oneRow(const views::View &table, int64_t dim, views::View index);
  /// One index for each entry of all dimensions that \p index varies along.
  views::View along(graph::CallOp call, const views::View &table, const views::View &index);
  views::View indexed(graph::CallOp call, const std::vector<views::View> &operands);
  /// Index \p operand of the call, counted from the front.
  views::View fromFront(graph::CallOp call, unsigned operand, const views::View &index,
                        int64_t size);
  /// The index plus rows of zeros that it chooses: the device refuses one that is not below size.
  views::View checked(const views::View &index, int64_t size);
  views::View integers(const char *callee, const std::vector<views::View> &operands);
  /// Of the type of \p like.
  views::View constant(int64_t value, const views::View &like, const std::vector<int64_t> &shape);

  LoopBuilder &loops;
  /// Indices that were counted from the front before, by value and size.
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, views::View> known;
};

} // namespace spyre
