//===- ClockTest.cpp - counters and cycles of a small program, exactly ----------------------===//
#include "Sim/SimFixture.h"

namespace spyre::test {
namespace {

/// Round rates, so that every number below can be checked by eye.
arch::DeviceDesc clockedDevice() {
  arch::DeviceDesc device = *arch::DeviceDesc::preset("tiny");
  device.timing = plainTiming();
  device.timing.clockGhz = 1.5;
  device.timing.ddrBytesPerCycle = 64;
  device.timing.ddrLatencyCycles = 100;
  device.timing.ptMacsPerCycle = 1000;
  device.timing.sfpLanesPerCycle = 100;
  device.timing.sfpTranscendentalFactor = 3;
  device.timing.barrierCycles = 10;
  device.timing.launchOverheadCycles = 50;
  return device;
}

PhaseBuilder everyInstruction() {
  PhaseBuilder phase("0_all", 2);
  int32_t table = phase.table({0, 384});
  phase
      .load({3}, ddrAt(0, 0, {128}).table(table), at(0, {128}))            //  100 + 384/32 = 112
      .vector(Function::Add, {3}, {at(0, {128}), at(0), at(0x400, {128})}) //  192/100      =   2
      .vector(Function::Exp, {3}, {at(0, {128}), at(0x400, {128})})        //  576/100      =   6
      .vector(Function::Copy, {}, {at(0), at(0x600)})                      //   64/100      =   1
      .fill({66}, at(0x1000, {128}), 0)                                    // 4224/100      =  43
      .accumulate(Function::Sum, {3}, at(0, {128}), at(0x1000), 10)        //  192/100      =   2
      .matmul({}, at(0), at(0x1100), at(0x1000), 60)                       // 4096/1000     =   5
      .finish(Function::TreeSum, {}, at(0x1000), at(0x700))                //   64/100      =   1
      .shuffle(2, {65}, at(0, {2}), at(0x2000, {2}))                       //   65/64       =   2
      .store({3}, at(0x400, {128}), ddrAt(1, 0, {128}).table(table));      //  100 + 384/32 = 112
  return phase;
}

TEST(Clock, CountsExactlyWhatExecutes) {
  TestSim sim(SimOptions{.device = clockedDevice()});
  PhaseBuilder second("1_load");
  second.loop(2).load({}, ddrAt(0, 0).loops({128}), at(0)).end(); // 2 * (100 + 128/64 = 102)
  std::vector<PhaseBuilder> program{everyInstruction(), second};
  ASSERT_EQ(sim.launch(program), "");
  spyre_sim_counters counters = sim.counters();
  EXPECT_EQ(counters.launches, 1u);
  EXPECT_EQ(counters.instructions, 2u * 10u + 2u);
  EXPECT_EQ(counters.program_bytes, program::writeProgram(programOf(program)).size());
  EXPECT_EQ(counters.ddr_read_bytes, 2u * 384u + 256u);
  EXPECT_EQ(counters.ddr_write_bytes, 2u * 384u);
  EXPECT_EQ(counters.ring_bytes, 0u);
  EXPECT_EQ(counters.pt_macs, 2u * 4096u);
  // Add, exp and accumulate; copy, fill and finish are no operations on lanes.
  EXPECT_EQ(counters.sfp_lane_ops, 2u * 3u * 192u);
  // add 2 x 3, exp 3, copy 1, accumulate 3 + 3 x 2, matmul 1 + 60 + 2, finish 2, store 3; shuffle.
  EXPECT_EQ(counters.lx_read_bytes, 2u * ((6 + 3 + 1 + 9 + 63 + 2 + 3) * 128u + 65u * 2u));
  // load 3, add 3, exp 3, copy 1, fill 66, accumulate 3 x 2, matmul 2, finish 1; shuffle; phase 1.
  EXPECT_EQ(counters.lx_write_bytes, 2u * ((3 + 3 + 3 + 1 + 66 + 6 + 2 + 1) * 128u + 130u) + 256u);
  uint64_t first = 112 + 2 + 6 + 1 + 43 + 2 + 5 + 1 + 2 + 112;
  EXPECT_EQ(counters.cycles, 50u + first + 10u + 2u * 102u + 10u);
  EXPECT_EQ(counters.nanoseconds, (counters.cycles * 2 + 2) / 3);
  // One check per stick read in LX and per stick moved in DDR; shuffle checks elements.
  EXPECT_EQ(counters.sanitizer_checks, 2u * (6 + 3 + 1 + 9 + 63 + 2 + 3 + 65 + 3 + 3) + 2u);
}

TEST(Clock, CountersAddUpAndReset) {
  TestSim sim(SimOptions{.device = clockedDevice()});
  ASSERT_EQ(sim.launch({everyInstruction()}), "");
  spyre_sim_counters once = sim.counters();
  ASSERT_EQ(sim.launch({everyInstruction()}), "");
  spyre_sim_counters twice = sim.counters();
  EXPECT_EQ(twice.launches, 2u);
  EXPECT_EQ(twice.cycles, 2 * once.cycles);
  EXPECT_EQ(twice.lx_read_bytes, 2 * once.lx_read_bytes);
  spyre_sim_reset_counters(sim.sim);
  spyre_sim_counters zero{};
  spyre_sim_counters reset = sim.counters();
  EXPECT_EQ(std::memcmp(&reset, &zero, sizeof(zero)), 0);
}

// Launch overhead and barriers are there even when nothing executes.
TEST(Clock, AnEmptyProgramCostsTheLaunch) {
  TestSim sim(SimOptions{.device = clockedDevice()});
  ASSERT_EQ(sim.launch(program::Program()), "");
  EXPECT_EQ(sim.counters().cycles, 50u);
  EXPECT_EQ(sim.counters().nanoseconds, 34u);
  ASSERT_EQ(sim.launch({PhaseBuilder("0_empty", 4)}), "");
  EXPECT_EQ(sim.counters().cycles, 50u + 60u);
}

} // namespace
} // namespace spyre::test
