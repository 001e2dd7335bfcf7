//===- Conversions.cpp - see Conversions.h --------------------------------------------------===//
#include "spyre/Dialect/Loop/IR/Conversions.h"

#include "spyre/Dialect/Utils/Attributes.h"

#include "mlir/IR/Builders.h"

namespace spyre::loop {

using numerics::DataFormat;

static constexpr Conversion kConversions[] = {
    {"dl16tofp32", DataFormat::Sen169Fp16, DataFormat::IeeeFp32},
    {"fp32todl16", DataFormat::IeeeFp32, DataFormat::Sen169Fp16},
    {"fp8todl16", DataFormat::Sen143Fp8, DataFormat::Sen169Fp16},
    {"qfp8ch", DataFormat::Sen169Fp16, DataFormat::Sen143Fp8},
    {"x_int8todl16", DataFormat::SenInt8, DataFormat::Sen169Fp16},
    {"csqint8ch", DataFormat::Sen169Fp16, DataFormat::SenInt8, /*scales=*/true},
    {"x_int16tofp32", DataFormat::SenInt16, DataFormat::IeeeFp32},
    {"x_fp32toint16", DataFormat::IeeeFp32, DataFormat::SenInt16},
};

mlir::DictionaryAttr Conversion::constants(mlir::MLIRContext *context) const {
  if (!scales) {
    return {};
  }
  mlir::Builder builder(context);
  return builder.getDictionaryAttr({builder.getNamedAttr("scaleact", builder.getF64FloatAttr(1)),
                                    builder.getNamedAttr("shiftact", builder.getF64FloatAttr(0))});
}

std::optional<Conversion> findConversion(mlir::Type from, mlir::Type to) {
  Expected<numerics::HostType> source = dialect::hostTypeOf(from), target = dialect::hostTypeOf(to);
  if (!source.ok() || !target.ok()) {
    return std::nullopt;
  }
  for (const Conversion &row : kConversions) {
    if (row.from == numerics::deviceFormat(*source) && row.to == numerics::deviceFormat(*target)) {
      return row;
    }
  }
  return std::nullopt;
}

std::optional<Conversion> findConversion(llvm::StringRef callee) {
  for (const Conversion &row : kConversions) {
    if (callee == row.callee) {
      return row;
    }
  }
  return std::nullopt;
}

} // namespace spyre::loop
