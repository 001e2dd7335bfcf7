//===- Networks.cpp - decompositions of the layers of networks ------------------------------===//
#include "spyre/Dialect/Graph/IR/OpTable.h"

#include "Calls.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace spyre::graph {

using mlir::Value;

static Expected<int64_t> reducedDim(CallOp call, const char *what) {
  const int64_t rank = rankOf(call.getOperand(0));
  const int64_t dim = dimAttribute(call, "dim", -1, rank);
  if (dim < 0 || dim >= rank) {
    return error<1004>("{}: dimension {} of rank {}", what, dim, rank);
  }
  return dim;
}

static Expected<Value> softmax(CallOp call, Calls &calls) {
  Value x = calls.convert(call.getOperand(0), elementOf(call.getResult()));
  SPYRE_ASSIGN_OR_RETURN(int64_t dim, reducedDim(call, "softmax"));
  Value shifted = calls.sub(x, calls.reduce("aten.amax.default", x, dim));
  Value powers = calls.unary("aten.exp.default", shifted);
  return calls.div(powers, calls.reduce("aten.sum.dim_IntList", powers, dim));
}

/// Rows of which a mask leaves nothing: their largest element is -inf. In fp16 that is far below
/// every sum of a finite mask and a score, which may itself read back as -inf.
static Value isAllMasked(Value largest, Calls &calls) {
  const double masked =
      elementOf(largest).isF16() ? -0x1p32 : -std::numeric_limits<double>::infinity();
  return calls.call("spyre.device.lesserequal", {largest}, shapeOf(largest),
                    calls.builder.getI1Type(),
                    {{"scalar1", calls.builder.getF64FloatAttr(masked)}});
}

/// Weights that are 0 in such rows.
static Value withoutMaskedRows(Value weights, Value largest, Calls &calls) {
  Value isMasked = calls.expand(isAllMasked(largest, calls), shapeOf(weights));
  return calls.where(isMasked, calls.fill(weights, 0), weights);
}

static Expected<Value> safeSoftmax(CallOp call, Calls &calls) {
  SPYRE_ASSIGN_OR_RETURN(Value weights, softmax(call, calls));
  SPYRE_ASSIGN_OR_RETURN(int64_t dim, reducedDim(call, "softmax"));
  Value x = calls.convert(call.getOperand(0), elementOf(call.getResult()));
  return withoutMaskedRows(weights, calls.reduce("aten.amax.default", x, dim), calls);
}

static Expected<Value> logSoftmax(CallOp call, Calls &calls) {
  Value x = calls.convert(call.getOperand(0), elementOf(call.getResult()));
  SPYRE_ASSIGN_OR_RETURN(int64_t dim, reducedDim(call, "log_softmax"));
  Value shifted = calls.sub(x, calls.reduce("aten.amax.default", x, dim));
  Value powers = calls.unary("aten.exp.default", shifted);
  Value sum = calls.reduce("aten.sum.dim_IntList", powers, dim);
  return calls.sub(shifted, calls.unary("aten.log.default", sum));
}

/// The device normalises the last dimension: \p x with those that are normalised joined to one.
static Expected<Value> joinNormalised(CallOp call, Calls &calls, Value x, const char *what) {
  std::vector<int64_t> shape = shapeOf(x);
  const std::vector<int64_t> normalised = listAttribute(call, "normalized_shape");
  const bool fits = !normalised.empty() && normalised.size() <= shape.size() &&
                    std::equal(normalised.rbegin(), normalised.rend(), shape.rbegin());
  if (!fits) {
    return error<1004>("{} over [{}] of [{}]: the last dimensions are normalised", what,
                       fmt::join(normalised, ", "), fmt::join(shape, ", "));
  }
  int64_t joined = 1;
  for (int64_t size : normalised) {
    joined *= size; // the tensor has at most 2^38 elements
  }
  shape.resize(shape.size() - normalised.size());
  shape.push_back(joined);
  return calls.reshape(x, shape);
}

/// Place among the operands of schema argument \p argument, the first ones of which are x, the
/// normalised shape, weight and bias; -1 when it is not given.
static int64_t placeOf(CallOp call, int64_t argument) {
  const std::vector<int64_t> absent = listAttribute(call, "absent");
  int64_t place = argument - 1;
  for (int64_t missing : absent) {
    if (missing == argument) {
      return -1;
    }
    place -= missing < argument ? 1 : 0;
  }
  return place < int64_t(call.getOperands().size()) ? place : -1;
}

/// Weights have the normalised shape.
static Status checkWeights(CallOp call, const char *what) {
  const std::vector<int64_t> normalised = listAttribute(call, "normalized_shape");
  for (Value weight : llvm::drop_begin(call.getOperands())) {
    if (shapeOf(weight) != normalised) {
      return error<1004>("{}: a weight [{}] for [{}]", what, fmt::join(shapeOf(weight), ", "),
                         fmt::join(normalised, ", "));
    }
  }
  return Status::success();
}

