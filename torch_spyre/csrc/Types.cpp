//===- Types.cpp - the dtype tables ---------------------------------------------------------===//
#include "Types.h"

#include "Errors.h"

#include <array>
#include <utility>

namespace spyre::plugin {

using numerics::DataFormat;
using numerics::HostType;

namespace {

constexpr std::array<std::pair<c10::ScalarType, HostType>, 11> kTypes = {{
    {c10::ScalarType::Half, HostType::Float16},
    {c10::ScalarType::BFloat16, HostType::Bfloat16},
    {c10::ScalarType::Float, HostType::Float32},
    {c10::ScalarType::Bool, HostType::Bool},
    {c10::ScalarType::Char, HostType::Int8},
    {c10::ScalarType::Short, HostType::Int16},
    {c10::ScalarType::Int, HostType::Int32},
    {c10::ScalarType::Long, HostType::Int64},
    {c10::ScalarType::Float8_e4m3fn, HostType::Float8E4m3fn},
    {c10::ScalarType::Float8_e5m2fnuz, HostType::Float8E5m2fnuz},
    {c10::ScalarType::Byte, HostType::Uint8},
}};

} // namespace

std::optional<HostType> hostTypeOf(c10::ScalarType type) {
  for (const auto &[scalar, host] : kTypes) {
    if (scalar == type) {
      return host;
    }
  }
  return std::nullopt;
}

HostType requireHostType(c10::ScalarType type) {
  std::optional<HostType> host = hostTypeOf(type);
  if (!host) {
    raise(
        error<6502>("Spyre backend does not support dtype {}; convert the tensor on the CPU first "
                    "(float16, bfloat16, float32, bool, int8, uint8, int16, int32, int64, "
                    "float8_e4m3fn and float8_e5m2fnuz have a device format)",
                    c10::toString(type)));
  }
  return *host;
}

c10::ScalarType scalarTypeOf(HostType type) {
  for (const auto &[scalar, host] : kTypes) {
    if (host == type) {
      return scalar;
    }
  }
  SPYRE_CHECK(false, "every host type is in the table");
}

std::string hostElementOf(c10::ScalarType type) {
  switch (type) {
  case c10::ScalarType::Double:
    return "f64";
  case c10::ScalarType::ComplexHalf:
    return "complex<f16>";
  case c10::ScalarType::ComplexFloat:
    return "complex<f32>";
  case c10::ScalarType::ComplexDouble:
    return "complex<f64>";
  case c10::ScalarType::UInt16:
    return "ui16";
  case c10::ScalarType::UInt32:
    return "ui32";
  case c10::ScalarType::UInt64:
    return "ui64";
  default:
    raise(error<6506>("the graph has values of type {}, which neither the device nor the compiler "
                      "knows; convert them before the compiled region",
                      c10::toString(type)));
  }
}

RawType rawTypeOf(DataFormat format) {
  switch (numerics::elementBytes(format)) {
  case 1:
    return {HostType::Int8, DataFormat::SenInt8, c10::ScalarType::Char};
  case 2:
    return {HostType::Int16, DataFormat::SenInt16, c10::ScalarType::Short};
  case 4:
    return {HostType::Int32, DataFormat::IeeeInt32, c10::ScalarType::Int};
  default:
    raise(
        error<6513>("format {} has no whole-byte elements that could be copied to the host; use a "
                    "device_layout whose device_dtype matches the tensor's dtype",
                    numerics::formatName(format)));
  }
}

int64_t hostExtent(c10::IntArrayRef size, c10::IntArrayRef stride) {
  int64_t extent = 1;
  for (size_t i = 0; i < size.size(); ++i) {
    if (size[i] == 0) {
      return 0;
    }
    extent += (size[i] - 1) * stride[i];
  }
  return extent;
}

} // namespace spyre::plugin
