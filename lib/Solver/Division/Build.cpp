//===- Build.cpp - default layouts ----------------------------------------------------------===//
#include "spyre/Solver/Division/Build.h"

#include "spyre/Base/Math.h"

#include <algorithm>
#include <numeric>

namespace spyre::solver::division {

static constexpr size_t kMaxRank = 6;

static Status checkHost(const std::vector<Dim> &dims, const HostTensor &host) {
  const size_t rank = host.dims.size();
  if (rank > kMaxRank) {
    return error<3060>("tensor {} has rank {}; at most {} are supported", host.name, rank,
                       kMaxRank);
  }
  for (size_t i = 0; i < rank; ++i) {
    const int dim = host.dims[i];
    if (dim < -1 || dim >= int(dims.size())) {
      return error<3060>("tensor {} refers to dim {} of {}", host.name, dim, dims.size());
    }
    if (dim >= 0 &&
        std::find(host.dims.begin(), host.dims.begin() + i, dim) != host.dims.begin() + i) {
      return error<3060>("tensor {} has dim {} twice; give coordinates instead", host.name,
                         dims[size_t(dim)].name);
    }
  }
  if (host.elemsPerStick < 1 || host.elemsPerStick > 512) {
    return error<3060>("tensor {} has {} elements in a stick; give 1 to 512", host.name,
                       host.elemsPerStick);
  }
  std::vector<int> sorted = host.order;
  std::erase(sorted, -1);
  std::sort(sorted.begin(), sorted.end());
  bool valid = host.order.empty() ||
               (sorted.size() == rank && host.order.size() <= rank + 1 &&
                std::find(host.order.begin(), host.order.end() - 1, -1) == host.order.end() - 1);
  for (size_t i = 0; valid && i < sorted.size(); ++i) {
    valid = sorted[i] == int(i);
  }
  if (!valid) {
    return error<3060>("tensor {} has order [{}]; give each of its {} dimensions once, and -1 "
                       "behind them for a sparse layout",
                       host.name, fmt::join(host.order, ", "), rank);
  }
  return Status::success();
}

namespace {

/// Appends device dimensions to a tensor.
class LayoutBuilder {
public:
  LayoutBuilder(const std::vector<Dim> &dims, const HostTensor &host, Tensor &tensor)
      : dims(dims), host(host), tensor(tensor) {}

  int64_t sizeOf(int hostDim) const {
    const int dim = host.dims[size_t(hostDim)];
    return dim < 0 ? 1 : dims[size_t(dim)].extent;
  }

  void add(int64_t size, int hostDim, Term term) {
    Coordinate coordinate;
    const int dim = hostDim < 0 ? -1 : host.dims[size_t(hostDim)];
    // What has one value has no variable.
    if (dim >= 0 && size > 1 && dims[size_t(dim)].extent > 1) {
      term.dim = dim;
      coordinate.terms.push_back(term);
    }
    tensor.deviceSize.push_back(size);
    tensor.coordinates.push_back(coordinate);
  }