/// The tensor of schema argument \p argument in the type of \p x, or a number when it is absent.
static Value weightOf(CallOp call, Calls &calls, Value x, int64_t argument, double otherwise) {
  if (const int64_t place = placeOf(call, argument); place > 0) {
    return calls.reshape(calls.convert(call.getOperand(unsigned(place)), elementOf(x)),
                         {shapeOf(x).back()});
  }
  return calls.call("aten.full.default", {}, {shapeOf(x).back()}, elementOf(x),
                    {{"fill_value", calls.builder.getF64FloatAttr(otherwise)}});
}

namespace {
struct Normalisation {
  double eps;
  bool takesMean; ///< from every element; else the mean counts as 0
};
} // namespace

/// (x - mean) * rsqrt(mean of (x - mean)^2 + eps) * weight + bias along the last dimension. Squares
/// are summed in fp32 and rounded once, as a mean.
static Value normalised(CallOp call, Calls &calls, Value x, Normalisation how) {
  mlir::OpBuilder &builder = calls.builder;
  std::vector<int64_t> one = shapeOf(x);
  const double share = 1.0 / double(one.back());
  one.back() = 1;
  Value pair = calls.call("spyre.exx2.default", {x}, one, elementOf(x),
                          {{"exx2Scale", builder.getF64FloatAttr(share)},
                           {"useZeroMean", builder.getI64IntegerAttr(how.takesMean ? 0 : 1)}});
  Value scale = calls.unary("spyre.layernormscale.default", pair,
                            {{"eps", builder.getF64FloatAttr(how.eps)}});
  Value weight = weightOf(call, calls, x, 2, 1), bias = weightOf(call, calls, x, 3, 0);
  return calls.call("spyre.layernormnorm.default", {x, pair, scale, weight, bias}, shapeOf(x),
                    elementOf(x));
}

static Expected<Value> layerNorm(CallOp call, Calls &calls) {
  if (intAttribute(call, "result", 0) != 0) {
    return error<1005>("layer_norm: only the normalised tensor is computed on the device, not "
                       "its statistics");
  }
  SPYRE_RETURN_IF_ERROR(checkWeights(call, "layer_norm"));
  Value whole = calls.convert(call.getOperand(0), elementOf(call.getResult()));
  SPYRE_ASSIGN_OR_RETURN(Value x, joinNormalised(call, calls, whole, "layer_norm"));
  if (shapeOf(x).back() == 1) { // its own mean: what is left is the bias
    Value nothing = calls.mul(calls.sub(x, x), weightOf(call, calls, x, 2, 1));
    return calls.reshape(calls.add(nothing, weightOf(call, calls, x, 3, 0)), shapeOf(whole));
  }
  const double eps = numberAttribute(call, "eps", 1e-5);
  Value result = normalised(call, calls, x, {.eps = eps, .takesMean = true});
  return calls.reshape(result, shapeOf(whole));
}

/// x * rsqrt(mean(x * x) + eps) * weight
static Expected<Value> rmsNorm(CallOp call, Calls &calls) {
  SPYRE_RETURN_IF_ERROR(checkWeights(call, "rms_norm"));
  const double eps =
      numberAttribute(call, "eps", elementOf(call.getOperand(0)).isF32() ? 0x1p-23 : 0x1p-10);
  Value whole = calls.convert(call.getOperand(0), elementOf(call.getResult()));
  SPYRE_ASSIGN_OR_RETURN(Value x, joinNormalised(call, calls, whole, "rms_norm"));
  if (shapeOf(x).back() == 1) { // exx2 takes rows of two elements and more
    mlir::Type wideType = calls.builder.getF32Type();
    Value wide = calls.convert(x, wideType);
    Value scale = calls.unary("aten.rsqrt.default",
                              calls.scalar("aten.add.Scalar", calls.mul(wide, wide), eps));
    Value weight = calls.convert(weightOf(call, calls, x, 2, 1), wideType);
    Value normal = calls.convert(calls.mul(calls.mul(wide, scale), weight), elementOf(x));
    return calls.reshape(normal, shapeOf(whole));
  }
  Value result = normalised(call, calls, x, {.eps = eps, .takesMean = false});
  return calls.reshape(result, shapeOf(whole));
}

static Expected<Value> linear(CallOp call, Calls &calls) {
  if (call.getOperands().size() < 2 || rankOf(call.getOperand(1)) != 2) {
    return error<1004>("linear: a weight of rank 2 expected");
  }
  SPYRE_ASSIGN_OR_RETURN(
      Value product, calls.matmul(call.getOperand(0), calls.transpose(call.getOperand(1), 0, 1)));
  return call.getOperands().size() > 2 ? calls.add(product, call.getOperand(2)) : product;
}

