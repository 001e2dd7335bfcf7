//===- IntegerOracle.cpp - arithmetic of integers in up to 32 bits, which wrap ---------------===//
#include "GraphInterpreter.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace spyre::testing {

using numerics::HostType;

namespace {

using Rule = int64_t (*)(int64_t, int64_t, int64_t);

int64_t wrapped(int64_t value, HostType type) {
  return type == HostType::Int8    ? int8_t(uint8_t(value))
         : type == HostType::Int16 ? int16_t(uint16_t(value))
                                   : int32_t(uint32_t(value));
}

int64_t floorQuotient(int64_t a, int64_t b) {
  return b == 0 ? 0 : int64_t(std::floor(double(a) / double(b)));
}

const std::map<std::string, Rule> &rules() {
  using I = int64_t;
  static const std::map<std::string, Rule> all = {
      {"abs", [](I a, I, I) { return std::abs(a); }},
      {"neg", [](I a, I, I) { return -a; }},
      {"add", [](I a, I b, I) { return a + b; }},
      {"sub", [](I a, I b, I) { return a - b; }},
      {"mul", [](I a, I b, I) { return a * b; }},
      {"maximum", [](I a, I b, I) { return std::max(a, b); }},
      {"minimum", [](I a, I b, I) { return std::min(a, b); }},
      {"bitwise_and", [](I a, I b, I) { return a & b; }},
      {"bitwise_or", [](I a, I b, I) { return a | b; }},
      {"bitwise_xor", [](I a, I b, I) { return a ^ b; }},
      {"bitwise_left_shift", [](I a, I b, I) { return b < 0 || b > 31 ? I(0) : a * (I(1) << b); }},
      {"bitwise_right_shift",
       [](I a, I b, I) { return floorQuotient(a, I(1) << (b < 0 || b > 31 ? 32 : b)); }},
      {"floordiv", [](I a, I b, I) { return floorQuotient(a, b); }},
      {"floormod", [](I a, I b, I) { return a - floorQuotient(a, b) * b; }},
      {"truncdiv", [](I a, I b, I) { return b == 0 ? I(0) : a / b; }},
      {"truncmod", [](I a, I b, I) { return b == 0 ? a : a % b; }},
      {"eq", [](I a, I b, I) { return I(a == b); }},
      {"ne", [](I a, I b, I) { return I(a != b); }},
      {"gt", [](I a, I b, I) { return I(a > b); }},
      {"ge", [](I a, I b, I) { return I(a >= b); }},
      {"lt", [](I a, I b, I) { return I(a < b); }},
      {"le", [](I a, I b, I) { return I(a <= b); }},
      {"where", [](I a, I b, I c) { return a != 0 ? b : c; }},
  };
  return all;
}

bool isWhole(HostType type) { return type >= HostType::Int8 && type <= HostType::Int64; }

} // namespace

bool isIntegerCall(const Call &call, const std::vector<Bounds> &operands) {
  return !operands.empty() && isWhole(operands.back().dtype) &&
         (isWhole(call.dtype) || call.dtype == HostType::Bool) &&
         rules().count(stemOf(call.target)) > 0;
}

Bounds interpretInteger(const Call &call, const std::vector<Bounds> &operands) {
  std::vector<Bounds> in;
  for (const Bounds &operand : operands) {
    in.push_back(broadcast(operand, call.shape));
  }
  for (const char *key : {"scalar1", "other"}) {
    if (hasAttribute(call, key)) {
      in.push_back(broadcast(
          {{}, operands.back().dtype, {Interval::exactly(numberOf(call, key, 0))}}, call.shape));
    }
  }
  const Rule rule = rules().at(stemOf(call.target));
  Bounds result{call.shape, call.dtype, {}};
  for (int64_t n = 0; n < elementCount(call.shape); ++n) {
    int64_t numbers[3] = {};
    bool isKnown = true;
    for (size_t i = 0; i < in.size(); ++i) {
      const Interval &element = in[i].elements[size_t(n)];
      isKnown = isKnown && element.isExact();
      numbers[i] = isKnown ? int64_t(element.lo) : 0;
    }
    result.elements.push_back(isKnown ? Interval::exactly(double(wrapped(
                                            rule(numbers[0], numbers[1], numbers[2]), call.dtype)))
                                      : Interval::open());
  }
  return result;
}

} // namespace spyre::testing
