//===- BulkConversionsTest.cpp - the vectorised loops equal the scalar functions ------------===//
#include "spyre/Base/Random.h"
#include "spyre/Numerics/Formats.h"
#include "spyre/Numerics/Narrowing.h"
#include "spyre/Numerics/Ranges.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

namespace spyre::numerics {
namespace {

std::vector<uint16_t> allPatterns() {
  std::vector<uint16_t> patterns(0x10000);
  std::iota(patterns.begin(), patterns.end(), 0);
  return patterns;
}

TEST(BulkConversions, HalvesEqualTheScalarFunctionsForEveryPattern) {
  std::vector<uint16_t> in = allPatterns(), out(in.size());
  auto expect = [&](const char *what, auto scalar) {
    for (size_t i = 0; i < in.size(); ++i) {
      ASSERT_EQ(out[i], scalar(in[i])) << what << " " << i;
    }
  };
  int64_t count = int64_t(in.size());
  convertHostToDevice(HostType::Float16, in.data(), out.data(), count);
  expect("half to device",
         [](uint16_t bits) { return floatToElement(HostType::Float16, halfToFloat(bits)); });
  convertDeviceToHost(HostType::Float16, in.data(), out.data(), count);
  expect("half to host", [](uint16_t bits) { return floatToHalf(dl16ToFloat(bits)); });
  convertHostToDevice(HostType::Bfloat16, in.data(), out.data(), count);
  expect("bfloat16 to device",
         [](uint16_t bits) { return floatToElement(HostType::Bfloat16, bfloat16ToFloat(bits)); });
  convertDeviceToHost(HostType::Bfloat16, in.data(), out.data(), count);
  expect("bfloat16 to host", [](uint16_t bits) {
    const bool isLargest = (bits & 0x7FFF) == 0x7FFE;
    return isLargest ? uint16_t((bits & 0x8000) | 0x7F80) : floatToBfloat16(dl16ToFloat(bits));
  });
}

// Reading decides what is infinite: the limits are where the bits of the host become infinity.
TEST(Ranges, TheLimitsAreWhereReadingGivesInfinity) {
  const struct {
    HostType type;
    uint16_t infinity;
  } rows[] = {{HostType::Float16, 0x7C00}, {HostType::Bfloat16, 0x7F80}};
  for (const auto &[type, infinity] : rows) {
    for (uint32_t bits = 0; bits < 0x7FFF; ++bits) {
      const auto element = uint16_t(bits);
      uint16_t read = 0;
      convertDeviceToHost(type, &element, &read, 1);
      ASSERT_EQ(read == infinity, dl16ToFloat(element) >= smallestInfinite(type)) << bits;
      ASSERT_EQ(read != infinity, dl16ToFloat(element) < smallestInfinite(type)) << bits;
    }
    const uint16_t largest = floatToDl16(float(largestFinite(type)));
    uint16_t back = 0;
    convertDeviceToHost(type, &largest, &back, 1);
    EXPECT_LT(back, infinity);
  }
  EXPECT_EQ(largestFinite(HostType::Float16), 65472);
  EXPECT_EQ(smallestInfinite(HostType::Float16), 65536);
  EXPECT_EQ(largestFinite(HostType::Bfloat16), 8556380160.0);
  EXPECT_EQ(smallestInfinite(HostType::Bfloat16), 8573157376.0);
}

TEST(Ranges, FiniteNumbersOfTheHostStayFiniteAndInfinitiesInfinite) {
  for (HostType type : {HostType::Float16, HostType::Bfloat16}) {
    const std::vector<uint16_t> in = allPatterns();
    std::vector<uint16_t> device(in.size()), back(in.size());
    convertHostToDevice(type, in.data(), device.data(), int64_t(in.size()));
    convertDeviceToHost(type, device.data(), back.data(), int64_t(in.size()));
    for (size_t i = 0; i < in.size(); ++i) {
      const bool isHalf = type == HostType::Float16;
      const float given = isHalf ? halfToFloat(in[i]) : bfloat16ToFloat(in[i]);
      const float got = isHalf ? halfToFloat(back[i]) : bfloat16ToFloat(back[i]);
      ASSERT_EQ(std::isfinite(given), std::isfinite(got)) << given;
      ASSERT_EQ(std::isinf(given), std::isinf(got)) << given;
    }
  }
}

TEST(Ranges, FloatsRoundOnceAndStayFiniteWhereTheTypeHasThem) {
  const struct {
    HostType type;
    float value;
    uint16_t bits;
  } rows[] = {{HostType::Float16, 65504.0f, 0x5DFF},   {HostType::Float16, -65504.0f, 0xDDFF},
              {HostType::Float16, 65519.0f, 0x5DFF},   {HostType::Float16, 65520.0f, 0x5E00},
              {HostType::Float16, 1e6f, 0x65D1},       {HostType::Bfloat16, 65504.0f, 0x5E00},
              {HostType::Bfloat16, 9e9f, 0x7FFC},      {HostType::Bfloat16, -3e38f, 0xFFFC},
              {HostType::Bfloat16, 3.4e38f, 0x7FFE},   {HostType::Float16, 0.1f, 0x3733},
              {HostType::Bfloat16, -INFINITY, 0xFFFE}, {HostType::Float16, INFINITY, 0x7FFE}};
  for (const auto &row : rows) {
    EXPECT_EQ(floatToElement(row.type, row.value), row.bits) << row.value;
  }
  EXPECT_EQ(floatToElement(HostType::Float16, NAN), 0x7FFF);
  EXPECT_TRUE(isFiniteIn(HostType::Float16, 65519) && !isFiniteIn(HostType::Float16, 65520));
  EXPECT_TRUE(isFiniteIn(HostType::Bfloat16, 3e38) && !isFiniteIn(HostType::Bfloat16, 3.4e38));
  EXPECT_FALSE(isFiniteIn(HostType::Float32, INFINITY) || isFiniteIn(HostType::Float16, NAN));
}

// The loops treat a block by what is in it: here each pattern is alone, then next to all others.
TEST(BulkConversions, NeighboursDoNotChangeAResult) {
  constexpr int64_t kRun = 600;
  Random random(5);
  auto check = [&](auto convert, HostType type) {
    std::vector<uint16_t> in(kRun), out(kRun), alone(0x10000);
    for (uint32_t pattern = 0; pattern < 0x10000; ++pattern) {
      uint16_t one = uint16_t(pattern);
      convert(type, &one, &alone[pattern], 1);
      if (pattern % 16 == 0 || pattern < 0x900 || (pattern & 0x7FFF) < 0x900) {
        std::fill(in.begin(), in.end(), one);
        convert(type, in.data(), out.data(), kRun);
        ASSERT_EQ(std::count(out.begin(), out.end(), alone[pattern]), kRun) << pattern;
      }
    }
    for (int i = 0; i < 2000; ++i) {
      for (uint16_t &bits : in) {
        bits = uint16_t(random.next());
      }
      convert(type, in.data(), out.data(), kRun);
      for (size_t k = 0; k < in.size(); ++k) {
        ASSERT_EQ(out[k], alone[in[k]]) << in[k];
      }
    }
  };
  for (HostType type : {HostType::Float16, HostType::Bfloat16}) {
    check(convertHostToDevice, type);
    check(convertDeviceToHost, type);
  }
}

TEST(BulkConversions, FloatsEqualTheScalarFunctions) {
  std::vector<uint16_t> patterns = allPatterns();
  std::vector<float> floats(patterns.size());
  deviceToFloat(DataFormat::Sen169Fp16, patterns.data(), floats.data(), int64_t(floats.size()));
  for (size_t i = 0; i < floats.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(floats[i]),
              std::bit_cast<uint32_t>(dl16ToFloat(uint16_t(i))));
  }
  Random random(3);
  for (uint32_t upper = 0; upper < 0x10000; ++upper) {
    floats[upper] = std::bit_cast<float>(upper << 16 | uint32_t(random.below(0x10000)));
  }
  floatToDevice(DataFormat::Sen169Fp16, floats.data(), patterns.data(), int64_t(floats.size()));
  for (size_t i = 0; i < floats.size(); ++i) {
    ASSERT_EQ(patterns[i], floatToDl16(floats[i])) << floats[i];
  }
  std::vector<float> copy(floats.size());
  floatToDevice(DataFormat::IeeeFp32, floats.data(), copy.data(), int64_t(floats.size()));
  EXPECT_EQ(std::memcmp(copy.data(), floats.data(), floats.size() * 4), 0);
}

TEST(BulkConversions, BoolIsOneOrZeroAndReadsAsNonZero) {
  std::vector<uint8_t> in(256);
  std::iota(in.begin(), in.end(), 0);
  std::vector<uint16_t> out(in.size());
  convertHostToDevice(HostType::Bool, in.data(), out.data(), 256);
  for (size_t i = 0; i < in.size(); ++i) {
    ASSERT_EQ(out[i], i == 0 ? 0 : 0x3E00);
  }
  std::vector<uint16_t> device = allPatterns();
  std::vector<uint8_t> host(device.size());
  convertDeviceToHost(HostType::Bool, device.data(), host.data(), int64_t(host.size()));
  for (size_t i = 0; i < host.size(); ++i) {
    ASSERT_EQ(host[i], (i & 0x7FFF) == 0 ? 0 : 1) << i;
  }
}

TEST(BulkConversions, Int64BecomesTheNearestOf32Bits) {
  const int64_t host[] = {0, -1, 5, INT64_MIN, INT64_MAX, (int64_t(1) << 32) + 7, 1ll << 31};
  const int32_t expected[] = {0, -1, 5, INT32_MIN, INT32_MAX, INT32_MAX, INT32_MAX};
  int32_t device[7];
  convertHostToDevice(HostType::Int64, host, device, 7);
  int64_t back[7];
  convertDeviceToHost(HostType::Int64, device, back, 7);
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(device[i], expected[i]);
    EXPECT_EQ(back[i], expected[i]);
  }
}

