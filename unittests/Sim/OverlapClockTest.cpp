//===- OverlapClockTest.cpp - cycles of phases whose units overlap, computed by hand --------===//
#include "Sim/SimFixture.h"

namespace spyre::test {
namespace {

/// One stick takes 2 cycles of DDR and arrives 10 later; a vector operation takes 4, a matmul 8.
arch::DeviceDesc roundDevice() {
  arch::DeviceDesc device = *arch::DeviceDesc::preset("tiny");
  device.timing = plainTiming();
  device.timing.clockGhz = 1;
  device.timing.ddrBytesPerCycle = 64;
  device.timing.ddrLatencyCycles = 10;
  device.timing.sfpLanesPerCycle = 16;
  device.timing.sfpTranscendentalFactor = 2;
  device.timing.ptMacsPerCycle = 512;
  device.timing.ringBytesPerCycle = 32;
  device.timing.barrierCycles = 0;
  device.timing.launchOverheadCycles = 0;
  return device;
}

struct Timed {
  uint64_t cycles = 0;
  std::vector<spyre_sim_event> events;
  std::string error;
};

Timed runTimed(const PhaseBuilder &phase, uint32_t threads = 1) {
  TestSim sim(SimOptions{.threads = threads, .device = roundDevice()});
  spyre_sim_trace(sim.sim, 1000);
  Timed timed;
  timed.error = sim.launch({phase});
  timed.cycles = sim.counters().cycles;
  timed.events = sim.trace();
  EXPECT_EQ(timed.events.size(), sim.counters().instructions);
  return timed;
}

void expectSpan(const Timed &timed, uint32_t instruction, uint64_t start, uint64_t end) {
  for (const spyre_sim_event &event : timed.events) {
    if (event.instruction == instruction) {
      EXPECT_EQ(event.start_cycle, start) << "instruction " << instruction;
      EXPECT_EQ(event.end_cycle, end) << "instruction " << instruction;
      return;
    }
  }
  FAIL() << "instruction " << instruction << " has no event";
}

TEST(OverlapClock, WithoutOverlapOneInstructionFollowsTheOther) {
  PhaseBuilder phase("0_serial");
  phase.load({}, ddrAt(0, 0), at(0))
      .load({}, ddrAt(0, 128), at(128))
      .vector(Function::Add, {}, {at(0), at(128), at(256)})
      .store({}, at(256), ddrAt(1, 0));
  Timed timed = runTimed(phase);
  ASSERT_EQ(timed.error, "");
  EXPECT_EQ(timed.cycles, 12u + 12 + 4 + 12);
  expectSpan(timed, 0, 0, 12);
  expectSpan(timed, 1, 12, 24);
  expectSpan(timed, 2, 24, 28);
  expectSpan(timed, 3, 28, 40);
}

TEST(OverlapClock, UnitsRunSideBySide) {
  PhaseBuilder phase("0_beside", 1, true);
  phase
      .load({}, ddrAt(0, 0), at(0))     // 0..2, arrives 12
      .load({}, ddrAt(0, 128), at(128)) // 2..4, arrives 14
      .fill({}, at(256), 0)             // 0..4
      .fill({}, at(384), 0);            // 4..8
  Timed timed = runTimed(phase);
  ASSERT_EQ(timed.error, "");
  EXPECT_EQ(timed.cycles, 14u);
  expectSpan(timed, 0, 0, 12);
  expectSpan(timed, 1, 2, 14);
  expectSpan(timed, 2, 0, 4);
  expectSpan(timed, 3, 4, 8);
}

// A signal comes when the results of its unit are there, and waits are passed on by signals.
TEST(OverlapClock, SignalsFollowResultsThroughAChain) {
  PhaseBuilder phase("0_chain", 1, true);
  phase
      .load({}, ddrAt(0, 0), at(0)) // 0..2, arrives 12
      .signal(Unit::Load, 0)
      .load({}, ddrAt(0, 128), at(128)) // 2..4, arrives 14: does not delay token 0
      .wait(Unit::Vector, 0)
      .vector(Function::Neg, {}, {at(0), at(256)}) // 12..16
      .signal(Unit::Vector, 1)
      .wait(Unit::Matrix, 1)
      .signal(Unit::Matrix, 2) // The matrix unit did nothing but wait: 16.
      .wait(Unit::Store, 2)
      .store({}, at(256), ddrAt(1, 0)); // 16..18, done 28
  Timed timed = runTimed(phase);
  ASSERT_EQ(timed.error, "");
  expectSpan(timed, 4, 12, 16);
  expectSpan(timed, 9, 16, 28);
  EXPECT_EQ(timed.cycles, 28u);
}

// Loads and stores of a core share its part of DDR.
TEST(OverlapClock, LoadsAndStoresShareDdr) {
  PhaseBuilder phase("0_share", 1, true);
  phase
      .fill({}, at(0), 0) // 0..4
      .signal(Unit::Vector, 0)
      .load({10}, ddrAt(0, 0, {128}), at(0x1000, {128})) // 0..20
      .wait(Unit::Store, 0)
      .store({}, at(0), ddrAt(1, 0))       // DDR is free at 20: 20..22
      .load({}, ddrAt(0, 0x800), at(128)); // 22..24
  Timed timed = runTimed(phase);
  ASSERT_EQ(timed.error, "");
  expectSpan(timed, 2, 0, 30);
  expectSpan(timed, 4, 20, 32);
  expectSpan(timed, 5, 22, 34);
}

/// Load a tile, take its exponential, store it; \p tiles tiles through two buffers each.
PhaseBuilder doubleBuffered(int64_t tiles, int64_t sticks) {
  PhaseBuilder phase("0_pipeline", 1, true);
  int64_t bytes = sticks * 128;
  for (int64_t i = 0; i < tiles; ++i) {
    int64_t half = i % 2 * 0x1000;
    if (i >= 2) {
      phase.wait(Unit::Load, 1); // The input of tile i - 2 was read.
    }
    phase.load({sticks}, ddrAt(0, i * bytes, {128}), at(half, {128})).signal(Unit::Load, 0);
    phase.wait(Unit::Vector, 0);
    if (i >= 2) {
      phase.wait(Unit::Vector, 3); // The result of tile i - 2 was stored.
    }
    phase.vector(Function::Exp, {sticks}, {at(half, {128}), at(0x4000 + half, {128})})
        .signal(Unit::Vector, 1)
        .signal(Unit::Vector, 2)
        .wait(Unit::Store, 2)
        .store({sticks}, at(0x4000 + half, {128}), ddrAt(1, i * bytes, {128}))
        .signal(Unit::Store, 3);
  }
  return phase;
}

// 8 sticks: load and store take 16 cycles of DDR each (+ 10), exp 64. The vector unit is the
// slowest and works without a gap from the arrival of the first tile (26) to the end of the last
// one. Load 1 comes behind store 0 in the program, but DDR is idle long before that store may
// begin.
TEST(OverlapClock, DoubleBufferingHidesTransfers) {
  constexpr int64_t kTiles = 6;
  Timed timed = runTimed(doubleBuffered(kTiles, 8));
  ASSERT_EQ(timed.error, "");
  EXPECT_EQ(timed.cycles, 26u + kTiles * 64u + 16u + 10u);
  std::vector<uint64_t> loads;
  uint64_t next = 26;
  for (const spyre_sim_event &event : timed.events) {
    if (event.unit == uint32_t(Unit::Vector)) {
      EXPECT_EQ(event.start_cycle, next);
      next = event.end_cycle;
    } else if (event.unit == uint32_t(Unit::Load)) {
      loads.push_back(event.start_cycle);
    }
  }
  // Load i + 2 may begin when exp i is done, and then lets store i go first.
  EXPECT_EQ(loads, (std::vector<uint64_t>{0, 16, 106, 170, 234, 298}));
  for (uint32_t threads : {2, 3, 8}) {
    EXPECT_EQ(runTimed(doubleBuffered(kTiles, 8), threads).cycles, timed.cycles);
  }
}

// The same program without tokens is faulty, and as a serial phase it takes the sum.
TEST(OverlapClock, TheSerialVersionTakesTheSum) {
  PhaseBuilder phase = doubleBuffered(4, 8);
  phase.phase.overlap = false;
  Timed timed = runTimed(phase);
  ASSERT_EQ(timed.error, "");
  EXPECT_EQ(timed.cycles, 4u * (26 + 64 + 26));
}

// All cores wait for the slowest at a barrier, with all its units.
TEST(OverlapClock, BarriersWaitForAllUnitsOfAllCores) {
  PhaseBuilder phase("0_barrier", 2, true);
  int32_t second = phase.table({0, 1}), rows = phase.table({0, 1024});
  phase
      .load({4}, ddrAt(0, 0, {128}).table(rows), at(0, {128})) // two cores: 16 cycles, + 10 = 26
      .fill({7}, at(0x1000, {128}), 0)                         // 28 on core 1
      .only(second)
      .barrier()
      .vector(Function::Neg, {}, {at(0), at(0x2000)});
  Timed timed = runTimed(phase);
  ASSERT_EQ(timed.error, "");
  EXPECT_EQ(timed.cycles, 28u + 4u);
  expectSpan(timed, 3, 28, 32);
}

TEST(OverlapClock, TracesKeepTheFirstEventsAndForgetFailedLaunches) {
  TestSim sim(SimOptions{.device = roundDevice()});
  PhaseBuilder good("0_good", 2);
  good.fill({}, at(0), 0).fill({}, at(128), 0);
  PhaseBuilder bad = good;
  bad.vector(Function::Copy, {}, {at(0x1000), at(0)});
  spyre_sim_trace(sim.sim, 7);
  ASSERT_EQ(sim.launch({good}), "");
  EXPECT_NE(sim.launch({bad}), "");
  ASSERT_EQ(sim.launch({good}), "");
  std::vector<spyre_sim_event> events = sim.trace();
  ASSERT_EQ(events.size(), 7u);
  EXPECT_EQ(events[3].launch, 0u);
  EXPECT_EQ(events[4].launch, 1u);
  EXPECT_EQ(events[4].start_cycle, sim.counters().cycles / 2);
  spyre_sim_event one{};
  EXPECT_EQ(spyre_sim_get_trace(sim.sim, &one, 1), 7u);
  EXPECT_EQ(one.end_cycle, 4u);
  spyre_sim_trace(sim.sim, 0);
  ASSERT_EQ(sim.launch({good}), "");
  EXPECT_TRUE(sim.trace().empty());
}

} // namespace
} // namespace spyre::test
