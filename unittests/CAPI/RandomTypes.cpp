//===- RandomTypes.cpp - random conversions, mixed operands and rows chosen by indices ------===//
#include "RandomSteps.h"

#include <algorithm>
#include <tuple>

namespace spyre::testing {

using numerics::HostType;

/// fp16, bf16, fp32 and truth values into each other, at times by way of fp8.
void Steps::addCast(int64_t x) {
  static const char *const names[] = {"aten._to_copy.default",
                                      "prims.convert_element_type.default"};
  static const HostType types[] = {HostType::Float16, HostType::Bfloat16, HostType::Float32,
                                   HostType::Float32, HostType::Bool};
  HostType type = types[random.below(5)];
  if (oneIn(4)) {
    const double largest = std::min(values[size_t(x)].largest, 448.0);
    const bool isHalf = typeOf(x) == HostType::Float16 || typeOf(x) == HostType::Bfloat16;
    x = addCall(isHalf && oneIn(2) ? "spyre.qfp8ch.default" : pick(names), {x}, {}, shapeOf(x),
                HostType::Float8E4m3fn, largest);
  }
  addCall(pick(names), {x}, {}, shapeOf(x), type,
          type == HostType::Bool ? 1 : values[size_t(x)].largest);
}

/// The framework computes in the wider type.
void Steps::addMixed(int64_t x) {
  static const char *const names[] = {"aten.add.Tensor", "aten.mul.Tensor", "aten.maximum.default",
                                      "aten.sub.Tensor"};
  static const char *const comparisons[] = {"aten.gt.Tensor", "aten.le.Tensor", "aten.eq.Tensor"};
  const Shape shape = shapeOf(x);
  const HostType other = typeOf(x) == HostType::Float32 ? HostType::Float16 : HostType::Float32;
  const int64_t y = addInput(broadcastable(shape), other);
  const double largest = 2 * values[size_t(x)].largest + 2;
  switch (random.below(3)) {
  case 0: {
    const int64_t condition = addCall(pick(comparisons), {x, y}, {}, shape, HostType::Bool, 1);
    const int64_t z = partner(x, HostType::Float32);
    addCall("aten.where.self", {condition, x, z}, {}, shape, HostType::Float32, largest);
    return;
  }
  case 1: {
    const int64_t condition = addInput(broadcastable(shape), HostType::Bool);
    addCall("aten.where.self", {condition, y, x}, {}, shape, HostType::Float32, largest);
    return;
  }
  default:
    addCall(pick(names), {x, y}, {}, shape, HostType::Float32, largest);
  }
}

int64_t Steps::addIndex(const Shape &shape, int64_t rows, bool mayCountFromEnd) {
  const bool fromEnd = mayCountFromEnd && oneIn(2);
  HostTensor index{shape, {}, oneIn(3) ? HostType::Int32 : HostType::Int64};
  for (int64_t n = 0; n < elementCount(shape); ++n) {
    index.values.push_back(float(random.between(fromEnd ? -rows : 0, rows - 1)));
  }
  const HostType type = index.dtype;
  graph.inputs.push_back(std::move(index));
  values.push_back({shape, type, fromEnd ? -1.0 : double(rows - 1), true});
  return last();
}

Shape Steps::indexShape(int64_t limit) {
  Shape shape;
  for (int64_t rank = random.between(0, 2); rank > 0; --rank) {
    shape.push_back(
        std::min(std::max<int64_t>(limit, 1), oneIn(3) ? size() : random.between(1, 9)));
    limit /= shape.back();
  }
  return shape;
}

void Steps::addGather(int64_t x) {
  const Shape shape = shapeOf(x);
  const auto rank = int64_t(shape.size());
  if (rank == 0) {
    return addView(x);
  }
  const auto dim = int64_t(random.below(uint64_t(rank)));
  const int64_t rows = shape[size_t(dim)], rest = elementCount(shape) / rows;
  const double largest = values[size_t(x)].largest;
  Shape index = indexShape(options.maxElements / rest), result = shape;
  switch (random.below(4)) {
  case 0: {
    index = {index.empty() ? 1 : index[0]};
    result[size_t(dim)] = index[0];
    addCall("aten.index_select.default", {x, addIndex(index, rows, false)},
            {{"dim", spelled(dim, rank)}}, result, typeOf(x), largest);
    return;
  }
  case 1:
    return addGatherAlong(x, dim);
  case 2:
    if (rank > 1) {
      return addTwoIndices(x);
    }
    [[fallthrough]];
  default: {
    if (rank - 1 + int64_t(index.size()) > 5) {
      index.clear();
    }
    const bool isEmbedding = rank == 2 && dim == 0 && oneIn(2);
    result.erase(result.begin() + dim);
    result.insert(result.begin() + dim, index.begin(), index.end());
    Attributes attributes;
    if (dim > 0) {
      attributes = {{"indices_at", Shape{dim}}};
    }
    addCall(isEmbedding ? "aten.embedding.default" : "aten.index.Tensor",
            {x, addIndex(index, rows, !isEmbedding)}, attributes, result, typeOf(x), largest);
  }
  }
}

/// An index of the table's rank, at times repeated along the other dimensions.
void Steps::addGatherAlong(int64_t x, int64_t dim) {
  const Shape shape = shapeOf(x);
  Shape index = shape, once;
  int64_t tables = 1;
  const bool expands = oneIn(2);
  for (size_t d = 0; d < shape.size(); ++d) {
    const bool isChosen = int64_t(d) == dim;
    index[d] = isChosen ? random.between(1, 9) : oneIn(4) ? random.between(1, shape[d]) : shape[d];
    if (!isChosen && !expands) { // a gather for each of them
      index[d] = std::min(index[d], std::max<int64_t>(12 / tables, 1));
      tables *= index[d];
    }
    once.push_back(isChosen || !expands || (index[d] < 5 && oneIn(3)) ? index[d] : 1);
  }
  if (elementCount(index) > options.maxElements) {
    return addView(x);
  }
  int64_t indices = addIndex(once, shape[size_t(dim)], false);
  if (once != index) {
    indices = addCall("aten.expand.default", {indices}, {{"size", index}}, index, typeOf(indices),
                      values[size_t(indices)].largest);
  }
  addCall("aten.gather.default", {x, indices}, {{"dim", spelled(dim, int64_t(shape.size()))}},
          index, typeOf(x), values[size_t(x)].largest);
}

void Steps::addTwoIndices(int64_t x) {
  const Shape shape = shapeOf(x);
  const auto rank = int64_t(shape.size());
  int64_t first = int64_t(random.below(uint64_t(rank))),
          second = int64_t(random.below(uint64_t(rank)));
  if (first == second) {
    second = (first + 1) % rank;
  }
  std::tie(first, second) = std::minmax({first, second});
  const int64_t count = random.between(1, 6);
  Shape a = {count}, b = {count}, index = {count};
  if (oneIn(3)) { // broadcast together
    a = {count, 1};
    b = {3};
    index = {count, 3};
  }
  Shape result;
  for (int64_t d = 0; d < rank; ++d) {
    if (d != first && d != second) {
      result.push_back(shape[size_t(d)]);
    }
  }
  const int64_t at = second == first + 1 ? first : 0;
  result.insert(result.begin() + at, index.begin(), index.end());
  const int64_t rows = addIndex(a, shape[size_t(first)], true);
  const int64_t columns = addIndex(b, shape[size_t(second)], true);
  addCall("aten.index.Tensor", {x, rows, columns}, {{"indices_at", Shape{first, second}}}, result,
          typeOf(x), values[size_t(x)].largest);
}

/// Indices in the hand: rows of a fresh table.
void Steps::addLookUp(int64_t x) {
  const double largest = values[size_t(x)].largest;
  const int64_t width = std::min<int64_t>(size(), options.maxElements / elementCount(shapeOf(x)));
  const auto rows = int64_t(largest) + 1;
  if (largest < 0 || width < 1 || rows * width > options.maxElements || shapeOf(x).size() > 4 ||
      oneIn(4)) {
    return addView(x);
  }
  Shape result = shapeOf(x);
  result.push_back(width);
  const HostType type = oneIn(3) ? HostType::Float32 : HostType::Float16;
  const int64_t table = addInput({rows, width}, type);
  addCall("aten.embedding.default", {table, x}, {}, result, type, 2);
}

} // namespace spyre::testing
