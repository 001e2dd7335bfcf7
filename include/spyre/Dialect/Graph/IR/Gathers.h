//===- Gathers.h - calls whose operands hold numbers of rows --------------------------------===//
//
// embedding, index_select, index and gather choose entries of a table along a dimension. The op
// checks and the conversion to loops read such a call through the same functions:
//
//     embedding     table [v, ..], index [i..]           -> [i.., ..]
//     index_select  table, "dim", index [n]              -> n entries of that dimension
//     index         table, indices of the dimensions "indices_at" that broadcast together
//     gather        table, "dim", index of the table's rank: one table per entry of the other
//                   dimensions, unless the index repeats along them
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Dialect/Graph/IR/Graph.h"
#include "spyre/Dialect/Graph/IR/OpTable.h"

#include <vector>

namespace spyre::graph {

/// Dimensions of the table that a call has indices for, ascending; operands 1, 2, .. in this order.
std::vector<int64_t> indexedDims(CallOp call);

/// True when the results of the indices stand where the indexed dimensions were: these are
/// neighbours. Otherwise they come first.
bool areNeighbours(const std::vector<int64_t> &dims);

/// What the indices of a call broadcast to; an empty optional when they do not.
std::optional<std::vector<int64_t>> indexShape(CallOp call);

/// Per dimension of a gather's result: whether the index has different entries along it. An
/// operand of an expand is looked at.
std::vector<bool> indexVaries(CallOp call);

/// Whether indices may be negative and then count from the end.
bool countsFromEnd(CallOp call);

/// Shapes and number of copies. Errors: E1004, E1005.
Status checkGather(CallOp call, const OpRow &row);

} // namespace spyre::graph
