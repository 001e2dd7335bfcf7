//===- Gather.cpp - see Gather.h ------------------------------------------------------------===//
#include "Gather.h"

#include "spyre/Dialect/Utils/Attributes.h"

#include <algorithm>
#include <numeric>

namespace spyre {

using graph::CallOp;
using views::Atoms;
using views::View;

namespace {

/// The same element everywhere.
bool isOne(const View &view) {
  return std::all_of(view.dims.begin(), view.dims.end(), [](const Atoms &atoms) {
    return std::all_of(atoms.begin(), atoms.end(),
                       [](const views::Atom &atom) { return atom.dim == views::kBroadcast; });
  });
}

/// Every dimension walks one dimension of the buffer entry by entry, and \p dim all of it: rows
/// are then what indices count.
bool hasRows(const View &table, int64_t dim, const std::vector<int64_t> &bufferShape) {
  for (size_t d = 0; d < table.dims.size(); ++d) {
    const Atoms &atoms = table.dims[d];
    const bool isPlain =
        atoms.empty() ||
        (atoms.size() == 1 && (atoms[0].dim == views::kBroadcast || atoms[0].stride == 1));
    if (!isPlain) {
      return false;
    }
  }
  const Atoms &rows = table.dims[size_t(dim)];
  return rows.size() == 1 && rows[0].dim != views::kBroadcast &&
         rows[0].extent == bufferShape[size_t(rows[0].dim)];
}

std::vector<int64_t> replaced(const View &table, int64_t dim, const std::vector<int64_t> &by) {
  std::vector<int64_t> shape = table.shape();
  shape.erase(shape.begin() + dim);
  shape.insert(shape.begin() + dim, by.begin(), by.end());
  return shape;
}

} // namespace

//===--------------------------------------------------------------------------------------------===//
// One operation
//===--------------------------------------------------------------------------------------------===//

void LoopBuilder::addGather(View table, int64_t dim, const View &index, const View &to) {
  // A dimension of size 1 is none of the view's pieces; a copy has it as its own.
  if (!hasRows(table, dim, bufferShape(table.buffer))) {
    table = materialize(table, "rows-of-a-view: rows of a view are no rows in memory");
  }
  const Atoms &rows = table.dims[size_t(dim)];
  const int64_t rowDim = rows.empty() ? dim : rows[0].dim;
  const auto count = int64_t(index.dims.size()), rank = int64_t(table.dims.size()) - 1 + count;
  Operand indices{index, {}}, values{table, {}};
  for (int64_t loop = 0; loop < rank; ++loop) {
    const bool isIndex = loop >= dim && loop < dim + count;
    indices.dims.push_back(isIndex ? loop - dim : -1);
    values.dims.push_back(isIndex ? -1 : loop < dim ? loop : loop - count + 1);
  }
  Request request{loop::kCopy, to.shape(), 0, {indices, values}, Operand::straight(to)};
  request.indirect = {1, rowDim, 0};
  request.unitLoop = isOne(index) ? dim : -1;
  add(std::move(request));
}

//===--------------------------------------------------------------------------------------------===//
// Calls
//===--------------------------------------------------------------------------------------------===//

View GatherCalls::convert(CallOp call, const std::vector<View> &operands) {
  if (call.getCallee() == "aten.gather.default") {
    return along(call, operands[0], operands[1]);
  }
  if (call.getCallee() == "aten.index.Tensor") {
    return indexed(call, operands);
  }
  View index = operands[1];
  if (call.getCallee() == "aten.index_select.default" && index.dims.empty()) {
    index.dims.emplace_back();
  }
  return rows(operands[0], graph::indexedDims(call)[0], index);
}

View GatherCalls::rows(const View &table, int64_t dim, const View &index) {
  if (isOne(index)) {
    return oneRow(table, dim, index);
  }
  View result =
      loops.addBuffer(replaced(table, dim, index.shape()), loops.elementType(table.buffer));
  loops.addGather(table, dim, index, result);
  return result;
}

View GatherCalls::oneRow(const View &table, int64_t dim, View index) {
  const std::vector<int64_t> repeated = index.shape();
  index.dims = {Atoms{}};
  View row = loops.addBuffer(replaced(table, dim, {1}), loops.elementType(table.buffer));
  loops.addGather(table, dim, index, row);
  // [.., 1, ..] as [.., 1.., ..], then repeated.
  std::vector<Atoms> dims;
  for (int64_t size : repeated) {
    dims.push_back(size == 1 ? Atoms{} : Atoms{{views::kBroadcast, size, 1}});
  }
  row.dims.erase(row.dims.begin() + dim);
  row.dims.insert(row.dims.begin() + dim, dims.begin(), dims.end());
  return row;
}

View GatherCalls::along(CallOp call, const View &table, const View &index) {
  const int64_t dim = graph::indexedDims(call)[0];
  const std::vector<int64_t> shape = index.shape();
  const std::vector<bool> varies = graph::indexVaries(call);
  View result = loops.addBuffer(shape, loops.elementType(table.buffer));
  View whole = table;
  int64_t tables = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (int64_t(d) != dim) {
      whole = loops.slice(whole, int64_t(d), 0, shape[d], 1);
      tables *= varies[d] ? shape[d] : 1;
    }
  }
  if (!hasRows(whole, dim, loops.bufferShape(whole.buffer))) {
    whole = loops.materialize(
        whole, "rows-of-a-view: rows of a view are no rows in memory"); // once, not for each table
  }
  for (int64_t number = 0; number < tables; ++number) {
    View from = whole, chosen = index, to = result;
    int64_t left = number;
    for (auto d = int64_t(shape.size()); d-- > 0;) {
      if (d == dim) {
        continue;
      }
      const int64_t extent = shape[size_t(d)];
      if (varies[size_t(d)]) {
        const int64_t at = left % extent;
        left /= extent;
        from = loops.slice(from, d, at, 1, 1);
        to = loops.slice(to, d, at, 1, 1);
        chosen = loops.slice(chosen, d, at, 1, 1);
      } else {
        chosen = loops.slice(chosen, d, 0, 1, 1);
      }
    }
    // The index has the gathered dimension only.
    chosen.dims = {chosen.dims[size_t(dim)]};
    if (isOne(chosen)) {
      chosen.dims = {Atoms{}};
      View row = loops.addBuffer(replaced(from, dim, {1}), loops.elementType(from.buffer));
      loops.addGather(from, dim, chosen, row);
      loops.addCopy(views::broadcast(row, to.shape()), to);
    } else {
      loops.addGather(from, dim, chosen, to);
    }
  }
  return result;
}

