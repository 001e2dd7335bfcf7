//===- Infinities.cpp - elements of 16 bits that read back as infinity ----------------------===//
//
// DLFloat16 has no infinity. Every float16 element from 2^16 on is infinity when it is read, so
// comparisons of float16 take all of these for equal. An operation with an infinite number is made
// in fp32: the number is applied before the result saturates (docs/adr/0083).
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Dialect/Graph/IR/DeviceOps.h"
#include "spyre/Dialect/Graph/IR/OpTable.h"
#include "spyre/Dialect/Utils/Attributes.h"
#include "spyre/Numerics/Ranges.h"

#include "Calls.h"

#include <cmath>
#include <limits>
#include <optional>

namespace spyre::graph {

using mlir::Value;

namespace {

/// The number that takes the place of a tensor.
struct Number {
  int position = 0;
  double value = 0;
};

std::optional<Number> numberOf(CallOp call, const OpRow &row) {
  if (row.scalar && call->hasAttr(row.scalar)) {
    return Number{row.tensorPositions - 1, numberAttribute(call, row.scalar, 0)};
  }
  for (int position = 0; position < row.tensorPositions; ++position) {
    const std::string name = fmt::format("scalar{}", position);
    if (call->hasAttr(name)) {
      return Number{position, numberAttribute(call, name.c_str(), 0)};
    }
  }
  return std::nullopt;
}

bool isHalf(mlir::Type type) { return type.isF16() || type.isBF16(); }

/// First number of \p type that is infinite, as a constant: that of bfloat16 is the number to which
/// infinity saturates.
double smallestInfinite(mlir::Type type) {
  return type.isF16() ? numerics::smallestInfinite(numerics::HostType::Float16)
                      : std::numeric_limits<double>::infinity();
}

bool isInfiniteIn(mlir::Type type, double value) {
  return !std::isnan(value) && !numerics::isFiniteIn(*dialect::hostTypeOf(type), value);
}

/// Truth values, finite numbers, and functions with a small range.
bool isKnownFinite(Value value) {
  auto call = value.getDefiningOp<CallOp>();
  const OpRow *row = call ? findOp(call.getCallee().str()) : nullptr;
  if (!row) {
    return false;
  }
  switch (row->kind) {
  case OpKind::View:
    return isKnownFinite(call.getOperand(0));
  case OpKind::Copy:
    return elementOf(call.getOperand(0)).isInteger(1);
  case OpKind::Fill:
    return std::isfinite(numberAttribute(call, "fill_value", 0)) &&
           !isInfiniteIn(elementOf(value), numberAttribute(call, "fill_value", 0));
  case OpKind::Pointwise:
    return llvm::is_contained({"sigmoid", "tanh"}, llvm::StringRef(row->deviceOp));
  default:
    return false;
  }
}

/// Operations under the device's own names compare what the device holds.
bool isComparison(CallOp call, const OpRow &row) {
  return row.types == TypeRule::Compare && !call.getCallee().starts_with(kDeviceOpPrefix);
}

bool comparesWithInfinity(CallOp call, const OpRow &row) {
  const mlir::Type type = elementOf(call.getOperand(0));
  const std::optional<Number> number = numberOf(call, row);
  return type.isF16() && number && isInfiniteIn(type, number->value);
}

/// Two tensors, one of which may hold several infinities. Beside fp32, one of bfloat16 as well.
bool comparesInfinities(CallOp call) {
  if (call.getOperands().size() != 2 || call.getOperand(0) == call.getOperand(1)) {
    return false;
  }
  const bool isMixed = elementOf(call.getOperand(0)) != elementOf(call.getOperand(1));
  return llvm::any_of(call.getOperands(), [&](Value operand) {
    const mlir::Type type = elementOf(operand);
    return (isMixed ? isHalf(type) : type.isF16()) && !isKnownFinite(operand);
  });
}

/// The result of 16 bits is not the saturated number's.
bool computesWithInfinity(CallOp call, const OpRow &row) {
  const bool isReversed = call.getCallee().starts_with("aten.rsub.");
  const bool computes = row.types == TypeRule::Float || row.types == TypeRule::Number;
  const bool selects = llvm::is_contained({"maximum", "minimum"}, llvm::StringRef(row.deviceOp));
  if (!isHalf(elementOf(call.getResult())) || selects ||
      !(isReversed || (row.kind == OpKind::Pointwise && computes))) {
    return false;
  }
  const double other = numberAttribute(call, "other", 0);
  const std::optional<Number> number = numberOf(call, row);
  return std::isinf(other) || (number && std::isinf(number->value));
}

Value deviceComparison(Calls &calls, llvm::StringRef name, Value x, double number) {
  return calls.call(kDeviceOpPrefix + name.str(), {x}, shapeOf(x), calls.builder.getI1Type(),
                    {{"scalar1", calls.builder.getF64FloatAttr(number)}});
}

/// In fp32, where what reads back as infinity is infinity.
Value widened(Calls &calls, Value x) {
  const mlir::Type type = elementOf(x);
  Value wide = calls.convert(x, calls.builder.getF32Type());
  if (!isHalf(type) || isKnownFinite(x)) {
    return wide;
  }
  Value isInfinite = deviceComparison(calls, "greaterequal", calls.unary("aten.abs.default", x),
                                      smallestInfinite(type));
  Value infinite = calls.scalar("aten.mul.Scalar", wide, std::numeric_limits<double>::infinity());
  return calls.where(isInfinite, infinite, wide);
}

/// The comparison with its sides exchanged.
std::string mirrored(const std::string &name) {
  if (name.starts_with("greater")) {
    return "lesser" + name.substr(7);
  }
  return name.starts_with("lesser") ? "greater" + name.substr(6) : name;
}

/// One comparison with the first number that is infinite, or with one that no element is beyond.
Value compareWithInfinity(CallOp call, Calls &calls, const OpRow &row) {
  const Number number = *numberOf(call, row);
  Value x = call.getOperand(0);
  const std::string name = number.position == 0 ? mirrored(row.deviceOp) : row.deviceOp;
  const bool isAbove = number.value > 0;
  const double first = isAbove ? smallestInfinite(elementOf(x)) : -smallestInfinite(elementOf(x));
  const char *const reached = isAbove ? "greaterequal" : "lesserequal";
  const char *const missed = isAbove ? "lesserthan" : "greaterthan";
  if (name == "notequal") { // true for NaN, which no order has
    Value inRange = calls.unary("aten.clamp.default", x,
                                {{isAbove ? "max" : "min", calls.builder.getF64FloatAttr(first)}});
    return deviceComparison(calls, name, inRange, first);
  }
  if (name == "equal" || name == reached) {
    return deviceComparison(calls, reached, x, first);
  }
  if (name == missed) {
    return deviceComparison(calls, missed, x, first);
  }
  return deviceComparison(calls, name, x, std::copysign(kLargest, number.value));
}

/// Infinities of one sign become one number.
Value joined(Calls &calls, Value x) {
  if (!elementOf(x).isF16() || isKnownFinite(x)) {
    return x;
  }
  const double first = smallestInfinite(elementOf(x));
  return calls.unary("aten.clamp.default", x,
                     {{"min", calls.builder.getF64FloatAttr(-first)},
                      {"max", calls.builder.getF64FloatAttr(first)}});
}

Value compareInfinities(CallOp call, Calls &calls, const OpRow &row) {
  Value x = call.getOperand(0), y = call.getOperand(1);
  const bool isMixed = elementOf(x) != elementOf(y);
  const std::vector<Value> operands = isMixed
                                          ? std::vector<Value>{widened(calls, x), widened(calls, y)}
                                          : std::vector<Value>{joined(calls, x), joined(calls, y)};
  return calls.call(kDeviceOpPrefix + std::string(row.deviceOp), operands,
                    shapeOf(call.getResult()), elementOf(call.getResult()));
}

Value computeWithInfinity(CallOp call, Calls &calls) {
  std::vector<Value> operands;
  for (Value operand : call.getOperands()) {
    operands.push_back(isHalf(elementOf(operand)) ? widened(calls, operand) : operand);
  }
  Calls::Attributes attributes;
  for (mlir::NamedAttribute attribute : call->getDiscardableAttrs()) {
    attributes.emplace_back(attribute.getName().str(), attribute.getValue());
  }
  Value value = calls.call(call.getCallee().str(), operands, shapeOf(call.getResult()),
                           calls.builder.getF32Type(), attributes);
  return calls.convert(value, elementOf(call.getResult()));
}

} // namespace

bool meetsInfinity(CallOp call) {
  const OpRow *row = findOp(call.getCallee().str());
  if (!row || call.getOperands().empty()) {
    return false;
  }
  if (isComparison(call, *row)) {
    return comparesWithInfinity(call, *row) || comparesInfinities(call);
  }
  return computesWithInfinity(call, *row);
}

Expected<Value> withInfinity(CallOp call, Calls &calls) {
  const OpRow &row = *findOp(call.getCallee().str());
  if (!isComparison(call, row)) {
    return computeWithInfinity(call, calls);
  }
  return comparesWithInfinity(call, row) ? compareWithInfinity(call, calls, row)
                                         : compareInfinities(call, calls, row);
}

} // namespace spyre::graph
