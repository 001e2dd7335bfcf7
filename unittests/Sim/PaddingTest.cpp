//===- PaddingTest.cpp - padding follows the data and stops before reductions and readers ---===//
#include "Sim/SimFixture.h"

namespace spyre::test {
namespace {

using numerics::DataFormat;

/// Lanes [first, 64) of a 16-bit stick.
constexpr uint64_t paddingFrom(int first) { return first >= 64 ? 0 : ~uint64_t(0) << first; }

/// Segment 0 has sticks whose lanes from `valid` on are padding.
class Padded {
public:
  explicit Padded(int valid, size_t sticks = 70, uint16_t value = 0x3E00)
      : masks(sticks, paddingFrom(valid)) {
    std::vector<uint16_t> data(sticks * 64, value);
    EXPECT_EQ(spyre_sim_write_sticks(sim.sim, dram(0), data.data(), data.size() * 2, masks.data()),
              0);
  }
  std::string run(const PhaseBuilder &phase) { return sim.launch({phase}); }
  /// Reads one stick of segment 1 as data but for \p padding.
  std::string readBack(uint64_t padding, uint64_t stick = 0) {
    std::vector<uint16_t> data(64);
    int failed = spyre_sim_read_sticks(sim.sim, dram(1, stick * 128), data.data(), 128, &padding);
    return failed == 0 ? "" : spyre_sim_last_error(sim.sim);
  }
  TestSim sim;
  std::vector<uint64_t> masks;
};

PhaseBuilder loaded(int64_t sticks = 70) {
  PhaseBuilder phase("0_pad");
  phase.load({sticks}, ddrAt(0, 0, {128}), at(0, {128}));
  return phase;
}

PhaseBuilder stored(PhaseBuilder phase, int64_t from) {
  return phase.store({}, at(from), ddrAt(1, 0));
}

TEST(Padding, TravelsThroughDdrAndLx) {
  Padded padded(60);
  ASSERT_EQ(padded.run(stored(loaded(), 128)), "");
  EXPECT_EQ(padded.readBack(paddingFrom(60)), "");
  EXPECT_EQ(padded.readBack(paddingFrom(50)), "");
  expectFault(padded.readBack(paddingFrom(61)), {"SPYRE-E7012: padding-read", "0x200000"});
  expectFault(padded.readBack(0), {"E7012"});
  // A copy inside DDR takes it along, plain bytes from the host are data, fresh memory too.
  ASSERT_EQ(spyre_sim_copy(padded.sim.sim, dram(0), dram(1, 1024), 1024), 0);
  EXPECT_NE(padded.readBack(0, 8), "");
  EXPECT_EQ(padded.readBack(paddingFrom(60), 15), "");
  padded.sim.write(dram(1, 1024), std::vector<uint8_t>(128));
  EXPECT_EQ(padded.readBack(0, 8), "");
  EXPECT_EQ(padded.readBack(0, 100), "");
  ASSERT_EQ(spyre_sim_discard(padded.sim.sim, dram(1, 1152), 128), 0);
  EXPECT_EQ(padded.readBack(0, 9), "");
}

// Half a stick: its bits go along, the other half keeps what it had.
TEST(Padding, CopiesOfPartsOfSticksMoveTheirBits) {
  Padded padded(60);
  ASSERT_EQ(spyre_sim_copy(padded.sim.sim, dram(0, 64), dram(1), 64), 0);
  EXPECT_EQ(padded.readBack(uint64_t(0xF) << 28), "");
  EXPECT_NE(padded.readBack(uint64_t(0xE) << 28), "");
  ASSERT_EQ(spyre_sim_copy(padded.sim.sim, dram(0, 1), dram(1), 64), 0);
  EXPECT_EQ(padded.readBack(0), "");
}

TEST(Padding, LaneWiseResultsHaveThePaddingOfTheirInputs) {
  Padded padded(60);
  PhaseBuilder phase = loaded();
  phase.fill({}, at(0x4000), 0)
      .vector(Function::Add, {3}, {at(0, {128}), at(0x4000), at(0x5000, {128})})
      .vector(Function::Mul, {}, {at(0x5080), constant(0), at(0x5000)});
  ASSERT_EQ(padded.run(stored(phase, 0x5000)), "");
  EXPECT_EQ(padded.readBack(paddingFrom(60)), "");
  EXPECT_NE(padded.readBack(paddingFrom(61)), "");
  // The result of clean inputs is clean, also where padding was before.
  phase.vector(Function::Copy, {}, {at(0x4000), at(0x5000)});
  ASSERT_EQ(padded.run(stored(phase, 0x5000)), "");
  EXPECT_EQ(padded.readBack(0), "");
}

// Sparse sticks: only lane 0 holds data, and that lane is all a splat uses.
TEST(Padding, SplatUsesOneLane) {
  for (int lane : {0, 59, 60, 63}) {
    Padded padded(60);
    PhaseBuilder phase = loaded();
    phase.vector(Function::Copy, {}, {at(0).splat(int8_t(lane)), at(0x5000)});
    ASSERT_EQ(padded.run(stored(phase, 0x5000)), "");
    EXPECT_EQ(padded.readBack(0).empty(), lane < 60) << lane;
  }
}

PhaseBuilder sumOf(uint16_t validLanes, Function tree, DataFormat format = DataFormat::Sen169Fp16) {
  PhaseBuilder phase = loaded();
  phase.fill({2}, at(0x6000, {128}), 0)
      .accumulate(Function::Sum, {5}, at(0, {128}), at(0x6000), validLanes)
      .format(format)
      .finish(tree, {}, at(0x6000), at(0x5000))
      .format(format);
  return stored(phase, 0x5000);
}

TEST(Padding, MustBeMaskedBeforeAReductionOverLanes) {
  Padded padded(60);
  expectFault(padded.run(sumOf(64, Function::TreeSum)),
              {"SPYRE-E7012: padding-read: core 0 phase 0_pad instruction 3 (finish.tree-sum) "
               "operand 0 (buffer lx) at LX 0x6000",
               "a reduction over lanes"});
  expectFault(padded.run(sumOf(61, Function::TreeMax)), {"E7012"});
  EXPECT_EQ(padded.run(sumOf(60, Function::TreeSum)), "");
  EXPECT_EQ(padded.readBack(0), "");
  // Lane by lane nothing mixes: padding stays where it is.
  EXPECT_EQ(padded.run(sumOf(64, Function::Lanes)), "");
  EXPECT_EQ(padded.readBack(paddingFrom(60)), "");
  EXPECT_NE(padded.readBack(0), "");
  // 32-bit lanes: lane 30 is the first of padding.
  EXPECT_EQ(padded.run(sumOf(30, Function::TreeSum, DataFormat::IeeeFp32)), "");
  expectFault(padded.run(sumOf(31, Function::TreeSum, DataFormat::IeeeFp32)), {"E7012"});
}

// A cleared accumulator has no padding left from its last use.
TEST(Padding, FillMakesAnAccumulatorCleanAgain) {
  Padded padded(60);
  PhaseBuilder phase = loaded();
  phase.fill({2}, at(0x6000, {128}), 0)
      .accumulate(Function::Sum, {}, at(0), at(0x6000), 64)
      .fill({2}, at(0x6000, {128}), 0)
      .accumulate(Function::Sum, {}, at(0), at(0x6000), 60)
      .finish(Function::TreeSum, {}, at(0x6000), at(0x5000));
  EXPECT_EQ(padded.run(phase), "");
}

PhaseBuilder product(int64_t a, int64_t b, uint16_t lanes, Function finish,
                     DataFormat format = DataFormat::Sen169Fp16) {
  PhaseBuilder phase = loaded();
  phase.fill({64}, at(0x4000, {128}), 0)
      .fill({2}, at(0x8000, {128}), 0)
      .matmul({}, at(a), at(b), at(0x8000), lanes)
      .format(format)
      .finish(finish, {}, at(0x8000), at(0x9000));
  return stored(phase, 0x9000);
}

TEST(Padding, KTailsAreMaskedAndColumnsOfBStayPadding) {
  Padded padded(60);
  expectFault(
      padded.run(product(0, 0x4000, 64, Function::Lanes)),
      {"SPYRE-E7012", "instruction 3 (matmul) operand 0 (buffer lx) at LX 0x0", "the matrix unit"});
  EXPECT_EQ(padded.run(product(0, 0x4000, 60, Function::Lanes)), "");
  EXPECT_EQ(padded.readBack(0), "");
  EXPECT_EQ(padded.run(product(0x4000, 0, 64, Function::Lanes)), "");
  EXPECT_EQ(padded.readBack(paddingFrom(60)), "");
  EXPECT_NE(padded.readBack(0), "");
  expectFault(padded.run(product(0x4000, 0, 64, Function::TreeSum)), {"E7012", "finish.tree-sum"});
  // 8 bits: two k-values per bit of the mask, lane n of both rows of B.
  EXPECT_EQ(padded.run(product(0, 0x4000, 120, Function::Lanes, DataFormat::Sen143Fp8)), "");
  expectFault(padded.run(product(0, 0x4000, 121, Function::Lanes, DataFormat::Sen143Fp8)),
              {"E7012"});
  EXPECT_EQ(padded.run(product(0x4000, 0, 128, Function::Lanes, DataFormat::SenInt8)), "");
  EXPECT_EQ(padded.readBack(paddingFrom(60)), "");
}

// A transpose of 60 x 64 elements: what no element came to is padding.
TEST(Padding, RestickifyFillsPartsOfSticks) {
  Padded padded(64);
  PhaseBuilder phase = loaded(60);
  phase.shuffle(2, {60, 64}, at(0, {128, 2}), at(0x4000, {2, 128}));
  ASSERT_EQ(padded.run(stored(phase, 0x4000)), "");
  EXPECT_EQ(padded.readBack(paddingFrom(60)), "");
  expectFault(padded.readBack(paddingFrom(61)), {"E7012"});
  // The rest arrives later: whole sticks of data.
  phase.load({4}, ddrAt(0, 0, {128}), at(0x3000, {128}))
      .shuffle(2, {4, 64}, at(0x3000, {128, 2}), at(0x4000 + 120, {2, 128}));
  ASSERT_EQ(padded.run(stored(phase, 0x4000)), "");
  EXPECT_EQ(padded.readBack(0), "");
}

TEST(Padding, ElementsOfPaddingStayPadding) {
  Padded padded(60);
  PhaseBuilder phase = loaded();
  phase.shuffle(2, {64}, at(126, {-2}), at(0x4000, {2}));
  ASSERT_EQ(padded.run(stored(phase, 0x4000)), "");
  EXPECT_EQ(padded.readBack(0xF), "");
  EXPECT_NE(padded.readBack(0x7), "");
  PhaseBuilder pick = loaded();
  pick.fill({}, at(0x5000), 1).pick(4, {32}, at(0), at(0x5000, {4}), at(0x4000, {4}), 2, 116);
  // Element 29 is data, 30 would be padding.
  ASSERT_EQ(padded.run(stored(pick, 0x4000)), "");
  EXPECT_EQ(padded.readBack(0), "");
  pick.phase.instructions[2].parameter = 120;
  ASSERT_EQ(padded.run(stored(pick, 0x4000)), "");
  EXPECT_NE(padded.readBack(0), "");
}

// A bit of the mask is of two bytes. Four of them may be half padding, and one that moves beside
// data does not make padding of it.
TEST(Padding, OfWideAndNarrowElementsIsKeptByPairsOfBytes) {
  Padded wide(13);
  PhaseBuilder words = loaded();
  words.shuffle(4, {32}, at(0, {4}), at(0x4000, {4}));
  ASSERT_EQ(wide.run(stored(words, 0x4000)), "");
  EXPECT_EQ(wide.readBack(paddingFrom(13)), "");
  expectFault(wide.readBack(paddingFrom(14)), {"E7012"});
  Padded narrow(2);
  PhaseBuilder bytes = loaded();
  bytes.shuffle(1, {4, 2}, at(0, {1, 64}), at(0x4000, {2, 1}));
  ASSERT_EQ(narrow.run(stored(bytes, 0x4000)), "");
  EXPECT_EQ(narrow.readBack(paddingFrom(4)), "");
  expectFault(narrow.readBack(paddingFrom(5)), {"E7012"});
}

TEST(Padding, ConvertSpreadsItOverTheSticks) {
  Padded padded(60);
  PhaseBuilder wide = loaded();
  // 64 lanes become 2 x 32: odd lanes in the second stick; 60 and 62 are lanes 30 and 31 of both.
  wide.convert(DataFormat::Sen169Fp16, DataFormat::IeeeFp32, {}, at(0), at(0x4000));
  for (int64_t stick : {0, 1}) {
    ASSERT_EQ(padded.run(stored(wide, 0x4000 + stick * 128)), "");
    EXPECT_EQ(padded.readBack(paddingFrom(60)), "");
    EXPECT_NE(padded.readBack(paddingFrom(61)), "");
  }
  // And back together; in groups of eight lanes 56..63 are in the second stick.
  PhaseBuilder back = wide;
  back.convert(DataFormat::IeeeFp32, DataFormat::Sen169Fp16, {}, at(0x4000), at(0x5000));
  ASSERT_EQ(padded.run(stored(back, 0x5000)), "");
  EXPECT_EQ(padded.readBack(paddingFrom(60)), "");
  EXPECT_NE(padded.readBack(paddingFrom(61)), "");
  PhaseBuilder grouped = loaded();
  grouped.convert(DataFormat::Sen169Fp16, DataFormat::IeeeFp32, {}, at(0), at(0x4000), 128, 8);
  ASSERT_EQ(padded.run(stored(grouped, 0x4000)), "");
  EXPECT_EQ(padded.readBack(0), "");
  ASSERT_EQ(padded.run(stored(grouped, 0x4080)), "");
  EXPECT_EQ(padded.readBack(paddingFrom(56)), "");
  EXPECT_NE(padded.readBack(paddingFrom(57)), "");
}

TEST(Padding, TravelsOverTheRingAndThroughIndirectTransfers) {
  Padded padded(60);
  PhaseBuilder ring("0_ring", 2);
  int32_t peers = ring.table({1, 0}), first = ring.table({1, 0}), second = ring.table({0, 1});
  ring.fill({}, at(128), 0)
      .load({}, ddrAt(0, 0), at(0))
      .only(second)
      .fill({}, at(0), 0)
      .only(first)
      .exchange(Function::Copy, {}, peers, at(0), at(256))
      .exchange(Function::Sum, {}, peers, at(0), at(128))
      .store({}, at(256), ddrAt(1, 0))
      .only(first)
      .store({}, at(128), ddrAt(1, 128))
      .only(first)
      .store({}, at(256), ddrAt(1, 256))
      .only(second)
      // Own padding stays when the peer's stick has none.
      .fill({}, at(384), 0)
      .exchange(Function::Sum, {}, peers, at(384), at(0))
      .store({}, at(0), ddrAt(1, 384))
      .only(second);
  ASSERT_EQ(padded.run(ring), "");
  for (uint64_t stick : {0, 1, 3}) {
    EXPECT_EQ(padded.readBack(paddingFrom(60), stick), "");
    EXPECT_NE(padded.readBack(paddingFrom(61), stick), "");
  }
  EXPECT_EQ(padded.readBack(0, 2), "");
  PhaseBuilder indirect("0_indirect");
  indirect.fill({}, at(0), 3)
      .gather({}, ddrAt(0, 0), at(0), at(128), 8)
      .scatter({}, at(128), at(0), ddrAt(1, 0), 8);
  ASSERT_EQ(padded.run(indirect), "");
  EXPECT_EQ(padded.readBack(paddingFrom(60), 3), "");
  EXPECT_NE(padded.readBack(0, 3), "");
}

TEST(Padding, IsNoIndex) {
  Padded padded(60, 70, 0);
  PhaseBuilder phase = loaded();
  phase.gather({}, ddrAt(0, 0), at(116), at(0x4000), 8);
  EXPECT_EQ(padded.run(phase), "");
  phase.gather({}, ddrAt(0, 0), at(120), at(0x4000), 8);
  expectFault(padded.run(phase), {"SPYRE-E7012", "(gather) operand 1", "LX 0x78", "an address"});
  // The upper half of a wide index counts as well.
  Padded half(58, 70, 0);
  PhaseBuilder wide = loaded();
  wide.gather({}, ddrAt(0, 0), at(104), at(0x4000), 8, 128, 8);
  EXPECT_EQ(half.run(wide), "");
  wide.gather({}, ddrAt(0, 0), at(112), at(0x4000), 8, 128, 8);
  expectFault(half.run(wide), {"SPYRE-E7012", "LX 0x70"});
}

TEST(Padding, TopKKeepsItPerLane) {
  Padded padded(60);
  PhaseBuilder phase = loaded();
  phase.fill({4}, at(0x4000, {128}), 0)
      .topk(1, {3}, at(0, {128}), at(0x4000), number(0, {1}))
      .finish(Function::Lanes, {}, at(0x4000), at(0x5000));
  ASSERT_EQ(padded.run(stored(phase, 0x5000)), "");
  EXPECT_EQ(padded.readBack(paddingFrom(60)), "");
  EXPECT_NE(padded.readBack(paddingFrom(61)), "");
  ASSERT_EQ(padded.run(stored(phase, 0x4180)), "");
  EXPECT_NE(padded.readBack(0), "");
}

// Without the sanitizer nobody knows of padding.
TEST(Padding, IsIgnoredWithoutTheSanitizer) {
  TestSim sim(SimOptions{.sanitizer = false});
  EXPECT_EQ(spyre_sim_has_sanitizer(sim.sim), 0);
  uint64_t mask = ~uint64_t(0), none = 0;
  std::vector<uint16_t> stick(64, 1), back(64);
  ASSERT_EQ(spyre_sim_write_sticks(sim.sim, 0, stick.data(), 128, &mask), 0);
  EXPECT_EQ(spyre_sim_read_sticks(sim.sim, 0, back.data(), 128, &none), 0);
  EXPECT_EQ(back, stick);
}

} // namespace
} // namespace spyre::test
