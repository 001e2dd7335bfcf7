//===- MatmulNarrowTest.cpp - 8-bit formats of the matrix unit, tails and strides of B ------===//
#include "spyre/Numerics/Functions.h"

#include "Sim/SimFixture.h"

#include <bit>

namespace spyre::test {
namespace {

using numerics::DataFormat;

constexpr int64_t kA = 0, kB = 0x1000, kAcc = 0xE000;

/// One random nest over at most eight rows of A, two B blocks and eight accumulators.
struct Case {
  DataFormat format = DataFormat::Sen143Fp8;
  uint16_t lanes = 128;
  int64_t rowStride = 128;
  std::array<int64_t, 3> counts{1, 1, 1};
  /// Per level, in sticks of A, blocks of B and sticks of the accumulators.
  std::array<std::array<int64_t, 3>, 3> steps{};
};

Case randomCase(Random &random) {
  constexpr std::array<DataFormat, 4> kFormats{DataFormat::Sen143Fp8, DataFormat::Sen152Fp8,
                                               DataFormat::SenInt8, DataFormat::Sen169Fp16};
  Case c;
  c.format = kFormats[random.below(4)];
  int64_t depth = numerics::elemsPerStick(c.format);
  c.lanes = uint16_t(random.below(2) == 0 ? depth : random.between(1, depth));
  c.rowStride = random.below(2) == 0 ? 128 : 256;
  for (size_t level = 0; level < 3; ++level) {
    c.counts[level] = random.between(1, 2);
    c.steps[0][level] = random.between(0, 2);
    c.steps[1][level] = level == 0 ? int64_t(random.below(2)) : 0;
    c.steps[2][level] = random.between(0, 2);
  }
  return c;
}

float asFloat(DataFormat format, const uint8_t *element) {
  float value = 0;
  numerics::deviceToFloat(format, element, &value, 1);
  return value;
}

/// acc[n] of one point, k ascending.
void multiplyPoint(const Case &c, const std::vector<uint8_t> &a, const std::vector<uint8_t> &b,
                   std::array<int64_t, 3> place, std::vector<uint32_t> &acc) {
  bool narrow = c.format != DataFormat::Sen169Fp16;
  int64_t bytes = narrow ? 1 : 2;
  for (int64_t n = 0; n < 64; ++n) {
    uint32_t &sum = acc[size_t(place[2] * 32 + n)];
    for (int64_t k = 0; k < c.lanes; ++k) {
      const uint8_t *x = &a[size_t(place[0] * 128 + k * bytes)];
      int64_t stick = narrow ? k / 2 : k, lane = narrow ? 2 * n + k % 2 : n;
      const uint8_t *y = &b[size_t(place[1] * 0x4000 + stick * c.rowStride + lane * bytes)];
      if (c.format == DataFormat::SenInt8) {
        sum += uint32_t(int32_t(int8_t(*x)) * int32_t(int8_t(*y)));
      } else {
        sum = std::bit_cast<uint32_t>(numerics::fmaF32(asFloat(c.format, x), asFloat(c.format, y),
                                                       std::bit_cast<float>(sum)));
      }
    }
  }
}

TEST(MatmulNarrow, MatchesAScalarLoopInEveryFormatAndLayout) {
  TestSim sim;
  Random random(5);
  for (int round = 0; round < 150; ++round) {
    Case c = randomCase(random);
    std::vector<uint8_t> a = randomBits<uint8_t>(random, 8 * 128);
    std::vector<uint8_t> b = randomBits<uint8_t>(random, 0x8000);
    std::vector<uint32_t> acc(16 * 32, c.format == DataFormat::SenInt8 ? 5 : 0);
    sim.write(dram(0), a);
    sim.write(dram(1), b);
    auto strides = [&](size_t op, int64_t unit) {
      return Counts{c.steps[op][0] * unit, c.steps[op][1] * unit, c.steps[op][2] * unit};
    };
    PhaseBuilder phase("0_matmul");
    phase.load({8}, ddrAt(0, 0, {128}), at(kA, {128}))
        .load({256}, ddrAt(1, 0, {128}), at(kB, {128}))
        .fill({16}, at(kAcc, {128}), acc[0])
        .matmul({c.counts[0], c.counts[1], c.counts[2]}, at(kA, strides(0, 128)),
                at(kB, strides(1, 0x4000)), at(kAcc, strides(2, 128)), c.lanes, c.rowStride)
        .format(c.format);
    ASSERT_EQ(sim.launch({phase}), "");
    for (int64_t i = 0; i < c.counts[0]; ++i) {
      for (int64_t j = 0; j < c.counts[1]; ++j) {
        for (int64_t k = 0; k < c.counts[2]; ++k) {
          auto place = [&](size_t op) {
            return i * c.steps[op][0] + j * c.steps[op][1] + k * c.steps[op][2];
          };
          multiplyPoint(c, a, b, {place(0), place(1), place(2)}, acc);
        }
      }
    }
    ASSERT_EQ(sim.readLx<uint32_t>(0, kAcc, acc.size()), acc)
        << "round " << round << " format " << int(c.format) << " lanes " << c.lanes;
  }
}

// Sums of products of bytes are exact and wrap.
TEST(MatmulNarrow, IntegerSumsWrap) {
  TestSim sim;
  PhaseBuilder phase("0_wrap");
  phase.fill({}, at(0), 0x80808080)
      .fill({64}, at(kB, {128}), 0x80808080)
      .fill({2}, at(kAcc, {128}), 0x7FFFFFFF)
      .matmul({}, at(0), at(kB), at(kAcc), 128)
      .format(DataFormat::SenInt8);
  ASSERT_EQ(sim.launch({phase}), "");
  EXPECT_EQ(sim.readLx<uint32_t>(0, kAcc, 64),
            std::vector<uint32_t>(64, 0x7FFFFFFFu + 128u * 128u * 128u));
  EXPECT_EQ(sim.counters().pt_macs, 128u * 64u);
}

} // namespace
} // namespace spyre::test
