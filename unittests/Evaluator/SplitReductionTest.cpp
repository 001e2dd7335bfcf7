//===- SplitReductionTest.cpp - reductions split over cores, bit for bit --------------------===//
//
// In fp32, 2^24 + 1 is 2^24 and 2^24 + 3 is 2^24 + 4: where the ones are added to each other first
// and where to the large number shows in the result, and with it every choice of the order (ADR
// 0012). fp32 tensors have sticks of 32.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Math.h"
#include "spyre/Base/Random.h"

#include "Machine.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

using namespace spyre;
using namespace spyre::evaluator::test;

namespace {

constexpr float kBig = 0x1p24f;

/// c0 of [rows][lanes] reduced, the lanes kept.
Machine nonStick(const char *op, int64_t rows, int64_t cores, DataFormat format) {
  const int64_t lanes = numerics::elemsPerStick(format);
  return Machine(
      op, {{"c1", lanes, 1}, {"c0", rows, cores}},
      {tensor({1, rows, lanes}, {fixed(), sym("c0"), Coordinate::mod("c1", lanes)}, format),
       tensor({1, 1, lanes}, {fixed(), fixed(), Coordinate::mod("c1", lanes)}, format)},
      true);
}

/// c1 of [1][cols] reduced.
Machine alongStick(const char *op, int64_t cols, int64_t cores, DataFormat format) {
  const int64_t lanes = numerics::elemsPerStick(format);
  return Machine(
      op, {{"c0", 1, 1}, {"c1", cols, cores}},
      {tensor({ceilDiv(cols, lanes), 1, lanes},
              {Coordinate::floorDiv("c1", lanes), sym("c0"), Coordinate::mod("c1", lanes)}, format),
       tensor({1, 1, lanes}, {fixed(), sym("c0"), fixed()}, format)},
      true);
}

/// [1][k] x [k][one stick].
Machine matmul(int64_t k, int64_t cores, DataFormat format) {
  const int64_t lanes = numerics::elemsPerStick(format), sticks = ceilDiv(k, lanes);
  const Coordinate nTile = Coordinate::floorDiv("n", lanes), nLane = Coordinate::mod("n", lanes);
  return Machine(
      "batchmatmul", {{"m", 1, 1}, {"n", lanes, 1}, {"k", k, cores}},
      {tensor({sticks, 1, lanes},
              {Coordinate::floorDiv("k", lanes), sym("m"), Coordinate::mod("k", lanes)}, format),
       tensor({1, sticks * lanes, lanes}, {nTile, sym("k"), nLane}, format),
       tensor({1, 1, lanes}, {nTile, sym("m"), nLane}, format)},
      true);
}

/// Lane 0 of the sum of \p rows over \p cores.
float nonStickSum(const std::vector<float> &rows, int64_t cores) {
  Machine m = nonStick("sum", int64_t(rows.size()), cores, DataFormat::IeeeFp32);
  for (size_t i = 0; i < rows.size(); ++i) {
    m.set(0, int64_t(i) * 32, rows[i]);
  }
  m.run();
  return m.result(0);
}

using Placed = std::vector<std::pair<int64_t, float>>;

float stickSum(const Placed &elements, int64_t cols, int64_t cores) {
  Machine m = alongStick("sum", cols, cores, DataFormat::IeeeFp32);
  for (const auto &[at, value] : elements) {
    m.set(0, at, value);
  }
  m.run();
  return m.result(0);
}

/// x[k] as given, y all 1.
float matmulSum(const Placed &elements, int64_t k, int64_t cores) {
  Machine m = matmul(k, cores, DataFormat::IeeeFp32);
  for (const auto &[at, value] : elements) {
    m.set(0, at, value);
  }
  for (int64_t i = 0; i < k; ++i) {
    m.set(1, i * 32, 1);
  }
  m.run();
  return m.result(0);
}

} // namespace

TEST(SplitReduction, NonStickSlicesAreCombinedAscending) {
  EXPECT_EQ(nonStickSum({kBig, 1, 1, 1}, 1), kBig);
  EXPECT_EQ(nonStickSum({kBig, 1, 1, 1}, 2), kBig + 2); // (2^24 + 1) + (1 + 1)
  EXPECT_EQ(nonStickSum({kBig, 1, 1, 1}, 4), kBig);
  EXPECT_EQ(nonStickSum({1, 1, kBig, 1}, 1), kBig + 4); // 2^24 + 2 + 1 is a tie
  EXPECT_EQ(nonStickSum({1, 1, kBig, 1}, 2), kBig + 2);
  EXPECT_EQ(nonStickSum({1, 1, 1, kBig}, 4), kBig + 4); // 2^24 when descending
}

