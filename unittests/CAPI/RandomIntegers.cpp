//===- RandomIntegers.cpp - random arithmetic of integers ------------------------------------===//
//
// Numbers stay small: tensors of the tests hold floats, which are exact up to 2^24. Products and
// shifts are cut to ten bits at once.
//===--------------------------------------------------------------------------------------------===//
#include "RandomSteps.h"

#include <algorithm>

namespace spyre::testing {

using numerics::HostType;

/// Of results that may be negative, so that nobody takes them for numbers of rows.
static constexpr double kNoIndex = -1;
static constexpr int64_t kTenBits = 1023;

int64_t Steps::integerPartner(int64_t x) {
  return addIndex(broadcastable(shapeOf(x)), random.between(1, 20), true);
}

void Steps::addIntegerBinary(int64_t x) {
  static const char *const names[] = {"aten.add.Tensor",
                                      "aten.sub.Tensor",
                                      "aten.mul.Tensor",
                                      "aten.maximum.default",
                                      "aten.minimum.default",
                                      "aten.bitwise_and.Tensor",
                                      "aten.bitwise_or.Tensor",
                                      "aten.bitwise_xor.Tensor",
                                      "aten.bitwise_left_shift.Tensor",
                                      "aten.bitwise_right_shift.Tensor",
                                      "spyre.floordiv.default",
                                      "spyre.floormod.default",
                                      "spyre.truncdiv.default",
                                      "spyre.truncmod.default"};
  const std::string name = pick(names);
  std::vector<int64_t> operands = {x};
  Attributes attributes;
  if (oneIn(4)) {
    attributes = {{"scalar1", random.between(-5, 9)}};
  } else {
    operands.push_back(integerPartner(x));
  }
  const HostType type = std::max(typeOf(x), typeOf(operands.back()));
  addCall(name, operands, attributes, shapeOf(x), type, kNoIndex);
  const bool isWord = type == HostType::Int32 || type == HostType::Int64;
  if (isWord && (name == "aten.mul.Tensor" || name == "aten.bitwise_left_shift.Tensor")) {
    addCall("aten.bitwise_and.Tensor", {last()}, {{"scalar1", kTenBits}}, shapeOf(x), type,
            kNoIndex);
  }
}

void Steps::addIntegerComparison(int64_t x) {
  static const char *const names[] = {"aten.eq", "aten.ne", "aten.gt",
                                      "aten.ge", "aten.lt", "aten.le"};
  const std::string name = pick(names);
  if (oneIn(2)) {
    addCall(name + ".Scalar", {x}, {{"other", random.between(-5, 9)}}, shapeOf(x), HostType::Bool,
            1);
  } else {
    addCall(name + ".Tensor", {x, integerPartner(x)}, {}, shapeOf(x), HostType::Bool, 1);
  }
  if (oneIn(2)) {
    const int64_t condition = last(), other = integerPartner(x);
    addCall("aten.where.self", {condition, x, other}, {}, shapeOf(x),
            std::max(typeOf(x), typeOf(other)), kNoIndex);
  }
}

/// Sums are 64 bits wide, of which the device has 32.
void Steps::addIntegerReduction(int64_t x) {
  static const char *const names[] = {"aten.sum.dim_IntList", "aten.amax.default",
                                      "aten.amin.default"};
  const auto rank = int64_t(shapeOf(x).size());
  if (rank == 0) {
    return addIntegerBinary(x);
  }
  const std::string name = pick(names);
  const auto dim = int64_t(random.below(uint64_t(rank)));
  Shape shape = shapeOf(x);
  shape.erase(shape.begin() + dim);
  addCall(name, {x}, {{"dim", Shape{spelled(dim, rank)}}, {"keepdim", false}}, shape,
          name == names[0] ? HostType::Int64 : typeOf(x), kNoIndex);
  if (name == names[0]) {
    addCall("aten.bitwise_and.Tensor", {last()}, {{"scalar1", kTenBits}}, shape, HostType::Int64,
            kNoIndex);
  }
}

void Steps::addInteger(int64_t x) {
  static const HostType types[] = {HostType::Float32, HostType::Float16, HostType::Int32,
                                   HostType::Int64,   HostType::Int16,   HostType::Int8};
  switch (random.below(8)) {
  case 0:
    return addIntegerComparison(x);
  case 1:
    return addIntegerReduction(x);
  case 2:
    unary(oneIn(2) ? "aten.neg.default" : "aten.abs.default", x, {}, kNoIndex);
    return;
  case 3: {
    const HostType type = types[random.below(6)];
    const int64_t mask = type == HostType::Int8 || typeOf(x) == HostType::Int8 ? 127 : kTenBits;
    const int64_t small = addCall("aten.bitwise_and.Tensor", {x}, {{"scalar1", mask}}, shapeOf(x),
                                  typeOf(x), double(mask));
    addCall("aten._to_copy.default", {small}, {}, shapeOf(x), type,
            isInteger(type) ? kNoIndex : double(mask));
    return;
  }
  case 4:
    return addView(x);
  default:
    return addIntegerBinary(x);
  }
}

} // namespace spyre::testing
