//===- OpTable.cpp - the rows of the operation table ----------------------------------------===//
#include "OpTable.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace spyre::backend {

using numerics::DataFormat;
using program::Function;

/// Row of a conversion; with constants the values are scaled and shifted first.
static constexpr OpInfo conversion(const char *name, DataFormat from, DataFormat to,
                                   Packing packing, std::array<const char *, 2> constants = {}) {
  Function function = constants[0] ? Function::Fma : Function::None;
  return {name,   OpClass::Conversion, function, 1, constants, VectorForm::InOrder, from, to,
          packing};
}

/// Row of an element-wise operation whose lanes have another format in than out, equally wide.
static constexpr OpInfo reading(const char *name, Function function, DataFormat from,
                                DataFormat to) {
  return {name, OpClass::Pointwise, function, 1, {}, VectorForm::InOrder, from, to, Packing::None};
}

static constexpr OpInfo narrowMatmul(const char *name, DataFormat from) {
  return {name, OpClass::Matmul,        Function::None, 2, {}, VectorForm::InOrder,
          from, DataFormat::Sen169Fp16, Packing::None};
}

static constexpr OpInfo kLowered[] = {
    {"abs", OpClass::Pointwise, Function::Abs, 1},
    {"neg", OpClass::Pointwise, Function::Neg, 1},
    {"floor", OpClass::Pointwise, Function::Floor, 1},
    {"sqrt", OpClass::Pointwise, Function::Sqrt, 1},
    {"rsqrt", OpClass::Pointwise, Function::Rsqrt, 1},
    {"exp", OpClass::Pointwise, Function::Exp, 1},
    {"fastexp", OpClass::Pointwise, Function::Exp, 1},
    {"log", OpClass::Pointwise, Function::Log, 1},
    {"reciprocal", OpClass::Pointwise, Function::Reciprocal, 1},
    {"sigmoid", OpClass::Pointwise, Function::Sigmoid, 1},
    {"fastsigmoid", OpClass::Pointwise, Function::Sigmoid, 1},
    {"tanh", OpClass::Pointwise, Function::Tanh, 1},
    {"relufwd", OpClass::Pointwise, Function::Relu, 1},
    {"relu6fwd", OpClass::Pointwise, Function::Relu6, 1},
    {"leakyrelufwd", OpClass::Pointwise, Function::LeakyRelu, 1, {"leakyReluAlpha"}},
    {"gelufwd", OpClass::Pointwise, Function::Gelu, 1},
    {"silu", OpClass::Pointwise, Function::Silu, 1},
    {"mish", OpClass::Pointwise, Function::Mish, 1},
    {"softplus", OpClass::Pointwise, Function::Softplus, 1, {"softplusBeta", "softplusThresh"}},
    {"clip", OpClass::Pointwise, Function::Clip, 1, {"clipMin", "clipMax"}},
    {"add", OpClass::Pointwise, Function::Add, 2},
    {"biasadd", OpClass::Pointwise, Function::Add, 2},
    {"sub", OpClass::Pointwise, Function::Sub, 2},
    {"revsub", OpClass::Pointwise, Function::Sub, 2, {}, VectorForm::Swapped},
    {"mul", OpClass::Pointwise, Function::Mul, 2},
    {"realdiv", OpClass::Pointwise, Function::Div, 2},
    {"maximum", OpClass::Pointwise, Function::Maximum, 2},
    {"minimum", OpClass::Pointwise, Function::Minimum, 2},
    {"equal", OpClass::Pointwise, Function::Equal, 2},
    {"notequal", OpClass::Pointwise, Function::NotEqual, 2},
    {"greaterequal", OpClass::Pointwise, Function::GreaterEqual, 2},
    {"greaterthan", OpClass::Pointwise, Function::Greater, 2},
    {"lesserequal", OpClass::Pointwise, Function::LessEqual, 2},
    {"lesserthan", OpClass::Pointwise, Function::Less, 2},
    {"where3", OpClass::Pointwise, Function::Where, 3},
    {"layernormscale", OpClass::Pointwise, Function::LayerNormScale, 1, {"eps"}, VectorForm::Pair},
    {"layernormnorm", OpClass::Pointwise, Function::LayerNormNorm, 5, {}, VectorForm::MeanOfPair},
    {"identity", OpClass::Copy, Function::Copy, 1},
    {"ReStickifyOpHBM", OpClass::Restickify, Function::None, 1},
    {"sum", OpClass::StickReduction, Function::Sum, 1},
    {"mean", OpClass::StickReduction, Function::Sum, 1},
    {"max", OpClass::StickReduction, Function::Max, 1},
    {"min", OpClass::StickReduction, Function::Min, 1},
    {"absmax", OpClass::StickReduction, Function::AbsMax, 1},
    {"exx2", OpClass::StickReduction, Function::SumSquares, 1},
    {"exx2_zeromean", OpClass::StickReduction, Function::SumSquares, 1},
    {"sumnonstick", OpClass::NonStickReduction, Function::Sum, 1},
    {"meannonstick", OpClass::NonStickReduction, Function::Sum, 1},
    {"maxnonstick", OpClass::NonStickReduction, Function::Max, 1},
    {"minnonstick", OpClass::NonStickReduction, Function::Min, 1},
    {"absmaxnonstick", OpClass::NonStickReduction, Function::AbsMax, 1},
    {"topkvalue", OpClass::TopK, Function::None, 1},
    {"topkindex", OpClass::TopK, Function::None, 1},
    {"batchmatmul", OpClass::Matmul, Function::None, 2},
    {"conv2d", OpClass::Convolution, Function::None, 2},
    {"depthwiseconv2dnative", OpClass::Window, Function::Fma, 2},
    {"maxpoolfwd", OpClass::Window, Function::Max, 1},
    {"avgpoolfwd", OpClass::Window, Function::Sum, 1},
    {"x_cumsum", OpClass::Scan, Function::Add, 1},
    {"x_bitand", OpClass::Pointwise, Function::And, 2},
    {"x_bitor", OpClass::Pointwise, Function::Or, 2},
    {"x_bitxor", OpClass::Pointwise, Function::Xor, 2},
    {"x_shiftleft", OpClass::Pointwise, Function::ShiftLeft, 2},
    {"x_shiftright", OpClass::Pointwise, Function::ShiftRight, 2},
    {"x_floordiv", OpClass::Pointwise, Function::FloorDiv, 2},
    {"x_truncdiv", OpClass::Pointwise, Function::TruncDiv, 2},
    {"x_floormod", OpClass::Pointwise, Function::FloorMod, 2},
    {"x_truncmod", OpClass::Pointwise, Function::TruncMod, 2},
    reading("x_int32tofp32", Function::FromInteger, DataFormat::IeeeInt32, DataFormat::IeeeFp32),
    reading("x_fp32toint32", Function::ToInteger, DataFormat::IeeeFp32, DataFormat::IeeeInt32),
    narrowMatmul("batchmatmulfp8", DataFormat::Sen143Fp8),
    narrowMatmul("batchmatmulint8", DataFormat::SenInt8),
    conversion("dl16tofp32", DataFormat::Sen169Fp16, DataFormat::IeeeFp32, Packing::Ch),
    conversion("fp32todl16", DataFormat::IeeeFp32, DataFormat::Sen169Fp16, Packing::Ch),
    conversion("fp8todl16", DataFormat::Sen143Fp8, DataFormat::Sen169Fp16, Packing::Ch),
    conversion("qfp8ch", DataFormat::Sen169Fp16, DataFormat::Sen143Fp8, Packing::Ch),
    conversion("qfp8mb", DataFormat::Sen169Fp16, DataFormat::Sen143Fp8, Packing::Mb),
    conversion("qfp8wt", DataFormat::Sen169Fp16, DataFormat::Sen143Fp8, Packing::Wt),
    conversion("csqint8ch", DataFormat::Sen169Fp16, DataFormat::SenInt8, Packing::Ch,
               {"scaleact", "shiftact"}),
    conversion("csqint8mb", DataFormat::Sen169Fp16, DataFormat::SenInt8, Packing::Mb,
               {"scaleact", "shiftact"}),
    conversion("csqint8wt", DataFormat::Sen169Fp16, DataFormat::SenInt8, Packing::Wt,
               {"scaleact", "shiftact"}),
    conversion("csqint4", DataFormat::Sen169Fp16, DataFormat::SenInt4, Packing::Mb,
               {"scaleact", "shiftact"}),
    conversion("csqint4wt", DataFormat::Sen169Fp16, DataFormat::SenInt4, Packing::Wt,
               {"scaleact", "shiftact"}),
    conversion("x_int8todl16", DataFormat::SenInt8, DataFormat::Sen169Fp16, Packing::Ch),
    conversion("x_int16tofp32", DataFormat::SenInt16, DataFormat::IeeeFp32, Packing::Ch),
    conversion("x_fp32toint16", DataFormat::IeeeFp32, DataFormat::SenInt16, Packing::Ch),
};

