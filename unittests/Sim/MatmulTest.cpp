//===- MatmulTest.cpp - the matrix unit against a triple loop -------------------------------===//
#include "spyre/Numerics/Functions.h"

#include "Sim/SimFixture.h"

#include <bit>
#include <map>

namespace spyre::test {
namespace {

using numerics::dl16ToFloat;

/// C[m][n] of blocks of 64: A is [m][K/64] sticks, B is [N/64][K] sticks, accumulators [m][N/64].
struct Problem {
  size_t rows = 4, kBlocks = 2, nBlocks = 2;
  uint16_t validLanes = 64;
  /// Order of the levels m, n, k from the outside.
  std::string order = "mnk";
  bool specials = false;
};

constexpr int64_t kA = 0, kB = 0x1800, kAcc = 0xA000;

Instruction matmulOf(const Problem &p) {
  std::map<char, int64_t> count{{'m', p.rows}, {'n', p.nBlocks}, {'k', p.kBlocks}};
  auto kSticks = int64_t(p.kBlocks), nBlocks = int64_t(p.nBlocks);
  std::map<char, int64_t> a{{'m', kSticks * 128}, {'n', 0}, {'k', 128}};
  std::map<char, int64_t> b{{'m', 0}, {'n', kSticks * 64 * 128}, {'k', 64 * 128}};
  std::map<char, int64_t> c{{'m', nBlocks * 256}, {'n', 256}, {'k', 0}};
  Counts counts, strideA, strideB, strideC;
  for (char level : p.order) {
    counts.push_back(count[level]);
    strideA.push_back(a[level]);
    strideB.push_back(b[level]);
    strideC.push_back(c[level]);
  }
  return PhaseBuilder("p")
      .matmul(counts, at(kA, strideA), at(kB, strideB), at(kAcc, strideC), p.validLanes)
      .phase.instructions[0];
}

std::vector<uint32_t> reference(const Problem &p, const std::vector<uint16_t> &a,
                                const std::vector<uint16_t> &b) {
  std::vector<uint32_t> bits;
  for (size_t m = 0; m < p.rows; ++m) {
    for (size_t n = 0; n < p.nBlocks * 64; ++n) {
      float acc = 0.5f;
      for (size_t kBlock = 0; kBlock < p.kBlocks; ++kBlock) {
        for (size_t k = 0; k < p.validLanes; ++k) {
          float x = dl16ToFloat(a[(m * p.kBlocks + kBlock) * 64 + k]);
          float y = dl16ToFloat(b[((n / 64 * p.kBlocks + kBlock) * 64 + k) * 64 + n % 64]);
          acc = numerics::fmaF32(x, y, acc);
        }
      }
      bits.push_back(std::bit_cast<uint32_t>(acc));
    }
  }
  return bits;
}

void checkMatmul(const Problem &p) {
  Random random(p.rows + p.validLanes + p.order[0]);
  TestSim sim;
  std::vector<uint16_t> a = randomDl16(random, p.rows * p.kBlocks * 64, p.specials);
  std::vector<uint16_t> b = randomDl16(random, p.nBlocks * p.kBlocks * 4096, p.specials);
  sim.write(dram(0), a);
  sim.write(dram(1), b);
  int64_t aSticks = int64_t(a.size() / 64), bSticks = int64_t(b.size() / 64);
  PhaseBuilder phase("0_matmul");
  phase.load({aSticks}, ddrAt(0, 0, {128}), at(kA, {128}))
      .load({bSticks}, ddrAt(1, 0, {128}), at(kB, {128}))
      .fill({int64_t(2 * p.rows * p.nBlocks)}, at(kAcc, {128}), std::bit_cast<uint32_t>(0.5f))
      .add(matmulOf(p));
  ASSERT_EQ(sim.launch({phase}), "");
  std::vector<uint32_t> expected = reference(p, a, b);
  std::vector<uint32_t> result = sim.readLx<uint32_t>(0, kAcc, expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(result[i], expected[i]) << p.order << " lanes " << p.validLanes << " at " << i;
  }
  EXPECT_EQ(sim.counters().pt_macs, p.rows * p.nBlocks * p.kBlocks * 4096);
}

// The order of the points decides how the unit reuses B, never the result.
TEST(Matmul, MatchesATripleLoopInEveryOrderOfPoints) {
  for (const char *order : {"mnk", "mkn", "nmk", "nkm", "kmn", "knm"}) {
    checkMatmul({.order = order});
  }
}

TEST(Matmul, UsesOnlyValidLanes) {
  for (uint16_t lanes : {1, 2, 3, 63}) {
    checkMatmul({.validLanes = lanes});
  }
}

TEST(Matmul, GivesOneNanForEveryInvalidProduct) { checkMatmul({.specials = true}); }

// Rows of B that are not computed with are not read either.
TEST(Matmul, DoesNotReadMaskedRows) {
  TestSim sim;
  PhaseBuilder phase("0_short");
  phase.fill({}, at(0), 0x3E003E00)
      .fill({3}, at(0x1000, {256}), 0x3E003E00)
      .fill({2}, at(0x8000, {128}), 0)
      .matmul({}, at(0), at(0x1000), at(0x8000), 3, 256);
  ASSERT_EQ(sim.launch({phase}), "");
  EXPECT_EQ(sim.readLx<float>(0, 0x8000, 64), std::vector<float>(64, 3.0f));
}

// The accumulator lies on row 0 of B: every point must see B as the point before left it.
TEST(Matmul, SeesABlockThatItsAccumulatorOverwrites) {
  TestSim sim;
  std::vector<float> start(64, 1.0f);
  sim.write(dram(0), start);
  PhaseBuilder phase("0_overlap");
  // B row 0 is the second half of the accumulator read as DLFloat16; A picks row 0 only.
  phase.fill({}, at(0), 0x3E003E00)
      .load({2}, ddrAt(0, 0, {128}), at(0x1000, {128}))
      .matmul({3}, at(0), at(0x1080), at(0x1000), 1);
  ASSERT_EQ(sim.launch({phase}), "");
  std::vector<float> acc = start;
  for (int point = 0; point < 3; ++point) {
    std::array<uint16_t, 64> row;
    std::memcpy(row.data(), acc.data() + 32, sizeof(row));
    for (size_t n = 0; n < 64; ++n) {
      acc[n] = numerics::fmaF32(1.0f, dl16ToFloat(row[n]), acc[n]);
    }
  }
  EXPECT_EQ(sim.readLx<float>(0, 0x1000, 64), acc);
}

/// Points (i, k) with A stick 2 * i + k and B block k into accumulator i * accStep; aFromAcc: the A
/// sticks of i = 1 are what the accumulator of i = 0 has become.
void checkTwoLevels(int64_t accStep, bool aFromAcc) {
  Random random(12);
  TestSim sim;
  std::vector<uint16_t> a = randomDl16(random, 4 * 64, false);
  std::vector<uint16_t> b = randomDl16(random, 2 * 4096, false);
  sim.write(dram(0), a);
  sim.write(dram(1), b);
  int64_t aBase = aFromAcc ? kAcc - 256 : kA;
  PhaseBuilder phase("0_order");
  phase.load({128}, ddrAt(1, 0, {128}), at(kB, {128}))
      .fill({4}, at(kAcc, {128}), 0)
      .load({aFromAcc ? 2 : 4}, ddrAt(0, 0, {128}), at(aBase, {128}))
      .matmul({2, 2}, at(aBase, {256, 128}), at(kB, {0, 8192}), at(kAcc, {accStep, 0}));
  ASSERT_EQ(sim.launch({phase}), "");
  std::vector<float> acc(128, 0.0f);
  for (size_t i = 0; i < 2; ++i) {
    for (size_t block = 0; block < 2; ++block) {
      std::array<uint16_t, 64> row;
      const void *source = aFromAcc && i == 1 ? static_cast<const void *>(&acc[block * 32])
                                              : static_cast<const void *>(&a[(2 * i + block) * 64]);
      std::memcpy(row.data(), source, sizeof(row));
      for (size_t k = 0; k < 64; ++k) {
        for (size_t n = 0; n < 64; ++n) {
          float &sum = acc[i * size_t(accStep) / 4 + n];
          sum =
              numerics::fmaF32(dl16ToFloat(row[k]), dl16ToFloat(b[(block * 64 + k) * 64 + n]), sum);
        }
      }
    }
  }
  std::vector<uint32_t> result = sim.readLx<uint32_t>(0, kAcc, acc.size());
  for (size_t i = 0; i < acc.size(); ++i) {
    ASSERT_EQ(result[i], std::bit_cast<uint32_t>(acc[i])) << "lane " << i;
  }
}

TEST(Matmul, KeepsTheOrderOfSumsAlongALevelThatKeepsB) { checkTwoLevels(0, false); }

TEST(Matmul, KeepsTheOrderWhenARowIsAnEarlierAccumulator) { checkTwoLevels(256, true); }

// Levels with one accumulator and levels whose accumulators overlap may not change places.
TEST(Matmul, KeepsTheOrderOfPointsThatShareAnAccumulator) {
  constexpr int64_t kRows = 4;
  Random random(11);
  TestSim sim;
  std::vector<uint16_t> a = randomDl16(random, size_t(kRows) * 2 * 64, false);
  std::vector<uint16_t> b = randomDl16(random, 2 * 4096, false);
  sim.write(dram(0), a);
  sim.write(dram(1), b);
  // acc = 128 * m: neighbours share half of their lanes; k outside, so order matters.
  PhaseBuilder phase("0_shared");
  phase.load({kRows * 2}, ddrAt(0, 0, {128}), at(kA, {128}))
      .load({128}, ddrAt(1, 0, {128}), at(kB, {128}))
      .fill({kRows + 2}, at(kAcc, {128}), 0)
      .matmul({2, kRows, 2}, at(kA, {0, 256, 128}), at(kB, {0, 0, 8192}), at(kAcc, {128, 128, 0}));
  ASSERT_EQ(sim.launch({phase}), "");
  std::vector<float> acc(size_t(kRows + 2) * 32, 0.0f);
  for (int64_t outer = 0; outer < 2; ++outer) {
    for (int64_t m = 0; m < kRows; ++m) {
      for (int64_t kBlock = 0; kBlock < 2; ++kBlock) {
        for (int64_t n = 0; n < 64; ++n) {
          float &sum = acc[size_t((outer + m) * 32 + n)];
          for (int64_t k = 0; k < 64; ++k) {
            sum = numerics::fmaF32(dl16ToFloat(a[size_t((m * 2 + kBlock) * 64 + k)]),
                                   dl16ToFloat(b[size_t((kBlock * 64 + k) * 64 + n)]), sum);
          }
        }
      }
    }
  }
  EXPECT_EQ(sim.readLx<float>(0, kAcc, acc.size()), acc);
}

} // namespace
} // namespace spyre::test