TEST(BulkConversions, ValuesBeyond32BitsAreCounted) {
  std::vector<int64_t> values(1000, INT32_MAX);
  values[3] = INT32_MIN;
  EXPECT_EQ(countBeyondInt32(values.data(), 1000), 0);
  int64_t placed = 0;
  for (int64_t beyond : {int64_t(INT32_MAX) + 1, int64_t(INT32_MIN) - 1, INT64_MAX, INT64_MIN}) {
    values[size_t(7 * placed + 17)] = beyond;
    EXPECT_EQ(countBeyondInt32(values.data(), 1000), ++placed);
  }
  EXPECT_EQ(countBeyondInt32(values.data(), 17), 0);
}

TEST(BulkConversions, BytesAreWordsOnTheDeviceAndWrapOnTheWayBack) {
  std::vector<uint8_t> in(256), host(256);
  std::iota(in.begin(), in.end(), 0);
  std::vector<uint32_t> device(256, 0xEEEEEEEE);
  convertHostToDevice(HostType::Uint8, in.data(), device.data(), 256);
  for (size_t i = 0; i < 256; ++i) {
    EXPECT_EQ(device[i], i);
    device[i] += 0xABC00 + 256 * uint32_t(i);
  }
  convertDeviceToHost(HostType::Uint8, device.data(), host.data(), 256);
  EXPECT_EQ(host, in);
}

