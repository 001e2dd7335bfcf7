//===- Math.cpp - decompositions of arithmetic and of small operations ----------------------===//
#include "spyre/Dialect/Graph/IR/OpTable.h"

#include "Calls.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace spyre::graph {

using mlir::Value;

static Expected<Value> square(CallOp call, Calls &calls) {
  Value x = call.getOperand(0);
  return calls.mul(x, x);
}

/// The device has the exact form. The other one, x (1 + tanh(u)) / 2 with u = sqrt(2 / pi) (x +
/// 0.044715 x^3), is x sigmoid(2 u), which cancels nothing where tanh is near -1.
static Expected<Value> gelu(CallOp call, Calls &calls) {
  Value x = call.getOperand(0);
  mlir::Attribute given = call->getDiscardableAttr("approximate");
  auto form = llvm::dyn_cast_or_null<mlir::StringAttr>(given);
  if (!given || (form && form.getValue() == "none")) {
    return calls.unary("spyre.device.gelufwd", x);
  }
  if (!form || form.getValue() != "tanh") {
    return error<1005>("{}: approximate is neither 'none' nor 'tanh'; give one of them",
                       call.getCallee().str());
  }
  const double slope = 2 * std::sqrt(2 / std::numbers::pi), cubic = 0.044715 * slope;
  // In fp32, rounded once: the sigmoid multiplies what its argument lost.
  Value wide = calls.convert(x, calls.builder.getF32Type());
  Value factor = calls.scalar("aten.add.Scalar", calls.times(calls.mul(wide, wide), cubic), slope);
  Value share = calls.unary("aten.sigmoid.default", calls.mul(wide, factor));
  return calls.convert(calls.mul(wide, share), elementOf(x));
}

/// x to a whole power, 1 or more, by squares.
static Value wholePower(Calls &calls, Value x, int64_t exponent) {
  Value result;
  for (Value square = x; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) {
      result = result ? calls.mul(result, square) : square;
    }
    square = exponent > 1 ? calls.mul(square, square) : square;
  }
  return result;
}

/// Other exponents in fp32, rounded once: whole ones as products, all others by the logarithm,
/// which has the bits for results of 16. It is NaN where a number below 0 has no power.
static Expected<Value> widePower(CallOp call, Calls &calls, double exponent) {
  constexpr double kMostProducts = 16, kLargest = 65504;
  Value x = call.getOperand(0);
  Value wide = calls.convert(x, calls.builder.getF32Type());
  const double size = std::abs(exponent);
  const bool isWhole = std::floor(size) == size;
  if (isWhole && size <= kMostProducts) {
    Value product = wholePower(calls, wide, int64_t(size));
    return calls.convert(exponent < 0 ? calls.unary("aten.reciprocal.default", product) : product,
                         elementOf(x));
  }
  if (elementOf(x).isF32() || !(size <= kLargest)) {
    return error<1005>("aten.pow: exponent {} is not supported on {}; the device has whole ones up "
                       "to {}, 0.5 and -0.5, and on 16 bits all up to {}",
                       exponent, elementOf(x).isF32() ? "fp32" : "16 bits", kMostProducts,
                       kLargest);
  }
  Value base = isWhole ? calls.unary("aten.abs.default", wide) : wide;
  Value logarithm =
      calls.scalar("aten.mul.Scalar", calls.unary("aten.log.default", base), exponent);
  Value result = calls.convert(calls.unary("aten.exp.default", logarithm), elementOf(x));
  if (isWhole && std::fmod(size, 2) == 1) {
    Value isNegative = calls.call("aten.lt.Scalar", {x}, shapeOf(x), calls.builder.getI1Type(),
                                  {{"other", calls.builder.getF64FloatAttr(0)}});
    result = calls.where(isNegative, calls.unary("aten.neg.default", result), result);
  }
  return result;
}

