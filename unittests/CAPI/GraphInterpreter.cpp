//===- GraphInterpreter.cpp - graphs on the host, straight from their definition ------------===//
#include "GraphInterpreter.h"

#include "spyre/Numerics/Ranges.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>

namespace spyre::testing {

using numerics::HostType;
using Shape = std::vector<int64_t>;

int64_t elementCount(const Shape &shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
}

std::string stemOf(const std::string &target) {
  const size_t begin = target.find('.') + 1;
  return target.substr(begin, target.find('.', begin) - begin);
}

static const capi::Attribute *attributeOf(const Call &call, const char *name) {
  for (const auto &[key, value] : call.attributes) {
    if (key == name) {
      return &value;
    }
  }
  return nullptr;
}

double numberOf(const Call &call, const char *name, double otherwise) {
  const capi::Attribute *attribute = attributeOf(call, name);
  if (!attribute) {
    return otherwise;
  }
  const auto *integer = std::get_if<int64_t>(attribute);
  return integer ? double(*integer) : std::get<double>(*attribute);
}

bool hasAttribute(const Call &call, const char *name) { return attributeOf(call, name); }

int64_t integerOf(const Call &call, const char *name, int64_t otherwise) {
  const capi::Attribute *attribute = attributeOf(call, name);
  return attribute ? std::get<int64_t>(*attribute) : otherwise;
}

Shape listOf(const Call &call, const char *name) {
  const capi::Attribute *attribute = attributeOf(call, name);
  return attribute ? std::get<Shape>(*attribute) : Shape{};
}

Shape unflatten(int64_t flat, const Shape &shape) {
  Shape index(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    index[d] = flat % shape[d];
    flat /= shape[d];
  }
  return index;
}

int64_t flatten(const Shape &index, const Shape &shape) {
  int64_t flat = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    flat = flat * shape[d] + index[d];
  }
  return flat;
}

//===--------------------------------------------------------------------------------------------===//
// Views: each result index reads one index of the operand
//===--------------------------------------------------------------------------------------------===//

template <typename Source>
static Bounds gather(const Bounds &x, const Shape &shape, Source source) {
  Bounds result{shape, x.dtype, {}};
  const int64_t count = elementCount(shape);
  result.elements.reserve(size_t(count));
  Shape index(shape.size(), 0);
  for (int64_t n = 0; n < count; ++n) {
    result.elements.push_back(x.elements[size_t(flatten(source(index), x.shape))]);
    for (size_t d = shape.size(); d-- > 0 && ++index[d] == shape[d];) {
      index[d] = 0;
    }
  }
  return result;
}

Bounds withShape(Bounds x, const Shape &shape) {
  x.shape = shape;
  return x;
}

Bounds permuted(const Bounds &x, const Shape &order) {
  Shape shape;
  for (int64_t dim : order) {
    shape.push_back(x.shape[size_t(dim)]);
  }
  return gather(x, shape, [&](const Shape &index) {
    Shape from(index.size());
    for (size_t d = 0; d < order.size(); ++d) {
      from[size_t(order[d])] = index[d];
    }
    return from;
  });
}

Bounds broadcast(const Bounds &x, const Shape &shape) {
  if (x.shape == shape) {
    return x;
  }
  return gather(x, shape, [&](const Shape &index) {
    Shape from(index.end() - int64_t(x.shape.size()), index.end());
    for (size_t d = 0; d < from.size(); ++d) {
      from[d] = x.shape[d] == 1 ? 0 : from[d];
    }
    return from;
  });
}

Bounds concatenated(const std::vector<Bounds> &pieces, int64_t dim) {
  Shape shape = pieces.front().shape;
  Shape starts;
  int64_t total = 0;
  for (const Bounds &piece : pieces) {
    starts.push_back(total);
    total += piece.shape[size_t(dim)];
  }
  shape[size_t(dim)] = total;
  Bounds result{shape, pieces.front().dtype, {}};
  for (int64_t n = 0; n < elementCount(shape); ++n) {
    Shape index = unflatten(n, shape);
    size_t piece = pieces.size() - 1;
    while (starts[piece] > index[size_t(dim)]) {
      --piece;
    }
    index[size_t(dim)] -= starts[piece];
    result.elements.push_back(pieces[piece].elements[size_t(flatten(index, pieces[piece].shape))]);
  }
  return result;
}

