//===- Reductions.cpp - matmul, sum and max with the documented order of operations ---------===//
//
// Order is part of the result (docs/numerics.md): a matmul adds products with one rounding each, k
// ascending; a reduction along the stick keeps one accumulator per lane and folds the lanes in a
// halving tree at the end; any other reduction is ascending, lane by lane. Reduced symbols are
// walked in the order of the iteration space, the last one fastest.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Math.h"
#include "spyre/Numerics/Functions.h"

#include "TensorView.h"

#include <limits>

namespace spyre::evaluator {

Status evaluateMatmul(const Operation &operation) {
  if (operation.views.size() != 3) {
    return error<1401>("op '{}' with {} arguments has no rule; a matmul has two inputs and one "
                       "output",
                       operation.spec->op, operation.views.size());
  }
  const TensorView &x = operation.views[0], &y = operation.views[1], &out = operation.views[2];
  const std::vector<size_t> reduced = reducedSymbols(operation);
  Point point(operation.ranges.size(), 0);
  forEachPoint(point, outputSymbols(operation), operation.extents, [&] {
    float sum = 0;
    if (reduced.size() == 1) { // The usual case, without a call per product.
      point[reduced[0]] = 0;
      const int64_t atX = x.offset(point), atY = y.offset(point);
      for (int64_t k = 0; k < operation.ranges[reduced[0]]; ++k) {
        const float a = x.load(atX + x.contribution[reduced[0]][size_t(k)]);
        const float b = y.load(atY + y.contribution[reduced[0]][size_t(k)]);
        sum = numerics::fmaF32(a, b, sum);
      }
    } else {
      forEachPoint(point, reduced, operation.ranges, [&] {
        sum = numerics::fmaF32(x.load(x.offset(point)), y.load(y.offset(point)), sum);
      });
    }
    out.store(out.offset(point), sum);
  });
  return Status::success();
}

namespace {

/// How two partial results are combined, what an accumulator starts with, and what stands in for a
/// lane beyond the valid size.
struct Combine {
  bool isMax = false;
  float mask = 0;

  float initial() const { return isMax ? -std::numeric_limits<float>::infinity() : 0.0f; }
  float operator()(float a, float b) const { return isMax ? numerics::maxF32(a, b) : a + b; }
};

Combine combineFor(const Operation &operation) {
  Combine combine;
  combine.isMax = operation.spec->op == "max";
  if (combine.isMax) {
    // The most negative finite number: DLFloat16 has no infinity.
    combine.mask = operation.views.front().format == numerics::DataFormat::IeeeFp32
                       ? std::numeric_limits<float>::lowest()
                       : numerics::dl16ToFloat(0xFFFE);
  }
  return combine;
}

void reduceNonStick(const Operation &operation, const Combine &combine) {
  const TensorView &in = operation.views[0], &out = operation.output();
  const std::vector<size_t> reduced = reducedSymbols(operation);
  Point point(operation.ranges.size(), 0);
  forEachPoint(point, outputSymbols(operation), operation.extents, [&] {
    float result = combine.initial();
    forEachPoint(point, reduced, operation.ranges,
                 [&] { result = combine(result, in.load(in.offset(point))); });
    out.store(out.offset(point), result);
  });
}

void reduceStick(const Operation &operation, const Combine &combine) {
  const TensorView &in = operation.views[0], &out = operation.output();
  const std::vector<size_t> reduced = reducedSymbols(operation);
  const size_t stick = size_t(in.stick);
  // The padded last stick takes part, with the mask in its tail.
  std::vector<int64_t> limits = operation.ranges;
  limits[stick] = roundUp(limits[stick], in.lanes);
  Point point(operation.ranges.size(), 0);
  std::vector<float> lane(size_t(in.lanes), 0);
  forEachPoint(point, outputSymbols(operation), operation.extents, [&] {
    lane.assign(lane.size(), combine.initial());
    forEachPoint(point, reduced, limits, [&] {
      const bool valid = point[stick] < operation.ranges[stick];
      float &accumulator = lane[size_t(point[stick] % in.lanes)];
      accumulator = combine(accumulator, valid ? in.load(in.offset(point)) : combine.mask);
    });
    for (size_t half = lane.size() / 2; half > 0; half /= 2) {
      for (size_t i = 0; i < half; ++i) {
        lane[i] = combine(lane[i], lane[i + half]);
      }
    }
    point[stick] = 0;
    out.store(out.offset(point), lane[0]);
  });
}

} // namespace

Status evaluateReduction(const Operation &operation) {
  if (operation.views.size() != 2) {
    return error<1401>("op '{}' with {} arguments has no rule; a reduction has one input and one "
                       "output",
                       operation.spec->op, operation.views.size());
  }
  const TensorView &in = operation.views[0], &out = operation.output();
  const Combine combine = combineFor(operation);
  if (in.stick < 0 || out.uses[size_t(in.stick)]) {
    reduceNonStick(operation, combine);
    return Status::success();
  }
  if (out.stick >= 0) {
    return error<1401>("op '{}' that reduces the stick into a tensor with another stick has no "
                       "rule; the output holds one value per stick",
                       operation.spec->op);
  }
  reduceStick(operation, combine);
  return Status::success();
}

} // namespace spyre::evaluator