/// Names of the interface whose meaning is fixed [spec: codegen-and-backend 3.1, 3.2]. A name that
/// has a row above is lowered, whether it is here or not.
static constexpr std::string_view kDocumented[] = {"matmul"};

/// Names the interface lists without saying what they compute.
static constexpr std::string_view kNamedOnly[] = {
    "avgpoolnmapfwd",     "batchmatmulint4",      "batchnormfwd", "conv2dfp8",
    "conv2dint4",         "conv2dint8",           "fnms",         "maskbyindex",
    "quantscalepertoken", "quantscalepertokenfp8"};

bool OpInfo::computesIntegersOnly() const {
  return opClass == OpClass::Pointwise && function >= Function::And &&
         function <= Function::TruncMod;
}

bool OpInfo::computesIntegers() const {
  using enum Function;
  if (opClass == OpClass::StickReduction || opClass == OpClass::NonStickReduction) {
    const std::string_view base(name);
    return (function == Sum && !base.starts_with("mean")) || function == Max || function == Min;
  }
  static constexpr Function kIntegerFunctions[] = {
      Neg,      Abs,          Add,        Sub,       Mul,      Maximum,  Minimum, Equal,
      NotEqual, GreaterEqual, Greater,    LessEqual, Less,     Where,    And,     Or,
      Xor,      ShiftLeft,    ShiftRight, FloorDiv,  TruncDiv, FloorMod, TruncMod};
  return (opClass == OpClass::Pointwise || opClass == OpClass::Scan) &&
         std::find(std::begin(kIntegerFunctions), std::end(kIntegerFunctions), function) !=
             std::end(kIntegerFunctions);
}

