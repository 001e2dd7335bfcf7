//===- Formats.cpp - names, widths and pairings of element formats --------------------------===//
#include "spyre/Numerics/Formats.h"

#include "fmt/ranges.h"

#include <array>
#include <vector>

namespace spyre::numerics {

static constexpr int64_t kStickBits = 128 * 8;

namespace {

struct FormatRow {
  const char *name;
  /// Stored width; 0 for formats that exist only inside the units.
  int64_t bits;
};

struct HostTypeRow {
  const char *name;
  int64_t bytes;
  DataFormat device;
};

} // namespace

// Row i describes the format with number i. [spec: device-and-layouts 2.2]
static constexpr std::array<FormatRow, 19> kFormats = {{
    {"SEN169_FP16", 16}, {"IEEE_FP32", 32}, {"INVALID", 0},     {"SEN143_FP8", 8},
    {"SEN152_FP8", 8},   {"SEN153_FP9", 0}, {"SENINT2", 2},     {"SENINT4", 4},
    {"SENINT8", 8},      {"SENINT16", 16},  {"SENINT24", 0},    {"IEEE_INT64", 64},
    {"IEEE_INT32", 32},  {"SENUINT32", 32}, {"SENUINT2", 2},    {"IEEE_FP16", 16},
    {"BOOL", 8},         {"BFLOAT16", 16},  {"SEN18F_FP24", 0},
}};

// Row i describes HostType i. [spec: device-and-layouts 2.3]
static constexpr std::array<HostTypeRow, 11> kHostTypes = {{
    {"float16", 2, DataFormat::Sen169Fp16},
    {"bfloat16", 2, DataFormat::Sen169Fp16},
    {"float32", 4, DataFormat::IeeeFp32},
    {"bool", 1, DataFormat::Sen169Fp16},
    {"int8", 1, DataFormat::SenInt8},
    {"int16", 2, DataFormat::SenInt16},
    {"int32", 4, DataFormat::IeeeInt32},
    {"int64", 8, DataFormat::IeeeInt32},
    {"float8_e4m3fn", 1, DataFormat::Sen143Fp8},
    {"float8_e5m2fnuz", 1, DataFormat::Sen152Fp8},
    {"uint8", 1, DataFormat::IeeeInt32},
}};

template <typename Rows>
static std::string joinNames(const Rows &rows) {
  std::vector<std::string> names;
  for (const auto &row : rows) {
    names.push_back(row.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

static const FormatRow &formatRow(DataFormat format) {
  auto index = size_t(format);
  // A number outside the enumeration can come from a damaged file that was cast too early.
  return kFormats[index < kFormats.size() ? index : size_t(DataFormat::Invalid)];
}

static const HostTypeRow &hostTypeRow(HostType type) {
  SPYRE_CHECK(size_t(type) < kHostTypes.size(), "the host type is one of the enumeration");
  return kHostTypes[size_t(type)];
}

const char *formatName(DataFormat format) { return formatRow(format).name; }

Expected<DataFormat> parseFormat(const std::string &name) {
  for (size_t i = 0; i < kFormats.size(); ++i) {
    if (name == kFormats[i].name) {
      return DataFormat(i);
    }
  }
  return error<2001>("unknown device format \"{}\"; use one of {}", name, joinNames(kFormats));
}

int64_t elemsPerStick(DataFormat format) {
  int64_t bits = formatRow(format).bits;
  return bits == 0 ? 0 : kStickBits / bits;
}

int64_t elementBytes(DataFormat format) { return formatRow(format).bits / 8; }

const char *hostTypeName(HostType type) { return hostTypeRow(type).name; }

Expected<HostType> parseHostType(const std::string &name) {
  for (size_t i = 0; i < kHostTypes.size(); ++i) {
    if (name == kHostTypes[i].name) {
      return HostType(i);
    }
  }
  return error<2002>("unsupported element type \"{}\"; use one of {}", name, joinNames(kHostTypes));
}

int64_t hostTypeBytes(HostType type) { return hostTypeRow(type).bytes; }

DataFormat deviceFormat(HostType type) { return hostTypeRow(type).device; }

} // namespace spyre::numerics
