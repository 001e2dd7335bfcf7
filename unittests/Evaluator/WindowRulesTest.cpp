//===- WindowRulesTest.cpp - convolutions, pooling and running sums by hand -----------------===//
#include "Machine.h"
#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace spyre;
using namespace spyre::evaluator::test;

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// A row of \p values in channel 0, window \p taps wide, walked with \p stride and \p dilation.
Machine alongRow(const char *op, const std::vector<float> &values, int64_t taps, int64_t stride,
                 int64_t dilation) {
  const int64_t cols = int64_t(values.size());
  const int64_t pixels = (cols - (taps - 1) * dilation - 1) / stride + 1;
  std::vector<TensorArg> args{tensor(
      {1, cols, 64}, {tile("c"), Coordinate::window("x", stride, "u", dilation), lane("c")})};
  if (std::string(op) == "depthwiseconv2dnative") {
    args.push_back(tensor({1, taps, 64}, {tile("c"), sym("u"), lane("c")}));
  }
  args.push_back(tensor({1, pixels, 64}, {tile("c"), sym("x"), lane("c")}));
  Machine m(op, {{"x", pixels, 1}, {"c", 1, 1}, {"u", taps, 1}}, std::move(args), true);
  for (int64_t i = 0; i < cols; ++i) {
    m.set(0, i * 64, values[size_t(i)]);
  }
  return m;
}

/// The running sum of \p values in every lane.
Machine running(const std::vector<float> &values) {
  const int64_t rows = int64_t(values.size());
  const std::vector<Coordinate> coordinates{Coordinate::floorDiv("c", 32), sym("s"),
                                            Coordinate::mod("c", 32)};
  Machine m("x_cumsum", {{"c", 32, 1}, {"s", rows, 1}},
            {tensor({1, rows, 32}, coordinates, DataFormat::IeeeFp32),
             tensor({1, rows, 32}, coordinates, DataFormat::IeeeFp32)});
  for (int64_t i = 0; i < rows * 32; ++i) {
    m.set(0, i, values[size_t(i / 32)]);
  }
  return m;
}

} // namespace

TEST(WindowRules, MaxPoolTakesTheLargestAndKeepsNan) {
  Machine m = alongRow("maxpoolfwd", {1, -2, 5, 3, -7, -8}, 2, 2, 1);
  m.run();
  EXPECT_EQ(m.result(0), 1);
  EXPECT_EQ(m.result(64), 5);
  EXPECT_EQ(m.result(128), -7);
  Machine spread = alongRow("maxpoolfwd", {1, kNan, 5, 3, -7}, 2, 1, 2);
  spread.run();
  EXPECT_EQ(spread.result(0), 5);
  EXPECT_TRUE(std::isnan(spread.result(64)));
  EXPECT_EQ(spread.result(128), 5);
}

TEST(WindowRules, AveragePoolMultipliesByNmap) {
  Machine m = alongRow("avgpoolfwd", {1, 2, 6, 7}, 3, 1, 1);
  m.spec.constants = {{"nmap", 0.5}};
  m.run();
  EXPECT_EQ(m.result(0), 4.5f);
  EXPECT_EQ(m.result(64), 7.5f);
  Machine without = alongRow("avgpoolfwd", {1, 2}, 1, 1, 1);
  const Status failed = evaluator::evaluate({without.spec}, without.memory);
  EXPECT_EQ(failed.code(), 1401) << failed.message();
  EXPECT_NE(failed.text().find("'nmap'"), std::string::npos);
}

TEST(WindowRules, DepthwiseRoundsOnceAtTheEnd) {
  Machine m = alongRow("depthwiseconv2dnative", {2048, 1, 3, 0}, 3, 1, 1);
  m.set(1, 0, 1);
  m.set(1, 64, 3);
  m.set(1, 128, 2);
  m.run();
  // 2048 + 3 + 6 in one rounding of ten bits: 2057 -> 2056. Rounded after each step it is 2060.
  EXPECT_EQ(m.result(0), 2056);
  EXPECT_EQ(m.result(64), 10);
}

TEST(WindowRules, ConvolutionSumsWindowsBeforeChannels) {
  // Two input channels, window of two: 1e9 + 1 - 1e9 ... is lost only in one order.
  Machine m("conv2d", {{"x", 1, 1}, {"c", 1, 1}, {"u", 2, 1}, {"k", 2, 1}},
            {tensor({1, 2, 64}, {tile("k"), Coordinate::window("x", 1, "u", 1), lane("k")}),
             tensor({2, 64, 64}, {sym("u"), sym("k"), lane("c")}),
             tensor({1, 1, 64}, {tile("c"), sym("x"), lane("c")})},
            true);
  const float large = 16777216 * 4;
  m.set(0, 0, large);   // u 0, k 0
  m.set(0, 1, 1);       // u 0, k 1: lost
  m.set(0, 64, -large); // u 1, k 0
  m.set(0, 65, 1);      // u 1, k 1: kept
  for (int64_t u = 0; u < 2; ++u) {
    for (int64_t k = 0; k < 2; ++k) {
      m.set(1, (u * 64 + k) * 64, 1);
    }
  }
  m.run();
  EXPECT_EQ(m.result(0), 1);
}

TEST(ScanRules, RunningSumStartsWithZeroAndAscends) {
  Machine m = running({-0.0f, 1.5f, 16777216, 1, -16777216});
  m.run();
  const float wanted[] = {0, 1.5f, 16777218, 16777220, 4};
  for (int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(m.result(i * 32 + 7), wanted[i]) << i;
  }
  EXPECT_FALSE(std::signbit(m.result(0)));
}

TEST(ScanRules, IntegersWrapAndHalvesAreRefused) {
  Machine m = running({0, 0});
  for (TensorArg &arg : m.spec.args) {
    arg.deviceDtype = DataFormat::IeeeInt32;
  }
  const int32_t values[] = {INT32_MAX, 2};
  for (int i = 0; i < 2; ++i) {
    std::memcpy(&m.memory.arguments[0][size_t(i) * 128], &values[i], 4);
  }
  ASSERT_TRUE(evaluator::evaluate({m.spec}, m.memory).ok());
  int32_t result = 0;
  std::memcpy(&result, &m.memory.arguments[1][128], 4);
  EXPECT_EQ(result, INT32_MIN + 1);

  Machine half = alongRow("maxpoolfwd", {1, 2}, 1, 1, 1);
  half.spec.op = "x_cumsum";
  half.spec.isReduction = false;
  half.spec.iterationSpace = {{"c", 1, 1}, {"x", 2, 1}};
  half.spec.args[0].deviceCoordinates[1] = sym("x");
  const Status failed = evaluator::evaluate({half.spec}, half.memory);
  EXPECT_EQ(failed.code(), 1401) << failed.message();
  EXPECT_NE(failed.text().find("IEEE_FP32 or IEEE_INT32"), std::string::npos);
}