static std::string loweredNames() {
  std::string names;
  for (const OpInfo &info : kLowered) {
    names += names.empty() ? "" : ", ";
    names += info.name;
  }
  return names;
}

template <size_t n>
static bool contains(const std::string_view (&names)[n], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

Status checkExtension(const std::string &name, const arch::DeviceDesc &device) {
  const std::vector<std::string> &known = device.extensions;
  if (!name.starts_with("x_") || std::find(known.begin(), known.end(), name) != known.end()) {
    return Status::success();
  }
  return error<5307>("operation '{}' is an extension that machine '{}' does not have (it has {}); "
                     "use documented operations, or a machine that lists it in its extensions",
                     name.substr(0, 64), device.name,
                     known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")));
}

const OpInfo *lookUpOp(const std::string &name) {
  for (const OpInfo &info : kLowered) {
    if (name == info.name) {
      return &info;
    }
  }
  return nullptr;
}

Expected<OpInfo> findOp(const std::string &name) {
  if (const OpInfo *info = lookUpOp(name)) {
    return *info;
  }
  const char *standing = contains(kDocumented, name)  ? "documented, not lowered yet"
                         : contains(kNamedOnly, name) ? "known, undocumented"
                                                      : "unknown";
  return error<5301>("operation '{}' is {}; lowered are {}", name.substr(0, 64), standing,
                     loweredNames());
}

} // namespace spyre::backend
