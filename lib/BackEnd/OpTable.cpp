//===- OpTable.cpp - the rows of the operation table ----------------------------------------===//
#include "OpTable.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace spyre::backend {

using program::Function;

static constexpr std::array<OpInfo, 11> kLowered{{
    {"add", OpClass::Pointwise, Function::Add, 2},
    {"mul", OpClass::Pointwise, Function::Mul, 2},
    {"exp", OpClass::Pointwise, Function::Exp, 1},
    {"where3", OpClass::Pointwise, Function::Where, 3},
    {"identity", OpClass::Copy, Function::Copy, 1},
    {"ReStickifyOpHBM", OpClass::Restickify, Function::None, 1},
    {"sum", OpClass::StickReduction, Function::Sum, 1},
    {"max", OpClass::StickReduction, Function::Max, 1},
    {"sumnonstick", OpClass::NonStickReduction, Function::Sum, 1},
    {"maxnonstick", OpClass::NonStickReduction, Function::Max, 1},
    {"batchmatmul", OpClass::Matmul, Function::None, 2},
}};

/// Names of the interface that have no lowering yet [spec: codegen-and-backend 3.1, 3.2].
static constexpr std::array kDocumented{
    std::string_view("abs"),
    std::string_view("absmax"),
    std::string_view("absmaxnonstick"),
    std::string_view("avgpoolfwd"),
    std::string_view("avgpoolnmapfwd"),
    std::string_view("batchmatmulfp8"),
    std::string_view("batchmatmulint4"),
    std::string_view("batchmatmulint8"),
    std::string_view("batchnormfwd"),
    std::string_view("biasadd"),
    std::string_view("clip"),
    std::string_view("conv2d"),
    std::string_view("conv2dfp8"),
    std::string_view("conv2dint4"),
    std::string_view("conv2dint8"),
    std::string_view("csqint4"),
    std::string_view("csqint4wt"),
    std::string_view("csqint8ch"),
    std::string_view("csqint8mb"),
    std::string_view("csqint8wt"),
    std::string_view("depthwiseconv2dnative"),
    std::string_view("dl16tofp32"),
    std::string_view("equal"),
    std::string_view("exx2"),
    std::string_view("exx2_zeromean"),
    std::string_view("fastexp"),
    std::string_view("fastsigmoid"),
    std::string_view("floor"),
    std::string_view("fnms"),
    std::string_view("fp32todl16"),
    std::string_view("fp8todl16"),
    std::string_view("gelufwd"),
    std::string_view("greaterequal"),
    std::string_view("greaterthan"),
    std::string_view("layernormnorm"),
    std::string_view("layernormscale"),
    std::string_view("leakyrelufwd"),
    std::string_view("lesserequal"),
    std::string_view("lesserthan"),
    std::string_view("log"),
    std::string_view("maskbyindex"),
    std::string_view("matmul"),
    std::string_view("maximum"),
    std::string_view("maxpoolfwd"),
    std::string_view("mean"),
    std::string_view("meannonstick"),
    std::string_view("min"),
    std::string_view("minimum"),
    std::string_view("minnonstick"),
    std::string_view("mish"),
    std::string_view("neg"),
    std::string_view("notequal"),
    std::string_view("qfp8ch"),
    std::string_view("qfp8mb"),
    std::string_view("qfp8wt"),
    std::string_view("quantscalepertoken"),
    std::string_view("quantscalepertokenfp8"),
    std::string_view("realdiv"),
    std::string_view("reciprocal"),
    std::string_view("relu6fwd"),
    std::string_view("relufwd"),
    std::string_view("revsub"),
    std::string_view("rsqrt"),
    std::string_view("sigmoid"),
    std::string_view("silu"),
    std::string_view("softplus"),
    std::string_view("sqrt"),
    std::string_view("sub"),
    std::string_view("tanh"),
    std::string_view("topkindex"),
    std::string_view("topkvalue"),
};

static std::string loweredNames() {
  std::string names;
  for (const OpInfo &info : kLowered) {
    names += names.empty() ? "" : ", ";
    names += info.name;
  }
  return names;
}

Expected<OpInfo> findOp(const std::string &name) {
  for (const OpInfo &info : kLowered) {
    if (name == info.name) {
      return info;
    }
  }
  if (std::find(kDocumented.begin(), kDocumented.end(), std::string_view(name)) !=
      kDocumented.end()) {
    return error<5301>("operation '{}' is documented but not lowered yet; lowered are {}", name,
                       loweredNames());
  }
  return error<5301>("operation '{}' is unknown; lowered are {}", name.substr(0, 64),
                     loweredNames());
}

} // namespace spyre::backend
