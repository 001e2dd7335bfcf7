//===- ElementConverter.cpp - native conversions, and casts through float -------------------===//
#include "ElementConverter.h"

#include "spyre/Layout/DataConversion.h"

#include <cstring>

namespace spyre::layout {

using numerics::DataFormat;
using numerics::HostType;

static constexpr HostType kHostTypes[] = {
    HostType::Float16,      HostType::Bfloat16,       HostType::Float32, HostType::Bool,
    HostType::Int8,         HostType::Int16,          HostType::Int32,   HostType::Int64,
    HostType::Float8E4m3fn, HostType::Float8E5m2fnuz, HostType::Uint8,
};

DataFormat hostFormat(HostType type) {
  switch (type) {
  case HostType::Float16:
    return DataFormat::IeeeFp16;
  case HostType::Bfloat16:
    return DataFormat::Bfloat16;
  case HostType::Bool:
    return DataFormat::Bool;
  case HostType::Int64:
    return DataFormat::IeeeInt64;
  case HostType::Uint8:
    return DataFormat::SenUint32; // The name the documents have for it.
  case HostType::Float32:
  case HostType::Int8:
  case HostType::Int16:
  case HostType::Int32:
  case HostType::Float8E4m3fn:
  case HostType::Float8E5m2fnuz:
    return numerics::deviceFormat(type); // The same bits on both sides.
  }
  return DataFormat::Invalid;
}

namespace detail {

static bool isCastable(HostType host, DataFormat device) {
  bool hostIsFloat = host == HostType::Float16 || host == HostType::Bfloat16 ||
                     host == HostType::Float32 || host == HostType::Bool;
  return hostIsFloat && (device == DataFormat::Sen169Fp16 || device == DataFormat::IeeeFp32);
}

static Status unsupported(DataFormat host, DataFormat device) {
  return error<2016>("Unsupported CPU/Spyre tensor dtype for DMA transfer: {} on the host, {} on "
                     "the device; convert the tensor on the host first",
                     numerics::formatName(host), numerics::formatName(device));
}

Expected<ElementConverter> ElementConverter::make(HostType host, DataFormat device, bool toDevice) {
  if (numerics::deviceFormat(host) != device && !isCastable(host, device)) {
    return unsupported(hostFormat(host), device);
  }
  return ElementConverter(host, device, toDevice);
}

Expected<ElementConverter> ElementConverter::make(DataFormat source, DataFormat destination,
                                                  bool toDevice) {
  DataFormat host = toDevice ? source : destination;
  DataFormat device = toDevice ? destination : source;
  for (HostType type : kHostTypes) {
    if (hostFormat(type) == host) {
      return make(type, device, toDevice);
    }
  }
  return unsupported(host, device);
}

static float readFloat(HostType type, const char *at) {
  uint16_t bits = 0;
  float value = 0.0f;
  switch (type) {
  case HostType::Float16:
    std::memcpy(&bits, at, sizeof(bits));
    return numerics::halfToFloat(bits);
  case HostType::Bfloat16:
    std::memcpy(&bits, at, sizeof(bits));
    return numerics::bfloat16ToFloat(bits);
  case HostType::Bool:
    return *at != 0 ? 1.0f : 0.0f;
  default:
    std::memcpy(&value, at, sizeof(value));
    return value;
  }
}

static void writeFloat(HostType type, float value, char *at) {
  uint16_t bits = 0;
  switch (type) {
  case HostType::Float16:
  case HostType::Bfloat16:
    bits =
        type == HostType::Float16 ? numerics::floatToHalf(value) : numerics::floatToBfloat16(value);
    std::memcpy(at, &bits, sizeof(bits));
    return;
  case HostType::Bool:
    *at = value != 0.0f ? 1 : 0;
    return;
  default:
    std::memcpy(at, &value, sizeof(value));
    return;
  }
}

void ElementConverter::convert(const void *source, void *destination, int64_t count) const {
  if (numerics::deviceFormat(host) == device) {
    if (toDevice) {
      numerics::convertHostToDevice(host, source, destination, count);
    } else {
      numerics::convertDeviceToHost(host, source, destination, count);
    }
    return;
  }
  SPYRE_CHECK(count <= kMaxRun, "runs are cut to the size of the buffer");
  float values[kMaxRun];
  if (toDevice) {
    const auto *from = static_cast<const char *>(source);
    for (int64_t i = 0; i < count; ++i) {
      values[i] = readFloat(host, from + i * hostBytes());
    }
    numerics::floatToDevice(device, values, destination, count);
    return;
  }
  numerics::deviceToFloat(device, source, values, count);
  auto *to = static_cast<char *>(destination);
  for (int64_t i = 0; i < count; ++i) {
    writeFloat(host, values[i], to + i * hostBytes());
  }
}

} // namespace detail
} // namespace spyre::layout
