//===- FunctionsTest.cpp - accuracy and special values of the vector unit's functions -------===//
#include "spyre/Numerics/Functions.h"

#include "spyre/Base/Random.h"

#include "gtest/gtest.h"

#include <vector>

namespace spyre::numerics {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> stratifiedFloats() {
  std::vector<float> values;
  Random random(5);
  for (uint32_t upper = 0; upper < 0x10000; ++upper) {
    for (int i = 0; i < 8; ++i) {
      values.push_back(std::bit_cast<float>(upper << 16 | uint32_t(random.below(0x10000))));
    }
  }
  // Half of all patterns overflow or give 1; the rest of the sample lies where exp is interesting.
  for (int i = 0; i < (1 << 19); ++i) {
    values.push_back(random.uniform(-105, 90));
  }
  return values;
}

/// Distance from the true value in units of the last place of the float nearest to it.
double errorInUlps(float result, double truth) {
  int exponent = std::max(std::ilogb(truth), -126);
  return std::fabs(double(result) - truth) / std::ldexp(1.0, exponent - 23);
}

TEST(Exp, IsWithinOneUlpOfTheTrueValue) {
  double worst = 0;
  for (float x : stratifiedFloats()) {
    float result = expF32(x);
    if (std::isnan(x)) {
      ASSERT_TRUE(std::isnan(result));
      continue;
    }
    double truth = std::exp(double(x));
    if (static_cast<float>(truth) == kInfinity) {
      ASSERT_EQ(result, kInfinity) << x;
    } else if (truth == 0) {
      ASSERT_EQ(result, 0.0f) << x;
    } else {
      worst = std::max(worst, errorInUlps(result, truth));
    }
  }
  // The policy allows 1; our method promises a correct rounding but for rare near-ties.
  EXPECT_LE(worst, 0.501);
}

TEST(Exp, SpecialValues) {
  EXPECT_EQ(expF32(0.0f), 1.0f);
  EXPECT_EQ(expF32(-0.0f), 1.0f);
  EXPECT_EQ(expF32(std::numeric_limits<float>::denorm_min()), 1.0f);
  EXPECT_EQ(expF32(kInfinity), kInfinity);
  EXPECT_EQ(expF32(-kInfinity), 0.0f);
  EXPECT_EQ(expF32(-std::numeric_limits<float>::max()), 0.0f);
  EXPECT_EQ(std::bit_cast<uint32_t>(expF32(-kNan)), 0x7FC00000u);
  // The last finite result and the first infinite one; the smallest subnormal and the first zero.
  EXPECT_LT(expF32(88.72283f), kInfinity);
  EXPECT_EQ(expF32(88.72284f), kInfinity);
  EXPECT_EQ(expF32(-103.97207f), 0x1p-149f);
  EXPECT_EQ(expF32(-103.97209f), 0.0f);
}

TEST(Exp, ArrayFormGivesTheSameBits) {
  std::vector<float> in = stratifiedFloats(), out(in.size());
  expF32(in.data(), out.data(), int64_t(in.size()));
  for (size_t i = 0; i < in.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(out[i]), std::bit_cast<uint32_t>(expF32(in[i]))) << in[i];
  }
  // One number for all results: another host or compiler must not change a bit.
  uint64_t hash = 0xCBF29CE484222325ull;
  for (float value : out) {
    hash = (hash ^ std::bit_cast<uint32_t>(value)) * 0x100000001B3ull;
  }
  EXPECT_EQ(hash, 10714446460863444517ull);
  // In place, with every length of the vector loop's tail.
  for (int64_t count = 0; count < 40; ++count) {
    std::vector<float> inPlace(in.end() - 41, in.end());
    expF32(inPlace.data(), inPlace.data(), count);
    for (int64_t i = 0; i < 41; ++i) {
      float original = in[in.size() - 41 + size_t(i)];
      ASSERT_EQ(inPlace[size_t(i)], i < count ? expF32(original) : original);
    }
  }
}

TEST(Max, PropagatesNan) {
  EXPECT_EQ(maxF32(1, 2), 2);
  EXPECT_EQ(maxF32(-kInfinity, -5), -5);
  EXPECT_TRUE(std::isnan(maxF32(kNan, 1)));
  EXPECT_TRUE(std::isnan(maxF32(1, kNan)));
}

TEST(Arithmetic, EveryNanResultIsTheOneQuietNan) {
  auto bits = [](float value) { return std::bit_cast<uint32_t>(value); };
  EXPECT_EQ(bits(addF32(kInfinity, -kInfinity)), 0x7FC00000u);
  EXPECT_EQ(bits(addF32(-kNan, 1)), 0x7FC00000u);
  EXPECT_EQ(bits(mulF32(0, kInfinity)), 0x7FC00000u);
  EXPECT_EQ(bits(mulF32(1, std::bit_cast<float>(0xFF812345u))), 0x7FC00000u);
  EXPECT_EQ(bits(fmaF32(kInfinity, 1, -kInfinity)), 0x7FC00000u);
}

TEST(Fma, RoundsOnce) {
  // (1 + 2^-23)^2 - 1 - 2^-22 is exactly 2^-46; with two roundings it would be 0.
  EXPECT_EQ(fmaF32(1 + 0x1p-23f, 1 + 0x1p-23f, -1 - 0x1p-22f), 0x1p-46f);
}

} // namespace
} // namespace spyre::numerics
