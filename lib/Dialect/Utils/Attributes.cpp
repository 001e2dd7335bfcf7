//===- Attributes.cpp - device layouts and element types between MLIR and our own structs ----===//
#include "spyre/Dialect/Utils/Attributes.h"

#include "llvm/Support/Path.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"

namespace spyre::dialect {

using numerics::HostType;

std::vector<int64_t> toVector(llvm::ArrayRef<int64_t> values) {
  return std::vector<int64_t>(values.begin(), values.end());
}

using layout::ElementArrangement;

mlir::DictionaryAttr layoutToAttr(mlir::MLIRContext *context, const layout::DeviceLayout &layout) {
  mlir::Builder builder(context);
  mlir::NamedAttrList entries;
  entries.set("device_size", builder.getDenseI64ArrayAttr(layout.deviceSize));
  entries.set("format", builder.getStringAttr(numerics::formatName(layout.format)));
  entries.set("stride_map", builder.getDenseI64ArrayAttr(layout.strideMap));
  if (layout.arrangement != ElementArrangement::Standard) {
    entries.set("arrangement", builder.getStringAttr(layout::arrangementName(layout.arrangement)));
  }
  return entries.getDictionary(context);
}

/// The standard one where none is written.
static Expected<ElementArrangement> arrangementOf(mlir::DictionaryAttr layout) {
  const mlir::Attribute given = layout.get("arrangement");
  const auto name = llvm::dyn_cast_or_null<mlir::StringAttr>(given);
  if (!given) {
    return ElementArrangement::Standard;
  }
  for (ElementArrangement each : {ElementArrangement::Standard, ElementArrangement::Dl16ToFp32,
                                  ElementArrangement::Qfp8Ch, ElementArrangement::Exx2}) {
    if (name && name == layout::arrangementName(each)) {
      return each;
    }
  }
  return error<2010>("the arrangement of a device layout must be \"STANDARD\", \"DL16_TO_FP32\", "
                     "\"QFP8CH\" or \"EXX2\"");
}

Expected<layout::DeviceLayout> layoutFromAttr(mlir::Attribute attribute) {
  auto dictionary = llvm::dyn_cast_or_null<mlir::DictionaryAttr>(attribute);
  const size_t entries = dictionary && dictionary.contains("arrangement") ? 4 : 3;
  if (!dictionary || dictionary.size() != entries) {
    return error<2010>("a device layout is {{device_size = array<i64: ..>, format = \"..\", "
                       "stride_map = array<i64: ..>}}, with arrangement = \"..\" if its elements "
                       "are not in order");
  }
  auto size = dictionary.getAs<mlir::DenseI64ArrayAttr>("device_size");
  auto stride = dictionary.getAs<mlir::DenseI64ArrayAttr>("stride_map");
  auto format = dictionary.getAs<mlir::StringAttr>("format");
  if (!size || !stride || !format) {
    return error<2010>("a device layout needs device_size, stride_map (array<i64: ..>) and format "
                       "(a string)");
  }
  layout::DeviceLayout layout;
  layout.deviceSize = toVector(size.asArrayRef());
  layout.strideMap = toVector(stride.asArrayRef());
  SPYRE_ASSIGN_OR_RETURN(layout.format, numerics::parseFormat(format.str()));
  SPYRE_ASSIGN_OR_RETURN(layout.arrangement, arrangementOf(dictionary));
  SPYRE_RETURN_IF_ERROR(layout.verify());
  return layout;
}

std::string sourceLine(mlir::Location location) {
  auto place = location->findInstanceOf<mlir::FileLineColLoc>();
  return place ? fmt::format("{}:{}", llvm::sys::path::filename(place.getFilename().str()).str(),
                             place.getLine())
               : "";
}

Expected<HostType> hostTypeOf(mlir::Type type) {
  if (type.isF16()) {
    return HostType::Float16;
  }
  if (type.isBF16()) {
    return HostType::Bfloat16;
  }
  if (type.isF32()) {
    return HostType::Float32;
  }
  if (type.isFloat8E4M3FN()) {
    return HostType::Float8E4m3fn;
  }
  if (type.isFloat8E5M2FNUZ()) {
    return HostType::Float8E5m2fnuz;
  }
  if (type.isUnsignedInteger(8)) {
    return HostType::Uint8;
  }
  if (type.isSignlessInteger()) {
    switch (type.getIntOrFloatBitWidth()) {
    case 1:
      return HostType::Bool;
    case 8:
      return HostType::Int8;
    case 16:
      return HostType::Int16;
    case 32:
      return HostType::Int32;
    case 64:
      return HostType::Int64;
    default:
      break;
    }
  }
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return error<1003>(
      "element type {} has no device format; use f16, bf16, f32, i1, i8, ui8, i16, i32, "
      "i64 or an 8-bit float the device knows",
      text);
}

mlir::Type elementTypeOf(mlir::MLIRContext *context, HostType type) {
  mlir::Builder builder(context);
  switch (type) {
  case HostType::Float16:
    return builder.getF16Type();
  case HostType::Bfloat16:
    return builder.getBF16Type();
  case HostType::Float32:
    return builder.getF32Type();
  case HostType::Bool:
    return builder.getI1Type();
  case HostType::Int8:
    return builder.getI8Type();
  case HostType::Int16:
    return builder.getI16Type();
  case HostType::Int32:
    return builder.getI32Type();
  case HostType::Int64:
    return builder.getI64Type();
  case HostType::Float8E4m3fn:
    return builder.getFloat8E4M3FNType();
  case HostType::Float8E5m2fnuz:
    return builder.getFloat8E5M2FNUZType();
  case HostType::Uint8:
    return builder.getIntegerType(8, /*isSigned=*/false);
  }
  llvm_unreachable("all host types are listed");
}

mlir::LogicalResult report(mlir::Operation *op, const Status &status) {
  return op->emitError(status.message());
}

} // namespace spyre::dialect
