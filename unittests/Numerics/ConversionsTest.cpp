//===- ConversionsTest.cpp - DLFloat16, half and bfloat16 against independent references ----===//
#include "spyre/Numerics/Formats.h"

#include "TestSamples.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace spyre::numerics {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Value of a finite, non-negative DLFloat16 pattern by the definition. The zero pattern is given
/// its "missing" value 2^-31: the rounding grid has it, only its meaning is zero.
double dl16Grid(uint32_t pattern) {
  return std::ldexp(1.0 + (pattern & 511) / 512.0, int(pattern >> 9) - 31);
}

/// Nearest grid point, ties away from zero, by search in double.
uint16_t slowFloatToDl16(float value) {
  static const std::vector<double> grid = [] {
    std::vector<double> values;
    for (uint32_t pattern = 0; pattern <= 0x7FFE; ++pattern) {
      values.push_back(dl16Grid(pattern));
    }
    return values;
  }();
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) {
    return sign | 0x7FFF;
  }
  double magnitude = std::fabs(double(value));
  if (magnitude < grid.front()) {
    return sign;
  }
  auto above = std::upper_bound(grid.begin(), grid.end(), magnitude);
  auto pattern = uint16_t(above - grid.begin() - 1);
  if (above != grid.end() && *above - magnitude <= magnitude - grid[pattern]) {
    ++pattern;
  }
  return sign | pattern;
}

TEST(Dl16, DocumentedTable) {
  // [spec: device-and-layouts 2.4], with overflow saturating.
  const struct {
    float input;
    uint16_t bits;
    double back;
  } rows[] = {
      {0.0f, 0x0000, 0.0},
      {1.0f, 0x3E00, 1.0},
      {-1.0f, 0xBE00, -1.0},
      {2.0f, 0x4000, 2.0},
      {0.5f, 0x3C00, 0.5},
      {0.1f, 0x3733, 0.0999755859375},
      {3.140625f, 0x4124, 3.140625},
      {1 + 0x1p-10f, 0x3E01, 1.001953125},
      {-(1 + 0x1p-10f), 0xBE01, -1.001953125},
      {448.0f, 0x4F80, 448.0},
      {65504.0f, 0x5E00, 65536.0},
      {0x1p-14f, 0x2200, 0x1p-14},
      {0x1p-24f, 0x0E00, 0x1p-24},
      {0x1p-31f, 0x0000, 0.0},
      {0x1p-31f * (1 + 0x1p-10f), 0x0001, 0x1p-31 * (1 + 1 / 512.0)},
      {8573157376.0f, 0x7FFE, 8573157376.0},
      {8577351680.0f, 0x7FFE, 8573157376.0},
      {-8577351680.0f, 0xFFFE, -8573157376.0},
      {std::numeric_limits<float>::max(), 0x7FFE, 8573157376.0},
      {kInfinity, 0x7FFE, 8573157376.0},
      {-kInfinity, 0xFFFE, -8573157376.0},
      {std::numeric_limits<float>::denorm_min(), 0x0000, 0.0},
  };
  for (const auto &row : rows) {
    EXPECT_EQ(floatToDl16(row.input), row.bits) << row.input;
    EXPECT_EQ(double(dl16ToFloat(row.bits)), row.back) << row.input;
  }
  EXPECT_EQ(floatToDl16(-0.0f), 0x8000);
  EXPECT_EQ(floatToDl16(kNan), 0x7FFF);
  EXPECT_EQ(floatToDl16(-kNan), 0xFFFF);
  EXPECT_EQ(floatToDl16(std::bit_cast<float>(0x7F800001u)), 0x7FFF);
  EXPECT_TRUE(std::isnan(dl16ToFloat(0x7FFF)));
  EXPECT_TRUE(std::isnan(dl16ToFloat(0xFFFF)));
}

