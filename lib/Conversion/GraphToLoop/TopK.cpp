//===- TopK.cpp - the largest elements along a dimension, or where they are -----------------===//
//
// The device searches each lane for itself, so the sticks lie along a dimension that is kept. Which
// one is settled here, not with the layouts: places are 32-bit numbers, two sticks of them for one
// stick of 16-bit elements, so the buffer of places is padded along the lanes to whole sticks of
// elements, and what is read of it is a slice.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Dialect/Loop/Transforms/Stick.h"

#include "LoopBuilder.h"

#include <algorithm>

namespace spyre {

using views::Atoms;
using views::View;

namespace {

/// One walk of one dimension of the buffer, or no walk at all.
bool isPlain(const Atoms &atoms) {
  return atoms.empty() || (atoms.size() == 1 && atoms[0].dim != views::kBroadcast);
}

bool repeats(const Atoms &atoms) {
  return std::any_of(atoms.begin(), atoms.end(),
                     [](const views::Atom &atom) { return atom.dim == views::kBroadcast; });
}

/// The kept dimension with the fewest sticks. The last one mostly carries the sticks already: to
/// change them is to write and to read all elements once more.
int64_t chooseLanes(const std::vector<int64_t> &shape, int64_t searched, int64_t lanes) {
  constexpr int64_t kCostOfChange = 3;
  const auto last = int64_t(shape.size()) - 1;
  int64_t best = -1;
  double least = 0;
  for (int64_t d = last; d >= 0; --d) {
    if (d == searched) {
      continue;
    }
    const int64_t size = shape[size_t(d)];
    const double perElement = double(ceilDiv(size, lanes)) / double(size);
    const double cost = perElement * (d == last ? 1 : kCostOfChange);
    if (best < 0 || cost < least) {
      best = d;
      least = cost;
    }
  }
  return best;
}

} // namespace

mlir::AffineMap LoopBuilder::walkMap(const Operand &operand, const Loops &loops) {
  std::vector<int64_t> shape = bufferShape(operand.view.buffer);
  llvm::SmallVector<mlir::AffineExpr> results(shape.size(), builder.getAffineConstantExpr(0));
  for (size_t d = 0; d < loops.segments.size(); ++d) {
    int64_t step = 1;
    for (size_t s = loops.segments[d].size(); operand.dims[d] >= 0 && s-- > 0;) {
      mlir::AffineExpr &index = results[size_t(operand.dims[d])];
      index = index + builder.getAffineDimExpr(loops.firstVar[d] + unsigned(s)) * step;
      step *= loops.segments[d][s];
    }
  }
  return mlir::AffineMap::get(unsigned(loops.varExtents.size()), 0, results, builder.getContext());
}

View LoopBuilder::addTopK(const std::string &callee, View operand, int64_t dim, int64_t k,
                          mlir::Type type) {
  const bool isVector = operand.dims.size() == 1;
  if (isVector) {
    operand = reshape(operand, {views::extentOf(operand.dims[0]), 1});
  }
  std::vector<int64_t> shape = operand.shape();
  const int64_t inputLanes = loop::elemsPerStick(buffers[size_t(operand.buffer)]);
  const int64_t lanes = chooseLanes(shape, dim, inputLanes);
  if (!isPlain(operand.dims[size_t(dim)]) || !isPlain(operand.dims[size_t(lanes)]) ||
      std::any_of(operand.dims.begin(), operand.dims.end(), repeats)) {
    operand = materialize(operand, "reduced-view: a searched dimension or its lanes are joined or "
                                   "repeated");
  }
  const int64_t searched = shape[size_t(dim)], width = shape[size_t(lanes)];
  shape[size_t(dim)] = k;
  std::vector<int64_t> padded = shape;
  if (type.isInteger()) {
    padded[size_t(lanes)] = roundUp(width, inputLanes);
  }
  std::optional<View> result = views::slice(addBuffer(padded, type), lanes, 0, width, 1);
  SPYRE_CHECK(result.has_value(), "a whole buffer can be sliced");
  Operand in{operand, {}}, out{*result, {}};
  std::vector<int64_t> extents;
  auto addLoop = [&](int64_t extent, int64_t inInput, int64_t inOutput) {
    extents.push_back(extent);
    in.dims.push_back(inInput);
    out.dims.push_back(inOutput);
  };
  for (int64_t d = 0; d < int64_t(shape.size()); ++d) {
    if (d != dim && d != lanes && shape[size_t(d)] != 1) {
      addLoop(shape[size_t(d)], d, d);
    }
  }
  addLoop(width, lanes, lanes);
  addLoop(k, -1, dim);
  addLoop(searched, dim, -1);
  Request request{callee, extents, 1, {std::move(in)}, std::move(out)};
  request.keepUnit = request.walksResult = true;
  add(std::move(request));
  return isVector ? views::dropDim(*result, 1) : *result;
}

} // namespace spyre
