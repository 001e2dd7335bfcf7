//===- PipelineTest.cpp - phases that overlap give the results of program order or a fault ---===//
#include "Sim/RandomPipeline.h"

namespace spyre::test {
namespace {

/// What a launch leaves behind.
struct Outcome {
  std::string error;
  std::vector<uint8_t> ddr, lx;
  spyre_sim_counters counters{};

  bool operator==(const Outcome &other) const {
    return error == other.error && ddr == other.ddr && lx == other.lx &&
           std::memcmp(&counters, &other.counters, sizeof(counters)) == 0;
  }
};

Outcome run(const PhaseBuilder &phase, const SimOptions &options = {}) {
  TestSim sim(options);
  static const std::vector<uint16_t> kData = [] {
    Random random(17);
    return randomDl16(random, kMappedBytes / 2);
  }();
  sim.write(dram(0), kData);
  Outcome outcome;
  outcome.error = sim.launch({phase});
  if (outcome.error.empty()) {
    outcome.ddr = sim.read<uint8_t>(dram(1), kMappedBytes);
    for (uint32_t core = 0; core < 4; ++core) {
      std::vector<uint8_t> lx = sim.readLx<uint8_t>(core, 0, kTinyLxBytes);
      outcome.lx.insert(outcome.lx.end(), lx.begin(), lx.end());
    }
  }
  outcome.counters = sim.counters();
  return outcome;
}

TEST(Pipeline, OverlapGivesTheResultsOfProgramOrder) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    RandomPipeline pipeline(random, 10 + random.below(60), 2, 2);
    ASSERT_TRUE(pipeline.isOrdered());
    Outcome overlapped = run(pipeline.build(true)), serial = run(pipeline.build(false));
    ASSERT_EQ(overlapped.error, "") << "seed " << seed;
    ASSERT_EQ(serial.error, "");
    EXPECT_EQ(overlapped.ddr, serial.ddr) << "seed " << seed;
    EXPECT_EQ(overlapped.lx, serial.lx) << "seed " << seed;
    EXPECT_LE(overlapped.counters.cycles, serial.counters.cycles);
  }
}

// One wait taken out: a fault exactly when the rest no longer orders all that conflicts.
TEST(Pipeline, AMissingWaitIsReportedExactlyWhenItWasNeeded) {
  size_t needed = 0, redundant = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Random random(1000 + seed);
    RandomPipeline pipeline(random, 10 + random.below(50), 2, 2);
    std::vector<size_t> waits = pipeline.waits();
    ASSERT_FALSE(waits.empty());
    size_t removed = waits[random.below(waits.size())];
    pipeline.steps.erase(pipeline.steps.begin() + std::ptrdiff_t(removed));
    Outcome outcome = run(pipeline.build(true));
    if (pipeline.isOrdered()) {
      ++redundant;
      EXPECT_EQ(outcome.error, "") << "seed " << seed;
    } else {
      ++needed;
      expectFault(outcome.error, {"SPYRE-E7015: missing-wait: core 0", "nothing orders the two"});
    }
    // Without overlap no token is needed.
    EXPECT_EQ(run(pipeline.build(false)).error, "");
  }
  EXPECT_GT(needed, 50u);
  EXPECT_GT(redundant, 5u);
}

TEST(Pipeline, NothingDependsOnHostThreads) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    Random random(5000 + seed);
    RandomPipeline pipeline(random, 40, 4, 32);
    if (seed % 3 == 2) { // Faults are the same ones, too.
      std::vector<size_t> waits = pipeline.waits();
      pipeline.steps.erase(pipeline.steps.begin() + std::ptrdiff_t(waits[waits.size() / 2]));
    }
    Outcome one = run(pipeline.build(true), {.threads = 1});
    for (uint32_t threads : {2, 3, 8}) {
      EXPECT_TRUE(run(pipeline.build(true), {.threads = threads}) == one)
          << "seed " << seed << " threads " << threads << " " << one.error;
    }
  }
}

TEST(Pipeline, TheSanitizerOnlyLooks) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    Random random(7000 + seed);
    RandomPipeline pipeline(random, 50, 3, 4);
    Outcome with = run(pipeline.build(true));
    Outcome without = run(pipeline.build(true), {.sanitizer = false});
    ASSERT_EQ(with.error, "");
    EXPECT_EQ(with.ddr, without.ddr);
    EXPECT_EQ(with.lx, without.lx);
    EXPECT_GT(with.counters.sanitizer_checks, 0u);
    without.counters.sanitizer_checks = with.counters.sanitizer_checks;
    EXPECT_EQ(std::memcmp(&with.counters, &without.counters, sizeof(with.counters)), 0);
  }
}

