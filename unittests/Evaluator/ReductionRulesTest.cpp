//===- ReductionRulesTest.cpp - absmax, exx2 and top-k by hand ------------------------------===//
#include "Machine.h"
#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace spyre;
using namespace spyre::evaluator::test;

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// One row of \p values, reduced along the stick into one value per stick; the padding is 99.
Machine alongStick(const char *op, const std::vector<float> &values, int64_t cores = 1) {
  const int64_t cols = int64_t(values.size());
  Machine m(op, {{"c0", 1, 1}, {"c1", cols, cores}},
            {matrix(1, cols), tensor({1, 1, 64}, {fixed(), sym("c0"), fixed()})}, true);
  for (int64_t col = 0; col < (cols + 63) / 64 * 64; ++col) {
    m.set(0, col, col < cols ? values[size_t(col)] : 99);
  }
  return m;
}

/// The \p k largest of \p values in every lane of a stick.
Machine largest(const char *op, const std::vector<float> &values, int64_t k, DataFormat result) {
  const int64_t rows = int64_t(values.size()), lanes = numerics::elemsPerStick(result);
  Machine m(
      op, {{"k", k, 1}, {"c", 64, 1}, {"r", rows, 1}},
      {tensor({1, rows, 64}, {tile("c"), sym("r"), lane("c")}),
       tensor({64 / lanes, k, lanes},
              {Coordinate::floorDiv("c", lanes), sym("k"), Coordinate::mod("c", lanes)}, result)},
      true);
  for (int64_t i = 0; i < rows * 64; ++i) {
    m.set(0, i, values[size_t(i / 64)]);
  }
  return m;
}

} // namespace

TEST(ReductionRules, AbsMaxTakesMagnitudesAndPropagatesNan) {
  Machine m = alongStick("absmax", {1, -7, 5});
  m.run();
  EXPECT_EQ(m.result(0), 7);
  EXPECT_EQ(m.result(63), 7);
  Machine zeros = alongStick("absmax", {-0.0f, -0.0f});
  zeros.run();
  EXPECT_EQ(zeros.bits(1, 0), 0);
  Machine nan = alongStick("absmax", {1, kNan, 5});
  nan.run();
  EXPECT_TRUE(std::isnan(nan.result(0)));
}

TEST(ReductionRules, Exx2GivesMeanAndMeanOfSquares) {
  for (const bool zeroMean : {false, true}) {
    Machine m = alongStick("exx2", {1, -3, 2, 4});
    m.spec.constants = {{"exx2scale", 0.25}, {"useZeroMean", zeroMean ? 1.0 : 0.0}};
    m.run();
    EXPECT_EQ(m.result(0), zeroMean ? 0 : 1);
    EXPECT_EQ(m.result(1), 7.5f);
    for (int64_t lane = 2; lane < 64; ++lane) {
      EXPECT_EQ(m.bits(1, lane), 0);
    }
  }
  Machine named = alongStick("exx2_zeromean", {1, -3, 2, 4});
  named.spec.constants = {{"exx2scale", 0.25}};
  named.run();
  EXPECT_EQ(named.result(0), 0);
  EXPECT_EQ(named.result(1), 7.5f);
}

TEST(ReductionRules, Exx2AddsTheSlicesOfSeveralCores) {
  Machine m = alongStick("exx2", std::vector<float>(192, 2), 3);
  m.spec.constants = {{"exx2scale", 1.0 / 64}};
  m.run();
  EXPECT_EQ(m.result(0), 6);
  EXPECT_EQ(m.result(1), 12);
}

TEST(ReductionRules, Exx2NeedsItsScaleAndTheStick) {
  Machine m = alongStick("exx2", {1, 2});
  EXPECT_EQ(evaluate({m.spec}, m.memory).code(), 1401);
  Machine beside("exx2", {{"c1", 64, 1}, {"c0", 2, 1}},
                 {matrix(2, 64), tensor({1, 1, 64}, {tile("c1"), fixed(), lane("c1")})}, true);
  beside.spec.constants = {{"exx2scale", 0.5}};
  EXPECT_EQ(evaluate({beside.spec}, beside.memory).code(), 1401);
}

TEST(ReductionRules, TopKValueIsDescendingWithNanFirst) {
  Machine m = largest("topkvalue", {3, 7, -1, kNan, 7}, 4, DataFormat::Sen169Fp16);
  m.run();
  EXPECT_TRUE(std::isnan(m.result(0)));
  EXPECT_EQ(m.result(64), 7);
  EXPECT_EQ(m.result(128), 7);
  EXPECT_EQ(m.result(192 + 63), 3);
}

TEST(ReductionRules, TopKIndexIsInt32WithTheLowerIndexFirst) {
  Machine m = largest("topkindex", {3, 7, -1, kNan, 7}, 3, DataFormat::IeeeInt32);
  m.run();
  for (const int64_t half : {0, 1}) {
    const int64_t first = half * 3 * 32 + 31;
    EXPECT_EQ(m.result(first), 3);
    EXPECT_EQ(m.result(first + 32), 1);
    EXPECT_EQ(m.result(first + 64), 4);
  }
}

TEST(ReductionRules, TopKRefusesWhatItCannotFind) {
  Machine many = largest("topkvalue", {1, 2}, 3, DataFormat::Sen169Fp16);
  EXPECT_EQ(evaluate({many.spec}, many.memory).code(), 1401);
  Machine wrong = largest("topkindex", {1, 2}, 1, DataFormat::IeeeFp32);
  EXPECT_EQ(evaluate({wrong.spec}, wrong.memory).code(), 1401);
}