namespace {

int64_t fromFront(int64_t index, int64_t size) { return index < 0 ? index + size : index; }

/// First element and step of the views that take a part of a dimension of \p size.
std::pair<int64_t, int64_t> startAndStep(const Call &call, int64_t size) {
  const std::string name = stemOf(call.target);
  const int64_t result = integerOf(call, "result", 0);
  if (name == "select") {
    return {fromFront(integerOf(call, "index", 0), size), 1};
  }
  if (name == "unbind") {
    return {result, 1};
  }
  if (name == "split") {
    return {result * integerOf(call, "split_size", 1), 1};
  }
  if (name == "chunk") {
    const int64_t chunks = integerOf(call, "chunks", 1);
    return {result * ((size + chunks - 1) / chunks), 1};
  }
  if (name == "split_with_sizes") {
    const Shape sizes = listOf(call, "split_sizes");
    return {std::accumulate(sizes.begin(), sizes.begin() + result, int64_t(0)), 1};
  }
  return {fromFront(integerOf(call, "start", 0), size),
          integerOf(call, "step", 1)}; // narrow, slice
}

Bounds partOf(const Call &call, const Bounds &x) {
  const auto rank = int64_t(x.shape.size());
  const int64_t dim = fromFront(integerOf(call, "dim", 0), rank);
  const auto [start, step] = startAndStep(call, x.shape[size_t(dim)]);
  const bool drops = int64_t(call.shape.size()) < rank;
  return gather(x, call.shape, [&, start = start, step = step](const Shape &index) {
    Shape from = index;
    if (drops) {
      from.insert(from.begin() + dim, 0);
    }
    from[size_t(dim)] = start + step * from[size_t(dim)];
    return from;
  });
}

Bounds windowsOf(const Call &call, const Bounds &x) {
  const int64_t dim = fromFront(integerOf(call, "dimension", 0), int64_t(x.shape.size()));
  const int64_t step = integerOf(call, "step", 1);
  return gather(x, call.shape, [&](const Shape &index) {
    Shape from(index.begin(), index.end() - 1);
    from[size_t(dim)] = from[size_t(dim)] * step + index.back();
    return from;
  });
}

Bounds flipped(const Call &call, const Bounds &x) {
  return gather(x, call.shape, [&](const Shape &index) {
    Shape from = index;
    for (int64_t entry : listOf(call, "dims")) {
      const auto dim = size_t(fromFront(entry, int64_t(index.size())));
      from[dim] = x.shape[dim] - 1 - from[dim];
    }
    return from;
  });
}

Bounds diagonalOf(const Call &call, const Bounds &x) {
  const auto rank = int64_t(x.shape.size());
  const int64_t rows = fromFront(integerOf(call, "dim1", 0), rank);
  const int64_t columns = fromFront(integerOf(call, "dim2", 1), rank);
  const int64_t offset = integerOf(call, "offset", 0);
  return gather(x, call.shape, [&](const Shape &index) {
    Shape from(x.shape.size());
    size_t next = 0;
    for (int64_t d = 0; d < rank; ++d) {
      from[size_t(d)] = d == rows      ? index.back() + std::max<int64_t>(-offset, 0)
                        : d == columns ? index.back() + std::max<int64_t>(offset, 0)
                                       : index[next++];
    }
    return from;
  });
}

/// On the elements in row-major order: what a fresh tensor has as its storage.
Bounds strided(const Call &call, const Bounds &x) {
  const Shape stride = listOf(call, "stride");
  return gather(x, call.shape, [&](const Shape &index) {
    int64_t at = integerOf(call, "storage_offset", 0);
    for (size_t d = 0; d < index.size(); ++d) {
      at += index[d] * stride[d];
    }
    return unflatten(at, x.shape);
  });
}

bool isPart(const std::string &name) {
  static const char *const names[] = {"slice", "select",           "narrow", "split",
                                      "chunk", "split_with_sizes", "unbind"};
  return std::count(std::begin(names), std::end(names), name) > 0;
}

bool keepsOrder(const std::string &name) {
  static const char *const names[] = {"view",   "_unsafe_view",    "reshape", "flatten",  "alias",
                                      "detach", "lift_fresh_copy", "squeeze", "unsqueeze"};
  return std::count(std::begin(names), std::end(names), name) > 0;
}

Bounds transposed(const Call &call, const Bounds &x) {
  const auto rank = int64_t(x.shape.size());
  Shape order(x.shape.size());
  std::iota(order.begin(), order.end(), int64_t(0));
  if (rank > 1) {
    std::swap(order[size_t(fromFront(integerOf(call, "dim0", 0), rank))],
              order[size_t(fromFront(integerOf(call, "dim1", 1), rank))]);
  }
  return permuted(x, order);
}

} // namespace