TEST(SplitReduction, StickSlicesHaveTheirOwnLanes) {
  // Lane 0 of sticks 0, 2 and 3.
  const Placed elements = {{0, kBig}, {64, 1}, {96, 1}};
  EXPECT_EQ(stickSum(elements, 128, 1), kBig);
  EXPECT_EQ(stickSum(elements, 128, 2), kBig + 2);
  EXPECT_EQ(stickSum(elements, 128, 4), kBig);
  EXPECT_EQ(stickSum({{0, 1}, {32, 1}, {64, 1}, {96, kBig}}, 128, 4), kBig + 4);
}

// Lane 16 holds 1 in both slices. Lanes first: 2^24 + (1 + 1). A tree in each slice first would
// give (2^24 + 1) + 1 = 2^24.
TEST(SplitReduction, StickSlicesAreCombinedLaneByLaneBeforeTheTree) {
  EXPECT_EQ(stickSum({{0, kBig}, {16, 1}, {80, 1}}, 128, 2), kBig + 2);
}

TEST(SplitReduction, MatmulSlicesAreCombinedAscending) {
  const Placed first = {{0, kBig}, {32, 1}, {64, 1}, {96, 1}};
  EXPECT_EQ(matmulSum(first, 128, 1), kBig);
  EXPECT_EQ(matmulSum(first, 128, 2), kBig + 2);
  EXPECT_EQ(matmulSum(first, 128, 4), kBig);
  const Placed last = {{0, 1}, {32, 1}, {64, 1}, {96, kBig}};
  EXPECT_EQ(matmulSum(last, 128, 2), kBig + 2);
  EXPECT_EQ(matmulSum(last, 128, 4), kBig + 4);
}

// 100 elements in sticks of 32 over two cores: 64 and 36, not 50 and 50.
TEST(SplitReduction, SlicesAreWholeSticks) {
  const Placed before = {{0, kBig}, {60, 1}, {70, 1}}, after = {{0, kBig}, {65, 1}, {70, 1}};
  EXPECT_EQ(matmulSum(before, 100, 2), kBig);
  EXPECT_EQ(matmulSum(after, 100, 2), kBig + 2);
  // Lanes 0 (sticks 0, 2 and 3): the cut is between sticks 1 and 2.
  EXPECT_EQ(stickSum({{0, kBig}, {32, 1}, {64, 1}}, 100, 2), kBig);
  EXPECT_EQ(stickSum({{0, kBig}, {64, 1}, {96, 1}}, 100, 2), kBig + 2);
}

// A negative product too small for fp32 leaves -0. The first partial is taken as it is: 0 + -0
// would lose the sign, and one slice would not be what no split is.
TEST(SplitReduction, TheFirstPartialIsTakenAsItIs) {
  for (const auto &[k, cores] : {std::pair<int64_t, int64_t>(1, 1), {33, 2}}) {
    Machine m = matmul(k, cores, DataFormat::IeeeFp32);
    for (int64_t at : {int64_t(0), int64_t(31), k - 1}) {
      m.set(0, at, -0x1p-100f);
      m.set(1, at * 32, 0x1p-100f);
    }
    m.run();
    EXPECT_EQ(m.result(0), 0);
    EXPECT_TRUE(std::signbit(m.result(0))) << k;
  }
}

// In DLFloat16 1 + 2^-11 rounds to 1, and 1 + 2^-10 to 1 + 2^-9.
TEST(SplitReduction, RoundsOnceAfterTheCombine) {
  Machine m = nonStick("sum", 4, 2, DataFormat::Sen169Fp16);
  const float values[] = {1, 0x1p-11f, 0x1p-11f, 0};
  for (int64_t i = 0; i < 4; ++i) {
    m.set(0, i * 64, values[i]);
  }
  m.run();
  EXPECT_EQ(m.result(0), 1 + 0x1p-9f);
}