/// Double buffering as a loop over pairs of tiles; tokens signalled before it are the free buffers.
PhaseBuilder loopedPipeline(int64_t pairs, bool isOverlapped = true) {
  PhaseBuilder phase("0_loop", 1, isOverlapped);
  phase.signal(Unit::Vector, 1).signal(Unit::Vector, 1).signal(Unit::Store, 3);
  phase.signal(Unit::Store, 3).loop(pairs);
  for (int64_t half : {0, 1}) {
    int64_t in = half * 0x1000, out = 0x4000 + half * 0x1000, tile = half * 512;
    phase.wait(Unit::Load, 1)
        .load({4}, ddrAt(0, tile, {128}).loops({1024}), at(in, {128}))
        .signal(Unit::Load, 0)
        .wait(Unit::Vector, 0)
        .wait(Unit::Vector, 3)
        .vector(Function::Neg, {4}, {at(in, {128}), at(out, {128})})
        .signal(Unit::Vector, 1)
        .signal(Unit::Vector, 2)
        .wait(Unit::Store, 2)
        .store({4}, at(out, {128}), ddrAt(1, tile, {128}).loops({1024}))
        .signal(Unit::Store, 3);
  }
  return phase.end();
}

TEST(Pipeline, LoopsRunWithTokensAsCredits) {
  Outcome looped = run(loopedPipeline(100));
  ASSERT_EQ(looped.error, "");
  Outcome serial = run(loopedPipeline(100, false));
  EXPECT_EQ(looped.ddr, serial.ddr);
  EXPECT_LT(looped.counters.cycles * 2, serial.counters.cycles);
  // One credit too many: the load overwrites what the vector unit still reads.
  PhaseBuilder greedy = loopedPipeline(100);
  greedy.phase.instructions.insert(greedy.phase.instructions.begin(),
                                   greedy.phase.instructions.front());
  expectFault(run(greedy).error, {"SPYRE-E7015: missing-wait: core 0 phase 0_loop instruction",
                                  "(load) operand 1", "unit vector reads it"});
  // One too few: nobody signals what the first load waits for in the second half.
  PhaseBuilder starved = loopedPipeline(100);
  starved.phase.instructions.erase(starved.phase.instructions.begin());
  starved.phase.instructions.erase(starved.phase.instructions.begin());
  expectFault(run(starved).error, {"SPYRE-E7016: deadlock", "(wait)", "token 1"});
}

/// Store to DDR and load from it in one phase; with the words between them.
std::string throughDdr(const std::string &first, const std::string &between,
                       const std::string &second) {
  return R"(
    buffer x ddr 0:0 bytes 4096
    buffer a lx 0 bytes 128
    buffer b lx 128 bytes 1024
    phase 0 "0_ddr" cores 1 overlap
      fill SEN169_FP16 a[0] pattern=7
      signal vector 0
      wait store 0
)" + first +
         "\n" + between + "\n" + second;
}

constexpr const char *kStore = "store SEN169_FP16 x[0 + 256*p5] <- a[0] x 4";

// No token orders what goes through DDR, a barrier does; and gaps between sticks are no conflict.
TEST(Pipeline, LoadsOfStoredDataNeedABarrier) {
  TestSim sim;
  std::string load = "load SEN169_FP16 b[0 + 128*p5] <- x[256 + 256*p5] x 4";
  expectFault(sim.launchText(throughDdr(kStore, "", load)),
              {"SPYRE-E7005: missing-barrier: core 0 phase 0_ddr instruction 4 (load) operand 0 "
               "(buffer x) reads physical DDR 0x100100"});
  EXPECT_EQ(sim.launchText(throughDdr(kStore, "barrier", load)), "");
  EXPECT_EQ(sim.launchText(
                throughDdr(kStore, "", "load SEN169_FP16 b[0 + 128*p5] <- x[128 + 256*p5] x 4")),
            "");
}

// Many separate sticks between stores and loads: the one that meets is found, and no other.
TEST(Pipeline, ConflictsThroughDdrAreFoundAmongManySticks) {
  for (int64_t meeting : {-1, 0, 1, 700, 1499}) {
    TestSim sim;
    PhaseBuilder phase("0_many", 1, true);
    phase.fill({}, at(0), 1)
        .signal(Unit::Vector, 0)
        .wait(Unit::Store, 0)
        .loop(500)
        .store({3}, at(0), ddrAt(1, 0, {500 * 256}).loops({256}))
        .load({3}, ddrAt(1, 128, {500 * 256}).loops({256}), at(128))
        .end()
        .load({}, ddrAt(1, meeting < 0 ? 128 : meeting * 256), at(256));
    std::string error = sim.launch({phase});
    if (meeting < 0) {
      EXPECT_EQ(error, "");
    } else {
      expectFault(error, {"SPYRE-E7005", "instruction 7 (load)"});
    }
  }
}

// The other way round a token is enough: the load is over when it is signalled.
TEST(Pipeline, StoresWaitForLoadsOfTheSameSticks) {
  TestSim sim;
  std::string load = "load SEN169_FP16 b[0 + 128*p5] <- x[512 + 256*p5] x 4";
  expectFault(sim.launchText(throughDdr(load, "", kStore)),
              {"SPYRE-E7015: missing-wait: core 0 phase 0_ddr instruction 4 (store) operand 1 "
               "(buffer x) writes physical DDR 0x100200",
               "unit load reads"});
  EXPECT_EQ(sim.launchText(throughDdr(load, "signal load 1\nwait store 1", kStore)), "");
  EXPECT_EQ(sim.launchText(throughDdr(load, "barrier", kStore)), "");
  EXPECT_EQ(sim.launchText(
                throughDdr("load SEN169_FP16 b[0 + 128*p5] <- x[128 + 256*p5] x 4", "", kStore)),
            "");
}

} // namespace
} // namespace spyre::test
