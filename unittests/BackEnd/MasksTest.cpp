//===- MasksTest.cpp - padding never reaches a sum ------------------------------------------===//
//
// log(x) @ y with K = 67: the lanes of log(x) beyond K hold the logarithm of whatever lay in the
// padding of x, and the rows of y beyond K whatever lay there. Neither may count.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Random.h"

#include "Harness.h"
#include "Specs.h"
#include "Support/Tolerance.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>

namespace spyre::backend::test {

namespace {

constexpr int64_t kM = 12, kK = 67, kN = 70;
constexpr int64_t kPaddedK = 128;

double elementOf(const std::vector<uint8_t> &bytes, int64_t index) {
  uint16_t bits = 0;
  std::memcpy(&bits, bytes.data() + 2 * index, 2);
  return double(numerics::dl16ToFloat(bits));
}

/// Lanes of a tensor of stick columns with \p rows sticks each.
int64_t at(int64_t row, int64_t column, int64_t rows) {
  return (column / 64 * rows + row) * 64 + column % 64;
}

/// What no sum survives: not a number, the largest number, a large negative one.
void fillGarbage(std::vector<uint8_t> &bytes) {
  static constexpr uint16_t kGarbage[] = {0x7FFF, 0x7FFE, 0xFFFE, 0x0000};
  for (size_t e = 0; 2 * e < bytes.size(); ++e) {
    std::memcpy(bytes.data() + 2 * e, &kGarbage[e % 4], 2);
  }
}

void fillMatrix(std::vector<uint8_t> &bytes, int64_t rows, int64_t columns, int64_t memoryRows,
                float low, float high, Random &random) {
  fillGarbage(bytes);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      const uint16_t bits = numerics::floatToDl16(random.uniform(low, high));
      std::memcpy(bytes.data() + 2 * at(r, c, memoryRows), &bits, 2);
    }
  }
}

/// x [12, 67], log(x), y [67, 70] with room for 128 rows, result [12, 70]; K over \p kCores cores.
std::vector<OpSpec> logThenMatmul(int64_t mCores, int64_t kCores) {
  const Shape x{{"c1", "c0"}, "c1"};
  OpSpec log = opOf("log", {{"c0", kM, mCores}, {"c1", kK, 1}}, {x, x});
  OpSpec mm = opOf("batchmatmul", {{"c0", kM, mCores}, {"c1", kN, 1}, {"c2", kK, kCores}},
                   {{{"c2", "c0"}, "c2"}, {{"c1", "c2"}, "c1"}, {{"c1", "c0"}, "c1"}});
  mm.args[1].deviceSize[2] = kPaddedK;
  for (size_t i = 0; i < 3; ++i) {
    mm.args[i].argIndex = int64_t(i) + 1;
    mm.args[i].address = int64_t(i + 1) << 34;
  }
  return {log, mm};
}

class LogMatmul : public ::testing::TestWithParam<std::pair<int64_t, int64_t>> {};

} // namespace

TEST_P(LogMatmul, IsRightWithAnUnalignedK) {
  auto [mCores, kCores] = GetParam();
  const std::vector<OpSpec> specs = logThenMatmul(mCores, kCores);
  Random random(67);
  evaluator::Memory expected;
  for (int64_t sticks : {2 * kM, 2 * kM, 2 * kPaddedK, 2 * kM}) {
    expected.arguments.emplace_back(size_t(sticks * 128));
    fillGarbage(expected.arguments.back());
  }
  fillMatrix(expected.arguments[0], kM, kK, kM, 0.1f, 4.0f, random);
  fillMatrix(expected.arguments[2], kK, kN, kPaddedK, -1.0f, 1.0f, random);
  evaluator::Memory actual = expected;
  const Status evaluated = evaluator::evaluate(specs, expected);
  ASSERT_TRUE(evaluated.ok()) << evaluated.message();
  const arch::DeviceDesc device = presetDevice("tiny");
  Expected<program::Program> program = lowerAll(specs, device);
  ASSERT_TRUE(program.ok()) << program.status().message();
  Card card(device);
  const Status ran = card.run(*program, actual);
  ASSERT_TRUE(ran.ok()) << ran.text();
  EXPECT_EQ(actual.arguments, expected.arguments);
  EXPECT_GT(card.counters.pt_macs, 0u);

  // The log is rounded once more than the terms of a product.
  const double relative = spyre::testing::tolerance("matmul", "float16", kK) +
                          spyre::testing::tolerance("pointwise", "float16");
  for (int64_t m = 0; m < kM; ++m) {
    for (int64_t n = 0; n < kN; ++n) {
      double want = 0, magnitude = 0;
      for (int64_t k = 0; k < kK; ++k) {
        const double term = std::log(elementOf(actual.arguments[0], at(m, k, kM))) *
                            elementOf(actual.arguments[2], at(k, n, kPaddedK));
        want += term;
        magnitude += std::fabs(term);
      }
      EXPECT_NEAR(elementOf(actual.arguments[3], at(m, n, kM)), want, relative * magnitude)
          << m << ", " << n;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Divisions, LogMatmul,
                         ::testing::Values(std::pair<int64_t, int64_t>{1, 1},
                                           std::pair<int64_t, int64_t>{3, 1},
                                           std::pair<int64_t, int64_t>{1, 2},
                                           std::pair<int64_t, int64_t>{2, 2}),
                         [](const ::testing::TestParamInfo<std::pair<int64_t, int64_t>> &info) {
                           return fmt::format("m{}k{}", info.param.first, info.param.second);
                         });

// DLFloat16 has no infinity: the constants of masks are its largest numbers [ADR 0004].
TEST(Masks, HaveFiniteConstants) {
  for (auto [op, bits] : {std::pair{"max", 0xFFFEu}, {"min", 0x7FFEu}, {"sum", 0u}}) {
    OpSpec spec = opOf(op, {{"c0", 4, 1}, {"c1", 100, 1}}, {{{"c1", "c0"}, "c1"}, {{"c0"}, ""}});
    spec.isReduction = true;
    Expected<spec::SuperDsc> dsc = throughJson(spec, 0);
    ASSERT_TRUE(dsc.ok()) << dsc.status().message();
    ASSERT_EQ(dsc->constants.size(), 1u) << op;
    EXPECT_EQ(dsc->constants[0].name, "samv-maskvalue");
    EXPECT_EQ(dsc->constants[0].bits, bits) << op;
    EXPECT_EQ(dsc->masking, (spec::DimMap<std::pair<int64_t, int64_t>>{
                                {"out", std::pair<int64_t, int64_t>(100, 28)}}));
  }
}

} // namespace spyre::backend::test
