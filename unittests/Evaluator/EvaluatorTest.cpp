//===- EvaluatorTest.cpp - the reference semantics on cases computed by hand ----------------===//
//
// Values are chosen so that the expected result is exact in DLFloat16 (9 fraction bits) unless the
// rounding itself is the point. Memory is compared by lane: padding lanes are part of the contract.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Random.h"
#include "spyre/Numerics/Functions.h"

#include "Machine.h"
#include "Support/Tolerance.h"
#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace spyre;
using namespace spyre::evaluator::test;
using evaluator::evaluate;
using evaluator::Memory;

TEST(Evaluator, AddsWithRowColumnAndScalarBroadcast) {
  const TensorArg row = tensor({1, 2, 64}, {fixed(), tile("c1"), lane("c1")});
  const TensorArg column = tensor({1, 3, 64}, {fixed(), sym("c0"), fixed()});
  const TensorArg scalar = tensor({1, 1, 64}, {fixed(), fixed(), fixed()});
  for (const auto &[left, right] : {std::pair(row, column), std::pair(scalar, matrix(3, 100))}) {
    Machine m("add", {{"c0", 3, 1}, {"c1", 100, 1}}, {left, right, matrix(3, 100)});
    for (int64_t i = 0; i < int64_t(m.memory.arguments[0].size()) / 2; ++i) {
      m.set(0, i, float(i));
    }
    for (int64_t i = 0; i < int64_t(m.memory.arguments[1].size()) / 2; ++i) {
      m.set(1, i, float(i % 192) * 2);
    }
    m.run();
    for (int64_t r = 0; r < 3; ++r) {
      for (int64_t c = 0; c < 128; ++c) { // the padding lanes 100..127 too
        const bool isRow = left.deviceSize[1] == 2;
        const float expected = isRow ? float(c) + float(r * 64) * 2 : float(at(3, r, c) % 192) * 2;
        EXPECT_EQ(m.result(at(3, r, c)), expected) << r << " " << c;
      }
    }
  }
}

TEST(Evaluator, ThreeDimensionsWithAPermutedInput) {
  // x[b][r][c] stored with b next to the stick, the result with r next to it; y has no b.
  Machine m("mul", {{"b", 2, 1}, {"r", 3, 1}, {"c1", 64, 1}},
            {tensor({3, 1, 2, 64}, {sym("r"), tile("c1"), sym("b"), lane("c1")}),
             tensor({1, 1, 3, 64}, {fixed(), tile("c1"), sym("r"), lane("c1")}),
             tensor({2, 1, 3, 64}, {sym("b"), tile("c1"), sym("r"), lane("c1")})});
  for (int64_t b = 0; b < 2; ++b) {
    for (int64_t r = 0; r < 3; ++r) {
      m.set(0, (r * 2 + b) * 64 + 7, float(10 * b + r));
    }
  }
  for (int64_t r = 0; r < 3; ++r) {
    m.set(1, r * 64 + 7, float(r + 1));
  }
  m.run();
  for (int64_t b = 0; b < 2; ++b) {
    for (int64_t r = 0; r < 3; ++r) {
      EXPECT_EQ(m.result((b * 3 + r) * 64 + 7), float((10 * b + r) * (r + 1)));
    }
  }
}

// 1 + 2^-10 is half way between two DLFloat16 numbers: ties go away from zero, once.
TEST(Evaluator, RoundsOnceToTheDeviceFormat) {
  Machine m("add", {{"c0", 1, 1}, {"c1", 64, 1}}, {matrix(1, 64), matrix(1, 64), matrix(1, 64)});
  m.set(0, 0, 1.0f);
  m.set(1, 0, 0x1p-10f);
  m.setBits(0, 1, 0x7FFE); // overflow saturates
  m.setBits(1, 1, 0x7FFE);
  m.setBits(0, 2, 0x7FFF); // NaN stays NaN
  m.set(1, 2, 1.0f);
  m.run();
  EXPECT_EQ(m.result(0), 1.0f + 0x1p-9f);
  EXPECT_EQ(m.bits(2, 1), 0x7FFE);
  EXPECT_EQ(m.bits(2, 2) & 0x7FFF, 0x7FFF);
}