/// Small whole exponents are products; roots and reciprocals have operations of their own.
static Expected<Value> power(CallOp call, Calls &calls) {
  Value x = call.getOperand(0);
  const double exponent = numberAttribute(call, "exponent", 1);
  if (exponent == 0) {
    return calls.fill(x, 1);
  }
  if (elementOf(call.getResult()).isInteger()) { // products that wrap, as many as it takes
    constexpr double kMost = 1e9;
    if (exponent < 0 || exponent > kMost || std::floor(exponent) != exponent) {
      return error<1005>(
          "aten.pow: exponent {} of integers; the device has whole ones from 0 to {}", exponent,
          kMost);
    }
    return exponent == 1 ? calls.unary("aten.clone.default", x)
                         : wholePower(calls, x, int64_t(exponent));
  }
  if (exponent == 1) {
    return calls.unary("aten.clone.default", x);
  }
  if (exponent == 0.5) {
    return calls.unary("aten.sqrt.default", x);
  }
  if (exponent == -0.5) {
    return calls.unary("aten.rsqrt.default", x);
  }
  if (exponent == -1) {
    return calls.unary("aten.reciprocal.default", x);
  }
  // The fourth would double what the square lost to 16 bits.
  if (exponent == 2 || exponent == 3) {
    Value twice = calls.mul(x, x);
    return exponent == 2 ? twice : calls.mul(twice, x);
  }
  return widePower(call, calls, exponent);
}

static Expected<Value> reversedSub(CallOp call, Calls &calls) {
  Value x = call.getOperand(0);
  const double alpha = numberAttribute(call, "alpha", 1);
  if (call.getOperands().size() == 2) {
    return calls.sub(call.getOperand(1), calls.times(x, alpha));
  }
  Value number = calls.fill(x, numberAttribute(call, "other", 0));
  return calls.sub(number, calls.times(x, alpha));
}

static Expected<Value> ceiling(CallOp call, Calls &calls) {
  Value negative = calls.unary("aten.neg.default", call.getOperand(0));
  return calls.unary("aten.neg.default", calls.unary("aten.floor.default", negative));
}

static Value compare(Calls &calls, const std::string &callee, Value x, double number) {
  return calls.call(callee, {x}, shapeOf(x), calls.builder.getI1Type(),
                    {{"other", calls.builder.getF64FloatAttr(number)}});
}

static Expected<Value> sign(CallOp call, Calls &calls) {
  Value x = call.getOperand(0);
  Value below =
      calls.where(compare(calls, "aten.lt.Scalar", x, 0), calls.fill(x, -1), calls.fill(x, 0));
  return calls.where(compare(calls, "aten.gt.Scalar", x, 0), calls.fill(x, 1), below);
}

/// Truth values are stored as 1 and 0.
static Expected<Value> logicalNot(CallOp call, Calls &calls) {
  Value x = call.getOperand(0);
  if (!elementOf(x).isInteger(1)) {
    return compare(calls, "aten.eq.Scalar", x, 0);
  }
  Value number =
      calls.call("prims.convert_element_type.default", {x}, shapeOf(x), calls.builder.getF16Type());
  return compare(calls, "aten.eq.Scalar", number, 0);
}

/// input * beta + a @ b * alpha
static Expected<Value> addProduct(CallOp call, Calls &calls) {
  if (call.getOperands().size() != 3) {
    return error<1005>("{}: three tensors expected", call.getCallee().str());
  }
  SPYRE_ASSIGN_OR_RETURN(Value product, calls.matmul(call.getOperand(1), call.getOperand(2)));
  product = calls.times(product, numberAttribute(call, "alpha", 1));
  const double beta = numberAttribute(call, "beta", 1);
  if (beta == 0) {
    return product;
  }
  SPYRE_RETURN_IF_ERROR(broadcastShape(shapeOf(call.getOperand(0)), shapeOf(product)).status());
  return calls.add(product, calls.times(call.getOperand(0), beta));
}

static Expected<Value> matmul(CallOp call, Calls &calls) {
  return calls.matmul(call.getOperand(0), call.getOperand(1));
}