TEST(BulkConversions, OtherTypesPassTheirBitsThrough) {
  std::vector<uint8_t> in(256), device(256), host(256);
  std::iota(in.begin(), in.end(), 0);
  for (HostType type : {HostType::Float32, HostType::Int8, HostType::Int16, HostType::Int32,
                        HostType::Float8E4m3fn, HostType::Float8E5m2fnuz}) {
    int64_t count = 256 / hostTypeBytes(type);
    std::fill(device.begin(), device.end(), 0xEE);
    convertHostToDevice(type, in.data(), device.data(), count);
    EXPECT_EQ(device, in) << hostTypeName(type);
    convertDeviceToHost(type, device.data(), host.data(), count);
    EXPECT_EQ(host, in) << hostTypeName(type);
    convertHostToDevice(type, nullptr, nullptr, 0);
  }
}

// Tails of the vector loops and host memory at any byte.
TEST(BulkConversions, AnyCountAndAlignmentGivesTheSameBits) {
  Random random(4);
  std::vector<uint8_t> bytes(4096);
  for (uint8_t &byte : bytes) {
    byte = uint8_t(random.next());
  }
  for (HostType type :
       {HostType::Float16, HostType::Bfloat16, HostType::Bool, HostType::Int64, HostType::Uint8}) {
    int64_t hostBytes = hostTypeBytes(type), deviceBytes = elementBytes(deviceFormat(type));
    std::vector<uint8_t> whole(4096), piece(4096);
    convertHostToDevice(type, bytes.data() + 1, whole.data(), 100);
    for (int64_t count = 0; count < 70; ++count) {
      std::fill(piece.begin(), piece.end(), 0xEE);
      int64_t first = int64_t(random.below(30));
      convertHostToDevice(type, bytes.data() + 1 + first * hostBytes, piece.data() + 3, count);
      ASSERT_EQ(std::memcmp(piece.data() + 3, whole.data() + first * deviceBytes,
                            size_t(count * deviceBytes)),
                0);
      ASSERT_EQ(piece[2], 0xEE);
      ASSERT_EQ(piece[size_t(3 + count * deviceBytes)], 0xEE);
    }
  }
}

} // namespace
} // namespace spyre::numerics
