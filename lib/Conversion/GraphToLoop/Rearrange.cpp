//===- Rearrange.cpp - see Rearrange.h ------------------------------------------------------===//
#include "Rearrange.h"

#include "spyre/Dialect/Graph/IR/SliceCopies.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace spyre {

using views::Atoms;
using views::View;

namespace {

/// A part of a whole buffer.
View part(const View &whole, int64_t dim, int64_t start, int64_t extent, int64_t step = 1) {
  std::optional<View> sliced = views::slice(whole, dim, start, extent, step);
  SPYRE_CHECK(sliced.has_value(), "a dimension of one piece can be sliced");
  return *sliced;
}

View reshaped(const View &view, const std::vector<int64_t> &shape) {
  std::optional<View> result = views::reshape(view, shape);
  SPYRE_CHECK(result.has_value(), "a whole dimension can be cut where its size divides");
  return *result;
}

/// The order of dimensions with \p dim moved to the end.
std::vector<int64_t> movedLast(int64_t rank, int64_t dim) {
  std::vector<int64_t> order;
  for (int64_t d = 0; d < rank; ++d) {
    if (d != dim) {
      order.push_back(d);
    }
  }
  order.push_back(dim);
  return order;
}

} // namespace

View unfoldDim(LoopBuilder &loops, const View &value, int64_t dim, int64_t size, int64_t step) {
  if (std::optional<View> windows = views::unfold(value, dim, size, step)) {
    return views::nests(*windows) ? *windows
                                  : *views::unfold(loops.materialize(value), dim, size, step);
  }
  std::vector<int64_t> shape = value.shape();
  const int64_t count = (shape[size_t(dim)] - size) / step + 1, last = int64_t(shape.size());
  shape[size_t(dim)] = count;
  shape.push_back(size);
  View result = loops.addBuffer(shape, loops.elementType(value.buffer));
  for (int64_t i = 0; i < std::min(count, size); ++i) {
    if (size <= count) { // element i of all windows
      loops.addCopy(loops.slice(value, dim, i, count, step),
                    views::dropDim(part(result, last, i, 1), last));
    } else { // window i
      View window = loops.slice(value, dim, i * step, size, 1);
      loops.addCopy(views::permute(window, movedLast(last, dim)),
                    views::dropDim(part(result, dim, i, 1), dim));
    }
  }
  return result;
}

View flipDim(LoopBuilder &loops, const View &value, int64_t dim) {
  const std::vector<int64_t> shape = value.shape();
  const int64_t extent = shape[size_t(dim)];
  View current = value;
  int64_t inner = 1;
  for (int64_t digit : graph::flipDigits(extent)) {
    // [.., outer, digit, inner, ..]
    std::vector<int64_t> cut = shape;
    cut[size_t(dim)] = extent / (digit * inner);
    cut.insert(cut.begin() + dim + 1, {digit, inner});
    View from = loops.reshape(current, cut);
    View buffer = loops.addBuffer(shape, loops.elementType(value.buffer));
    View to = reshaped(buffer, cut);
    for (int64_t i = 0; i < digit; ++i) {
      loops.addCopy(loops.slice(from, dim + 1, i, 1, 1), part(to, dim + 1, digit - 1 - i, 1));
    }
    current = buffer;
    inner *= digit;
  }
  return current;
}

View diagonalOf(LoopBuilder &loops, const View &value, int64_t dim1, int64_t dim2, int64_t offset) {
  std::vector<int64_t> order;
  const auto rank = int64_t(value.dims.size());
  for (int64_t d = 0; d < rank; ++d) {
    if (d != dim1 && d != dim2) {
      order.push_back(d);
    }
  }
  order.insert(order.end(), {dim1, dim2});
  View matrix = views::permute(value, order);
  const std::vector<int64_t> shape = matrix.shape();
  const int64_t rows = shape[size_t(rank) - 2], columns = shape[size_t(rank) - 1];
  const int64_t row = std::max<int64_t>(-offset, 0), column = std::max<int64_t>(offset, 0);
  const int64_t count = std::min(rows - row, columns - column);
  // As one dimension; who reads it pads it to whole steps.
  const int64_t step = columns + 1, last = rank - 2;
  std::vector<int64_t> flat(shape.begin(), shape.end() - 2);
  flat.push_back(rows * columns);
  View buffer = loops.addBuffer(flat, loops.elementType(value.buffer));
  loops.addCopy(matrix, reshaped(buffer, shape));
  return part(buffer, last, row * columns + column, count, step);
}

namespace {

/// \p storage is one whole dimension, long enough.
View nestedWalk(const View &storage, const std::vector<int64_t> &shape,
                const std::vector<int64_t> &stride, int64_t offset) {
  View view = storage;
  view.dims.clear();
  view.offset[0] = offset;
  for (size_t d = 0; d < shape.size(); ++d) {
    const bool repeats = stride[d] == 0;
    view.dims.push_back(shape[d] == 1 ? Atoms{}
                        : repeats     ? Atoms{{views::kBroadcast, shape[d], 1}}
                                      : Atoms{{0, shape[d], stride[d]}});
  }
  return view;
}

void copyWalk(LoopBuilder &loops, const View &storage, const std::vector<int64_t> &shape,
              const std::vector<int64_t> &stride, int64_t offset, const View &to) {
  const int64_t dim = graph::findOverlap(shape, stride);
  if (dim < 0) {
    loops.addCopy(nestedWalk(storage, shape, stride, offset), to);
    return;
  }
  std::vector<int64_t> one = shape;
  one[size_t(dim)] = 1;
  for (int64_t i = 0; i < shape[size_t(dim)]; ++i) {
    copyWalk(loops, storage, one, stride, offset + i * stride[size_t(dim)], part(to, dim, i, 1));
  }
}

} // namespace

View stridedView(LoopBuilder &loops, const View &value, const std::vector<int64_t> &shape,
                 const std::vector<int64_t> &stride, int64_t offset) {
  const std::vector<int64_t> from = value.shape();
  const int64_t elements =
      std::accumulate(from.begin(), from.end(), int64_t(1), std::multiplies<>());
  View storage = loops.addBuffer({elements}, loops.elementType(value.buffer));
  loops.addCopy(value, reshaped(storage, from));
  if (graph::findOverlap(shape, stride) < 0) {
    return nestedWalk(storage, shape, stride, offset);
  }
  View result = loops.addBuffer(shape, loops.elementType(value.buffer));
  copyWalk(loops, storage, shape, stride, offset, result);
  return result;
}

} // namespace spyre
