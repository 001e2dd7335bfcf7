//===- MoveTest.cpp - Shuffle, Pick, Gather and Scatter against plain loops -----------------===//
#include "Sim/SimFixture.h"

namespace spyre::test {
namespace {

template <typename T>
void checkPick(TestSim &sim, Random &random) {
  constexpr int64_t kCount = 96, kBound = 40;
  constexpr int64_t kStride = 3 * int64_t(sizeof(T));
  std::vector<T> table = randomBits<T>(random, 4096 / sizeof(T));
  std::vector<int32_t> indices;
  for (int64_t i = 0; i < kCount; ++i) {
    indices.push_back(int32_t(random.below(kBound)));
  }
  sim.write(dram(0), table);
  sim.write(dram(1), indices);
  // Element i of the result is table[i + 3 * index], written backwards.
  PhaseBuilder phase("0_pick");
  phase.load({32}, ddrAt(0, 0, {128}), at(0, {128}))
      .load({3}, ddrAt(1, 0, {128}), at(0x2000, {128}))
      .fill({3}, at(0x3000, {128}), 0)
      .pick(sizeof(T), {kCount}, at(0, {sizeof(T)}), at(0x2000, {4}),
            at(0x3000 + (kCount - 1) * int64_t(sizeof(T)), {-int64_t(sizeof(T))}), kBound, kStride);
  ASSERT_EQ(sim.launch({phase}), "");
  std::vector<T> result = sim.readLx<T>(0, 0x3000, kCount);
  for (int64_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(result[size_t(kCount - 1 - i)], table[size_t(i + 3 * indices[size_t(i)])]) << i;
  }
}

TEST(Move, PickFollowsIndices) {
  TestSim sim;
  Random random(1);
  checkPick<uint8_t>(sim, random);
  checkPick<uint16_t>(sim, random);
  checkPick<uint32_t>(sim, random);
}

// The table is also the result: later points read what earlier ones wrote.
TEST(Move, PickPointsRunInOrder) {
  TestSim sim;
  std::vector<int32_t> table{5, 6, 7, 8}, indices{1, 0, 3};
  table.resize(32);
  indices.resize(32);
  sim.write(dram(0), table);
  sim.write(dram(1), indices);
  PhaseBuilder phase("0_pick");
  phase.load({}, ddrAt(0, 0), at(0))
      .load({}, ddrAt(1, 0), at(128))
      .pick(4, {3}, at(0), at(128, {4}), at(0, {4}), 4, 4);
  ASSERT_EQ(sim.launch({phase}), "");
  // table[0] = table[1]; table[1] = table[0] (new); table[2] = table[3].
  EXPECT_EQ(sim.readLx<int32_t>(0, 0, 4), (std::vector<int32_t>{6, 6, 8, 8}));
}

template <typename Index>
void checkGatherScatter(TestSim &sim, Random &random) {
  constexpr size_t kRows = 50, kPoints = 45;
  std::vector<uint32_t> table = randomBits<uint32_t>(random, kRows * 2 * 32);
  std::vector<Index> indices;
  for (size_t i = 0; i < kPoints; ++i) {
    indices.push_back(Index(random.below(kRows)));
  }
  indices.resize(128 * 8 / sizeof(Index));
  sim.write(dram(0), table);
  sim.write(dram(1), indices);
  sim.write(dram(2), std::vector<uint32_t>(kRows * 32, 0xAAAAAAAA));
  // Rows of two sticks; the second of each is fetched, and scattered into rows of one.
  PhaseBuilder phase("0_gather");
  phase.load({8}, ddrAt(1, 0, {128}), at(0, {128}))
      .gather({kPoints}, ddrAt(0, 128), at(0, {sizeof(Index)}), at(0x2000, {128}), kRows, 256,
              sizeof(Index))
      .scatter({kPoints}, at(0x2000, {128}), at(0, {sizeof(Index)}), ddrAt(2, 0), kRows, 128,
               sizeof(Index));
  ASSERT_EQ(sim.launch({phase}), "");
  std::vector<uint32_t> gathered = sim.readLx<uint32_t>(0, 0x2000, kPoints * 32);
  std::vector<uint32_t> expected(kRows * 32, 0xAAAAAAAA);
  for (size_t i = 0; i < kPoints; ++i) {
    for (size_t lane = 0; lane < 32; ++lane) {
      uint32_t value = table[size_t(indices[i]) * 64 + 32 + lane];
      ASSERT_EQ(gathered[i * 32 + lane], value);
      expected[size_t(indices[i]) * 32 + lane] = value;
    }
  }
  EXPECT_EQ(sim.read<uint32_t>(dram(2), kRows * 32), expected);
}

TEST(Move, GatherAndScatterFollowIndices) {
  TestSim sim;
  Random random(2);
  checkGatherScatter<int32_t>(sim, random);
  checkGatherScatter<int64_t>(sim, random);
}

// Two points scatter to one row: points ascend, the last one stays.
TEST(Move, ScatterKeepsTheLastPoint) {
  TestSim sim;
  sim.write(dram(1), std::vector<int32_t>(32, 3));
  PhaseBuilder phase("0_scatter");
  phase.load({}, ddrAt(1, 0), at(0))
      .fill({}, at(128), 1)
      .fill({}, at(256), 2)
      .scatter({2}, at(128, {128}), at(0, {4}), ddrAt(2, 0), 8);
  ASSERT_EQ(sim.launch({phase}), "");
  EXPECT_EQ(sim.read<uint32_t>(dram(2, 3 * 128), 1)[0], 2u);
}

// Index 8 bytes wide: a number beyond 32 bits is not cut off.
TEST(Move, WideIndicesAreReadWhole) {
  TestSim sim;
  sim.write(dram(1), std::vector<int64_t>(16, int64_t(1) << 32));
  PhaseBuilder phase("0_gather");
  phase.load({}, ddrAt(1, 0), at(0)).gather({}, ddrAt(0, 0), at(0), at(128), 4, 128, 8);
  expectFault(sim.launch({phase}), {"SPYRE-E7017: index-out-of-range", "4294967296", "0..3"});
}

/// Random elements of a small LX moved one by one.
template <typename T>
void checkShuffle(TestSim &sim, Random &random) {
  constexpr int64_t kElements = 4096 / sizeof(T);
  std::vector<T> lx = randomBits<T>(random, size_t(kElements));
  sim.write(dram(0), lx);
  int64_t counts[3], base[2], strides[2][3];
  for (int64_t &count : counts) {
    count = random.between(1, 6);
  }
  for (size_t op = 0; op < 2; ++op) {
    base[op] = kElements / 2 + random.between(-40, 40);
    for (size_t level = 0; level < 3; ++level) {
      strides[op][level] = counts[level] > 1 ? random.between(-60, 60) : 0;
    }
  }
  auto operand = [&](size_t op) {
    constexpr auto kBytes = int64_t(sizeof(T));
    return at(base[op] * kBytes,
              {strides[op][0] * kBytes, strides[op][1] * kBytes, strides[op][2] * kBytes});
  };
  PhaseBuilder phase("0_shuffle");
  phase.load({32}, ddrAt(0, 0, {128}), at(0, {128}))
      .shuffle(sizeof(T), {counts[0], counts[1], counts[2]}, operand(0), operand(1));
  std::string error = sim.launch({phase});
  auto place = [&](size_t op, int64_t i, int64_t j, int64_t k) {
    return base[op] + i * strides[op][0] + j * strides[op][1] + k * strides[op][2];
  };
  if (error.find("E5103") != std::string::npos || error.find("E7009") != std::string::npos) {
    return; // Left LX.
  }
  for (int64_t i = 0; i < counts[0]; ++i) {
    for (int64_t j = 0; j < counts[1]; ++j) {
      for (int64_t k = 0; k < counts[2]; ++k) {
        int64_t from = place(0, i, j, k), to = place(1, i, j, k);
        if (from < 0 || to < 0 || from >= kElements || to >= kElements) {
          return; // Reads what nobody wrote.
        }
        lx[size_t(to)] = lx[size_t(from)];
      }
    }
  }
  ASSERT_EQ(error, "");
  ASSERT_EQ(sim.readLx<T>(0, 0, lx.size()), lx);
}

TEST(Move, ShuffleIsALoopOverElements) {
  TestSim sim;
  Random random(3);
  for (int round = 0; round < 200; ++round) {
    ASSERT_NO_FATAL_FAILURE(checkShuffle<uint8_t>(sim, random));
    ASSERT_NO_FATAL_FAILURE(checkShuffle<uint16_t>(sim, random));
    ASSERT_NO_FATAL_FAILURE(checkShuffle<uint32_t>(sim, random));
  }
}

/// Transposes two blocks of 64 x 64 elements, walked by rows or by columns of the input, with
/// padding at random; \p inPieces keeps the device from seeing a block.
struct Transposed {
  std::vector<uint16_t> elements;
  std::vector<uint64_t> padding;
  bool operator==(const Transposed &) const = default;
};

Transposed transpose(bool byRows, bool inPieces) {
  constexpr int64_t kBlockBytes = 64 * 128, kBlocks = 2;
  TestSim sim;
  Random random(5);
  std::vector<uint16_t> data = randomBits<uint16_t>(random, kBlocks * 4096);
  std::vector<uint64_t> masks = randomBits<uint64_t>(random, kBlocks * 64);
  EXPECT_EQ(spyre_sim_write_sticks(sim.sim, dram(0), data.data(), data.size() * 2, masks.data()),
            0);
  PhaseBuilder phase("0_transpose");
  phase.load({kBlocks * 64}, ddrAt(0, 0, {128}), at(0, {128}));
  At from = byRows ? at(0, {kBlockBytes, 128, 2}) : at(0, {kBlockBytes, 2, 128});
  At to = byRows ? at(0x8000, {kBlockBytes, 2, 128}) : at(0x8000, {kBlockBytes, 128, 2});
  if (inPieces) {
    phase.loop(64)
        .shuffle(2, {kBlocks, 64}, at(0, {kBlockBytes, 2}).loops({128}),
                 at(0x8000, {kBlockBytes, 128}).loops({2}))
        .end();
  } else {
    phase.shuffle(2, {kBlocks, 64, 64}, from, to);
  }
  phase.store({kBlocks * 64}, at(0x8000, {128}), ddrAt(1, 0, {128}));
  EXPECT_EQ(sim.launch({phase}), "");
  Transposed result{sim.read<uint16_t>(dram(1), data.size()), {}};
  // The lightest masks with which the sticks can be read are those the device has.
  for (size_t stick = 0; stick < kBlocks * 64; ++stick) {
    uint64_t mask = ~uint64_t(0);
    for (uint64_t bit = 0; bit < 64; ++bit) {
      uint64_t lighter = mask & ~(uint64_t(1) << bit);
      std::vector<uint8_t> bytes(128);
      if (spyre_sim_read_sticks(sim.sim, dram(1) + stick * 128, bytes.data(), 128, &lighter) == 0) {
        mask = lighter;
      }
    }
    result.padding.push_back(mask);
  }
  return result;
}

TEST(Move, BlocksAreTransposedLikeElements) {
  Transposed expected = transpose(true, true);
  EXPECT_TRUE(transpose(true, false) == expected);
  EXPECT_TRUE(transpose(false, false) == expected);
}

} // namespace
} // namespace spyre::test