TEST(Evaluator, ExpIsTheDocumentedFunction) {
  const std::vector<Coordinate> c = {Coordinate::floorDiv("c0", 32), Coordinate::mod("c0", 32)};
  Machine m("exp", {{"c0", 40, 1}},
            {tensor({2, 32}, c, DataFormat::IeeeFp32), tensor({2, 32}, c, DataFormat::IeeeFp32)});
  for (int64_t i = 0; i < 64; ++i) {
    m.set(0, i, float(i) * 0.25f - 5);
  }
  m.run();
  const double relative = spyre::testing::tolerance("exp", "float32");
  for (int64_t i = 0; i < 64; ++i) {
    EXPECT_EQ(m.result(i), numerics::expF32(float(i) * 0.25f - 5));
    EXPECT_NEAR(m.result(i), std::exp(double(i) * 0.25 - 5), relative * m.result(i));
  }
}

TEST(Evaluator, Where3TakesAnyNonZeroConditionAsTrue) {
  Machine m("where3", {{"c0", 1, 1}, {"c1", 64, 1}},
            {matrix(1, 64), matrix(1, 64), matrix(1, 64), matrix(1, 64)});
  const float conditions[] = {0.0f, 1.0f, -3.0f, 0x1p-30f};
  for (int64_t i = 0; i < 4; ++i) {
    m.set(0, i, conditions[i]);
    m.set(1, i, 10);
    m.set(2, i, 20);
  }
  m.setBits(0, 4, 0x8000); // -0 is zero
  m.set(2, 4, 20);
  m.run();
  const float expected[] = {20, 10, 10, 10, 20};
  for (int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(m.result(i), expected[i]) << i;
  }
}

TEST(Evaluator, IdentityCopiesBitsIntoASlice) {
  // Rows 2..3 and stick column 1 of the output; everything else stays.
  Machine m("identity", {{"c0", 2, 1}, {"c1", 64, 1}},
            {matrix(2, 64), tensor({2, 5, 64}, {tile("c1", 1), sym("c0", 2), lane("c1")})});
  for (int64_t i = 0; i < 128; ++i) {
    m.setBits(0, i, uint16_t(0x8000 + i));
  }
  for (int64_t i = 0; i < 2 * 5 * 64; ++i) {
    m.setBits(1, i, 0x1234);
  }
  m.run();
  for (int64_t r = 0; r < 5; ++r) {
    for (int64_t c = 0; c < 128; ++c) {
      const bool inside = r >= 2 && r < 4 && c >= 64;
      EXPECT_EQ(m.bits(1, at(5, r, c)), inside ? 0x8000 + (r - 2) * 64 + c - 64 : 0x1234);
    }
  }
}

TEST(Evaluator, IdentityCopiesIntegers) {
  const std::vector<Coordinate> c = {fixed(), Coordinate::mod("c0", 32)};
  Machine m("identity", {{"c0", 32, 1}},
            {tensor({1, 32}, c, DataFormat::IeeeInt32), tensor({1, 32}, c, DataFormat::IeeeInt32)});
  const int32_t value = -123456789;
  std::memcpy(m.memory.arguments[0].data() + 4 * 9, &value, 4);
  m.run();
  EXPECT_EQ(m.memory.arguments[1], m.memory.arguments[0]);
}

// A result with one value per stick holds it in all lanes.
TEST(Evaluator, OpOnScalarsFillsTheStick) {
  const TensorArg scalar = tensor({1, 64}, {fixed(), fixed()});
  Machine m("add", {}, {scalar, scalar, scalar});
  m.set(0, 0, 3);
  m.set(1, 0, 4);
  m.set(1, 1, 100);
  m.run();
  for (int64_t i = 0; i < 64; ++i) {
    EXPECT_EQ(m.result(i), 7);
  }
}