/// Pads are given last dimension first; a negative one crops.
static Expected<Value> pad(CallOp call, Calls &calls) {
  Value x = call.getOperand(0);
  const std::vector<int64_t> pads = listAttribute(call, "pad");
  const double number = numberAttribute(call, "value", 0);
  if (pads.size() % 2 != 0 || int64_t(pads.size()) > 2 * rankOf(x)) {
    return error<1005>("aten.constant_pad_nd: {} pads for rank {}", pads.size(), rankOf(x));
  }
  for (size_t i = 0; i < pads.size() / 2; ++i) {
    const int64_t dim = rankOf(x) - 1 - int64_t(i);
    const int64_t before = pads[2 * i], after = pads[2 * i + 1], size = shapeOf(x)[size_t(dim)];
    const int64_t begin = std::max<int64_t>(-before, 0), end = size - std::max<int64_t>(-after, 0);
    if (std::max(std::abs(before), std::abs(after)) > (int64_t(1) << 32) || begin >= end) {
      return error<1004>("aten.constant_pad_nd: pads {} and {} of a dimension of size {}", before,
                         after, size);
    }
    if (begin > 0 || end < size) {
      x = calls.slice(x, dim, begin, end);
    }
    std::vector<Value> pieces;
    auto addFill = [&](int64_t extent) {
      std::vector<int64_t> shape = shapeOf(x);
      shape[size_t(dim)] = extent;
      pieces.push_back(calls.call("aten.full.default", {}, shape, elementOf(x),
                                  {{"fill_value", calls.builder.getF64FloatAttr(number)}}));
    };
    if (before > 0) {
      addFill(before);
    }
    pieces.push_back(x);
    if (after > 0) {
      addFill(after);
    }
    x = pieces.size() > 1 ? calls.cat(pieces, dim) : x;
  }
  return x == call.getOperand(0) ? calls.unary("aten.clone.default", x) : x;
}

static Expected<Value> stack(CallOp call, Calls &calls) {
  const int64_t rank = rankOf(call.getOperand(0)) + 1;
  const int64_t dim = dimAttribute(call, "dim", 0, rank);
  if (dim < 0 || dim >= rank) {
    return error<1004>("aten.stack: dimension {} of rank {}", dim, rank);
  }
  std::vector<Value> pieces;
  for (Value piece : call.getOperands()) {
    std::vector<int64_t> shape = shapeOf(piece);
    if (shape != shapeOf(call.getOperand(0))) {
      return error<1004>("aten.stack: the operands have different shapes");
    }
    shape.insert(shape.begin() + dim, 1);
    pieces.push_back(calls.reshape(piece, shape));
  }
  return calls.cat(pieces, dim);
}

/// The second operand in shape and type of the first.
static Expected<Value> copyOf(CallOp call, Calls &calls) {
  const std::vector<int64_t> shape = shapeOf(call.getResult());
  Value from = call.getOperand(1);
  SPYRE_ASSIGN_OR_RETURN(std::vector<int64_t> joint, broadcastShape(shapeOf(from), shape));
  if (joint != shape) {
    return error<1004>("aten.copy: [{}] does not broadcast to [{}]", fmt::join(shapeOf(from), ", "),
                       fmt::join(shape, ", "));
  }
  return calls.expand(calls.convert(from, elementOf(call.getResult())), shape);
}

/// The device's conversion to fp8, which saturates as the framework's does.
static Expected<Value> quantise(CallOp call, Calls &calls) {
  return calls.convert(call.getOperand(0), elementOf(call.getResult()));
}

std::vector<NamedDecomposition> mathDecompositions() {
  return {{"aten.addmm.default", addProduct}, {"aten.baddbmm.default", addProduct},
          {"aten.ceil.default", ceiling},     {"aten.constant_pad_nd.default", pad},
          {"aten.copy.default", copyOf},      {"aten.gelu.default", gelu},
          {"spyre.gelu.default", gelu},       {"aten.logical_not.default", logicalNot},
          {"aten.matmul.default", matmul},    {"aten.pow.Tensor_Scalar", power},
          {"aten.rsub.Scalar", reversedSub},  {"aten.rsub.Tensor", reversedSub},
          {"aten.sign.default", sign},        {"aten.square.default", square},
          {"aten.stack.default", stack},      {"spyre.qfp8ch.default", quantise}};
}

} // namespace spyre::graph