//===--------------------------------------------------------------------------------------------===//
// Arithmetic
//===--------------------------------------------------------------------------------------------===//

Bounds constant(double value, HostType dtype) {
  return {{}, dtype, {rounded(Interval::exactly(value), dtype)}};
}

Bounds applyPointwise(const std::string &name, const std::vector<Bounds> &operands,
                      const Parameters &parameters, const Shape &shape, HostType dtype) {
  std::vector<Bounds> spread;
  for (const Bounds &operand : operands) {
    spread.push_back(broadcast(operand, shape));
  }
  const Pointwise function(name, parameters, dtype);
  Bounds result{shape, dtype, {}};
  const auto count = size_t(elementCount(shape));
  result.elements.reserve(count);
  std::vector<Interval> in(operands.size());
  for (size_t n = 0; n < count; ++n) {
    for (size_t i = 0; i < in.size(); ++i) {
      in[i] = spread[i].elements[n];
    }
    result.elements.push_back(function(in));
  }
  return result;
}

static Shape broadcastShape(const Shape &a, const Shape &b) {
  Shape shape = a.size() < b.size() ? b : a;
  const Shape &other = a.size() < b.size() ? a : b;
  for (size_t i = 0; i < other.size(); ++i) {
    int64_t &size = shape[shape.size() - 1 - i];
    size = std::max(size, other[other.size() - 1 - i]);
  }
  return shape;
}

Bounds combine(const std::string &name, const Bounds &a, const Bounds &b) {
  return applyPointwise(name, {a, b}, {}, broadcastShape(a.shape, b.shape), a.dtype);
}

namespace {

/// Finite, so that no interval becomes open: larger than every fp32 number.
constexpr double kBeyondAll = 1e39;

/// A sum whose order is not documented.
struct Sum {
  Interval total;
  double magnitude = 0;
  bool exact = true, open = false;

