//===- RandomViews.cpp - random views of a value --------------------------------------------===//
#include "RandomSteps.h"

#include <algorithm>
#include <numeric>

namespace spyre::testing {

void Steps::view(const std::string &target, int64_t x, Attributes attributes, Shape shape) {
  addCall(target, {x}, std::move(attributes), std::move(shape), typeOf(x),
          values[size_t(x)].largest);
}

void Steps::addView(int64_t x) {
  switch (random.below(9)) {
  case 0:
  case 1:
  case 2:
    return shapeOf(x).empty() ? addUnitChange(x) : addPart(x);
  case 3:
  case 4:
    return addPermutation(x);
  case 5:
    return addExpansion(x);
  case 6:
    return addReshape(x);
  case 7:
    return shapeOf(x).empty() ? addUnitChange(x) : addRearrangement(x);
  default:
    return addUnitChange(x);
  }
}

void Steps::addPart(int64_t x) {
  const auto dim = int64_t(random.below(shapeOf(x).size()));
  switch (random.below(5)) {
  case 0:
    return addUnfold(x, dim);
  case 1:
  case 2:
    return addSplit(x, dim);
  default:
    return addSlice(x, dim);
  }
}

void Steps::addSlice(int64_t x, int64_t dim) {
  Shape shape = shapeOf(x);
  const auto rank = int64_t(shape.size());
  const int64_t size = shape[size_t(dim)], start = random.between(0, size - 1);
  const capi::Attribute spelledDim = spelled(dim, rank), begin = oneIn(3) ? start - size : start;
  switch (random.below(3)) {
  case 0: {
    const int64_t step = oneIn(2) ? 1 : random.between(2, 5);
    int64_t end = random.between(start + 1, size);
    shape[size_t(dim)] = (end - start + step - 1) / step;
    end = end == size && oneIn(2) ? (int64_t(1) << 62) : end;
    return view("aten.slice.Tensor", x,
                {{"dim", spelledDim}, {"start", begin}, {"end", end}, {"step", step}}, shape);
  }
  case 1: {
    const int64_t length = random.between(1, size - start);
    shape[size_t(dim)] = length;
    return view("aten.narrow.default", x,
                {{"dim", spelledDim}, {"start", begin}, {"length", length}}, shape);
  }
  default:
    shape.erase(shape.begin() + dim);
    return view("aten.select.int", x, {{"dim", spelledDim}, {"index", begin}}, shape);
  }
}

void Steps::addSplit(int64_t x, int64_t dim) {
  Shape shape = shapeOf(x);
  const int64_t size = shape[size_t(dim)];
  const capi::Attribute spelledDim = spelled(dim, int64_t(shape.size()));
  int64_t &piece = shape[size_t(dim)];
  switch (random.below(4)) {
  case 0: {
    const int64_t length = random.between(1, size);
    const int64_t result = random.between(0, (size - 1) / length);
    piece = std::min(length, size - result * length);
    return view("aten.split.Tensor", x,
                {{"split_size", length}, {"dim", spelledDim}, {"result", result}}, shape);
  }
  case 1: {
    const int64_t chunks = random.between(1, std::min<int64_t>(size, 5));
    const int64_t length = (size + chunks - 1) / chunks;
    const int64_t result = random.between(0, (size - 1) / length);
    piece = std::min(length, size - result * length);
    return view("aten.chunk.default", x,
                {{"chunks", chunks}, {"dim", spelledDim}, {"result", result}}, shape);
  }
  case 2: {
    const int64_t first = random.between(0, size - 1);
    const int64_t result = first == 0 || oneIn(2) ? 1 : 0;
    piece = result == 0 ? first : size - first;
    return view(
        "aten.split_with_sizes.default", x,
        {{"split_sizes", Shape{first, size - first}}, {"dim", spelledDim}, {"result", result}},
        shape);
  }
  default: {
    const auto result = int64_t(random.below(uint64_t(size)));
    shape.erase(shape.begin() + dim);
    return view("aten.unbind.int", x, {{"dim", spelledDim}, {"result", result}}, shape);
  }
  }
}

void Steps::addUnfold(int64_t x, int64_t dim) {
  Shape shape = shapeOf(x);
  const int64_t size = shape[size_t(dim)];
  const int64_t window = random.between(1, std::min<int64_t>(size, 8));
  const int64_t step = oneIn(3) ? window : random.between(1, 6);
  shape[size_t(dim)] = (size - window) / step + 1;
  shape.push_back(window);
  if (shape.size() > 4 || elementCount(shape) > options.maxElements) {
    return addSlice(x, dim);
  }
  const int64_t spelledDim = spelled(dim, int64_t(shape.size()) - 1);
  view("aten.unfold.default", x, {{"dimension", spelledDim}, {"size", window}, {"step", step}},
       shape);
}

void Steps::addRearrangement(int64_t x) {
  const Shape shape = shapeOf(x);
  const auto rank = int64_t(shape.size());
  const auto first = int64_t(random.below(uint64_t(rank)));
  // Each element along it is a copy of its own at worst.
  constexpr int64_t kMostCopies = 12;
  if (oneIn(3) && shape[size_t(first)] <= kMostCopies) {
    return view("aten.flip.default", x, {{"dims", Shape{spelled(first, rank)}}}, shape);
  }
  const auto second = int64_t(random.below(uint64_t(rank)));
  if (first != second && oneIn(2)) {
    const int64_t rows = shape[size_t(first)], columns = shape[size_t(second)];
    const int64_t offset = random.between(1 - rows, columns - 1);
    Shape result;
    for (int64_t d = 0; d < rank; ++d) {
      if (d != first && d != second) {
        result.push_back(shape[size_t(d)]);
      }
    }
    result.push_back(
        std::min(rows + std::min<int64_t>(offset, 0), columns - std::max<int64_t>(offset, 0)));
    return view(
        "aten.diagonal.default", x,
        {{"offset", offset}, {"dim1", spelled(first, rank)}, {"dim2", spelled(second, rank)}},
        result);
  }
  // Two walks of the row-major elements that may overlap.
  const int64_t elements = elementCount(shape), offset = random.between(0, elements - 1);
  const Shape stride = {random.between(0, 9), random.between(1, 3)};
  const int64_t rest = elements - 1 - offset;
  const int64_t columns = random.between(1, std::min<int64_t>(kMostCopies, rest / stride[1] + 1));
  const int64_t left = rest - (columns - 1) * stride[1];
  const int64_t rows =
      random.between(1, stride[0] == 0 ? 3 : std::min<int64_t>(40, left / stride[0] + 1));
  view("aten.as_strided.default", x,
       {{"size", Shape{rows, columns}}, {"stride", stride}, {"storage_offset", offset}},
       {rows, columns});
}

void Steps::addPermutation(int64_t x) {
  const Shape &shape = shapeOf(x);
  const auto rank = int64_t(shape.size());
  if (rank <= 2 && oneIn(3)) {
    return view("aten.t.default", x, {}, {shape.rbegin(), shape.rend()});
  }
  if (rank > 0 && oneIn(2)) {
    const auto first = int64_t(random.below(uint64_t(rank)));
    const auto second = int64_t(random.below(uint64_t(rank)));
    Shape result = shape;
    std::swap(result[size_t(first)], result[size_t(second)]);
    return view("aten.transpose.int", x,
                {{"dim0", spelled(first, rank)}, {"dim1", spelled(second, rank)}}, result);
  }
  Shape dims(shape.size()), result;
  std::iota(dims.begin(), dims.end(), int64_t(0));
  for (size_t i = dims.size(); i > 1; --i) {
    std::swap(dims[i - 1], dims[random.below(i)]);
  }
  for (int64_t &dim : dims) {
    result.push_back(shape[size_t(dim)]);
    dim = spelled(dim, rank);
  }
  view("aten.permute.default", x, {{"dims", dims}}, result);
}

void Steps::addExpansion(int64_t x) {
  Shape wide = shapeOf(x);
  for (int64_t &dim : wide) {
    dim = dim == 1 && oneIn(2) ? random.between(2, 70) : dim;
  }
  if (wide.size() < 4 && oneIn(2)) {
    wide.insert(wide.begin(), random.between(1, 3));
  }
  if (elementCount(wide) > options.maxElements) {
    return addPermutation(x);
  }
  view("aten.expand.default", x, {{"size", wide}}, wide);
}

Shape Steps::reshaped(int64_t elements) {
  Shape shape;
  while (elements > 1 && shape.size() < 4) {
    Shape divisors;
    for (int64_t d = 2; d <= elements; ++d) {
      if (elements % d == 0) {
        divisors.push_back(d);
      }
    }
    shape.push_back(shape.size() == 3 ? elements : divisors[random.below(divisors.size())]);
    elements /= shape.back();
  }
  if (oneIn(4) && shape.size() < 4) {
    shape.insert(shape.begin() + int64_t(random.below(shape.size() + 1)), 1);
  }
  return shape;
}

void Steps::addReshape(int64_t x) {
  const Shape &shape = shapeOf(x);
  if (shape.size() > 1 && oneIn(3)) {
    const auto first = int64_t(random.below(shape.size()));
    const int64_t end = random.between(first, int64_t(shape.size()) - 1);
    Shape joined(shape.begin(), shape.begin() + first);
    joined.push_back(elementCount({shape.begin() + first, shape.begin() + end + 1}));
    joined.insert(joined.end(), shape.begin() + end + 1, shape.end());
    const auto rank = int64_t(shape.size());
    return view("aten.flatten.using_ints", x,
                {{"start_dim", spelled(first, rank)}, {"end_dim", spelled(end, rank)}}, joined);
  }
  const Shape result = reshaped(elementCount(shape));
  switch (random.below(3)) {
  case 0:
    return view("aten.view.default", x, {{"size", result}}, result);
  case 1:
    return view("aten._unsafe_view.default", x, {{"size", result}}, result);
  default:
    return view("aten.reshape.default", x, {{"shape", result}}, result);
  }
}

void Steps::addUnitChange(int64_t x) {
  static const char *const same[] = {"aten.alias.default", "aten.detach.default",
                                     "aten.lift_fresh_copy.default"};
  Shape shape = shapeOf(x), units, without;
  for (size_t d = 0; d < shape.size(); ++d) {
    shape[d] == 1 ? units.push_back(int64_t(d)) : without.push_back(shape[d]);
  }
  const auto rank = int64_t(shape.size());
  if (!units.empty() && oneIn(2)) {
    if (oneIn(3)) {
      return view("aten.squeeze.default", x, {}, without);
    }
    if (oneIn(2)) {
      return view("aten.squeeze.dims", x, {{"dim", units}}, without);
    }
    const int64_t dim = units[random.below(units.size())];
    shape.erase(shape.begin() + dim);
    return view("aten.squeeze.dim", x, {{"dim", spelled(dim, rank)}}, shape);
  }
  if (rank >= 4 || oneIn(4)) {
    return view(pick(same), x, {}, shape);
  }
  const auto dim = int64_t(random.below(uint64_t(rank) + 1));
  shape.insert(shape.begin() + dim, 1);
  view("aten.unsqueeze.default", x, {{"dim", spelled(dim, rank + 1)}}, shape);
}

} // namespace spyre::testing
