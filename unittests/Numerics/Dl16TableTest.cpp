//===- Dl16TableTest.cpp - tables give the bits of decode, function, encode -----------------===//
#include "spyre/Numerics/Dl16Table.h"

#include "spyre/Numerics/Formats.h"
#include "spyre/Numerics/Functions.h"

#include "gtest/gtest.h"

#include <cstring>
#include <numeric>
#include <thread>

namespace spyre::numerics {
namespace {

std::vector<uint16_t> allPatterns() {
  std::vector<uint16_t> patterns(0x10000);
  std::iota(patterns.begin(), patterns.end(), 0);
  return patterns;
}

TEST(Dl16Table, EveryPatternGivesTheBitsOfTheScalarFunction) {
  struct Row {
    const char *name;
    const Dl16Table &table;
    float (*scalar)(float);
  };
  const Row rows[] = {
      {"exp", dl16Table<expF32>(), expF32},       {"log", dl16Table<logF32>(), logF32},
      {"rsqrt", dl16Table<rsqrtF32>(), rsqrtF32}, {"tanh", dl16Table<tanhF32>(), tanhF32},
      {"erf", dl16Table<erfF32>(), erfF32},       {"sin", dl16Table<sinF32>(), sinF32},
      {"cos", dl16Table<cosF32>(), cosF32},       {"sigmoid", dl16Table<sigmoidF32>(), sigmoidF32},
      {"silu", dl16Table<siluF32>(), siluF32},    {"gelu", dl16Table<geluF32>(), geluF32},
      {"mish", dl16Table<mishF32>(), mishF32}};
  std::vector<uint16_t> in = allPatterns(), out(in.size());
  for (const Row &row : rows) {
    row.table.apply(in.data(), out.data(), int64_t(in.size()));
    for (size_t i = 0; i < in.size(); ++i) {
      ASSERT_EQ(out[i], floatToDl16(row.scalar(dl16ToFloat(in[i])))) << row.name << " " << i;
    }
  }
}

TEST(Dl16Table, WorksInPlaceAtAnyAddressForEveryCount) {
  const Dl16Table &table = dl16Table<expF32>();
  std::vector<uint8_t> bytes(256);
  for (int64_t count = 0; count < 70; ++count) {
    std::iota(bytes.begin(), bytes.end(), 0);
    table.apply(bytes.data() + 1, bytes.data() + 1, count);
    for (int64_t i = 0; i < 100; ++i) {
      uint16_t original = uint16_t(uint16_t(2 * i + 2) << 8 | uint16_t(2 * i + 1)), got = 0;
      std::memcpy(&got, bytes.data() + 1 + 2 * i, 2);
      ASSERT_EQ(got, i < count ? floatToDl16(expF32(dl16ToFloat(original))) : original);
    }
  }
}

TEST(Dl16Table, IsOnePerFunctionForAllThreads) {
  const Dl16Table *tables[2] = {nullptr, nullptr};
  std::thread other([&] { tables[0] = &dl16Table<sqrtF32>(); });
  tables[1] = &dl16Table<sqrtF32>();
  other.join();
  EXPECT_EQ(tables[0], tables[1]);
  EXPECT_NE(tables[0], &dl16Table<reciprocalF32>());
}

} // namespace
} // namespace spyre::numerics