TEST(Evaluator, RestickifyTransposesAndZeroesThePaddingLanes) {
  Machine m("ReStickifyOpHBM", {{"c0", 5, 1}, {"c1", 70, 1}},
            {matrix(5, 70), tensor({1, 70, 64}, {tile("c0"), sym("c1"), lane("c0")})});
  for (int64_t r = 0; r < 5; ++r) {
    for (int64_t c = 0; c < 128; ++c) {
      m.setBits(0, at(5, r, c), uint16_t(r * 256 + c));
    }
  }
  std::memset(m.memory.arguments[1].data(), 0xAB, m.memory.arguments[1].size());
  m.run();
  for (int64_t c = 0; c < 70; ++c) {
    for (int64_t l = 0; l < 64; ++l) {
      EXPECT_EQ(m.bits(1, c * 64 + l), l < 5 ? l * 256 + c : 0);
    }
  }
}

namespace {

Machine stickReduction(const char *op, int64_t cols) {
  return Machine(op, {{"c0", 2, 1}, {"c1", cols, 1}},
                 {matrix(2, cols), tensor({1, 2, 64}, {fixed(), sym("c0"), fixed()})}, true);
}

} // namespace

TEST(Evaluator, SumAlongTheStickIgnoresThePadding) {
  Machine m = stickReduction("sum", 70);
  for (int64_t c = 0; c < 128; ++c) {
    m.set(0, at(2, 0, c), c < 70 ? 1.0f : 1000.0f);
    m.set(0, at(2, 1, c), c < 70 ? float(c % 4) : 1000.0f);
  }
  m.run();
  for (int64_t l = 0; l < 64; ++l) {
    EXPECT_EQ(m.result(l), 70);              // all lanes of the stick
    EXPECT_EQ(m.result(64 + l), 17 * 6 + 1); // 17 times 0+1+2+3, then 0 and 1
  }
}

// Lanes first, then a tree: lane i with lane i + n/2, then i + n/4, ... In fp32, 2^24 + 1 loses the
// 1, so the order shows. Lane 0 holds 2^24 and then 1 (lost); lane 1 holds 1 + 1 = 2 (kept).
TEST(Evaluator, SumAlongTheStickHasTheDocumentedOrder) {
  const std::vector<Coordinate> in = {Coordinate::floorDiv("c1", 32), sym("c0"),
                                      Coordinate::mod("c1", 32)};
  Machine m("sum", {{"c0", 1, 1}, {"c1", 64, 1}},
            {tensor({2, 1, 32}, in, DataFormat::IeeeFp32),
             tensor({1, 1, 32}, {fixed(), sym("c0"), fixed()}, DataFormat::IeeeFp32)},
            true);
  m.set(0, 0, 0x1p24f);
  m.set(0, 32, 1);
  m.set(0, 1, 1);
  m.set(0, 33, 1);
  m.run();
  EXPECT_EQ(m.result(0), 0x1p24f + 2);
  // 16 and 0 are folded before 1 and 0: (2^24 + 1) + 1 = 2^24, while 1 + 1 first would give 2.
  Machine tree("sum", m.spec.iterationSpace, m.spec.args, true);
  tree.set(0, 0, 0x1p24f);
  tree.set(0, 16, 1);
  tree.set(0, 1, 1);
  tree.run();
  EXPECT_EQ(tree.result(0), 0x1p24f);
}

TEST(Evaluator, MaxAlongTheStickOfNegativeNumbers) {
  Machine m = stickReduction("max", 70);
  for (int64_t c = 0; c < 128; ++c) {
    m.set(0, at(2, 0, c), c < 70 ? float(-200 + c) : 1000.0f);
    m.set(0, at(2, 1, c), -5.0f);
  }
  m.setBits(0, at(2, 1, 3), 0x7FFF);
  m.run();
  EXPECT_EQ(m.result(0), -131);
  EXPECT_EQ(m.result(63), -131);
  EXPECT_TRUE(std::isnan(m.result(64)));
}