  void addWhole(int hostDim) { add(sizeOf(hostDim), hostDim, {}); }
  void addSticks(int hostDim) {
    const int64_t lanes = host.elemsPerStick;
    Term term;
    term.divisor = lanes;
    add(hostDim < 0 ? 1 : ceilDiv(sizeOf(hostDim), lanes), hostDim, term);
  }
  void addLanes(int hostDim) {
    Term term;
    term.wrap = hostDim >= 0 && sizeOf(hostDim) > host.elemsPerStick ? host.elemsPerStick : 0;
    add(host.elemsPerStick, hostDim, term);
  }

private:
  const std::vector<Dim> &dims;
  const HostTensor &host;
  Tensor &tensor;
};

} // namespace

Expected<Tensor> defaultTensor(const std::vector<Dim> &dims, const HostTensor &host) {
  SPYRE_RETURN_IF_ERROR(checkHost(dims, host));
  Tensor tensor;
  tensor.name = host.name;
  tensor.output = host.output;
  std::vector<int> order = host.order;
  if (order.empty()) {
    order.resize(host.dims.size());
    std::iota(order.begin(), order.end(), 0);
  }
  // The last of the order is along the sticks; one variable alone has no other dimension.
  const int stick = order.empty() ? -1 : order.back();
  LayoutBuilder builder(dims, host, tensor);
  for (size_t i = 1; i + 1 < order.size(); ++i) {
    builder.addWhole(order[i]);
  }
  builder.addSticks(stick);
  if (order.size() > 1) {
    builder.addWhole(order[0]);
  }
  builder.addLanes(stick);
  tensor.index.assign(dims.size(), 0);
  int64_t stride = 1;
  for (size_t i = host.dims.size(); i-- > 0;) {
    if (host.dims[i] >= 0) {
      tensor.index[size_t(host.dims[i])] = stride;
    }
    if (__builtin_mul_overflow(stride, builder.sizeOf(int(i)), &stride)) {
      return error<3060>("tensor {} has more than 2^63 elements", host.name);
    }
  }
  return tensor;
}

//===- Shapes -------------------------------------------------------------------------------===//

static std::vector<Dim> numberedDims(std::span<const int64_t> shape) {
  std::vector<Dim> dims;
  for (size_t i = 0; i < shape.size(); ++i) {
    dims.push_back({.name = fmt::format("c{}", i), .extent = shape[i]});
  }
  return dims;
}

static std::vector<int> countedDims(size_t count) {
  std::vector<int> dims(count);
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}

static void addTensor(Op &op, HostTensor host) {
  Expected<Tensor> tensor = defaultTensor(op.dims, host);
  SPYRE_CHECK(tensor.ok(), "shapes of the builders have default layouts");
  op.tensors.push_back(*tensor);
}

Op makePointwise(std::span<const int64_t> shape, int inputs, int64_t elemsPerStick) {
  Op op{.name = "pointwise", .dims = numberedDims(shape)};
  for (int i = 0; i <= inputs; ++i) {
    addTensor(op, {.name = i == inputs ? "out" : fmt::format("in{}", i),
                   .dims = countedDims(shape.size()),
                   .elemsPerStick = elemsPerStick,
                   .output = i == inputs});
  }
  return op;
}

Op makeReduction(std::span<const int64_t> shape, size_t axis, int64_t elemsPerStick) {
  Op op{.name = "sum", .kind = Kind::Reduction};
  std::vector<int> read(shape.size()), written;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i != axis) {
      read[i] = int(op.dims.size());
      written.push_back(read[i]);
      op.dims.push_back({.name = fmt::format("c{}", op.dims.size()), .extent = shape[i]});
    }
  }
  read[axis] = int(op.dims.size());
  op.dims.push_back({.name = "r", .extent = shape[axis], .reduced = true});
  addTensor(op, {.name = "in", .dims = read, .elemsPerStick = elemsPerStick});
  HostTensor out{.name = "out", .dims = written, .elemsPerStick = elemsPerStick, .output = true};
  if (axis + 1 == shape.size()) {
    // Every result stands alone in its stick.
    out.order = countedDims(written.size());
    out.order.push_back(-1);
  }
  addTensor(op, out);
  return op;
}

Op makeMatmul(int64_t b, int64_t m, int64_t n, int64_t k, bool sharedWeight) {
  Op op{.name = "matmul", .kind = Kind::Matmul};
  std::vector<int> batch;
  if (b > 0) {
    batch.push_back(0);
    op.dims.push_back({.name = "b", .extent = b});
  }
  const int first = int(batch.size());
  op.dims.push_back({.name = "m", .extent = m});
  op.dims.push_back({.name = "n", .extent = n});
  op.dims.push_back({.name = "k", .extent = k, .reduced = true});
  auto with = [&](int row, int column, bool batched) {
    std::vector<int> dims = batched ? batch : std::vector<int>();
    dims.insert(dims.end(), {first + row, first + column});
    return dims;
  };
  addTensor(op, {.name = "x", .dims = with(0, 2, true)});
  addTensor(op, {.name = "y", .dims = with(2, 1, !sharedWeight)});
  addTensor(op, {.name = "out", .dims = with(0, 1, true), .output = true});
  return op;
}

Op makeRestickify(std::span<const int64_t> shape, size_t axis) {
  Op op{.name = "restickify", .kind = Kind::Restickify, .dims = numberedDims(shape)};
  std::vector<int> order = countedDims(shape.size());
  order.erase(order.begin() + std::ptrdiff_t(axis));
  order.push_back(int(axis));
  addTensor(op, {.name = "in", .dims = countedDims(shape.size())});
  addTensor(op, {.name = "out", .dims = countedDims(shape.size()), .order = order, .output = true});
  return op;
}

Op makeGather(int64_t entries, std::span<const int64_t> table) {
  Op op{.name = "gather", .kind = Kind::Gather};
  op.dims.push_back({.name = "q", .extent = entries});
  std::vector<int> row = {-1}, written = {0};
  for (size_t i = 1; i < table.size(); ++i) {
    row.push_back(int(i));
    written.push_back(int(i));
    op.dims.push_back({.name = fmt::format("d{}", i), .extent = table[i]});
  }
  addTensor(op, {.name = "index", .dims = {0}, .elemsPerStick = 32});
  op.tensors.back().access = Access::Index;
  // The chosen dimension has no variable; its size is that of the table.
  std::vector<Dim> whole = op.dims;
  whole.push_back({.name = "any", .extent = table[0]});
  row[0] = int(whole.size()) - 1;
  Expected<Tensor> tensor = defaultTensor(whole, {.name = "table", .dims = row});
  SPYRE_CHECK(tensor.ok(), "tables have default layouts");
  for (Coordinate &coordinate : tensor->coordinates) {
    std::erase_if(coordinate.terms, [&](const Term &term) { return term.dim == row[0]; });
  }
  tensor->index.pop_back();
  tensor->access = Access::Table;
  op.tensors.push_back(*tensor);
  addTensor(op, {.name = "out", .dims = written, .output = true});
  return op;
}

} // namespace spyre::solver::division