TEST(Dl16, EveryPatternDecodesByTheDefinitionAndReturns) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float value = dl16ToFloat(uint16_t(bits));
    uint32_t magnitude = bits & 0x7FFF;
    if (magnitude == 0x7FFF) {
      ASSERT_TRUE(std::isnan(value));
      continue;
    }
    ASSERT_EQ(std::signbit(value), bits >= 0x8000) << bits;
    ASSERT_EQ(std::fabs(double(value)), magnitude == 0 ? 0.0 : dl16Grid(magnitude)) << bits;
    ASSERT_EQ(floatToDl16(value), bits);
  }
}

TEST(Dl16, IntegersAreExactUpTo1024) {
  for (int value = -1024; value <= 1024; ++value) {
    ASSERT_EQ(dl16ToFloat(floatToDl16(float(value))), float(value));
  }
  EXPECT_EQ(dl16ToFloat(floatToDl16(1025.0f)), 1026.0f);
}

TEST(Dl16, EncodesLikeASearchForTheNearest) {
  uint64_t faults = 0, inputs = 0;
  forStratifiedFloats(256, [&](float value) {
    ++inputs;
    if (floatToDl16(value) != slowFloatToDl16(value) && ++faults < 5) {
      ADD_FAILURE() << std::bit_cast<uint32_t>(value) << " " << value;
    }
  });
  EXPECT_EQ(faults, 0u);
  EXPECT_EQ(inputs, 1u << 24);
}

TEST(Dl16, BulkEqualsScalarForEveryFloat) {
  // All 2^32 patterns in the long tests, else every 251st: a prime, so that all low bits occur.
  const uint64_t step = longTests() ? 1 : 251;
  std::vector<float> floats;
  std::vector<uint16_t> bulk(1 << 16);
  uint64_t faults = 0;
  for (uint64_t bits = 0; bits < uint64_t(1) << 32;) {
    floats.clear();
    for (; floats.size() < bulk.size() && bits < uint64_t(1) << 32; bits += step) {
      floats.push_back(std::bit_cast<float>(uint32_t(bits)));
    }
    floatToDevice(DataFormat::Sen169Fp16, floats.data(), bulk.data(), int64_t(floats.size()));
    for (size_t i = 0; i < floats.size(); ++i) {
      faults += bulk[i] != floatToDl16(floats[i]);
    }
  }
  EXPECT_EQ(faults, 0u);
}

TEST(Dl16, HalfRoundTripMatchesTheDocumentedCount) {
  uint32_t exact = 0;
  for (uint32_t bits = 0; bits < 0x7C00; ++bits) {
    float value = halfToFloat(uint16_t(bits));
    float back = dl16ToFloat(floatToDl16(value));
    exact += floatToHalf(back) == bits;
    if (value != 0) {
      ASSERT_LE(std::fabs(double(back) / value - 1), 0x1p-10);
    }
  }
  EXPECT_EQ(exact, 16384u);
  // An fp16 infinity survives, since 0x7FFE is above 65504.
  EXPECT_EQ(floatToHalf(dl16ToFloat(floatToDl16(halfToFloat(0x7C00)))), 0x7C00);
  EXPECT_EQ(floatToHalf(dl16ToFloat(floatToDl16(halfToFloat(0xFC00)))), 0xFC00);
}

double halfValue(uint32_t magnitude) {
  uint32_t exponent = magnitude >> 10, fraction = magnitude & 0x3FF;
  return exponent == 0 ? std::ldexp(fraction, -24)
                       : std::ldexp(1024 + fraction, int(exponent) - 25);
}

TEST(Half, EveryPatternDecodesByTheDefinitionAndReturns) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float value = halfToFloat(uint16_t(bits));
    uint32_t magnitude = bits & 0x7FFF;
    ASSERT_EQ(std::signbit(value), bits >= 0x8000) << bits;
    if (magnitude > 0x7C00) {
      ASSERT_TRUE(std::isnan(value));
      ASSERT_EQ(floatToHalf(value), (bits & 0x8000) | 0x7E00);
      continue;
    }
    ASSERT_EQ(std::fabs(double(value)), magnitude == 0x7C00 ? kInfinity : halfValue(magnitude));
    ASSERT_EQ(floatToHalf(value), bits);
  }
}