// The mask is -inf in fp32, as in the SuperDSC: lanes behind a row are no more than its elements.
TEST(Evaluator, MaxOfMinusInfinityInAPaddedStickIsMinusInfinity) {
  const std::vector<Coordinate> in = {fixed(), fixed(), Coordinate::mod("c0", 32)};
  const TensorArg out = tensor({1, 1, 32}, {fixed(), fixed(), fixed()}, DataFormat::IeeeFp32);
  Machine m("max", {{"c0", 3, 1}}, {tensor({1, 1, 32}, in, DataFormat::IeeeFp32), out}, true);
  for (int64_t i = 0; i < 32; ++i) {
    m.set(0, i, -std::numeric_limits<float>::infinity());
  }
  m.run();
  EXPECT_EQ(m.result(0), -std::numeric_limits<float>::infinity());
}

TEST(Evaluator, NonStickReductionKeepsTheLanesApart) {
  for (const char *op : {"sum", "max"}) {
    Machine m(op, {{"c1", 70, 1}, {"c0", 3, 1}},
              {matrix(3, 70), tensor({1, 2, 64}, {fixed(), tile("c1"), lane("c1")})}, true);
    for (int64_t r = 0; r < 3; ++r) {
      for (int64_t c = 0; c < 128; ++c) {
        m.set(0, at(3, r, c), float(r == 1 ? c : -1));
      }
    }
    m.run();
    for (int64_t c = 0; c < 128; ++c) { // the padding lanes too
      EXPECT_EQ(m.result(c), op[0] == 's' ? float(c - 2) : float(c)) << op << c;
    }
  }
}

TEST(Evaluator, NonStickSumOfSparseTensors) {
  Machine m("sum", {{"c0", 5, 1}},
            {tensor({1, 5, 64}, {fixed(), sym("c0"), fixed()}),
             tensor({1, 1, 64}, {fixed(), fixed(), fixed()})},
            true);
  for (int64_t r = 0; r < 5; ++r) {
    m.set(0, r * 64, float(r));
    m.set(0, r * 64 + 1, 100);
  }
  m.run();
  EXPECT_EQ(m.result(0), 10);
  EXPECT_EQ(m.result(63), 10);
}

namespace {

/// [b][m][k] x [b][k][n]; the second input owns K rows rounded up to a stick.
Machine matmul(int64_t batch, int64_t rows, int64_t n, int64_t k) {
  const int64_t nt = (n + 63) / 64, kt = (k + 63) / 64;
  return Machine("batchmatmul", {{"b", batch, 1}, {"m", rows, 1}, {"n", n, 1}, {"k", k, 1}},
                 {tensor({batch, kt, rows, 64}, {sym("b"), tile("k"), sym("m"), lane("k")}),
                  tensor({batch, nt, kt * 64, 64}, {sym("b"), tile("n"), sym("k"), lane("n")}),
                  tensor({batch, nt, rows, 64}, {sym("b"), tile("n"), sym("m"), lane("n")})},
                 true);
}

} // namespace