  void add(const Interval &term, bool isExact) {
    open = open || term.isOpen();
    total = {total.lo + term.lo, total.hi + term.hi};
    magnitude += term.magnitude();
    exact = exact && isExact;
  }
  Interval result(double relative, HostType dtype) const {
    // 12 bits behind the point and 12 before it: all of fp32's.
    constexpr double kLargestExact = 4096;
    if (open) {
      return Interval::open();
    }
    return rounded(
        exact && magnitude <= kLargestExact ? total : widened(total, relative, magnitude), dtype);
  }
};

Interval extreme(const std::string &name, const Interval &a, const Interval &b) {
  return name == "amax" ? Interval{std::max(a.lo, b.lo), std::max(a.hi, b.hi)}
                        : Interval{std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
}

} // namespace

Bounds reduceDim(const std::string &name, const Bounds &x, int64_t dim) {
  Shape shape = x.shape;
  const int64_t size = shape[size_t(dim)];
  shape[size_t(dim)] = 1;
  int64_t inner = 1;
  for (size_t d = size_t(dim) + 1; d < shape.size(); ++d) {
    inner *= shape[d];
  }
  const bool isExtreme = name == "amax" || name == "amin";
  const bool isWhole = x.dtype >= HostType::Int8 && x.dtype <= HostType::Int64;
  const double relative = isExtreme || isWhole ? 0 : sumTolerance("sum", x.dtype, size);
  Bounds result{shape, x.dtype, {}};
  for (int64_t n = 0; n < elementCount(shape); ++n) {
    const int64_t first = n / inner * inner * size + n % inner;
    Sum sum;
    Interval best = x.elements[size_t(first)];
    for (int64_t i = 0; i < size; ++i) {
      Interval term = x.elements[size_t(first + i * inner)];
      best = extreme(name, best, term);
      if (name == "mean" && !term.isOpen()) {
        term = {term.lo / double(size), term.hi / double(size)};
      }
      sum.add(term, name == "sum" && isOnGrid(term, 12));
    }
    const bool unknown = sum.open || !isExtreme;
    const bool isExact = isWhole && !sum.open && !isExtreme;
    result.elements.push_back(isExact ? sum.total : unknown ? sum.result(relative, x.dtype) : best);
  }
  return result;
}

Bounds matmulOf(Bounds a, Bounds b) {
  const bool addsRow = a.shape.size() == 1, addsColumn = b.shape.size() == 1;
  if (addsRow) {
    a.shape.insert(a.shape.begin(), 1);
  }
  if (addsColumn) {
    b.shape.push_back(1);
  }
  const int64_t m = a.shape[a.shape.size() - 2], k = a.shape.back(), n = b.shape.back();
  const Shape batch =
      broadcastShape({a.shape.begin(), a.shape.end() - 2}, {b.shape.begin(), b.shape.end() - 2});
  auto withBatch = [&](int64_t rows, int64_t columns) {
    Shape shape = batch;
    shape.insert(shape.end(), {rows, columns});
    return shape;
  };
  a = broadcast(a, withBatch(m, k));
  b = broadcast(b, withBatch(k, n));
  Bounds result{withBatch(m, n), a.dtype, {}};
  const double relative = sumTolerance("matmul", a.dtype, k);
  for (int64_t i = 0; i < elementCount(result.shape); ++i) {
    const int64_t column = i % n, row = i / n % m, block = i / (m * n);
    Sum sum;
    for (int64_t p = 0; p < k; ++p) {
      const Interval &x = a.elements[size_t((block * m + row) * k + p)];
      const Interval &y = b.elements[size_t((block * k + p) * n + column)];
      if (x.isOpen() || y.isOpen()) {
        sum.open = true;
        continue;
      }
      const auto [lo, hi] = std::minmax({x.lo * y.lo, x.lo * y.hi, x.hi * y.lo, x.hi * y.hi});
      sum.add({lo, hi}, isOnGrid(x, 6) && isOnGrid(y, 6));
    }
    result.elements.push_back(sum.result(relative, a.dtype));
  }
  if (addsColumn) {
    result.shape.pop_back();
  }
  if (addsRow) {
    result.shape.erase(result.shape.end() - (addsColumn ? 1 : 2));
  }
  return result;
}

//===--------------------------------------------------------------------------------------------===//
// Calls
//===--------------------------------------------------------------------------------------------===//

namespace {

/// One dimension at a time, highest first, rounding after each.
Bounds reduction(const Call &call, Bounds x) {
  static const std::pair<const char *, const char *> names[] = {{"max", "amax"}, {"min", "amin"}};
  std::string name = stemOf(call.target);
  for (const auto &[alias, plain] : names) {
    name = name == alias ? plain : name;
  }
  const auto rank = int64_t(x.shape.size());
  const Shape list = listOf(call, "dim");
  for (int64_t dim = rank; dim-- > 0;) {
    const bool isReduced = list.empty() || std::count(list.begin(), list.end(), dim) > 0 ||
                           std::count(list.begin(), list.end(), dim - rank) > 0;
    if (isReduced && x.shape[size_t(dim)] != 1) {
      x = reduceDim(name, x, dim);
    }
  }
  x.dtype = call.dtype; // sums of 32 bits are 64 wide
  return withShape(x, call.shape);
}

Bounds convert(const Call &call, const Bounds &x) {
  if (call.dtype == HostType::Bool && x.dtype != HostType::Bool) {
    return applyPointwise("ne", {x, constant(0, x.dtype)}, {}, x.shape, HostType::Bool);
  }
  // f16 and bf16 are one format on the device; the host rounds when it reads a result.
  Bounds result = x;
  result.dtype = call.dtype;
  for (Interval &element : result.elements) {
    element = rounded(element, call.dtype);
  }
  return result;
}

Bounds fill(const Call &call) {
  const std::string name = stemOf(call.target);
  const double otherwise = name.find("ones") != std::string::npos ? 1 : 0;
  const char *key = name == "scalar_tensor" ? "s" : "fill_value";
  return broadcast(constant(numberOf(call, key, otherwise), call.dtype), call.shape);
}

bool isComparison(const std::string &name) {
  static const std::set<std::string> names = {"eq", "ne", "lt", "le", "gt", "ge"};
  return names.contains(name);
}

/// Numbers of a comparison that read back as infinity are equal to each other, and beyond all
/// others. An end that is a point stays one.
Bounds readBack(Bounds x) {
  const double infinite = numerics::smallestInfinite(x.dtype);
  if (x.dtype == HostType::Float16 || x.dtype == HostType::Bfloat16) {
    for (Interval &element : x.elements) {
      if (!element.isOpen()) {
        for (double *end : {&element.lo, &element.hi}) {
          *end = std::fabs(*end) >= infinite ? std::copysign(kBeyondAll, *end) : *end;
        }
      }
    }
  }
  return x;
}

Bounds pointwiseCall(const Call &call, const std::vector<Bounds> &operands) {
  constexpr double kLargest = 3.4e38;
  const std::string name = stemOf(call.target);
  std::vector<Bounds> in;
  const HostType type = operands.back().dtype;
  size_t next = 0;
  for (const char *key : {"scalar0", "scalar1", "scalar2", "other"}) {
    const bool isOther = std::string(key) == "other";
    if (attributeOf(call, key)) {
      in.push_back(constant(numberOf(call, key, 0), type));
    } else if (!isOther && next < operands.size()) {
      in.push_back(operands[next++]);
    }
  }
  if (isComparison(name)) {
    std::transform(in.begin(), in.end(), in.begin(), readBack);
  }
  if (name == "clamp" || name == "clamp_min" || name == "clamp_max") {
    return applyPointwise("clip", in,
                          {numberOf(call, "min", -kLargest), numberOf(call, "max", kLargest)},
                          call.shape, call.dtype);
  }
  if (name == "hardtanh") {
    return applyPointwise("clip", in, {numberOf(call, "min_val", -1), numberOf(call, "max_val", 1)},
                          call.shape, call.dtype);
  }
  Parameters parameters;
  if (name == "leaky_relu") {
    parameters = {rounded(Interval::exactly(numberOf(call, "negative_slope", 0.01)), type).lo};
  } else if (name == "softplus") {
    parameters = {numberOf(call, "beta", 1), numberOf(call, "threshold", 20)};
  }
  return applyPointwise(name, in, parameters, call.shape, call.dtype);
}

Bounds callOn(const Call &call, const std::vector<Bounds> &operands) {
  const std::string name = stemOf(call.target);
  if (isIntegerCall(call, operands)) {
    return interpretInteger(call, operands);
  }
  if (isSelectionCall(call.target)) {
    return interpretSelection(call, operands);
  }
  if (isGatherCall(call.target)) {
    return interpretGather(call, operands);
  }
  if (name == "permute") {
    Shape order = listOf(call, "dims");
    for (int64_t &dim : order) {
      dim = fromFront(dim, int64_t(order.size()));
    }
    return permuted(operands[0], order);
  }
  if (name == "t" || name == "transpose") {
    return transposed(call, operands[0]);
  }
  if (name == "expand") {
    return broadcast(operands[0], call.shape);
  }
  if (keepsOrder(name)) {
    return withShape(operands[0], call.shape);
  }
  if (isPart(name)) {
    return partOf(call, operands[0]);
  }
  if (name == "unfold") {
    return windowsOf(call, operands[0]);
  }
  if (name == "flip") {
    return flipped(call, operands[0]);
  }
  if (name == "diagonal") {
    return diagonalOf(call, operands[0]);
  }
  if (name == "as_strided") {
    return strided(call, operands[0]);
  }
  if (name == "clone" || name == "contiguous" || name == "_to_copy" ||
      name == "convert_element_type" || name == "qfp8ch") {
    return convert(call, operands[0]);
  }
  if (name == "cat") {
    return concatenated(operands, fromFront(integerOf(call, "dim", 0), int64_t(call.shape.size())));
  }
  if (name.find("full") != std::string::npos || name.find("ones") != std::string::npos ||
      name.find("zeros") != std::string::npos || name == "scalar_tensor") {
    return fill(call);
  }
  if (name == "mm" || name == "bmm" || name == "batched_matmul") {
    return matmulOf(operands[0], operands[1]);
  }
  if (name == "sum" || name == "mean" || name == "amax" || name == "amin" || name == "max" ||
      name == "min") {
    return reduction(call, operands[0]);
  }
  return isComposite(call.target) ? interpretComposite(call, operands)
                                  : pointwiseCall(call, operands);
}

} // namespace

std::vector<Bounds> interpret(const Graph &graph) {
  std::vector<Bounds> values;
  for (const HostTensor &input : graph.inputs) {
    Bounds bounds{input.shape, input.dtype, {}};
    for (float value : input.values) {
      bounds.elements.push_back(Interval::exactly(double(value)));
    }
    values.push_back(std::move(bounds));
  }
  for (const Call &call : graph.calls) {
    std::vector<Bounds> operands;
    for (int64_t id : call.operands) {
      operands.push_back(values[size_t(id)]);
    }
    values.push_back(callOn(call, operands));
  }
  return values;
}

} // namespace spyre::testing
