//===- Gathers.cpp - see Gathers.h ----------------------------------------------------------===//
#include "spyre/Dialect/Graph/IR/Gathers.h"

#include "spyre/Dialect/Graph/IR/SliceCopies.h"

#include <algorithm>

namespace spyre::graph {

static bool isNamed(CallOp call, const char *name) { return call.getCallee() == name; }

std::vector<int64_t> indexedDims(CallOp call) {
  const auto rank = int64_t(shapeOf(call.getOperand(0)).size());
  if (isNamed(call, "aten.index.Tensor")) {
    std::vector<int64_t> dims = listAttribute(call, "indices_at");
    for (int64_t d = 0; !call->hasAttr("indices_at") && d + 1 < int64_t(call.getNumOperands());
         ++d) {
      dims.push_back(d);
    }
    return dims;
  }
  return {isNamed(call, "aten.embedding.default") ? 0 : dimAttribute(call, "dim", 0, rank)};
}

bool areNeighbours(const std::vector<int64_t> &dims) {
  return dims.back() - dims.front() + 1 == int64_t(dims.size());
}

std::optional<std::vector<int64_t>> indexShape(CallOp call) {
  std::vector<int64_t> shape;
  for (mlir::Value index : call.getOperands().drop_front()) {
    std::vector<int64_t> own = shapeOf(index);
    if (own.size() > shape.size()) {
      std::swap(own, shape);
    }
    for (size_t i = 1; i <= own.size(); ++i) {
      int64_t &size = shape[shape.size() - i];
      const int64_t other = own[own.size() - i];
      if (size != other && size != 1 && other != 1) {
        return std::nullopt;
      }
      size = std::max(size, other);
    }
  }
  return shape;
}

std::vector<bool> indexVaries(CallOp call) {
  std::vector<int64_t> shape = shapeOf(call.getOperand(1));
  std::vector<bool> varies;
  for (int64_t size : shape) {
    varies.push_back(size > 1);
  }
  auto expand = call.getOperand(1).getDefiningOp<CallOp>();
  if (expand && isNamed(expand, "aten.expand.default")) {
    const std::vector<int64_t> from = shapeOf(expand.getOperand(0));
    const size_t added = shape.size() - from.size();
    for (size_t d = 0; d < shape.size(); ++d) {
      varies[d] = varies[d] && d >= added && from[d - added] > 1;
    }
  }
  return varies;
}

bool countsFromEnd(CallOp call) { return isNamed(call, "aten.index.Tensor"); }

namespace {

Status wrongShape(CallOp call, const std::vector<int64_t> &expected) {
  return error<1004>("{}: result shape [{}] expected, got [{}]", call.getCallee().str(),
                     fmt::join(expected, ", "), fmt::join(shapeOf(call.getResult()), ", "));
}

/// One index tensor of the table's rank; the result has its shape.
Status checkAlong(CallOp call, int64_t dim) {
  const std::vector<int64_t> table = shapeOf(call.getOperand(0)),
                             index = shapeOf(call.getOperand(1));
  bool fits = index.size() == table.size() && index == shapeOf(call.getResult());
  for (size_t d = 0; fits && d < table.size(); ++d) {
    fits = int64_t(d) == dim || index[d] <= table[d];
  }
  if (!fits || table[size_t(dim)] > INT32_MAX) {
    return error<1004>("{}: index [{}] does not choose from [{}] along dimension {}",
                       call.getCallee().str(), fmt::join(index, ", "), fmt::join(table, ", "), dim);
  }
  const std::vector<bool> varies = indexVaries(call);
  int64_t copies = 1;
  for (size_t d = 0; d < table.size() && copies <= kMaxSliceCopies; ++d) {
    copies *= varies[d] && int64_t(d) != dim ? index[d] : 1;
  }
  return copies <= kMaxSliceCopies
             ? Status::success()
             : error<1004>("{} takes {} gathers, at most {} are made; an index that is expanded "
                           "along the other dimensions takes one",
                           call.getCallee().str(), copies, kMaxSliceCopies);
}

} // namespace

Status checkGather(CallOp call, const OpRow &row) {
  const std::vector<int64_t> table = shapeOf(call.getOperand(0));
  const auto rank = int64_t(table.size());
  if (call.getNumOperands() < 2) {
    return error<1005>("{}: a table and at least one index tensor expected", row.name);
  }
  const std::vector<int64_t> dims = indexedDims(call);
  bool sound = dims.size() + 1 == call.getNumOperands() && dims.front() >= 0 && dims.back() < rank;
  for (size_t i = 1; i < dims.size(); ++i) {
    sound = sound && dims[i - 1] < dims[i];
  }
  if (!sound) {
    return error<1004>("{}: {} index tensors for dimensions [{}] of a table of rank {}", row.name,
                       call.getNumOperands() - 1, fmt::join(dims, ", "), rank);
  }
  if (isNamed(call, "aten.gather.default")) {
    return checkAlong(call, dims[0]);
  }
  std::optional<std::vector<int64_t>> index = indexShape(call);
  if (!index) {
    return error<1004>("{}: the index tensors do not broadcast together", row.name);
  }
  if (isNamed(call, "aten.index_select.default")) {
    if (index->size() > 1) {
      return error<1004>("{}: the index has rank {}, at most 1 expected", row.name, index->size());
    }
    index->resize(1, 1);
  }
  int64_t rows = 1;
  std::vector<int64_t> expected;
  for (int64_t d = 0; d < rank; ++d) {
    const bool isIndexed = std::find(dims.begin(), dims.end(), d) != dims.end();
    if (isIndexed) {
      rows *= table[size_t(d)]; // at most 2^38: the table's elements
    } else {
      expected.push_back(table[size_t(d)]);
    }
  }
  const int64_t at = areNeighbours(dims) ? dims.front() : 0;
  expected.insert(expected.begin() + at, index->begin(), index->end());
  if (rows > INT32_MAX) {
    return error<1004>("{}: {} rows, indices reach {}", row.name, rows, INT32_MAX);
  }
  return expected == shapeOf(call.getResult()) ? Status::success() : wrongShape(call, expected);
}

} // namespace spyre::graph