/// Heads of keys and values are repeated for groups of query heads.
static Value repeatHeads(Calls &calls, Value x, int64_t heads) {
  std::vector<int64_t> shape = shapeOf(x);
  const size_t dim = shape.size() - 3;
  if (shape[dim] == heads) {
    return x;
  }
  std::vector<int64_t> grouped = shape;
  grouped.insert(grouped.begin() + int64_t(dim) + 1, 1);
  std::vector<int64_t> repeated = grouped;
  repeated[dim + 1] = heads / shape[dim];
  std::vector<int64_t> joined = shape;
  joined[dim] = heads;
  return calls.reshape(calls.expand(calls.reshape(x, grouped), repeated), joined);
}

/// softmax(q kT * scale + mask) v. The scale is split between q and k, so that products stay small.
static Expected<Value> attention(CallOp call, Calls &calls) {
  if (intAttribute(call, "result", 0) != 0) {
    return error<1005>("attention: only its output is computed on the device, not what a backward "
                       "pass would need");
  }
  if (numberAttribute(call, "dropout_p", 0) != 0) {
    return error<1005>("attention with dropout; set it to 0");
  }
  if (flagAttribute(call, "is_causal", false)) {
    return error<1005>("causal attention; give the mask as a tensor");
  }
  if (call.getOperands().size() < 3) {
    return error<1005>("attention: query, key and value expected");
  }
  Value q = call.getOperand(0), k = call.getOperand(1), v = call.getOperand(2);
  if (rankOf(q) < 3 || rankOf(k) != rankOf(q) || rankOf(v) != rankOf(q)) {
    return error<1004>("attention: query, key and value of one rank, at least 3, expected");
  }
  const int64_t heads = shapeOf(q)[size_t(rankOf(q) - 3)];
  if (shapeOf(k)[size_t(rankOf(q) - 3)] < 1 || heads % shapeOf(k)[size_t(rankOf(q) - 3)] != 0) {
    return error<1004>("attention: {} query heads for {} key heads", heads,
                       shapeOf(k)[size_t(rankOf(q) - 3)]);
  }
  const double scale = numberAttribute(call, "scale", 1.0 / std::sqrt(double(shapeOf(q).back())));
  const double root = std::sqrt(std::abs(scale));
  Value keys = calls.transpose(calls.times(repeatHeads(calls, k, heads), root), rankOf(q) - 2,
                               rankOf(q) - 1);
  SPYRE_ASSIGN_OR_RETURN(Value scores,
                         calls.matmul(calls.times(q, std::copysign(root, scale)), keys));
  const bool hasMask = call.getOperands().size() > 3;
  if (hasMask) {
    Value mask = call.getOperand(3);
    SPYRE_ASSIGN_OR_RETURN(std::vector<int64_t> joint,
                           broadcastShape(shapeOf(mask), shapeOf(scores)));
    if (joint != shapeOf(scores)) {
      return error<1004>("attention: a mask [{}] for scores [{}]", fmt::join(shapeOf(mask), ", "),
                         fmt::join(shapeOf(scores), ", "));
    }
    scores = elementOf(mask).isInteger(1)
                 ? calls.where(mask, scores,
                               calls.fill(scores, -std::numeric_limits<double>::infinity()))
                 : calls.add(scores, calls.convert(mask, elementOf(scores)));
  }
  const int64_t last = rankOf(scores) - 1;
  Value largest = calls.reduce("aten.amax.default", scores, last);
  Value powers = calls.unary("aten.exp.default", calls.sub(scores, largest));
  Value sum = calls.reduce("aten.sum.dim_IntList", powers, last);
  if (hasMask && !elementOf(scores).isF32()) {
    // Powers are 1 there, and 1 by the largest number is 0: one selection per row, not per weight.
    sum = calls.where(isAllMasked(largest, calls),
                      calls.fill(sum, double(std::numeric_limits<float>::max())), sum);
  }
  Value weights = calls.div(powers, sum);
  if (hasMask && elementOf(scores).isF32()) {
    weights = withoutMaskedRows(weights, largest, calls);
  }
  return calls.matmul(weights, repeatHeads(calls, v, heads));
}

std::vector<NamedDecomposition> networkDecompositions() {
  return {{"aten._log_softmax.default", logSoftmax},
          {"aten._safe_softmax.default", safeSoftmax},
          {"aten._scaled_dot_product_fused_attention_overrideable.default", attention},
          {"aten._softmax.default", softmax},
          {"aten.layer_norm.default", layerNorm},
          {"aten.linear.default", linear},
          {"aten.log_softmax.int", logSoftmax},
          {"aten.native_layer_norm.default", layerNorm},
          {"aten.rms_norm.default", rmsNorm},
          {"aten.scaled_dot_product_attention.default", attention},
          {"aten.softmax.int", softmax}};
}

} // namespace spyre::graph