View GatherCalls::indexed(CallOp call, const std::vector<View> &operands) {
  const std::vector<int64_t> dims = graph::indexedDims(call);
  const std::vector<int64_t> shape = *graph::indexShape(call);
  View table = operands[0];
  const std::vector<int64_t> sizes = table.shape();
  // The indexed dimensions become neighbours, then one.
  const int64_t at = graph::areNeighbours(dims) ? dims.front() : 0;
  std::vector<int64_t> order;
  for (int64_t d = 0; d < int64_t(sizes.size()); ++d) {
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) {
      order.push_back(d);
    }
  }
  order.insert(order.begin() + at, dims.begin(), dims.end());
  table = views::permute(table, order);
  int64_t joined = sizes[size_t(dims[0])];
  View index = fromFront(call, 1, operands[1], joined);
  if (dims.size() > 1) {
    index = checked(index, joined);
  }
  for (size_t i = 1; i < dims.size(); ++i) {
    const int64_t size = sizes[size_t(dims[i])];
    View next = checked(fromFront(call, unsigned(i) + 1, operands[i + 1], size), size);
    View scaled = integers("mul", {index, constant(size, index, index.shape())});
    index = integers("add", {views::broadcast(scaled, shape), views::broadcast(next, shape)});
    joined *= size;
  }
  if (dims.size() > 1) {
    std::vector<int64_t> flat = table.shape();
    flat.erase(flat.begin() + at, flat.begin() + at + int64_t(dims.size()));
    flat.insert(flat.begin() + at, joined);
    table = loops.reshape(table, flat);
  }
  return rows(table, at, index);
}

View GatherCalls::fromFront(CallOp call, unsigned operand, const View &index, int64_t size) {
  if (!graph::countsFromEnd(call)) {
    return index;
  }
  auto [found, added] = known.try_emplace({call.getOperand(operand), size}, index);
  if (added) {
    const View zero = constant(0, index, index.shape());
    View moved = integers("add", {index, constant(size, index, index.shape())});
    View wasBelow = integers("lesserthan", {index, zero});
    View isBelow = integers("lesserthan", {moved, zero});
    View isMoved = integers("lesserthan", {isBelow, wasBelow});
    View result = integers("where3", {isMoved, moved, index});
    return known[{call.getOperand(operand), size}] = result;
  }
  return found->second;
}

View GatherCalls::checked(const View &index, int64_t size) {
  const View zeros = loops.materialize(constant(0, index, {size}),
                                       "index-check: as many zeros as an index may choose from");
  return integers("add", {index, rows(zeros, 0, index)});
}

View GatherCalls::integers(const char *callee, const std::vector<View> &operands) {
  return loops.addPointwise(callee, operands, operands[0].shape(),
                            loops.elementType(operands[0].buffer));
}

View GatherCalls::constant(int64_t value, const View &like, const std::vector<int64_t> &shape) {
  const int64_t buffer = loops.addConstant(double(value), loops.elementType(like.buffer));
  return views::broadcast(View::whole(buffer, {}), shape);
}

} // namespace spyre