TEST(Half, EncodesToNearestEven) {
  std::vector<double> grid;
  for (uint32_t magnitude = 0; magnitude <= 0x7C00; ++magnitude) {
    grid.push_back(halfValue(magnitude)); // 0x7C00 stands at 65536, where infinity begins.
  }
  uint64_t faults = 0;
  forStratifiedFloats(24, [&](float value) {
    if (std::isnan(value)) {
      faults += (floatToHalf(value) & 0x7FFF) != 0x7E00;
      return;
    }
    double magnitude = std::fabs(double(value));
    auto above = std::upper_bound(grid.begin(), grid.end(), magnitude);
    auto pattern = uint32_t(above - grid.begin() - 1);
    if (above != grid.end()) {
      double up = *above - magnitude, down = magnitude - grid[pattern];
      pattern += up < down || (up == down && pattern % 2 == 1);
    }
    uint32_t expected = pattern | (std::signbit(value) ? 0x8000 : 0);
    if (floatToHalf(value) != expected && ++faults < 5) {
      ADD_FAILURE() << value << ": " << floatToHalf(value) << " is not " << expected;
    }
  });
  EXPECT_EQ(faults, 0u);
  EXPECT_EQ(floatToHalf(65536.0f), 0x7C00);
  EXPECT_EQ(floatToHalf(65519.996f), 0x7BFF);
  EXPECT_EQ(floatToHalf(65520.0f), 0x7C00);
}

TEST(Bfloat16, EveryPatternIsTheUpperHalfOfAFloat) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float value = bfloat16ToFloat(uint16_t(bits));
    ASSERT_EQ(std::bit_cast<uint32_t>(value), bits << 16);
    if (!std::isnan(value)) {
      ASSERT_EQ(floatToBfloat16(value), bits);
    } else {
      ASSERT_EQ(floatToBfloat16(value), (bits & 0x8000) | 0x7FC0);
    }
  }
}

TEST(Bfloat16, EncodesToNearestEven) {
  uint64_t faults = 0;
  forStratifiedFloats(24, [&](float value) {
    if (std::isnan(value) || std::isinf(value)) {
      return;
    }
    // Neighbours by truncation; the upper one of the largest finite stands at 2^128.
    uint32_t lower = std::bit_cast<uint32_t>(value) >> 16;
    auto grid = [](uint32_t bits) {
      return (bits & 0x7FFF) == 0x7F80 ? 0x1p128
                                       : std::fabs(double(std::bit_cast<float>(bits << 16)));
    };
    double up = grid(lower + 1) - std::fabs(value), down = std::fabs(value) - grid(lower);
    uint32_t expected = lower + (up < down || (up == down && lower % 2 == 1));
    faults += floatToBfloat16(value) != expected;
  });
  EXPECT_EQ(faults, 0u);
  EXPECT_EQ(floatToBfloat16(std::numeric_limits<float>::max()), 0x7F80);
}

TEST(Constants, AreFloatBitsOrDl16Bits) {
  EXPECT_EQ(encodeConstant(1.0, DataFormat::IeeeFp32), 0x3F800000u);
  EXPECT_EQ(encodeConstant(1.0, DataFormat::Sen169Fp16), 0x3E00u);
  EXPECT_EQ(encodeConstant(1.0, DataFormat::IeeeInt32), 0x3E00u);
  EXPECT_EQ(encodeConstant(-1e300, DataFormat::Sen169Fp16), 0xFFFEu);
  EXPECT_EQ(encodeConstant(-1e300, DataFormat::IeeeFp32), 0xFF800000u);
  EXPECT_EQ(encodeConstant(kNan, DataFormat::Sen169Fp16), 0x7FFFu);
}

} // namespace
} // namespace spyre::numerics