TEST(SplitReduction, MeanScalesAfterTheCombine) {
  const float factor = 0.1f;
  ASSERT_NE(kBig * factor, kBig * factor + factor);
  for (bool stick : {false, true}) {
    Machine m = stick ? alongStick("mean", 64, 2, DataFormat::IeeeFp32)
                      : nonStick("mean", 2, 2, DataFormat::IeeeFp32);
    m.spec.constants = {{"scaling_factor", double(factor)}};
    m.set(0, 0, kBig);
    m.set(0, 32, 1);
    m.run();
    EXPECT_EQ(m.result(0), kBig * factor) << stick;
  }
}

// A constant reaches the device in the format of the first argument.
TEST(SplitReduction, MeanOfHalvesHasADl16Factor) {
  Machine m = nonStick("mean", 3, 1, DataFormat::Sen169Fp16);
  m.spec.constants = {{"other", 7}, {"scaling_factor", 1.0 / 3}};
  for (int64_t i = 0; i < 3; ++i) {
    m.set(0, i * 64, 1000);
  }
  m.run();
  const float factor = numerics::dl16ToFloat(numerics::floatToDl16(1.0f / 3));
  ASSERT_NE(factor, 1.0f / 3);
  EXPECT_EQ(m.bits(1, 0), numerics::floatToDl16(3000 * factor));
}

TEST(SplitReduction, MaxAndMinTakeEverySliceAndKeepNan) {
  for (bool stick : {false, true}) {
    for (int64_t where = 0; where < 4; ++where) {
      for (const char *op : {"max", "min"}) {
        const float sign = op[1] == 'a' ? 1 : -1;
        Machine m = stick ? alongStick(op, 128 - 5, 4, DataFormat::IeeeFp32)
                          : nonStick(op, 4, 4, DataFormat::IeeeFp32);
        for (int64_t i = 0; i < 128; ++i) {
          m.set(0, i, sign * -3); // the other side of the mask's zero
        }
        for (int64_t i = 123; i < 128 && stick; ++i) {
          m.set(0, i, sign * 99); // padding
        }
        m.set(0, where * 32, sign * -2);
        m.run();
        EXPECT_EQ(m.result(0), sign * -2) << op << where;
        m.set(0, where * 32, std::nanf(""));
        m.run();
        EXPECT_TRUE(std::isnan(m.result(0)) && !std::signbit(m.result(0))) << op << where;
      }
    }
  }
}

// Slices (0,0), (0,1), (1,0), (1,1): the last symbol is the fastest, as for the elements.
TEST(SplitReduction, SlicesOfTwoSymbolsFollowTheIterationSpace) {
  Machine m(
      "sum", {{"c1", 32, 1}, {"a", 2, 2}, {"b", 2, 2}},
      {tensor({2, 2, 32}, {sym("a"), sym("b"), Coordinate::mod("c1", 32)}, DataFormat::IeeeFp32),
       tensor({1, 1, 32}, {fixed(), fixed(), Coordinate::mod("c1", 32)}, DataFormat::IeeeFp32)},
      true);
  const float partials[] = {1, kBig, -kBig, 1};
  for (int64_t i = 0; i < 4; ++i) {
    m.set(0, i * 32, partials[i]);
  }
  m.run();
  EXPECT_EQ(m.result(0), 1); // 2 with the middle ones exchanged
}

namespace {

/// The order of the policy, written down once more: over plain values of one output element.
class Straightforward {
public:
  Straightforward(std::string op, int64_t cores, int64_t perCore)
      : op(std::move(op)), cores(cores), perCore(perCore) {}

  float combine(float a, float b) const {
    return op == "max" ? std::max(a, b) : op == "min" ? std::min(a, b) : a + b;
  }

  /// Combined partials, each \p accumulate over the elements [begin, end) of its slice.
  float slices(int64_t count, const std::function<float(int64_t, int64_t)> &accumulate) const {
    float total = 0;
    for (int64_t slice = 0; slice < cores; ++slice) {
      const float partial = accumulate(slice * perCore, std::min(count, slice * perCore + perCore));
      total = slice == 0 ? partial : combine(total, partial);
    }
    return total;
  }

  float ascending(const std::vector<float> &values) const {
    return slices(int64_t(values.size()), [&](int64_t begin, int64_t end) {
      float partial = start();
      for (int64_t i = begin; i < end; ++i) {
        partial = combine(partial, values[size_t(i)]);
      }
      return partial;
    });
  }

