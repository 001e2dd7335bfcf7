//===- Composites.cpp - the interpreter's own definitions of composite calls ----------------===//
//
// What the framework's documentation says each of them computes, with one rounding per step. exx2
// and its two companions are steps of layer_norm and are judged as that whole: a pair of numbers in
// one stick is no tensor.
//===--------------------------------------------------------------------------------------------===//
#include "GraphInterpreter.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <stdexcept>

namespace spyre::testing {

using numerics::HostType;
using Shape = std::vector<int64_t>;
using Operands = const std::vector<Bounds> &;

namespace {

Bounds unary(const std::string &name, const Bounds &x) {
  return applyPointwise(name, {x}, {}, x.shape, x.dtype);
}

Bounds times(const Bounds &x, double number) {
  return number == 1 ? x : combine("mul", x, constant(number, x.dtype));
}

Bounds compare(const std::string &name, const Bounds &x, double number) {
  return applyPointwise(name, {x, constant(number, x.dtype)}, {}, x.shape, HostType::Bool);
}

Bounds where(const Bounds &condition, const Bounds &x, const Bounds &y) {
  return applyPointwise("where", {condition, x, y}, {}, condition.shape, x.dtype);
}

/// No rounding where nothing is computed.
Bounds reduceKept(const std::string &name, const Bounds &x, int64_t dim) {
  return x.shape[size_t(dim)] == 1 ? x : reduceDim(name, x, dim);
}

Bounds softmaxOf(const Bounds &x, int64_t dim, bool isLog) {
  const Bounds shifted = combine("sub", x, reduceKept("amax", x, dim));
  const Bounds powers = unary("exp", shifted);
  const Bounds sum = reduceKept("sum", powers, dim);
  return isLog ? combine("sub", shifted, unary("log", sum)) : combine("div", powers, sum);
}

Bounds softmax(const Call &call, Operands in) {
  const auto rank = int64_t(in[0].shape.size());
  const int64_t dim = integerOf(call, "dim", -1);
  return softmaxOf(in[0], dim < 0 ? dim + rank : dim, call.target.find("log") != std::string::npos);
}

/// No row of random numbers is masked.
Bounds safeSoftmax(const Call &call, Operands in) {
  const auto rank = int64_t(in[0].shape.size());
  const int64_t dim = integerOf(call, "dim", -1);
  return softmaxOf(in[0], dim < 0 ? dim + rank : dim, false);
}

Bounds scattered(const Call &call, Operands in) {
  const auto rank = int64_t(call.shape.size());
  int64_t dim = integerOf(call, "dim", 0);
  dim = dim < 0 ? dim + rank : dim;
  const int64_t size = call.shape[size_t(dim)];
  const bool selects = call.target == "aten.select_scatter.default";
  int64_t start = integerOf(call, selects ? "index" : "start", 0);
  start = start < 0 ? start + size : start;
  Bounds result = in[0];
  for (int64_t n = 0; n < elementCount(in[1].shape); ++n) {
    Shape index = unflatten(n, in[1].shape);
    if (selects) {
      index.insert(index.begin() + dim, 0);
    }
    index[size_t(dim)] += start;
    result.elements[size_t(flatten(index, call.shape))] = in[1].elements[size_t(n)];
  }
  return result;
}

Bounds addProduct(const Call &call, Operands in) {
  const Bounds product = times(matmulOf(in[1], in[2]), numberOf(call, "alpha", 1));
  const double beta = numberOf(call, "beta", 1);
  return beta == 0 ? product : combine("add", product, times(in[0], beta));
}

Bounds ceiling(const Call &, Operands in) {
  return unary("neg", unary("floor", unary("neg", in[0])));
}

Bounds padded(const Call &call, Operands in) {
  const Shape pads = listOf(call, "pad");
  const Interval number = rounded(Interval::exactly(numberOf(call, "value", 0)), in[0].dtype);
  const auto rank = int64_t(call.shape.size());
  Bounds result{call.shape, call.dtype, {}};
  for (int64_t n = 0; n < elementCount(call.shape); ++n) {
    Shape index = unflatten(n, call.shape);
    bool inside = true;
    for (size_t i = 0; i < pads.size() / 2; ++i) {
      const auto dim = size_t(rank - 1 - int64_t(i));
      index[dim] -= pads[2 * i];
      inside = inside && index[dim] >= 0 && index[dim] < in[0].shape[dim];
    }
    result.elements.push_back(inside ? in[0].elements[size_t(flatten(index, in[0].shape))]
                                     : number);
  }
  return result;
}

Bounds logicalNot(const Call &, Operands in) { return compare("eq", in[0], 0); }

Bounds power(const Call &call, Operands in) {
  const Bounds &x = in[0];
  const double exponent = numberOf(call, "exponent", 1);
  if (exponent == 0) {
    return broadcast(constant(1, x.dtype), x.shape);
  }
  if (exponent == 1) {
    return x;
  }
  if (exponent == 4 || exponent == 5 || exponent == -2) { // in fp32
    Bounds wide = x;
    wide.dtype = HostType::Float32;
    const Bounds square = combine("mul", wide, wide);
    const Bounds fourth = combine("mul", square, square);
    Bounds result = exponent == 4   ? fourth
                    : exponent == 5 ? combine("mul", wide, fourth)
                                    : unary("reciprocal", square);
    result.dtype = x.dtype;
    for (Interval &element : result.elements) {
      element = rounded(element, x.dtype);
    }
    return result;
  }
  if (exponent < 1) {
    return unary(exponent == 0.5 ? "sqrt" : exponent == -0.5 ? "rsqrt" : "reciprocal", x);
  }
  const Bounds square = combine("mul", x, x);
  return exponent == 2 ? square : combine("mul", square, x);
}

Bounds reversedSub(const Call &call, Operands in) {
  const Bounds scaled = times(in[0], numberOf(call, "alpha", 1));
  return combine("sub", in.size() == 2 ? in[1] : constant(numberOf(call, "other", 0), in[0].dtype),
                 scaled);
}

Bounds sign(const Call &, Operands in) {
  const Bounds &x = in[0];
  auto number = [&](double value) { return broadcast(constant(value, x.dtype), x.shape); };
  const Bounds below = where(compare("lt", x, 0), number(-1), number(0));
  return where(compare("gt", x, 0), number(1), below);
}

Bounds stacked(const Call &call, Operands in) {
  const auto rank = int64_t(call.shape.size());
  int64_t dim = integerOf(call, "dim", 0);
  dim = dim < 0 ? dim + rank : dim;
  std::vector<Bounds> pieces;
  for (const Bounds &piece : in) {
    Shape shape = piece.shape;
    shape.insert(shape.begin() + dim, 1);
    pieces.push_back(withShape(piece, shape));
  }
  return concatenated(pieces, dim);
}

Bounds rmsNorm(const Call &call, Operands in) {
  const Bounds &x = in[0];
  const Bounds mean = reduceKept("mean", combine("mul", x, x), int64_t(x.shape.size()) - 1);
  const Bounds shifted = combine("add", mean, constant(numberOf(call, "eps", 0), x.dtype));
  const Bounds result = combine("mul", x, unary("rsqrt", shifted));
  return in.size() > 1 ? combine("mul", result, in[1]) : result;
}

/// The steps inside one device operation are fp32 and not rounded to the format in between; here
/// each is, which only widens.
Bounds layerNorm(const Call &call, Operands in) {
  const Bounds &x = in[0];
  const int64_t last = int64_t(x.shape.size()) - 1;
  auto loosely = [](Bounds value) { // one more rounding than interval ends show
    for (Interval &element : value.elements) {
      if (!element.isOpen()) {
        element = widened(element, sumTolerance("copy", value.dtype, 1), element.magnitude());
      }
    }
    return value;
  };
  const Bounds mean = reduceDim("mean", x, last);
  const Bounds squares = reduceDim("mean", loosely(combine("mul", x, x)), last);
  const Bounds variance = combine("sub", squares, loosely(combine("mul", mean, mean)));
  // What a difference loses is relative to what it is a difference of.
  Bounds shifted = combine("add", variance, constant(numberOf(call, "eps", 1e-5), x.dtype));
  for (size_t i = 0; i < shifted.elements.size(); ++i) {
    Interval &element = shifted.elements[i];
    if (!element.isOpen()) {
      element = widened(element, sumTolerance("copy", x.dtype, 1), squares.elements[i].magnitude());
    }
  }
  const Bounds scale = loosely(unary("rsqrt", shifted));
  Bounds result = loosely(combine("mul", loosely(combine("sub", x, mean)), scale));
  result = in.size() > 1 ? loosely(combine("mul", result, in[1])) : result;
  result = in.size() > 2 ? loosely(combine("add", result, in[2])) : result;
  for (size_t i = 0; in.size() > 2 && i < result.elements.size(); ++i) {
    Interval &element = result.elements[i];
    if (!element.isOpen()) { // the product was rounded to the format, which the device does not
      const double bias = broadcast(in[2], x.shape).elements[i].magnitude();
      element = widened(element, sumTolerance("copy", x.dtype, 1), bias + element.magnitude());
    }
  }
  return result;
}

Bounds linear(const Call &, Operands in) {
  const Bounds product = matmulOf(in[0], permuted(in[1], {1, 0}));
  return in.size() > 2 ? combine("add", product, in[2]) : product;
}

/// Head h of the result is head h / group of \p x.
Bounds repeatedHeads(const Bounds &x, int64_t heads) {
  const size_t dim = x.shape.size() - 3;
  const int64_t group = heads / x.shape[dim];
  Shape shape = x.shape;
  shape[dim] = heads;
  Bounds result{shape, x.dtype, {}};
  for (int64_t n = 0; n < elementCount(shape); ++n) {
    Shape index = unflatten(n, shape);
    index[dim] /= group;
    result.elements.push_back(x.elements[size_t(flatten(index, x.shape))]);
  }
  return result;
}

/// Rows of which the mask leaves nothing have no weights.
Bounds withoutMaskedRows(Bounds weights, const Bounds &mask) {
  const Bounds allowed = broadcast(mask, weights.shape);
  const auto width = size_t(weights.shape.back());
  const auto isMasked = [](const Interval &element) { return element.magnitude() == 0; };
  for (size_t row = 0; row < weights.elements.size(); row += width) {
    const auto first = allowed.elements.begin() + std::ptrdiff_t(row);
    if (std::all_of(first, first + std::ptrdiff_t(width), isMasked)) {
      std::fill_n(weights.elements.begin() + std::ptrdiff_t(row), width, Interval{0, 0});
    }
  }
  return weights;
}

/// The scale is applied in halves, its root to both factors.
Bounds attention(const Call &call, Operands in) {
  const auto rank = int64_t(in[0].shape.size());
  const int64_t heads = in[0].shape[size_t(rank - 3)];
  const double scale =
      std::sqrt(numberOf(call, "scale", 1.0 / std::sqrt(double(in[0].shape.back()))));
  Shape order(size_t(rank), 0);
  std::iota(order.begin(), order.end(), int64_t(0));
  std::swap(order[size_t(rank - 1)], order[size_t(rank - 2)]);
  const Bounds keys = permuted(times(repeatedHeads(in[1], heads), scale), order);
  Bounds scores = matmulOf(times(in[0], scale), keys);
  if (in.size() > 3) {
    scores = in[3].dtype == HostType::Bool
                 ? where(broadcast(in[3], scores.shape), scores,
                         broadcast(constant(-3.4028234663852886e38, scores.dtype), scores.shape))
                 : combine("add", scores, in[3]);
  }
  Bounds weights = softmaxOf(scores, rank - 1, false);
  if (in.size() > 3 && in[3].dtype == HostType::Bool) {
    weights = withoutMaskedRows(std::move(weights), in[3]);
  }
  return matmulOf(weights, repeatedHeads(in[2], heads));
}

using Definition = Bounds (*)(const Call &, Operands);

const std::map<std::string, Definition> &definitions() {
  static const std::map<std::string, Definition> table = {
      {"aten._log_softmax.default", softmax},
      {"aten._safe_softmax.default", safeSoftmax},
      {"aten._scaled_dot_product_fused_attention_overrideable.default", attention},
      {"aten._softmax.default", softmax},
      {"aten.addmm.default", addProduct},
      {"aten.baddbmm.default", addProduct},
      {"aten.ceil.default", ceiling},
      {"aten.constant_pad_nd.default", padded},
      {"aten.copy.default",
       [](const Call &call, Operands in) { return broadcast(in[1], call.shape); }},
      {"aten.layer_norm.default", layerNorm},
      {"aten.linear.default", linear},
      {"aten.log_softmax.int", softmax},
      {"aten.logical_not.default", logicalNot},
      {"aten.matmul.default", [](const Call &, Operands in) { return matmulOf(in[0], in[1]); }},
      {"aten.native_layer_norm.default", layerNorm},
      {"aten.pow.Tensor_Scalar", power},
      {"aten.rms_norm.default", rmsNorm},
      {"aten.rsub.Scalar", reversedSub},
      {"aten.rsub.Tensor", reversedSub},
      {"aten.scaled_dot_product_attention.default", attention},
      {"aten.select_scatter.default", scattered},
      {"aten.sign.default", sign},
      {"aten.slice_scatter.default", scattered},
      {"aten.softmax.int", softmax},
      {"aten.square.default",
       [](const Call &, Operands in) { return combine("mul", in[0], in[0]); }},
      {"aten.stack.default", stacked},
  };
  return table;
}

} // namespace

bool isComposite(const std::string &target) { return definitions().count(target) != 0; }

Bounds interpretComposite(const Call &call, const std::vector<Bounds> &operands) {
  return definitions().at(call.target)(call, operands);
}

} // namespace spyre::testing
