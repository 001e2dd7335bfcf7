//===- Reductions.cpp - matmul, sums, extremes and means in the documented order ------------===//
//
// Order is part of the result (docs/numerics.md): a matmul adds products with one rounding each, k
// ascending, or integers in int32 (docs/adr/0019); a reduction along the stick keeps one
// accumulator per lane and folds the lanes in a halving tree at the end; any other reduction is
// ascending, lane by lane. Reduced symbols are walked in the order of the iteration space, the last
// one fastest.
//
// A reduced symbol that is split over cores cuts this walk into slices, each with accumulators of
// its own; they are combined in fp32, slices ascending, before the tree, the scale of a mean and
// the one rounding (ADR 0012). exx2 does this for two values, mean and mean of squares (ADR 0016).
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Math.h"
#include "spyre/Numerics/Functions.h"

#include "TensorView.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>

namespace spyre::evaluator {

namespace {

/// Elements a core gets of \p symbol: whole sticks where it is the stick of a tensor.
int64_t sliceElems(const Operation &operation, size_t symbol) {
  const spec::IterationDim &dim = operation.spec->iterationSpace[symbol];
  int64_t padded = dim.range;
  for (const TensorView &view : operation.views) {
    padded = std::max(padded, roundUp(dim.range, view.stickElems[symbol]));
  }
  return padded / dim.cores; // Exact: verifyOpSpec.
}

/// The boxes of the reduced symbols, one per slice in ascending order (last symbol fastest, as the
/// elements are). \p limits ends the last slice of each symbol.
std::vector<Box> reductionSlices(const Operation &operation, const std::vector<size_t> &reduced,
                                 const std::vector<int64_t> &limits) {
  std::vector<int64_t> counts;
  for (const spec::IterationDim &dim : operation.spec->iterationSpace) {
    counts.push_back(dim.cores);
  }
  std::vector<Box> slices;
  Point slice(limits.size(), 0);
  forEachPoint(slice, reduced, counts, [&] {
    Box box{std::vector<int64_t>(limits.size(), 0), limits};
    for (size_t symbol : reduced) {
      const int64_t elems = sliceElems(operation, symbol);
      box.begin[symbol] = slice[symbol] * elems;
      box.end[symbol] = std::min(box.begin[symbol] + elems, limits[symbol]);
    }
    slices.push_back(std::move(box));
  });
  return slices;
}

/// One accumulator over the part of the products in \p slice.
float matmulPartial(const Operation &operation, Point &point, const std::vector<size_t> &reduced,
                    const Box &slice) {
  const TensorView &x = operation.views[0], &y = operation.views[1];
  if (reduced.empty()) {
    return numerics::fmaF32(x.load(x.offset(point)), y.load(y.offset(point)), 0);
  }
  float sum = 0;
  const size_t k = reduced.back(); // The last symbol without a call per product.
  const std::vector<size_t> outer(reduced.begin(), reduced.end() - 1);
  point[k] = 0;
  forEachPoint(point, outer, slice, [&] {
    const int64_t atX = x.offset(point), atY = y.offset(point);
    for (int64_t at = slice.begin[k]; at < slice.end[k]; ++at) {
      const float a = x.load(atX + x.contribution[k][size_t(at)]);
      const float b = y.load(atY + y.contribution[k][size_t(at)]);
      sum = numerics::fmaF32(a, b, sum);
    }
  });
  return sum;
}

/// Sum of products of integers; it wraps, so neither order nor slices matter.
float integerProduct(const Operation &operation, Point &point, const std::vector<size_t> &reduced) {
  const TensorView &x = operation.views[0], &y = operation.views[1];
  uint32_t sum = 0;
  forEachPoint(point, reduced, operation.ranges, [&] {
    const int32_t a = int8_t(*x.bits(x.offset(point))), b = int8_t(*y.bits(y.offset(point)));
    sum += uint32_t(a * b);
  });
  return float(int32_t(sum));
}

} // namespace

Status evaluateMatmul(const Operation &operation) {
  if (operation.views.size() != 3) {
    return error<1401>("op '{}' with {} arguments has no rule; a matmul has two inputs and one "
                       "output",
                       operation.spec->op, operation.views.size());
  }
  const TensorView &out = operation.output();
  const std::vector<size_t> reduced = reducedSymbols(operation);
  const std::vector<Box> slices = reductionSlices(operation, reduced, operation.ranges);
  Point point(operation.ranges.size(), 0);
  forEachPoint(point, outputSymbols(operation), operation.extents, [&] {
    if (operation.views[0].format == numerics::DataFormat::SenInt8) {
      out.store(out.offset(point), integerProduct(operation, point, reduced));
      return;
    }
    float sum = matmulPartial(operation, point, reduced, slices.front());
    for (size_t i = 1; i < slices.size(); ++i) {
      sum = numerics::addF32(sum, matmulPartial(operation, point, reduced, slices[i]));
    }
    out.store(out.offset(point), sum);
  });
  return Status::success();
}

namespace {

/// Exx2 is the pair of mean and mean of squares.
enum class Kind : uint8_t { Sum, Mean, Max, Min, AbsMax, SumSquares, Exx2, Exx2ZeroMean };

std::optional<Kind> kindOf(const std::string &op) {
  constexpr std::pair<const char *, Kind> kKinds[] = {
      {"sum", Kind::Sum},      {"mean", Kind::Mean}, {"max", Kind::Max},
      {"min", Kind::Min},      {"exx2", Kind::Exx2}, {"exx2_zeromean", Kind::Exx2ZeroMean},
      {"absmax", Kind::AbsMax}};
  for (const auto &[name, kind] : kKinds) {
    if (op == name) {
      return kind;
    }
  }
  return std::nullopt;
}

/// maxF32 of the numerics policy, turned round.
float minimum(float a, float b) {
  if (a != a || b != b) {
    return numerics::canonicalNan(a != a ? a : b);
  }
  return a < b ? a : b;
}

/// How an element joins an accumulator, how two partial results are combined, what an accumulator
/// starts with, what stands in for a lane beyond the valid size, and what the total is multiplied
/// by.
struct Combine {
  Kind kind = Kind::Sum;
  float mask = 0;
  float scale = 1;

