//===- LaneFunctionsTest.cpp - special values and roundings of the simple lane functions ----===//
#include "spyre/Numerics/Functions.h"

#include "gtest/gtest.h"

namespace spyre::numerics {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kLargest = std::numeric_limits<float>::max();
constexpr float kTiniest = std::numeric_limits<float>::denorm_min();
/// A NaN whose sign and payload must not come through.
const float kOddNan = std::bit_cast<float>(0xFF812345u);

uint32_t bits(float value) { return std::bit_cast<uint32_t>(value); }

/// Same bits, so that -0 is not 0 and only the one quiet NaN is NaN.
void expectIs(float got, float wanted) {
  EXPECT_EQ(bits(got), bits(wanted)) << got << " " << wanted;
}

TEST(LaneFunctions, EveryNanResultIsTheOneQuietNan) {
  for (float nan : {kNan, -kNan, kOddNan}) {
    for (float result : {subF32(nan, 1),
                         subF32(1, nan),
                         divF32(nan, 1),
                         divF32(1, nan),
                         minF32(nan, 1),
                         minF32(1, nan),
                         maxF32(nan, 1),
                         maxF32(1, nan),
                         negF32(nan),
                         absF32(nan),
                         floorF32(nan),
                         reluF32(nan),
                         relu6F32(nan),
                         leakyReluF32(nan, 1),
                         leakyReluF32(-1, nan),
                         clipF32(nan, 0, 1),
                         clipF32(0, nan, 1),
                         clipF32(0, 0, nan),
                         addSquareF32(nan, 1),
                         addSquareF32(1, nan),
                         maxAbsF32(nan, 1),
                         maxAbsF32(1, nan),
                         layerNormScaleF32(nan, 1, 1),
                         layerNormScaleF32(1, nan, 1),
                         layerNormScaleF32(1, 1, nan),
                         layerNormNormF32(nan, 1, 1, 1, 1),
                         layerNormNormF32(1, 1, 1, 1, nan)}) {
      expectIs(result, kNan);
    }
  }
}

TEST(LaneFunctions, SubAndDivAreIeee) {
  expectIs(subF32(1, 1), 0.0f);
  expectIs(subF32(-0.0f, 0.0f), -0.0f);
  expectIs(subF32(kInfinity, kInfinity), kNan);
  expectIs(subF32(0x1p24f, -1), 0x1p24f); // a tie goes to even
  expectIs(divF32(1, 3), 0x1.555556p-2f);
  expectIs(divF32(1, -0.0f), -kInfinity);
  expectIs(divF32(0, 0), kNan);
  expectIs(divF32(kInfinity, kInfinity), kNan);
  expectIs(divF32(-1, kInfinity), -0.0f);
  expectIs(divF32(kTiniest, 2), 0.0f);
}

TEST(LaneFunctions, MinAndMaxOfTwoZerosAreTheSecond) {
  expectIs(minF32(1, 2), 1);
  expectIs(minF32(-kInfinity, 5), -kInfinity);
  expectIs(minF32(0.0f, -0.0f), -0.0f);
  expectIs(minF32(-0.0f, 0.0f), 0.0f);
  expectIs(maxF32(0.0f, -0.0f), -0.0f);
  expectIs(maxF32(-0.0f, 0.0f), 0.0f);
}

TEST(LaneFunctions, NegAbsAndFloorAreExact) {
  expectIs(negF32(0.0f), -0.0f);
  expectIs(negF32(-kInfinity), kInfinity);
  expectIs(absF32(-0.0f), 0.0f);
  expectIs(absF32(-kTiniest), kTiniest);
  expectIs(floorF32(-0.0f), -0.0f);
  expectIs(floorF32(0.99999994f), 0.0f);
  expectIs(floorF32(-kTiniest), -1.0f);
  expectIs(floorF32(-2.5f), -3.0f);
  expectIs(floorF32(2.5f), 2.0f);
  expectIs(floorF32(8388607.5f), 8388607.0f);
  expectIs(floorF32(-8388607.5f), -8388608.0f);
  expectIs(floorF32(kLargest), kLargest);
  expectIs(floorF32(-kInfinity), -kInfinity);
}

TEST(LaneFunctions, ReluLeakyReluAndClipFollowTheDefinitions) {
  expectIs(reluF32(-0.0f), 0.0f);
  expectIs(reluF32(-kInfinity), 0.0f);
  expectIs(reluF32(kTiniest), kTiniest);
  expectIs(relu6F32(6.5f), 6.0f);
  expectIs(relu6F32(kInfinity), 6.0f);
  expectIs(relu6F32(-0.0f), 0.0f);
  expectIs(relu6F32(5.5f), 5.5f);
  expectIs(leakyReluF32(-2, 0.25f), -0.5f);
  expectIs(leakyReluF32(2, 0.25f), 2);
  expectIs(leakyReluF32(-0.0f, 0.25f), -0.0f);
  expectIs(leakyReluF32(-kInfinity, 0), kNan);
  expectIs(clipF32(5, -1, 1), 1);
  expectIs(clipF32(-5, -1, 1), -1);
  expectIs(clipF32(kInfinity, -kInfinity, kInfinity), kInfinity);
  // Crossed limits: the upper one wins.
  expectIs(clipF32(0, 2, 1), 1);
}

TEST(LaneFunctions, ComparisonsGiveOneOrZero) {
  struct Row {
    float a, b, equal, notEqual, greaterEqual, greater, lessEqual, less;
  };
  const Row rows[] = {{1, 2, 0, 1, 0, 0, 1, 1},        {2, 1, 0, 1, 1, 1, 0, 0},
                      {0.0f, -0.0f, 1, 0, 1, 0, 1, 0}, {kInfinity, kInfinity, 1, 0, 1, 0, 1, 0},
                      {kNan, 1, 0, 1, 0, 0, 0, 0},     {1, kOddNan, 0, 1, 0, 0, 0, 0},
                      {kNan, kNan, 0, 1, 0, 0, 0, 0}};
  for (const Row &row : rows) {
    expectIs(equalF32(row.a, row.b), row.equal);
    expectIs(notEqualF32(row.a, row.b), row.notEqual);
    expectIs(greaterEqualF32(row.a, row.b), row.greaterEqual);
    expectIs(greaterF32(row.a, row.b), row.greater);
    expectIs(lessEqualF32(row.a, row.b), row.lessEqual);
    expectIs(lessF32(row.a, row.b), row.less);
  }
}

TEST(LaneFunctions, ReductionStepsFollowTheDefinitions) {
  // The square is rounded before the sum: fused it would be 2^-46.
  expectIs(addSquareF32(-1 - 0x1p-22f, 1 + 0x1p-23f), 0.0f);
  expectIs(addSquareF32(1, -3), 10);
  expectIs(addSquareF32(-kInfinity, 1e30f), kNan);
  expectIs(maxAbsF32(1, -3), 3);
  expectIs(maxAbsF32(0.0f, -0.0f), 0.0f);
  expectIs(maxAbsF32(5, -3), 5);
  expectIs(maxAbsF32(-kInfinity, -kInfinity), kInfinity);
}

TEST(LaneFunctions, LayerNormRoundsEveryStep) {
  expectIs(layerNormScaleF32(2, 8, 0), 0.5f);
  expectIs(layerNormScaleF32(0, 0, 0), kInfinity);
  // A variance is not below zero, whatever the rounding of the pair left of it.
  expectIs(layerNormScaleF32(2, 1, 0), kInfinity);
  expectIs(layerNormScaleF32(2, 3.5f, 0.25f), 2.0f);
  // mean * mean is 1 + 2^-22 + 2^-46; the last term is lost before the subtraction.
  expectIs(layerNormScaleF32(1 + 0x1p-23f, 1 + 0x1p-22f, 0x1p-40f), 0x1p20f);
  // meanOfSquares - mean * mean is 1 + 2^-23; adding 2^-24 is a tie, which goes to the even 1 +
  // 2^-22.
  expectIs(layerNormScaleF32(0, 1 + 0x1p-23f, 0x1p-24f), rsqrtF32(1 + 0x1p-22f));
  expectIs(layerNormNormF32(3, 1, 2, 5, 7), 27);
  // The first product is 1 + 2^-22 after rounding; a fused or exact one would leave 2^-46.
  expectIs(layerNormNormF32(1 + 0x1p-23f, 0, 1 + 0x1p-23f, 1, -1 - 0x1p-22f), 0.0f);
  // x - mean loses the 1 first.
  expectIs(layerNormNormF32(0x1p25f, 1, 1, 1, -0x1p25f), 0.0f);
}

} // namespace
} // namespace spyre::numerics
