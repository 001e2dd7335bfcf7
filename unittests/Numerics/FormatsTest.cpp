//===- FormatsTest.cpp - names, widths and pairings of formats ------------------------------===//
#include "spyre/Numerics/Formats.h"

#include "gtest/gtest.h"

#include <tuple>

namespace spyre::numerics {
namespace {

TEST(Formats, NamesNumbersAndSticksAreTheDocumentedOnes) {
  // [spec: device-and-layouts 2.2]: number, name, elements per stick, whole bytes per element.
  const std::tuple<int, const char *, int64_t, int64_t> rows[] = {
      {0, "SEN169_FP16", 64, 2}, {1, "IEEE_FP32", 32, 4},   {2, "INVALID", 0, 0},
      {3, "SEN143_FP8", 128, 1}, {4, "SEN152_FP8", 128, 1}, {5, "SEN153_FP9", 0, 0},
      {6, "SENINT2", 512, 0},    {7, "SENINT4", 256, 0},    {8, "SENINT8", 128, 1},
      {9, "SENINT16", 64, 2},    {10, "SENINT24", 0, 0},    {11, "IEEE_INT64", 16, 8},
      {12, "IEEE_INT32", 32, 4}, {13, "SENUINT32", 32, 4},  {14, "SENUINT2", 512, 0},
      {15, "IEEE_FP16", 64, 2},  {16, "BOOL", 128, 1},      {17, "BFLOAT16", 64, 2},
      {18, "SEN18F_FP24", 0, 0},
  };
  for (const auto &[number, name, elems, bytes] : rows) {
    auto format = DataFormat(number);
    EXPECT_STREQ(formatName(format), name);
    ASSERT_TRUE(parseFormat(name).ok());
    EXPECT_EQ(*parseFormat(name), format);
    EXPECT_EQ(elemsPerStick(format), elems) << name;
    EXPECT_EQ(elementBytes(format), bytes) << name;
  }
  EXPECT_EQ(parseFormat("sen169_fp16").status().code(), 2001);
  EXPECT_EQ(elemsPerStick(DataFormat(200)), 0);
}

TEST(Formats, HostTypesHaveTheDocumentedDeviceFormats) {
  const std::tuple<HostType, const char *, int64_t, DataFormat> rows[] = {
      {HostType::Float16, "float16", 2, DataFormat::Sen169Fp16},
      {HostType::Bfloat16, "bfloat16", 2, DataFormat::Sen169Fp16},
      {HostType::Bool, "bool", 1, DataFormat::Sen169Fp16},
      {HostType::Float32, "float32", 4, DataFormat::IeeeFp32},
      {HostType::Int64, "int64", 8, DataFormat::IeeeInt32},
      {HostType::Int32, "int32", 4, DataFormat::IeeeInt32},
      {HostType::Int16, "int16", 2, DataFormat::SenInt16},
      {HostType::Int8, "int8", 1, DataFormat::SenInt8},
      {HostType::Float8E4m3fn, "float8_e4m3fn", 1, DataFormat::Sen143Fp8},
      {HostType::Float8E5m2fnuz, "float8_e5m2fnuz", 1, DataFormat::Sen152Fp8},
      {HostType::Uint8, "uint8", 1, DataFormat::IeeeInt32},
  };
  for (const auto &[type, name, bytes, format] : rows) {
    EXPECT_STREQ(hostTypeName(type), name);
    ASSERT_TRUE(parseHostType(name).ok());
    EXPECT_EQ(*parseHostType(name), type);
    EXPECT_EQ(hostTypeBytes(type), bytes);
    EXPECT_EQ(deviceFormat(type), format) << name;
  }
  Status status = parseHostType("float64").status();
  EXPECT_EQ(status.code(), 2002);
  EXPECT_NE(status.text().find("float8_e5m2fnuz"), std::string::npos);
}

} // namespace
} // namespace spyre::numerics
