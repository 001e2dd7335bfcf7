//===- SmallTypes.cpp - integers of 8 and 16 bits, and conversions to fp8 -------------------===//
//
// Small integers are computed with in 32 bits and wrap when they are stored. fp32 becomes fp8 by
// way of 16 bits, but as if it were rounded once (docs/adr/0072).
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Dialect/Graph/IR/OpTable.h"

#include "Calls.h"

namespace spyre::graph {

using mlir::Value;

/// Rows that hand elements on as they are.
static bool movesElements(const OpRow &row) {
  switch (row.kind) {
  case OpKind::Pointwise:
  case OpKind::Reduction:
  case OpKind::Matmul:
  case OpKind::TopK:
    return false;
  case OpKind::Composite: {
    const llvm::StringRef name = row.name;
    return name == "aten.stack.default" || name == "aten.constant_pad_nd.default" ||
           name == "aten.copy.default";
  }
  default:
    return true;
  }
}

bool isSmallArithmetic(CallOp call) {
  const OpRow *row = findOp(call.getCallee().str());
  if (!row || movesElements(*row)) {
    return false;
  }
  const mlir::Type result = elementOf(call.getResult());
  const bool readsSmall = llvm::any_of(
      call.getOperands(), [](Value operand) { return isSmallInteger(elementOf(operand)); });
  // Operands beside floats are converted to what the result is (spyre-graph-decompose).
  const bool isPromoted = row->kind == OpKind::Pointwise && llvm::isa<mlir::FloatType>(result);
  return isSmallInteger(result) || (readsSmall && !isPromoted);
}

Expected<Value> smallArithmetic(CallOp call, Calls &calls) {
  const mlir::Type word = calls.builder.getI32Type(), result = elementOf(call.getResult());
  std::vector<Value> operands;
  for (Value operand : call.getOperands()) {
    operands.push_back(isSmallInteger(elementOf(operand)) ? calls.convert(operand, word) : operand);
  }
  Calls::Attributes attributes;
  for (mlir::NamedAttribute attribute : call->getDiscardableAttrs()) {
    attributes.emplace_back(attribute.getName().str(), attribute.getValue());
  }
  Value value = calls.call(call.getCallee().str(), operands, shapeOf(call.getResult()),
                           isSmallInteger(result) ? word : result, attributes);
  return calls.convert(value, result);
}

bool isCastToFp8(CallOp call) {
  const OpRow *row = findOp(call.getCallee().str());
  const bool isCast = row && row->kind == OpKind::Copy && row->types == TypeRule::Cast;
  if (!isCast || !elementOf(call.getResult()).isFloat8E4M3FN()) {
    return false;
  }
  const mlir::Type from = elementOf(call.getOperand(0));
  return from.isF32() || from.isInteger(16) || from.isInteger(32) || from.isInteger(64);
}

/// fp32 that rounds to the same fp8 number when it is first rounded to 16 bits. Where fp8 rounds up
/// or down, numbers have 5 significant bits; none here has so few that was not such a number
/// before: it is rounded to 8 bits, then moved a little to the side on which the original lies.
static Value withoutTies(Calls &calls, Value x) {
  constexpr double kSplitter = 65537; // Veltkamp: leaves 24 - 16 bits
  constexpr double kStep = 0x1p-9;
  Value product = calls.times(x, kSplitter);
  Value rounded = calls.sub(product, calls.sub(product, x)), rest = calls.sub(x, rounded);
  Value step = calls.times(calls.unary("aten.abs.default", rounded), kStep);
  auto compare = [&](const char *callee) {
    return calls.call(callee, {rest}, shapeOf(rest), calls.builder.getI1Type(),
                      {{"other", calls.builder.getF64FloatAttr(0)}});
  };
  Value moved =
      calls.where(compare("aten.gt.Scalar"), calls.add(rounded, step), calls.sub(rounded, step));
  return calls.where(compare("aten.eq.Scalar"), rounded, moved);
}

Expected<Value> castToFp8(CallOp call, Calls &calls) {
  constexpr double kLargest8 = 448;
  auto number = [&](double value) { return calls.builder.getF64FloatAttr(value); };
  Value x = calls.convert(call.getOperand(0), calls.builder.getF32Type());
  Value inRange = calls.unary("aten.clamp.default", x,
                              {{"min", number(-kLargest8)}, {"max", number(kLargest8)}});
  Value half = calls.convert(withoutTies(calls, inRange), calls.builder.getF16Type());
  return calls.convert(half, elementOf(call.getResult()));
}

} // namespace spyre::graph
