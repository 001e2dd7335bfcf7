//===- Elementwise.cpp - the rules of the element-wise operations ---------------------------===//
#include "Elementwise.h"

#include "spyre/Numerics/Functions.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace spyre::evaluator {

using numerics::DataFormat;
using spec::OpSpec;
using spec::TensorArg;

namespace {

/// Integers wrap.
uint32_t word(int32_t value) { return uint32_t(value); }
int32_t wrap(uint32_t value) { return int32_t(value); }

constexpr ElementwiseRule kRules[] = {
    {"abs", 1, [](const float *v) { return numerics::absF32(v[0]); },
     [](const int32_t *v) { return v[0] < 0 ? wrap(0 - word(v[0])) : v[0]; }},
    {"neg", 1, [](const float *v) { return numerics::negF32(v[0]); },
     [](const int32_t *v) { return wrap(0 - word(v[0])); }},
    {"floor", 1, [](const float *v) { return numerics::floorF32(v[0]); }},
    {"sqrt", 1, [](const float *v) { return numerics::sqrtF32(v[0]); }},
    {"rsqrt", 1, [](const float *v) { return numerics::rsqrtF32(v[0]); }},
    {"exp", 1, [](const float *v) { return numerics::expF32(v[0]); }},
    {"fastexp", 1, [](const float *v) { return numerics::expF32(v[0]); }},
    {"log", 1, [](const float *v) { return numerics::logF32(v[0]); }},
    {"reciprocal", 1, [](const float *v) { return numerics::reciprocalF32(v[0]); }},
    {"sigmoid", 1, [](const float *v) { return numerics::sigmoidF32(v[0]); }},
    {"fastsigmoid", 1, [](const float *v) { return numerics::sigmoidF32(v[0]); }},
    {"tanh", 1, [](const float *v) { return numerics::tanhF32(v[0]); }},
    {"relufwd", 1, [](const float *v) { return numerics::reluF32(v[0]); }},
    {"relu6fwd", 1, [](const float *v) { return numerics::relu6F32(v[0]); }},
    {"leakyrelufwd",
     1,
     [](const float *v) { return numerics::leakyReluF32(v[0], v[1]); },
     nullptr,
     {"leakyReluAlpha"}},
    {"gelufwd", 1, [](const float *v) { return numerics::geluF32(v[0]); }},
    {"silu", 1, [](const float *v) { return numerics::siluF32(v[0]); }},
    {"mish", 1, [](const float *v) { return numerics::mishF32(v[0]); }},
    {"softplus",
     1,
     [](const float *v) { return numerics::softplusF32(v[0], v[1], v[2]); },
     nullptr,
     {"softplusBeta", "softplusThresh"}},
    {"clip",
     1,
     [](const float *v) { return numerics::clipF32(v[0], v[1], v[2]); },
     nullptr,
     {"clipMin", "clipMax"}},
    {"add", 2, [](const float *v) { return numerics::addF32(v[0], v[1]); },
     [](const int32_t *v) { return wrap(word(v[0]) + word(v[1])); }},
    {"biasadd", 2, [](const float *v) { return numerics::addF32(v[0], v[1]); },
     [](const int32_t *v) { return wrap(word(v[0]) + word(v[1])); }},
    {"sub", 2, [](const float *v) { return numerics::subF32(v[0], v[1]); },
     [](const int32_t *v) { return wrap(word(v[0]) - word(v[1])); }},
    {"revsub", 2, [](const float *v) { return numerics::subF32(v[1], v[0]); },
     [](const int32_t *v) { return wrap(word(v[1]) - word(v[0])); }},
    {"mul", 2, [](const float *v) { return numerics::mulF32(v[0], v[1]); },
     [](const int32_t *v) { return wrap(word(v[0]) * word(v[1])); }},
    {"realdiv", 2, [](const float *v) { return numerics::divF32(v[0], v[1]); }},
    {"maximum", 2, [](const float *v) { return numerics::maxF32(v[0], v[1]); },
     [](const int32_t *v) { return v[0] > v[1] ? v[0] : v[1]; }},
    {"minimum", 2, [](const float *v) { return numerics::minF32(v[0], v[1]); },
     [](const int32_t *v) { return v[0] < v[1] ? v[0] : v[1]; }},
    {"equal", 2, [](const float *v) { return numerics::equalF32(v[0], v[1]); },
     [](const int32_t *v) { return int32_t(v[0] == v[1]); }},
    {"notequal", 2, [](const float *v) { return numerics::notEqualF32(v[0], v[1]); },
     [](const int32_t *v) { return int32_t(v[0] != v[1]); }},
    {"greaterequal", 2, [](const float *v) { return numerics::greaterEqualF32(v[0], v[1]); },
     [](const int32_t *v) { return int32_t(v[0] >= v[1]); }},
    {"greaterthan", 2, [](const float *v) { return numerics::greaterF32(v[0], v[1]); },
     [](const int32_t *v) { return int32_t(v[0] > v[1]); }},
    {"lesserequal", 2, [](const float *v) { return numerics::lessEqualF32(v[0], v[1]); },
     [](const int32_t *v) { return int32_t(v[0] <= v[1]); }},
    {"lesserthan", 2, [](const float *v) { return numerics::lessF32(v[0], v[1]); },
     [](const int32_t *v) { return int32_t(v[0] < v[1]); }},
    {"where3", 3, [](const float *v) { return v[0] != 0 ? v[1] : v[2]; },
     [](const int32_t *v) { return v[0] != 0 ? v[1] : v[2]; }},
    {"layernormscale",
     1,
     [](const float *v) { return numerics::layerNormScaleF32(v[0], v[1], v[2]); },
     nullptr,
     {"eps"},
     0},
    {"layernormnorm",
     5,
     [](const float *v) { return numerics::layerNormNormF32(v[0], v[1], v[2], v[3], v[4]); },
     nullptr,
     {},
     1},
};

/// What a rule takes at one point: inputs and constants.
constexpr size_t kMaxValues = 5;

/// What the device gets for a constant: its value in the format of the first argument, fp32 or
/// DLFloat16.
float deviceConstant(double value, DataFormat format) {
  const uint32_t bits = numerics::encodeConstant(value, format);
  return format == DataFormat::IeeeFp32 ? std::bit_cast<float>(bits)
                                        : numerics::dl16ToFloat(uint16_t(bits));
}

int64_t countConstants(const OpSpec &spec, const std::string &name) {
  return std::count_if(spec.constants.begin(), spec.constants.end(),
                       [&](const auto &constant) { return constant.first == name; });
}

Status checkConstants(const OpSpec &spec, const ElementwiseRule &rule) {
  size_t wanted = 0;
  for (const char *name : rule.constants) {
    if (!name) {
      break;
    }
    ++wanted;
    if (countConstants(spec, name) != 1) {
      return error<1401>("op '{}' has {} constants '{}'; its rule needs one", spec.op,
                         countConstants(spec, name), name);
    }
  }
  for (const auto &[name, value] : spec.constants) {
    const auto end = rule.constants.begin() + int64_t(wanted);
    if (std::find(rule.constants.begin(), end, name) == end) {
      return error<1401>("op '{}' has no rule for a constant '{}'", spec.op, name);
    }
  }
  return Status::success();
}

template <typename T>
T readElement(const TensorView &view, int64_t offsetElems) {
  if constexpr (std::is_same_v<T, float>) {
    return view.load(offsetElems);
  }
  T value = 0;
  std::memcpy(&value, view.bits(offsetElems), sizeof(value));
  return value;
}

void writeElement(const TensorView &view, int64_t offsetElems, float value) {
  view.store(offsetElems, value);
}
void writeElement(const TensorView &view, int64_t offsetElems, int32_t value) {
  uint8_t bits[sizeof(value)];
  std::memcpy(bits, &value, sizeof(value));
  view.storeBits(offsetElems, bits);
}

/// Offset of lane 0 of the stick a point is in; the stick symbol of a pair counts as reduced.
int64_t pairOffset(const TensorView &view, const Point &point) {
  int64_t offset = view.offset(point);
  if (view.stick >= 0) {
    offset -= view.contribution[size_t(view.stick)][size_t(point[size_t(view.stick)])];
  }
  return offset;
}

template <typename T>
void applyEverywhere(const Operation &operation, const ElementwiseRule &rule,
                     const std::vector<T> &constants, T (*apply)(const T *)) {
  const TensorView &out = operation.output();
  Point point(operation.ranges.size(), 0);
  T values[kMaxValues] = {};
  forEachPoint(point, outputSymbols(operation), operation.extents, [&] {
    size_t count = 0;
    for (size_t i = 0; i < rule.inputs; ++i) {
      const TensorView &in = operation.views[i];
      const bool isPair = int(i) == rule.pairInput;
      const int64_t at = isPair ? pairOffset(in, point) : in.offset(point);
      values[count++] = readElement<T>(in, at);
      if (isPair && rule.inputs == 1) {
        values[count++] = readElement<T>(in, at + 1);
      }
    }
    std::copy(constants.begin(), constants.end(), values + count);
    writeElement(out, out.offset(point), apply(values));
  });
}

} // namespace

