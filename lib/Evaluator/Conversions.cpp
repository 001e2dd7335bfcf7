//===- Conversions.cpp - values in another format, at the place the packing gives them ------===//
//
// Where a value goes (docs/adr/0019). The output's coordinates say it, when a stick of the output
// has as many values of the stick dimension as one of the input: the names with a partner
// dimension, but for `csqint4`. In all others two sticks of the wider element are dealt out in
// groups of 8 values: of 2 w values, w being the lanes of the wide stick, value i of group j of
// stick s has
//
//     wide position    w * s + 8 * j + i
//     dense position   8 * (2 * j + s) + i
//
// Example: dl16tofp32 puts the values 8..15 of a stick of 64 to the start of the second stick
// of 32. csqint4 does so with its stick dimension (w = 64) in each row of the partner.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Numerics/Functions.h"

#include "TensorView.h"

#include <algorithm>
#include <utility>

namespace spyre::evaluator {

using numerics::DataFormat;
using spec::Coordinate;
using spec::OpSpec;
using spec::TensorArg;

namespace {

struct Rule {
  const char *op;
  DataFormat from, to;
  /// The other dimension in the output's stick, if there is one, is the innermost or in the middle.
  enum class Partner : uint8_t { None, Middle, Inside } partner;
  bool scales = false;
};

constexpr Rule kRules[] = {
    {"dl16tofp32", DataFormat::Sen169Fp16, DataFormat::IeeeFp32, Rule::Partner::None},
    {"fp32todl16", DataFormat::IeeeFp32, DataFormat::Sen169Fp16, Rule::Partner::None},
    {"fp8todl16", DataFormat::Sen143Fp8, DataFormat::Sen169Fp16, Rule::Partner::None},
    {"qfp8ch", DataFormat::Sen169Fp16, DataFormat::Sen143Fp8, Rule::Partner::None},
    {"qfp8mb", DataFormat::Sen169Fp16, DataFormat::Sen143Fp8, Rule::Partner::Middle},
    {"qfp8wt", DataFormat::Sen169Fp16, DataFormat::Sen143Fp8, Rule::Partner::Inside},
    {"csqint8ch", DataFormat::Sen169Fp16, DataFormat::SenInt8, Rule::Partner::None, true},
    {"csqint8mb", DataFormat::Sen169Fp16, DataFormat::SenInt8, Rule::Partner::Middle, true},
    {"csqint8wt", DataFormat::Sen169Fp16, DataFormat::SenInt8, Rule::Partner::Inside, true},
    {"csqint4", DataFormat::Sen169Fp16, DataFormat::SenInt4, Rule::Partner::Middle, true},
    {"csqint4wt", DataFormat::Sen169Fp16, DataFormat::SenInt4, Rule::Partner::Inside, true},
    {"x_int8todl16", DataFormat::SenInt8, DataFormat::Sen169Fp16, Rule::Partner::None},
    {"x_int16tofp32", DataFormat::SenInt16, DataFormat::IeeeFp32, Rule::Partner::None},
    {"x_fp32toint16", DataFormat::IeeeFp32, DataFormat::SenInt16, Rule::Partner::None},
};

const Rule *findRule(const std::string &op) {
  for (const Rule &rule : kRules) {
    if (op == rule.op) {
      return &rule;
    }
  }
  return nullptr;
}

/// The device's value of a constant: these operations have DLFloat16 inputs.
float constantOf(const OpSpec &spec, const char *name) {
  for (const auto &[given, value] : spec.constants) {
    if (given == name) {
      return numerics::dl16ToFloat(
          uint16_t(numerics::encodeConstant(value, DataFormat::Sen169Fp16)));
    }
  }
  return 0;
}

Status checkConstants(const OpSpec &spec, const Rule &rule) {
  std::vector<std::string> names;
  for (const auto &[name, value] : spec.constants) {
    names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  const std::vector<std::string> wanted =
      rule.scales ? std::vector<std::string>{"scaleact", "shiftact"} : std::vector<std::string>{};
  return names == wanted ? Status::success()
                         : error<1401>("op '{}' has no rule for the constants [{}]; it takes [{}]",
                                       spec.op, fmt::join(names, ", "), fmt::join(wanted, ", "));
}

/// Sizes of the last \p count device dimensions.
std::vector<int64_t> lastSizes(const TensorArg &arg, size_t count) {
  count = std::min(count, arg.deviceSize.size());
  return {arg.deviceSize.end() - int64_t(count), arg.deviceSize.end()};
}

bool hasSticks(const OpSpec &spec, const Rule &rule) {
  const TensorArg &in = spec.args[0], &out = spec.args[1];
  const Coordinate &lane = in.deviceCoordinates.back(), &last = out.deviceCoordinates.back();
  if (spec::stickRank(in) != 1 || lane.kind != Coordinate::Kind::Mod ||
      last.kind != Coordinate::Kind::Mod) {
    return false;
  }
  const int64_t lanes = numerics::elemsPerStick(rule.to);
  switch (rule.partner) {
  case Rule::Partner::None:
    return spec::stickRank(out) == 1 && last.symbol == lane.symbol;
  case Rule::Partner::Middle: // [8, 2, 8] in 8 bits, [16, 2, 8] in 4
    return lastSizes(out, 3) == std::vector<int64_t>{lanes / 16, 2, 8} &&
           last.symbol == lane.symbol && spec::stickElements(out, lane.symbol) == lanes / 2;
  case Rule::Partner::Inside: // [64, 2] in 8 bits, [64, 4] in 4
    return lastSizes(out, 2) == std::vector<int64_t>{64, lanes / 64} &&
           last.symbol != lane.symbol && spec::stickElements(out, lane.symbol) == 64;
  }
  return false;
}

/// The wide position of the value at \p dense, in sticks of \p wideLanes, or the other way round.
int64_t widePosition(int64_t dense, int64_t wideLanes) {
  const int64_t base = dense / (2 * wideLanes) * (2 * wideLanes), at = dense - base;
  const int64_t group = at / 8;
  return base + group % 2 * wideLanes + group / 2 * 8 + at % 8;
}
int64_t densePosition(int64_t wide, int64_t wideLanes) {
  const int64_t base = wide / (2 * wideLanes) * (2 * wideLanes), at = wide - base;
  const int64_t stick = at / wideLanes, group = at % wideLanes / 8;
  return base + 8 * (2 * group + stick) + at % 8;
}

} // namespace

bool isConversionRule(const std::string &op) { return findRule(op) != nullptr; }

Status checkConversion(const OpSpec &spec) {
  const Rule &rule = *findRule(spec.op);
  const TensorArg &in = spec.args[0], &out = spec.args[1];
  if (spec.isReduction || in.deviceDtype != rule.from || out.deviceDtype != rule.to) {
    return error<1401>("op '{}' from {} to {}{} has no rule", spec.op,
                       numerics::formatName(in.deviceDtype), numerics::formatName(out.deviceDtype),
                       spec.isReduction ? " as a reduction" : "");
  }
  if (!hasSticks(spec, rule)) {
    return error<1401>("op '{}' with these sticks has no rule; the input has one dimension in its "
                       "stick, the output those of the packing",
                       spec.op);
  }
  return checkConstants(spec, rule);
}

void evaluateConversion(const Operation &operation) {
  const OpSpec &spec = *operation.spec;
  const Rule &rule = *findRule(spec.op);
  const TensorView &in = operation.views[0], &out = operation.output();
  const float scale = constantOf(spec, "scaleact"), shift = constantOf(spec, "shiftact");
  const size_t stick = size_t(in.stick);
  auto positionInOutput = [&](int64_t position) {
    if (out.stickElems[stick] == in.lanes) {
      return position;
    }
    return in.lanes > out.lanes ? widePosition(position, out.lanes)
                                : densePosition(position, in.lanes);
  };
  Point point(operation.ranges.size(), 0);
  forEachPoint(point, outputSymbols(operation), operation.extents, [&] {
    float value = in.load(in.offset(point));
    if (rule.scales) {
      value = numerics::dl16ToFloat(numerics::floatToDl16(numerics::fmaF32(value, scale, shift)));
    }
    const int64_t position = std::exchange(point[stick], positionInOutput(point[stick]));
    const int64_t target = out.offset(point);
    point[stick] = position;
    out.store(target, value);
  });
}

} // namespace spyre::evaluator