TEST(Evaluator, MatmulOfUnalignedSizes) {
  const int64_t batch = 2, rows = 3, n = 5, k = 67;
  Machine m = matmul(batch, rows, n, k);
  auto x = [](int64_t b, int64_t i, int64_t j) { return float((b + i + j) % 3) - 1; };
  auto y = [](int64_t b, int64_t i, int64_t j) { return float((b + 2 * i + j) % 5) - 2; };
  for (int64_t i = 0; i < int64_t(m.memory.arguments[0].size()) / 2; ++i) {
    m.setBits(0, i, 0x7FFF); // padding lanes of x are poison: they must not be read
  }
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t j = 0; j < k; ++j) {
      for (int64_t i = 0; i < rows; ++i) {
        m.set(0, b * 2 * rows * 64 + at(rows, i, j), x(b, i, j));
      }
      for (int64_t i = 0; i < 64; ++i) {
        m.set(1, (b * 128 + j) * 64 + i, y(b, j, i));
      }
    }
  }
  m.run();
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < 64; ++j) { // the padding lanes 5..63 too
        float sum = 0;
        for (int64_t l = 0; l < k; ++l) {
          sum += x(b, i, l) * y(b, l, j);
        }
        EXPECT_EQ(m.result((b * rows + i) * 64 + j), sum) << b << " " << i << " " << j;
      }
    }
  }
}

// (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24: minus (1 + 2^-11) leaves 2^-24 only when the product is not
// rounded to fp32 first; and 2^30 + 1 - 2^30 is 0 only with k ascending.
TEST(Evaluator, MatmulIsFusedAndAscending) {
  const Coordinate nTile = Coordinate::floorDiv("n", 32), nLane = Coordinate::mod("n", 32);
  const Coordinate kTile = Coordinate::floorDiv("k", 32), kLane = Coordinate::mod("k", 32);
  Machine m("batchmatmul", {{"m", 1, 1}, {"n", 2, 1}, {"k", 3, 1}},
            {tensor({1, 1, 32}, {kTile, sym("m"), kLane}, DataFormat::IeeeFp32),
             tensor({1, 32, 32}, {nTile, sym("k"), nLane}, DataFormat::IeeeFp32),
             tensor({1, 1, 32}, {nTile, sym("m"), nLane}, DataFormat::IeeeFp32)},
            true);
  const float a = 1 + 0x1p-12f;
  const float x[] = {1, a, 1}, y0[] = {-(1 + 0x1p-11f), a, 0}, y1[] = {0x1p30f, 1, -0x1p30f};
  for (int64_t k = 0; k < 3; ++k) {
    m.set(0, k, x[k]);
    m.set(1, k * 32, y0[k]);
    m.set(1, k * 32 + 1, y1[k]);
  }
  m.run();
  EXPECT_EQ(m.result(0), 0x1p-24f);
  EXPECT_EQ(m.result(1), 0);
}

TEST(Evaluator, ChainsOpsThroughPoolAndLx) {
  Machine m("add", {{"c0", 2, 1}, {"c1", 64, 1}}, {matrix(2, 64), matrix(2, 64), matrix(2, 64)});
  OpSpec first = m.spec, second = m.spec, third = m.spec;
  auto place = [](TensorArg &arg, Residency residency, int64_t address) {
    arg.residency = residency;
    arg.address = address;
    arg.argIndex = -1;
  };
  place(first.args[2], Residency::Pool, 128); // pool = a + b
  place(second.args[0], Residency::Pool, 128);
  place(second.args[2], Residency::Lx, 256); // lx = pool + b
  place(third.args[0], Residency::Lx, 256);
  place(third.args[1], Residency::Lx, 256); // out = lx + lx
  m.memory.pool.resize(128 + 2 * 128);
  m.set(0, 70, 1);
  m.set(1, 70, 10);
  const Status status = evaluate({first, second, third}, m.memory);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(m.result(70), 42);
}

TEST(Evaluator, WorksInPlace) {
  Machine m("mul", {{"c0", 2, 1}, {"c1", 64, 1}}, {matrix(2, 64), matrix(2, 64), matrix(2, 64)});
  m.spec.args[2].argIndex = 0;
  m.set(0, 5, 3);
  m.set(1, 5, 4);
  m.run();
  EXPECT_EQ(m.get(0, 5), 12);
}

