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

int32_t wide(int64_t value) { return wrap(uint32_t(value)); }
bool isShift(int32_t places) { return places >= 0 && places < 32; }
/// The rest of a division that rounds down, in 64 bits; of one by 0 it is the dividend.
int64_t floorRest(const int32_t *v) {
  const int64_t a = v[0], b = v[1];
  const int64_t rest = b == 0 ? a : a % b;
  return b != 0 && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
/// Without its fraction; the ends for what is beyond them, 0 for what is no number.
int32_t cut(float value) {
  if (value != value) {
    return 0;
  }
  const double limited = std::clamp(double(value), -2147483648.0, 2147483647.0);
  return int32_t(limited);
}

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
    {"x_bitand", 2, nullptr, [](const int32_t *v) { return v[0] & v[1]; }},
    {"x_bitor", 2, nullptr, [](const int32_t *v) { return v[0] | v[1]; }},
    {"x_bitxor", 2, nullptr, [](const int32_t *v) { return v[0] ^ v[1]; }},
    {"x_shiftleft", 2, nullptr,
     [](const int32_t *v) { return isShift(v[1]) ? wrap(word(v[0]) << v[1]) : 0; }},
    {"x_shiftright", 2, nullptr,
     [](const int32_t *v) { return int32_t(int64_t(v[0]) >> (isShift(v[1]) ? v[1] : 32)); }},
    {"x_floordiv", 2, nullptr,
     [](const int32_t *v) { return v[1] == 0 ? 0 : wide((v[0] - floorRest(v)) / v[1]); }},
    {"x_truncdiv", 2, nullptr,
     [](const int32_t *v) { return v[1] == 0 ? 0 : wide(int64_t(v[0]) / v[1]); }},
    {"x_floormod", 2, nullptr, [](const int32_t *v) { return wide(floorRest(v)); }},
    {"x_truncmod", 2, nullptr,
     [](const int32_t *v) { return v[1] == 0 ? v[0] : wide(int64_t(v[0]) % v[1]); }},
    {"x_int32tofp32",
     1,
     nullptr,
     nullptr,
     {},
     -1,
     [](int32_t value) { return float(value); },
     nullptr},
    {"x_fp32toint32", 1, nullptr, nullptr, {}, -1, nullptr, cut},
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

/// Integers as floats, or floats as integers.
void readEverywhere(const Operation &operation, const ElementwiseRule &rule) {
  const TensorView &in = operation.views[0], &out = operation.output();
  Point point(operation.ranges.size(), 0);
  forEachPoint(point, outputSymbols(operation), operation.extents, [&] {
    const int64_t from = in.offset(point), to = out.offset(point);
    if (rule.fromInteger) {
      writeElement(out, to, rule.fromInteger(readElement<int32_t>(in, from)));
    } else {
      writeElement(out, to, rule.toInteger(readElement<float>(in, from)));
    }
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

/// Whether an argument may have its format.
static bool fitsFormat(const TensorArg &arg, const ElementwiseRule &rule, bool integers) {
  const DataFormat format = arg.deviceDtype;
  if (rule.fromInteger || rule.toInteger) {
    const bool isInteger = (rule.fromInteger != nullptr) == arg.isInput;
    return format == (isInteger ? DataFormat::IeeeInt32 : DataFormat::IeeeFp32);
  }
  const bool isFloat = format == DataFormat::Sen169Fp16 || format == DataFormat::IeeeFp32;
  return integers ? format == DataFormat::IeeeInt32 : isFloat && rule.apply;
}

Status checkElementwise(const OpSpec &spec, const ElementwiseRule &rule) {
  const bool integers = spec.args[0].deviceDtype == DataFormat::IeeeInt32 && rule.applyInteger;
  for (const TensorArg &arg : spec.args) {
    if (!fitsFormat(arg, rule, integers)) {
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
  if (rule.fromInteger || rule.toInteger) {
    readEverywhere(operation, rule);
    return;
  }
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
