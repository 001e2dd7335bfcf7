//===- DeterminismTest.cpp - the same bits and counters for any number of host threads ------===//
#include "Sim/SimFixture.h"

#include <bit>

namespace spyre::test {
namespace {

/// Per core: a row block of A x B, exp of it, a row sum; a second phase reads other cores' results.
std::vector<PhaseBuilder> attentionLike() {
  constexpr int64_t kRows = 8;
  // Three times the same, so that there is enough work to wake threads for.
  Counts perHalf{0, kRows / 2 * 128};
  PhaseBuilder first("0_matmul", 4);
  int32_t rows = first.table({0, kRows * 128, 2 * kRows * 128, 3 * kRows * 128});
  first.load({64}, ddrAt(1, 0, {128}), at(0x4000, {128}))
      .loop(3)
      .loop(2)
      .load({kRows / 2}, ddrAt(0, 0, {128}).table(rows).loops(perHalf), at(0, {128}))
      .fill({kRows}, at(0x1000, {128}), 0)
      .matmul({kRows / 2}, at(0, {128}), at(0x4000), at(0x1000, {256}))
      .finish(Function::Lanes, {kRows / 2}, at(0x1000, {256}), at(0x2000, {128}))
      .vector(Function::Exp, {kRows / 2}, {at(0x2000, {128}), at(0x2000, {128})})
      .store({kRows / 2}, at(0x2000, {128}), ddrAt(2, 0, {128}).table(rows).loops(perHalf))
      .end()
      .end();
  PhaseBuilder second("1_sum", 3);
  int32_t own = second.table({0, 128, 256});
  second.load({4 * kRows}, ddrAt(2, 0, {128}), at(0, {128}))
      .fill({2}, at(0x3000, {128}), 0)
      .accumulate(Function::Sum, {4 * kRows}, at(0, {128}), at(0x3000), 50)
      .finish(Function::TreeSum, {}, at(0x3000), at(0x3100))
      .store({}, at(0x3100), ddrAt(3, 0).table(own));
  return {first, second};
}

TEST(Determinism, SameBitsAndCountersForEveryThreadCount) {
  std::vector<uint16_t> expected;
  spyre_sim_counters expectedCounters{};
  for (uint32_t threads : {1, 2, 5, 0}) {
    Random random(42);
    TestSim sim(threads);
    sim.write(dram(0), randomDl16(random, 32 * 64));
    sim.write(dram(1), randomDl16(random, 64 * 64, false));
    for (int launch = 0; launch < 3; ++launch) {
      ASSERT_EQ(sim.launch(attentionLike()), "");
    }
    std::vector<uint16_t> result = sim.read<uint16_t>(dram(2), 32 * 64);
    std::vector<uint16_t> sums = sim.read<uint16_t>(dram(3), 3 * 64);
    result.insert(result.end(), sums.begin(), sums.end());
    spyre_sim_counters counters = sim.counters();
    if (expected.empty()) {
      expected = result;
      expectedCounters = counters;
    }
    EXPECT_EQ(result, expected) << threads << " threads";
    EXPECT_EQ(std::memcmp(&counters, &expectedCounters, sizeof(counters)), 0);
  }
  EXPECT_GT(expectedCounters.sanitizer_checks, 0u);
}

// The checks look, they do not touch.
TEST(Determinism, SanitizerDoesNotChangeResults) {
  std::vector<std::vector<uint16_t>> results;
  for (bool sanitizer : {true, false}) {
    Random random(43);
    TestSim sim(SimOptions{.threads = 2, .sanitizer = sanitizer});
    sim.write(dram(0), randomDl16(random, 32 * 64));
    sim.write(dram(1), randomDl16(random, 64 * 64));
    ASSERT_EQ(sim.launch(attentionLike()), "");
    results.push_back(sim.read<uint16_t>(dram(2), 32 * 64));
  }
  EXPECT_EQ(results[0], results[1]);
}

} // namespace
} // namespace spyre::test