  float products(const std::vector<float> &a, const std::vector<float> &b) const {
    return slices(int64_t(a.size()), [&](int64_t begin, int64_t end) {
      float partial = 0;
      for (int64_t i = begin; i < end; ++i) {
        partial = std::fma(a[size_t(i)], b[size_t(i)], partial);
      }
      return partial;
    });
  }

  float stick(const std::vector<float> &values, int64_t lanes) const {
    std::vector<float> row;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      row.push_back(slices(int64_t(values.size()), [&](int64_t begin, int64_t end) {
        float partial = start();
        for (int64_t i = begin + lane; i < end; i += lanes) {
          partial = combine(partial, values[size_t(i)]);
        }
        return partial;
      }));
    }
    while (row.size() > 1) {
      std::vector<float> folded;
      for (size_t i = 0; i < row.size() / 2; ++i) {
        folded.push_back(combine(row[i], row[i + row.size() / 2]));
      }
      row = folded;
    }
    return row[0];
  }

private:
  float start() const { return op == "max" ? -INFINITY : op == "min" ? INFINITY : 0; }

  std::string op;
  int64_t cores, perCore;
};

/// Random numbers of very different size, so that almost every order has bits of its own.
std::vector<float> randomValues(Random &random, int64_t count, DataFormat format) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) {
    float value = std::ldexp(random.uniform(-1, 1), int(random.between(-6, 6)));
    if (format == DataFormat::Sen169Fp16) {
      value = numerics::dl16ToFloat(numerics::floatToDl16(value));
    }
    values.push_back(value);
  }
  return values;
}

int64_t randomDivisor(Random &random, int64_t count) {
  int64_t divisor = random.between(1, count);
  while (count % divisor != 0) {
    --divisor;
  }
  return divisor;
}

uint32_t deviceBits(float value, DataFormat format) {
  return format == DataFormat::IeeeFp32 ? std::bit_cast<uint32_t>(value)
                                        : numerics::floatToDl16(value);
}

} // namespace

TEST(SplitReduction, EqualsAStraightforwardComputation) {
  Random random(20240601);
  int64_t ordered = 0;
  for (int round = 0; round < 400; ++round) {
    const char *op = std::vector{"sum", "mean", "max", "min", "batchmatmul"}[random.below(5)];
    const DataFormat format = random.below(3) == 0 ? DataFormat::Sen169Fp16 : DataFormat::IeeeFp32;
    const int64_t lanes = numerics::elemsPerStick(format);
    const bool isMatmul = op[0] == 'b', stick = isMatmul || random.below(2);
    const int64_t count = random.between(1, stick ? 8 * lanes : 24);
    const int64_t pieces = stick ? ceilDiv(count, lanes) : count;
    const int64_t cores = randomDivisor(random, pieces);
    SCOPED_TRACE(fmt::format("round {}: {} of {} over {} cores, stick {}, lanes {}", round, op,
                             count, cores, stick, lanes));
    Machine m = isMatmul ? matmul(count, cores, format)
                : stick  ? alongStick(op, count, cores, format)
                         : nonStick(op, count, cores, format);
    const std::vector<float> x = randomValues(random, count, format);
    const std::vector<float> y = randomValues(random, count, format);
    for (int64_t i = 0; i < count; ++i) {
      m.set(0, stick ? i : i * lanes, x[size_t(i)]);
      if (isMatmul) {
        m.set(1, i * lanes, y[size_t(i)]);
      }
    }
    const float factor = 0.25f; // Exact in both formats: it cannot hide an order.
    m.spec.constants = {{"scaling_factor", double(factor)}};
    m.run();
    auto expected = [&](int64_t overCores) {
      const Straightforward rule(op, overCores, pieces / overCores * (stick ? lanes : 1));
      const float total = isMatmul ? rule.products(x, y)
                          : stick  ? rule.stick(x, lanes)
                                   : rule.ascending(x);
      return deviceBits(std::string(op) == "mean" ? total * factor : total, format);
    };
    ASSERT_EQ(deviceBits(m.result(0), format), expected(cores));
    ordered += expected(cores) != expected(1);
  }
  EXPECT_GT(ordered, 40) << "the values no longer tell one order from another";
}