  float initial() const {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    return kind == Kind::Max ? -kInfinity : kind == Kind::Min ? kInfinity : 0.0f;
  }
  float operator()(float a, float b) const {
    switch (kind) {
    case Kind::Max:
    case Kind::AbsMax:
      return numerics::maxF32(a, b);
    case Kind::Min:
      return minimum(a, b);
    default:
      return numerics::addF32(a, b);
    }
  }
  float add(float accumulator, float element) const {
    if (kind == Kind::SumSquares) {
      element = numerics::mulF32(element, element);
    } else if (kind == Kind::AbsMax) {
      element = numerics::absF32(element);
    }
    return (*this)(accumulator, element);
  }
  float finish(float total) const {
    return kind == Kind::Mean ? numerics::mulF32(total, scale) : total;
  }
};

/// The value the device has of a constant: it travels in the format of the first argument.
float deviceConstant(double value, numerics::DataFormat format) {
  const uint32_t bits = numerics::encodeConstant(value, format);
  return format == numerics::DataFormat::IeeeFp32 ? std::bit_cast<float>(bits)
                                                  : numerics::dl16ToFloat(uint16_t(bits));
}

std::optional<float> findConstant(const Operation &operation, const std::string &name) {
  for (const auto &[known, value] : operation.spec->constants) {
    if (known == name) {
      return deviceConstant(value, operation.views.front().format);
    }
  }
  return std::nullopt;
}

Expected<Combine> combineFor(const Operation &operation) {
  Combine combine;
  combine.kind = *kindOf(operation.spec->op);
  const numerics::DataFormat format = operation.views.front().format;
  if (combine.kind == Kind::Max || combine.kind == Kind::Min) {
    // What no element passes; DLFloat16 has no infinity.
    const float largest = format == numerics::DataFormat::IeeeFp32
                              ? std::numeric_limits<float>::infinity()
                              : numerics::dl16ToFloat(0x7FFE);
    combine.mask = combine.kind == Kind::Max ? -largest : largest;
  }
  const bool isPair = combine.kind == Kind::Exx2 || combine.kind == Kind::Exx2ZeroMean;
  if (combine.kind == Kind::Mean || isPair) {
    const char *name = isPair ? "exx2scale" : "scaling_factor";
    const std::optional<float> scale = findConstant(operation, name);
    if (!scale) {
      return error<1401>("op '{}' has no constant '{}'; give it 1 / count", operation.spec->op,
                         name);
    }
    combine.scale = *scale;
  }
  if (combine.kind == Kind::Exx2 && findConstant(operation, "useZeroMean").value_or(0) != 0) {
    combine.kind = Kind::Exx2ZeroMean;
  }
  return combine;
}

void reduceNonStick(const Operation &operation, const Combine &combine) {
  const TensorView &in = operation.views[0], &out = operation.output();
  const std::vector<size_t> reduced = reducedSymbols(operation);
  const std::vector<Box> slices = reductionSlices(operation, reduced, operation.ranges);
  Point point(operation.ranges.size(), 0);
  auto partialOf = [&](const Box &slice) {
    float partial = combine.initial();
    forEachPoint(point, reduced, slice,
                 [&] { partial = combine.add(partial, in.load(in.offset(point))); });
    return partial;
  };
  forEachPoint(point, outputSymbols(operation), operation.extents, [&] {
    float total = partialOf(slices.front());
    for (size_t i = 1; i < slices.size(); ++i) {
      total = combine(total, partialOf(slices[i]));
    }
    out.store(out.offset(point), combine.finish(total));
  });
}

/// Fills \p lanes, one accumulator for each lane of a stick, from the elements in \p slice.
void accumulateLanes(const Operation &operation, const Combine &combine, Point &point,
                     const std::vector<size_t> &reduced, const Box &slice,
                     std::vector<float> &lanes) {
  const TensorView &in = operation.views[0];
  const size_t stick = size_t(in.stick);
  lanes.assign(size_t(in.lanes), combine.initial());
  forEachPoint(point, reduced, slice, [&] {
    const bool valid = point[stick] < operation.ranges[stick];
    float &accumulator = lanes[size_t(point[stick] % in.lanes)];
    accumulator = combine.add(accumulator, valid ? in.load(in.offset(point)) : combine.mask);
  });
  point[stick] = 0; // The padding is beyond the tables of the other views.
}

/// The total at the output's \p point: lanes over the slices, then the halving tree.
float stickTotal(const Operation &operation, const Combine &combine, Point &point,
                 const std::vector<size_t> &reduced, const std::vector<Box> &slices) {
  std::vector<float> lanes, partial;
  accumulateLanes(operation, combine, point, reduced, slices.front(), lanes);
  for (size_t i = 1; i < slices.size(); ++i) {
    accumulateLanes(operation, combine, point, reduced, slices[i], partial);
    for (size_t lane = 0; lane < lanes.size(); ++lane) {
      lanes[lane] = combine(lanes[lane], partial[lane]);
    }
  }
  for (size_t half = lanes.size() / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) {
      lanes[i] = combine(lanes[i], lanes[i + half]);
    }
  }
  return combine.finish(lanes[0]);
}

/// Writes \p first and \p second to lanes 0 and 1 of a stick, zero to all others.
void storePair(const TensorView &out, int64_t offsetElems, float first, float second) {
  TensorView elements = out;
  elements.stick = 0; // Not one value for all lanes.
  for (int64_t lane = 0; lane < out.lanes; ++lane) {
    elements.store(offsetElems + lane, lane == 0 ? first : lane == 1 ? second : 0.0f);
  }
}

void reduceStick(const Operation &operation, const Combine &combine) {
  const TensorView &in = operation.views[0], &out = operation.output();
  const std::vector<size_t> reduced = reducedSymbols(operation);
  // The padded last stick takes part, with the mask in its tail.
  std::vector<int64_t> limits = operation.ranges;
  limits[size_t(in.stick)] = roundUp(limits[size_t(in.stick)], in.lanes);
  const std::vector<Box> slices = reductionSlices(operation, reduced, limits);
  Point point(operation.ranges.size(), 0);
  auto total = [&](Kind kind) {
    Combine one = combine;
    one.kind = kind;
    return stickTotal(operation, one, point, reduced, slices);
  };
  const bool isPair = combine.kind == Kind::Exx2 || combine.kind == Kind::Exx2ZeroMean;
  forEachPoint(point, outputSymbols(operation), operation.extents, [&] {
    if (isPair) {
      const float mean = combine.kind == Kind::Exx2 ? total(Kind::Mean) : 0.0f;
      const float squares = numerics::mulF32(total(Kind::SumSquares), combine.scale);
      storePair(out, out.offset(point), mean, squares);
    } else {
      out.store(out.offset(point), total(combine.kind));
    }
  });
}

} // namespace

bool isReductionRule(const std::string &op) { return kindOf(op).has_value(); }

Status evaluateReduction(const Operation &operation) {
  if (operation.views.size() != 2) {
    return error<1401>("op '{}' with {} arguments has no rule; a reduction has one input and one "
                       "output",
                       operation.spec->op, operation.views.size());
  }
  const TensorView &in = operation.views[0], &out = operation.output();
  SPYRE_ASSIGN_OR_RETURN(const Combine combine, combineFor(operation));
  const bool isPair = combine.kind == Kind::Exx2 || combine.kind == Kind::Exx2ZeroMean;
  if (in.stick < 0 || out.uses[size_t(in.stick)]) {
    if (isPair) {
      return error<1401>("op '{}' that does not reduce the stick has no rule", operation.spec->op);
    }
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
