//===- DeviceFormatsTest.cpp - fp8, integers and packing against independent references -----===//
#include "spyre/Numerics/Formats.h"

#include "TestSamples.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>

namespace spyre::numerics {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// What a small float format is, apart from its NaN.
struct SmallFormat {
  int fractionBits, bias;
  uint32_t largest;
  uint8_t (*encode)(float);
  float (*decode)(uint8_t);
};

constexpr SmallFormat kE4m3fn = {3, 7, 0x7E, floatToE4m3fn, e4m3fnToFloat};
constexpr SmallFormat kE5m2fnuz = {2, 16, 0x7F, floatToE5m2fnuz, e5m2fnuzToFloat};

double valueOf(const SmallFormat &format, uint32_t magnitude) {
  uint32_t one = 1u << format.fractionBits;
  uint32_t exponent = magnitude / one, fraction = magnitude % one;
  return exponent == 0
             ? std::ldexp(fraction, 1 - format.bias - format.fractionBits)
             : std::ldexp(one + fraction, int(exponent) - format.bias - format.fractionBits);
}

/// Nearest value by search, ties to the even pattern, nothing above the largest.
uint32_t slowMagnitude(const SmallFormat &format, const std::vector<double> &grid, float value) {
  double magnitude = std::min(std::fabs(double(value)), grid.back());
  auto above = std::upper_bound(grid.begin(), grid.end(), magnitude);
  auto pattern = uint32_t(above - grid.begin() - 1);
  if (above != grid.end()) {
    double up = *above - magnitude, down = magnitude - grid[pattern];
    pattern += up < down || (up == down && pattern % 2 == 1);
  }
  return std::min(pattern, format.largest);
}

std::vector<double> gridOf(const SmallFormat &format) {
  std::vector<double> grid;
  for (uint32_t magnitude = 0; magnitude <= format.largest; ++magnitude) {
    grid.push_back(valueOf(format, magnitude));
  }
  return grid;
}

TEST(Fp8, EveryE4m3fnPatternDecodesByTheDefinitionAndReturns) {
  for (uint32_t bits = 0; bits < 256; ++bits) {
    float value = e4m3fnToFloat(uint8_t(bits));
    uint32_t magnitude = bits & 0x7F;
    ASSERT_EQ(std::signbit(value), bits >= 0x80) << bits;
    ASSERT_EQ(floatToE4m3fn(value), bits);
    if (magnitude == 0x7F) {
      ASSERT_TRUE(std::isnan(value));
    } else {
      ASSERT_EQ(std::fabs(double(value)), valueOf(kE4m3fn, magnitude)) << bits;
    }
  }
  EXPECT_EQ(e4m3fnToFloat(0x7E), 448.0f);
  EXPECT_EQ(e4m3fnToFloat(0x01), 0x1p-9f);
  EXPECT_EQ(e4m3fnToFloat(0x38), 1.0f);
}

TEST(Fp8, EveryE5m2fnuzPatternDecodesByTheDefinitionAndReturns) {
  for (uint32_t bits = 0; bits < 256; ++bits) {
    float value = e5m2fnuzToFloat(uint8_t(bits));
    ASSERT_EQ(floatToE5m2fnuz(value), bits);
    if (bits == 0x80) {
      ASSERT_EQ(std::bit_cast<uint32_t>(value), 0x7FC00000u);
      continue;
    }
    ASSERT_EQ(std::signbit(value), bits >= 0x80) << bits;
    ASSERT_EQ(std::fabs(double(value)), valueOf(kE5m2fnuz, bits & 0x7F)) << bits;
  }
  EXPECT_EQ(e5m2fnuzToFloat(0x7F), 57344.0f);
  EXPECT_EQ(e5m2fnuzToFloat(0x01), 0x1p-17f);
  EXPECT_EQ(e5m2fnuzToFloat(0x40), 1.0f);
}

TEST(Fp8, E4m3fnEncodesLikeASearchForTheNearest) {
  std::vector<double> grid = gridOf(kE4m3fn);
  uint64_t faults = 0;
  forStratifiedFloats(24, [&](float value) {
    uint32_t magnitude = std::isnan(value) ? 0x7F : slowMagnitude(kE4m3fn, grid, value);
    faults += floatToE4m3fn(value) != (magnitude | (std::signbit(value) ? 0x80 : 0));
  });
  EXPECT_EQ(faults, 0u);
}

TEST(Fp8, E5m2fnuzEncodesLikeASearchForTheNearest) {
  std::vector<double> grid = gridOf(kE5m2fnuz);
  uint64_t faults = 0;
  forStratifiedFloats(24, [&](float value) {
    uint32_t expected = 0x80;
    if (!std::isnan(value)) {
      expected = slowMagnitude(kE5m2fnuz, grid, value);
      expected |= expected != 0 && std::signbit(value) ? 0x80 : 0;
    }
    faults += floatToE5m2fnuz(value) != expected;
  });
  EXPECT_EQ(faults, 0u);
}

TEST(Fp8, SpecialValues) {
  EXPECT_EQ(floatToE4m3fn(kInfinity), 0x7E);
  EXPECT_EQ(floatToE4m3fn(-kInfinity), 0xFE);
  EXPECT_EQ(floatToE4m3fn(1e30f), 0x7E);
  EXPECT_EQ(floatToE4m3fn(kNan), 0x7F);
  EXPECT_EQ(floatToE4m3fn(-kNan), 0xFF);
  EXPECT_EQ(floatToE4m3fn(-0.0f), 0x80);
  EXPECT_EQ(floatToE4m3fn(-1e-30f), 0x80);
  EXPECT_EQ(floatToE5m2fnuz(kInfinity), 0x7F);
  EXPECT_EQ(floatToE5m2fnuz(-kInfinity), 0xFF);
  EXPECT_EQ(floatToE5m2fnuz(-kNan), 0x80);
  EXPECT_EQ(floatToE5m2fnuz(-0.0f), 0x00);
  EXPECT_EQ(floatToE5m2fnuz(-1e-30f), 0x00);
}

/// By the C library in long double, whose 64 bits hold every bound.
long double slowInteger(float value, long double low, long double high) {
  if (std::isnan(value)) {
    return 0;
  }
  return std::clamp(std::nearbyint(static_cast<long double>(value)), low, high);
}

TEST(Integers, RoundToNearestEvenAndSaturate) {
  uint64_t faults = 0;
  auto check = [&](float x) {
    faults += floatToInt2(x) != slowInteger(x, -2, 1);
    faults += floatToUint2(x) != slowInteger(x, 0, 3);
    faults += floatToInt4(x) != slowInteger(x, -8, 7);
    faults += floatToInt8(x) != slowInteger(x, -128, 127);
    faults += floatToInt16(x) != slowInteger(x, -32768, 32767);
    faults += floatToInt32(x) != slowInteger(x, INT32_MIN, INT32_MAX);
    faults += floatToUint32(x) != slowInteger(x, 0, UINT32_MAX);
    faults += floatToInt64(x) != slowInteger(x, INT64_MIN, INT64_MAX);
  };
  forStratifiedFloats(24, check);
  // Every tie and its neighbours around the 16-bit range.
  for (int half = -70000; half <= 70000; ++half) {
    float tie = float(half) * 0.5f;
    check(tie);
    check(std::nextafter(tie, kInfinity));
    check(std::nextafter(tie, -kInfinity));
  }
  EXPECT_EQ(faults, 0u);
  EXPECT_EQ(floatToInt8(2.5f), 2);
  EXPECT_EQ(floatToInt8(-3.5f), -4);
  EXPECT_EQ(floatToInt8(kInfinity), 127);
  EXPECT_EQ(floatToInt64(-kInfinity), INT64_MIN);
  EXPECT_EQ(floatToUint32(-1.0f), 0u);
  EXPECT_EQ(floatToInt32(kNan), 0);
}

TEST(Integers, EveryPatternOfUpTo16BitsReturns) {
  for (DataFormat format : {DataFormat::SenInt2, DataFormat::SenUint2, DataFormat::SenInt4,
                            DataFormat::SenInt8, DataFormat::SenInt16}) {
    // All patterns of two bytes hold all combinations of neighbours too.
    std::vector<uint16_t> in(0x10000), out(in.size(), 0xEEEE);
    std::iota(in.begin(), in.end(), 0);
    auto count = int64_t(in.size()) * 2 * elemsPerStick(format) / 128;
    std::vector<float> values(static_cast<size_t>(count));
    deviceToFloat(format, in.data(), values.data(), count);
    floatToDevice(format, values.data(), out.data(), count);
    EXPECT_EQ(in, out) << formatName(format);
  }
}

TEST(Integers, WideOnesReadAsTheNearestFloat) {
  const int32_t words[] = {0, 1, -1, INT32_MIN, INT32_MAX, 16777217, -16777219};
  float values[7];
  deviceToFloat(DataFormat::IeeeInt32, words, values, 7);
  const float expected[] = {0, 1, -1, -0x1p31f, 0x1p31f, 16777216, -16777220};
  EXPECT_TRUE(std::equal(values, values + 7, expected));
  const uint32_t unsignedWords[] = {0, 0x80000000u, 0xFFFFFFFFu};
  deviceToFloat(DataFormat::SenUint32, unsignedWords, values, 3);
  EXPECT_EQ(values[1], 0x1p31f);
  EXPECT_EQ(values[2], 0x1p32f);
  const int64_t longs[] = {INT64_MIN, INT64_MAX, (int64_t(1) << 40) + 1};
  deviceToFloat(DataFormat::IeeeInt64, longs, values, 3);
  EXPECT_EQ(values[0], -0x1p63f);
  EXPECT_EQ(values[1], 0x1p63f);
  EXPECT_EQ(values[2], 0x1p40f);
}

TEST(Packing, TheFirstElementIsInTheLowBits) {
  const int8_t fours[] = {1, -2, 7, -8, 3};
  uint8_t packed[4] = {0xEE, 0xEE, 0xEE, 0xEE};
  packIntegers(DataFormat::SenInt4, fours, packed, 5);
  EXPECT_EQ(packed[0], 0xE1);
  EXPECT_EQ(packed[1], 0x87);
  EXPECT_EQ(packed[2], 0x03); // The rest of the last byte is cleared,
  EXPECT_EQ(packed[3], 0xEE); // the next one is not touched.
  const int8_t twos[] = {1, -2, -1, 0, -1};
  packIntegers(DataFormat::SenInt2, twos, packed, 5);
  EXPECT_EQ(packed[0], 0b00111001);
  EXPECT_EQ(packed[1], 0b00000011);
  int8_t back[5];
  unpackIntegers(DataFormat::SenInt2, packed, back, 5);
  EXPECT_TRUE(std::equal(back, back + 5, twos));
  unpackIntegers(DataFormat::SenUint2, packed, back, 5);
  const int8_t asUnsigned[] = {1, 2, 3, 0, 3};
  EXPECT_TRUE(std::equal(back, back + 5, asUnsigned));
}

TEST(Packing, LowBitsSurviveAnyValue) {
  std::vector<int8_t> values(256), back(256);
  std::iota(values.begin(), values.end(), int8_t(-128));
  std::vector<uint8_t> packed(128);
  packIntegers(DataFormat::SenInt4, values.data(), packed.data(), 256);
  unpackIntegers(DataFormat::SenInt4, packed.data(), back.data(), 256);
  for (size_t i = 0; i < 256; ++i) {
    ASSERT_EQ(back[i] & 15, values[i] & 15);
  }
}

/// Scalar form of one format: the bits a float is stored as and the float the bits read as.
struct ScalarForm {
  DataFormat format;
  std::function<uint64_t(float)> encode;
  std::function<float(uint64_t)> decode;
};

std::vector<ScalarForm> scalarForms() {
  using Bits = uint64_t;
  return {
      {DataFormat::Sen169Fp16, floatToDl16, dl16ToFloat},
      {DataFormat::IeeeFp16, floatToHalf, halfToFloat},
      {DataFormat::Bfloat16, floatToBfloat16, bfloat16ToFloat},
      {DataFormat::Sen143Fp8, floatToE4m3fn, e4m3fnToFloat},
      {DataFormat::Sen152Fp8, floatToE5m2fnuz, e5m2fnuzToFloat},
      {DataFormat::IeeeFp32, [](float x) { return Bits(std::bit_cast<uint32_t>(x)); },
       [](Bits bits) { return std::bit_cast<float>(uint32_t(bits)); }},
      {DataFormat::Bool, [](float x) { return Bits(x != 0); },
       [](Bits bits) { return float(bits != 0); }},
      {DataFormat::SenInt8, [](float x) { return Bits(uint8_t(floatToInt8(x))); },
       [](Bits bits) { return float(int8_t(bits)); }},
      {DataFormat::SenInt16, [](float x) { return Bits(uint16_t(floatToInt16(x))); },
       [](Bits bits) { return float(int16_t(bits)); }},
      {DataFormat::IeeeInt32, [](float x) { return Bits(uint32_t(floatToInt32(x))); },
       [](Bits bits) { return float(int32_t(bits)); }},
      {DataFormat::SenUint32, [](float x) { return Bits(floatToUint32(x)); },
       [](Bits bits) { return float(uint32_t(bits)); }},
      {DataFormat::IeeeInt64, [](float x) { return Bits(floatToInt64(x)); },
       [](Bits bits) { return float(int64_t(bits)); }},
  };
}

TEST(DeviceFormats, RunsEqualTheScalarFunctions) {
  std::vector<float> in;
  forStratifiedFloats(14, [&](float value) { in.push_back(value); });
  auto count = int64_t(in.size());
  for (const ScalarForm &form : scalarForms()) {
    auto bytes = size_t(elementBytes(form.format));
    // One byte off, as host memory may be.
    std::vector<uint8_t> device(in.size() * bytes + 2, 0xEE);
    std::vector<float> back(in.size());
    floatToDevice(form.format, in.data(), device.data() + 1, count);
    deviceToFloat(form.format, device.data() + 1, back.data(), count);
    uint64_t faults = 0;
    for (size_t i = 0; i < in.size(); ++i) {
      uint64_t bits = 0;
      std::memcpy(&bits, device.data() + 1 + i * bytes, bytes);
      faults += bits != form.encode(in[i]);
      faults += std::bit_cast<uint32_t>(back[i]) != std::bit_cast<uint32_t>(form.decode(bits));
    }
    EXPECT_EQ(faults, 0u) << formatName(form.format);
    EXPECT_EQ(device.front(), 0xEE);
    EXPECT_EQ(device.back(), 0xEE);
  }
}

TEST(DeviceFormats, PackedRunsEqualTheScalarFunctions) {
  std::vector<float> in;
  forStratifiedFloats(14, [&](float value) { in.push_back(value); });
  const std::pair<DataFormat, std::function<int(float)>> rows[] = {
      {DataFormat::SenInt2, floatToInt2},
      {DataFormat::SenUint2, floatToUint2},
      {DataFormat::SenInt4, floatToInt4}};
  for (const auto &[format, scalar] : rows) {
    // A tail that is no whole byte.
    auto count = int64_t(in.size()) - 3;
    std::vector<uint8_t> device(in.size(), 0xEE);
    std::vector<float> back(in.size());
    floatToDevice(format, in.data(), device.data(), count);
    deviceToFloat(format, device.data(), back.data(), count);
    for (int64_t i = 0; i < count; ++i) {
      ASSERT_EQ(back[size_t(i)], float(scalar(in[size_t(i)]))) << formatName(format) << " " << i;
    }
    int64_t perByte = elemsPerStick(format) / 128;
    EXPECT_EQ(device[size_t((count + perByte - 1) / perByte)], 0xEE);
  }
}

TEST(DeviceFormats, EveryFormatWithAStickWidthConverts) {
  for (int number = 0; number < 19; ++number) {
    auto format = DataFormat(number);
    if (elemsPerStick(format) == 0) {
      continue;
    }
    std::vector<float> in(size_t(elemsPerStick(format)), 1.0f), out(in.size());
    uint8_t stick[128];
    floatToDevice(format, in.data(), stick, int64_t(in.size()));
    deviceToFloat(format, stick, out.data(), int64_t(in.size()));
    EXPECT_EQ(in, out) << formatName(format);
    floatToDevice(format, nullptr, nullptr, 0);
    deviceToFloat(format, nullptr, nullptr, 0);
  }
}

} // namespace
} // namespace spyre::numerics