// Reduced symbols are another matter: SplitReductionTest.cpp.
TEST(Evaluator, SplitsOfOutputSymbolsDoNotChangeTheResult) {
  Machine m("sum", {{"c0", 8, 4}, {"c1", 256, 1}},
            {matrix(8, 256), tensor({1, 8, 64}, {fixed(), sym("c0"), fixed()})}, true);
  Machine n("sum", {{"c0", 8, 1}, {"c1", 256, 1}}, m.spec.args, true);
  Random random(1);
  for (int64_t i = 0; i < 8 * 256; ++i) {
    const float value = random.uniform(-1, 1);
    m.set(0, i, value);
    n.set(0, i, value);
  }
  m.run();
  n.run();
  EXPECT_EQ(m.memory.arguments, n.memory.arguments);
}

// The sign of a NaN is a matter of the host unless the policy says otherwise.
TEST(Evaluator, NansOfArithmeticAreTheOneQuietNan) {
  const std::vector<Coordinate> c = {fixed(), Coordinate::mod("c0", 32)};
  const TensorArg single = tensor({1, 32}, c, DataFormat::IeeeFp32);
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  for (const char *op : {"add", "mul"}) {
    Machine m(op, {{"c0", 32, 1}}, {single, single, single});
    m.set(0, 0, -nan);
    m.set(1, 0, 1);
    m.set(0, 1, inf);
    m.set(1, 1, op[0] == 'a' ? -inf : 0);
    m.run();
    for (int64_t i : {0, 1}) {
      EXPECT_TRUE(std::isnan(m.result(i)) && !std::signbit(m.result(i))) << op << i;
    }
  }
}

TEST(Evaluator, RefusesWhatItCannotCompute) {
  auto codeOf = [](const Machine &machine) {
    Memory memory = machine.memory;
    return evaluate({machine.spec}, memory).code();
  };
  const std::vector<IterationDim> space = {{"c0", 2, 1}, {"c1", 64, 1}};
  EXPECT_EQ(codeOf(Machine("frobnicate", space, {matrix(2, 64), matrix(2, 64)})), 1401);
  EXPECT_EQ(codeOf(Machine("add", space, {matrix(2, 64), matrix(2, 64)})), 1401);
  EXPECT_EQ(codeOf(Machine("prod", space, {matrix(2, 64), matrix(2, 64)}, true)), 1401);
  const TensorArg column = tensor({1, 2, 64}, {fixed(), sym("c0"), fixed()});
  EXPECT_EQ(codeOf(Machine("mean", space, {matrix(2, 64), column}, true)), 1401); // no factor
  const std::vector<Coordinate> c = {Coordinate::floorDiv("c1", 32), sym("c0"),
                                     Coordinate::mod("c1", 32)};
  const TensorArg integers = tensor({2, 2, 32}, c, DataFormat::IeeeInt32);
  EXPECT_EQ(codeOf(Machine("exp", space, {integers, integers})), 1401);
  EXPECT_EQ(codeOf(Machine("identity", space, {integers, matrix(2, 64)})), 1401);
  Machine small("exp", space, {matrix(2, 64), matrix(2, 64)});
  small.memory.arguments[0].pop_back();
  EXPECT_EQ(codeOf(small), 1402);
  Machine missing("exp", space, {matrix(2, 64), matrix(2, 64)});
  missing.memory.arguments.pop_back();
  EXPECT_EQ(codeOf(missing), 1402);
  Machine pool("exp", space, {matrix(2, 64), matrix(2, 64)});
  pool.spec.args[0].residency = Residency::Pool;
  pool.spec.args[0].argIndex = -1;
  EXPECT_EQ(codeOf(pool), 1402);
  pool.spec.args[0].residency = Residency::Lx;
  EXPECT_EQ(codeOf(pool), 1402); // never written
  Machine invalid("exp", space, {matrix(2, 64), matrix(2, 64)});
  invalid.spec.iterationSpace[0].range = 3;
  EXPECT_EQ(codeOf(invalid), 1302);
}