const ElementwiseRule *findElementwise(const std::string &op) {
  for (const ElementwiseRule &rule : kRules) {
    if (op == rule.op) {
      return &rule;
    }
  }
  return nullptr;
}

Status checkElementwise(const OpSpec &spec, const ElementwiseRule &rule) {
  const bool integers = spec.args[0].deviceDtype == DataFormat::IeeeInt32 && rule.applyInteger;
  for (const TensorArg &arg : spec.args) {
    const bool isFloat =
        arg.deviceDtype == DataFormat::Sen169Fp16 || arg.deviceDtype == DataFormat::IeeeFp32;
    if (integers ? arg.deviceDtype != DataFormat::IeeeInt32 : !isFloat) {
      return error<1401>("op '{}' on {} has no rule; convert first", spec.op,
                         numerics::formatName(arg.deviceDtype));
    }
  }
  // Only layernormscale may spell the stick of its pair out.
  const bool dense =
      rule.pairInput > 0 && spec.args[size_t(rule.pairInput)].deviceCoordinates.back().kind !=
                                spec::Coordinate::Kind::Constant;
  if (dense) {
    return error<1401>("op '{}': argument {} has no rule with a stick symbol; it is a pair per "
                       "stick",
                       spec.op, rule.pairInput);
  }
  return checkConstants(spec, rule);
}

void evaluateElementwise(const Operation &operation, const ElementwiseRule &rule) {
  const OpSpec &spec = *operation.spec;
  const DataFormat format = spec.args[0].deviceDtype;
  if (format == DataFormat::IeeeInt32) {
    applyEverywhere<int32_t>(operation, rule, {}, rule.applyInteger);
    return;
  }
  std::vector<float> constants;
  for (const char *name : rule.constants) {
    for (const auto &[given, value] : spec.constants) {
      if (name && given == name) {
        constants.push_back(deviceConstant(value, format));
      }
    }
  }
  applyEverywhere<float>(operation, rule, constants, rule.apply);
}

} // namespace spyre::evaluator
