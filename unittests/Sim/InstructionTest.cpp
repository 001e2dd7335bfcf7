//===- InstructionTest.cpp - semantics of each instruction against plain scalar code --------===//
#include "spyre/Numerics/Functions.h"

#include "Sim/SimFixture.h"

#include <bit>
#include <cmath>

namespace spyre::test {
namespace {

using numerics::addF32;
using numerics::DataFormat;
using numerics::dl16ToFloat;
using numerics::floatToDl16;

constexpr size_t kLanes = 64;

// A copy moves bits, which is right only if going through fp32 would change none.
TEST(Instructions, CopyKeepsEveryPattern) {
  constexpr size_t kSticks = 128;
  TestSim sim;
  for (size_t part = 0; part < 8; ++part) {
    std::vector<uint16_t> patterns(kSticks * kLanes);
    for (size_t i = 0; i < patterns.size(); ++i) {
      patterns[i] = uint16_t(part * patterns.size() + i);
      ASSERT_EQ(floatToDl16(dl16ToFloat(patterns[i])), patterns[i]);
    }
    sim.write(dram(0), patterns);
    ASSERT_EQ(sim.launch({PhaseBuilder("0_copy")
                              .load({kSticks}, ddrAt(0, 0, {128}), at(0, {128}))
                              .vector(Function::Copy, {kSticks}, {at(0, {128}), at(0x8000, {128})})
                              .store({kSticks}, at(0x8000, {128}), ddrAt(1, 0, {128}))}),
              "");
    ASSERT_EQ(sim.read<uint16_t>(dram(1), patterns.size()), patterns);
  }
}

TEST(Instructions, VectorWorksInFp32) {
  TestSim sim;
  std::vector<float> a(32), b(32);
  Random random(1);
  for (size_t i = 0; i < 32; ++i) {
    a[i] = random.uniform(-1, 1);
    b[i] = random.uniform(-1e6f, 1e6f);
  }
  sim.write(dram(0), a);
  sim.write(dram(1), b);
  ASSERT_EQ(sim.launch({PhaseBuilder("0_mul")
                            .load({}, ddrAt(0, 0), at(0))
                            .load({}, ddrAt(1, 0), at(128))
                            .vector(Function::Mul, {}, {at(0), at(128), at(256)})
                            .format(DataFormat::IeeeFp32)
                            .store({}, at(256), ddrAt(2, 0))}),
            "");
  std::vector<float> result = sim.read<float>(dram(2), 32);
  for (size_t i = 0; i < 32; ++i) {
    EXPECT_EQ(result[i], a[i] * b[i]);
  }
}

TEST(Instructions, WhereTakesNanAsTrueAndBothZerosAsFalse) {
  TestSim sim;
  std::vector<uint16_t> condition(kLanes, 0);
  condition[1] = 0x8000;
  condition[2] = 0x7FFF;
  condition[3] = 0xFFFF;
  condition[4] = 0x0001;
  sim.write(dram(0), condition);
  ASSERT_EQ(sim.launch({PhaseBuilder("0_where")
                            .load({}, ddrAt(0, 0), at(0))
                            .fill({}, at(128), 0x3E003E00)
                            .fill({}, at(256), 0)
                            .vector(Function::Where, {}, {at(0), at(128), at(256), at(384)})
                            .store({}, at(384), ddrAt(1, 0))}),
            "");
  std::vector<uint16_t> result = sim.read<uint16_t>(dram(1), 6);
  EXPECT_EQ(result, (std::vector<uint16_t>{0, 0, 0x3E00, 0x3E00, 0x3E00, 0}));
}

// One input is the same stick for all points, another walks backwards: no assumption on strides.
TEST(Instructions, VectorWalksAnyStrides) {
  constexpr size_t kRows = 3, kColumns = 20;
  Random random(2);
  TestSim sim;
  std::vector<uint16_t> a = randomDl16(random, kRows * kColumns * kLanes);
  std::vector<uint16_t> row = randomDl16(random, kLanes);
  sim.write(dram(0), a);
  sim.write(dram(1), row);
  PhaseBuilder phase("0_add");
  phase.load({kRows * kColumns}, ddrAt(0, 0, {128}), at(0, {128}))
      .load({}, ddrAt(1, 0), at(0x3000))
      .vector(Function::Add, {kRows, kColumns},
              {at((kColumns - 1) * 128, {kColumns * 128, -128}), at(0x3000),
               at(0x4000, {128, kRows * 128})})
      .store({kRows * kColumns}, at(0x4000, {128}), ddrAt(2, 0, {128}));
  ASSERT_EQ(sim.launch({phase}), "");
  std::vector<uint16_t> result = sim.read<uint16_t>(dram(2), a.size());
  for (size_t r = 0; r < kRows; ++r) {
    for (size_t c = 0; c < kColumns; ++c) {
      for (size_t i = 0; i < kLanes; ++i) {
        float x = dl16ToFloat(a[(r * kColumns + kColumns - 1 - c) * kLanes + i]);
        ASSERT_EQ(result[(c * kRows + r) * kLanes + i],
                  floatToDl16(addF32(x, dl16ToFloat(row[i]))));
      }
    }
  }
}

// Points run in order: each reads what the one before wrote.
TEST(Instructions, VectorPointsDependOnEarlierPoints) {
  constexpr size_t kSteps = 20;
  TestSim sim;
  ASSERT_EQ(
      sim.launch({PhaseBuilder("0_chain")
                      .fill({}, at(0), 0x3E003E00)
                      .fill({}, at(0x4000), 0x3E003E00)
                      // stick i + 1 = stick i + stick i, and a sum that stays in one stick
                      .vector(Function::Add, {kSteps}, {at(0, {128}), at(0, {128}), at(128, {128})})
                      .vector(Function::Add, {kSteps}, {at(0x4000), at(0x4000), at(0x4000)})
                      .store({}, at(kSteps * 128), ddrAt(0, 0))
                      .store({}, at(0x4000), ddrAt(0, 128))}),
      "");
  std::vector<float> result = toFloats(sim.read<uint16_t>(dram(0), 2 * kLanes));
  EXPECT_EQ(result.front(), 0x1p20f);
  EXPECT_EQ(result.back(), 0x1p20f);
}

TEST(Instructions, VectorInPlaceAndConstantResult) {
  Random random(3);
  TestSim sim;
  std::vector<uint16_t> a = randomDl16(random, 30 * kLanes);
  sim.write(dram(0), a);
  ASSERT_EQ(sim.launch({PhaseBuilder("0_inplace")
                            .load({30}, ddrAt(0, 0, {128}), at(0, {128}))
                            .vector(Function::Add, {30}, {at(0, {128}), at(0, {128}), at(0, {128})})
                            .store({30}, at(0, {128}), ddrAt(1, 0, {128}))
                            // All points write one stick: the last one stays.
                            .vector(Function::Copy, {30}, {at(0, {128}), at(0x2000)})
                            .store({}, at(0x2000), ddrAt(2, 0))}),
            "");
  std::vector<uint16_t> result = sim.read<uint16_t>(dram(1), a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(result[i], floatToDl16(addF32(dl16ToFloat(a[i]), dl16ToFloat(a[i]))));
  }
  EXPECT_EQ(sim.read<uint16_t>(dram(2), kLanes),
            std::vector<uint16_t>(result.end() - kLanes, result.end()));
}

TEST(Instructions, FillRepeatsThePattern) {
  TestSim sim;
  ASSERT_EQ(sim.launch({PhaseBuilder("0_fill").fill({2}, at(0x100, {256}), 0x12345678)}), "");
  for (uint64_t address : {0x100, 0x200}) {
    EXPECT_EQ(sim.readLx<uint32_t>(0, address, 32), std::vector<uint32_t>(32, 0x12345678));
  }
}

// Sticks that walk in DDR and in LX differently, both ways.
TEST(Instructions, LoadAndStoreMoveSticks) {
  Random random(4);
  TestSim sim;
  std::vector<uint16_t> a = randomDl16(random, 6 * kLanes);
  sim.write(dram(0), a);
  ASSERT_EQ(sim.launch({PhaseBuilder("0_move")
                            .load({2, 3}, ddrAt(0, 0, {384, 128}), at(0, {128, 256}))
                            .store({6}, at(5 * 128, {-128}), ddrAt(1, 0, {256}))}),
            "");
  for (size_t r = 0; r < 2; ++r) {
    for (size_t c = 0; c < 3; ++c) {
      std::vector<uint16_t> stick(a.begin() + (r * 3 + c) * kLanes,
                                  a.begin() + (r * 3 + c + 1) * kLanes);
      size_t lxStick = c * 2 + r;
      EXPECT_EQ(sim.readLx<uint16_t>(0, lxStick * 128, kLanes), stick);
      EXPECT_EQ(sim.read<uint16_t>(dram(1, (5 - lxStick) * 256), kLanes), stick);
    }
  }
}

TEST(Instructions, FinishLanesRoundsOnce) {
  TestSim sim;
  std::vector<float> acc(kLanes);
  Random random(5);
  for (float &value : acc) {
    value = random.uniform(-100, 100);
  }
  acc[0] = INFINITY;
  acc[1] = -1e30f;
  acc[2] = NAN;
  sim.write(dram(0), acc);
  ASSERT_EQ(sim.launch({PhaseBuilder("0_finish")
                            .load({2}, ddrAt(0, 0, {128}), at(0, {128}))
                            .finish(Function::Lanes, {}, at(0), at(0x1000))
                            // In place: the result takes the first half of the accumulator.
                            .finish(Function::Lanes, {}, at(0), at(0))}),
            "");
  std::vector<uint16_t> result = sim.readLx<uint16_t>(0, 0x1000, kLanes);
  for (size_t i = 0; i < kLanes; ++i) {
    EXPECT_EQ(result[i], floatToDl16(acc[i])) << i;
  }
  EXPECT_EQ(sim.readLx<uint16_t>(0, 0, kLanes), result);
}

template <typename Element>
void checkTranspose() {
  constexpr size_t kSize = 16;
  constexpr int64_t kBytes = sizeof(Element);
  TestSim sim;
  std::vector<Element> a(kSize * kSize);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = Element(i * 2654435761u);
  }
  sim.write(dram(0), a);
  ASSERT_EQ(
      sim.launch({PhaseBuilder("0_transpose")
                      .load({int64_t(sizeof(Element)) * 2}, ddrAt(0, 0, {128}), at(0, {128}))
                      .shuffle(kBytes, {kSize, kSize}, at(0, {kBytes * int64_t(kSize), kBytes}),
                               at(0x1000, {kBytes, kBytes * int64_t(kSize)}))}),
      "");
  std::vector<Element> result = sim.readLx<Element>(0, 0x1000, a.size());
  for (size_t r = 0; r < kSize; ++r) {
    for (size_t c = 0; c < kSize; ++c) {
      ASSERT_EQ(result[c * kSize + r], a[r * kSize + c]);
    }
  }
}

TEST(Instructions, ShuffleMovesElementsOfEachSize) {
  checkTranspose<uint8_t>();
  checkTranspose<uint16_t>();
  checkTranspose<uint32_t>();
}

TEST(Instructions, ShufflePointsRunInOrderAndFreshBytesAreNan) {
  TestSim sim;
  ASSERT_EQ(sim.launch({PhaseBuilder("0_smear")
                            .fill({}, at(0), 0x3E003E00)
                            .shuffle(2, {}, at(0), at(0x1000))
                            // Each element copies the one before it.
                            .shuffle(2, {9}, at(0x1000, {2}), at(0x1002, {2}))}),
            "");
  std::vector<uint16_t> expected(kLanes, 0xFFFF);
  std::fill_n(expected.begin(), 10, uint16_t(0x3E00));
  EXPECT_EQ(sim.readLx<uint16_t>(0, 0x1000, kLanes), expected);
}

// Two loops and a core table: core c takes rows c, c + 2, ... of a matrix and doubles them.
TEST(Instructions, LoopsAndCoreTablesGiveAddresses) {
  constexpr size_t kRows = 8, kColumns = 6;
  Random random(7);
  TestSim sim;
  std::vector<uint16_t> a = randomDl16(random, kRows * kColumns * kLanes, false);
  sim.write(dram(0), a);
  PhaseBuilder phase("0_double", 2);
  int32_t table = phase.table({0, kColumns * 128});
  Counts strides{2 * kColumns * 128, 256};
  phase.loop(kRows / 2)
      .loop(kColumns / 2)
      .load({2}, ddrAt(0, 0, {128}).table(table).loops(strides), at(0, {128}))
      .vector(Function::Add, {2}, {at(0, {128}), at(0, {128}), at(0x400, {128})})
      .store({2}, at(0x400, {128}), ddrAt(1, 0, {128}).table(table).loops(strides))
      .end()
      .end();
  ASSERT_EQ(sim.launch({phase}), "");
  std::vector<float> result = toFloats(sim.read<uint16_t>(dram(1), a.size()));
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(result[i], 2 * dl16ToFloat(a[i])) << i;
  }
  EXPECT_EQ(sim.counters().instructions, 2u * 4u * 3u * 3u);
}

TEST(Instructions, APhaseSeesWhatThePhaseBeforeStored) {
  TestSim sim;
  PhaseBuilder write("0_write", 4), read("1_read", 4);
  int32_t own = write.table({0, 128, 256, 384});
  write.fill({}, at(0), 0x3E003E00).store({}, at(0), ddrAt(0, 0).table(own));
  int32_t next = read.table({128, 256, 384, 0});
  int32_t ownAgain = read.table({0, 128, 256, 384});
  read.load({}, ddrAt(0, 0).table(next), at(0x100))
      .store({}, at(0x100), ddrAt(1, 0).table(ownAgain));
  ASSERT_EQ(sim.launch({write, read}), "");
  EXPECT_EQ(sim.read<uint16_t>(dram(1), 4 * kLanes), std::vector<uint16_t>(4 * kLanes, 0x3E00));
}

} // namespace
} // namespace spyre::test
