//===- StallsTest.cpp - every cycle has its reason ------------------------------------------===//
#include "Sim/RandomPipeline.h"

#include <numeric>

namespace spyre::test {
namespace {

uint64_t sumOf(const uint64_t (&stalls)[SPYRE_SIM_STALLS]) {
  return std::accumulate(std::begin(stalls), std::end(stalls), uint64_t(0));
}

/// Overheads are what a test looks for; all else is the operation's own.
arch::DeviceDesc plainDevice() {
  arch::DeviceDesc device = *arch::DeviceDesc::preset("tiny");
  device.timing = arch::Timing();
  device.timing.ddrBytesPerCycle = device.timing.ddrPortBytesPerCycle =
      device.timing.ddrCoreBytesPerCycle = 128;
  device.timing.ddrLatencyCycles = 100;
  device.timing.barrierCycles = 7;
  device.timing.phaseOverheadCycles = 11;
  device.timing.launchOverheadCycles = 1000;
  device.timing.sfpLanesPerCycle = 64;
  device.timing.lxBytesPerCycle = 256;
  device.timing.ptFillBytesPerCycle = 32;
  return device;
}

spyre_sim_counters launch(const PhaseBuilder &phase, const arch::DeviceDesc &device) {
  TestSim sim(SimOptions{.device = device});
  EXPECT_EQ(sim.launch(withoutIdleStrides(programOf({phase}))), "");
  return sim.counters();
}

TEST(Stalls, AChainOfUnitsIsTheSumOfTheirWork) {
  PhaseBuilder phase("0_chain", 1, false);
  phase.load({8}, ddrAt(0, 0, {128}), at(0, {128}))
      .vector(Function::Exp, {8}, {at(0, {128}), at(0x1000, {128})})
      .store({8}, at(0x1000, {128}), ddrAt(1, 0, {128}));
  arch::DeviceDesc device = plainDevice();
  spyre_sim_counters counters = launch(phase, device);
  EXPECT_EQ(counters.stall_cycles[SPYRE_SIM_STALL_DDR], 16u);
  EXPECT_EQ(counters.stall_cycles[SPYRE_SIM_STALL_LATENCY], 200u);
  EXPECT_EQ(counters.stall_cycles[SPYRE_SIM_STALL_SFP], 8u * 4);
  EXPECT_EQ(counters.stall_cycles[SPYRE_SIM_STALL_OVERHEAD], 1000u + 11 + 7);
  EXPECT_EQ(sumOf(counters.stall_cycles), counters.cycles);
  // Four times the bytes to move: LX is what the unit waits for beyond its work.
  device.timing.lxBytesPerCycle = 16;
  counters = launch(phase, device);
  EXPECT_EQ(counters.stall_cycles[SPYRE_SIM_STALL_SFP], 8u * 4);
  EXPECT_EQ(counters.stall_cycles[SPYRE_SIM_STALL_LX], 8u * (256 / 16 - 4));
  EXPECT_EQ(sumOf(counters.stall_cycles), counters.cycles);
}

// What runs beside something longer costs nothing.
TEST(Stalls, WorkBehindLongerWorkIsNotOnThePath) {
  PhaseBuilder phase("0_beside", 1, true);
  phase.load({64}, ddrAt(0, 0, {128}), at(0, {128})).fill({8}, at(0x4000, {128}), 0);
  spyre_sim_counters counters = launch(phase, plainDevice());
  EXPECT_EQ(counters.stall_cycles[SPYRE_SIM_STALL_DDR], 64u);
  EXPECT_EQ(counters.stall_cycles[SPYRE_SIM_STALL_SFP], 0u);
  EXPECT_EQ(sumOf(counters.stall_cycles), counters.cycles);
}

// A load that could begin waits while the store has the memory: the memory is the reason.
TEST(Stalls, WaitingForTheMemoryIsTheMemorys) {
  PhaseBuilder phase("0_both", 1, true);
  phase.fill({32}, at(0, {128}), 0)
      .signal(Unit::Vector, 0)
      .wait(Unit::Store, 0)
      .store({32}, at(0, {128}), ddrAt(0, 0, {128}))
      .load({64}, ddrAt(1, 0, {128}), at(0x4000, {128}));
  arch::DeviceDesc device = plainDevice();
  spyre_sim_counters counters = launch(phase, device);
  EXPECT_EQ(counters.stall_cycles[SPYRE_SIM_STALL_DDR], 96u);
  EXPECT_EQ(counters.stall_cycles[SPYRE_SIM_STALL_LATENCY], 100u);
  EXPECT_EQ(sumOf(counters.stall_cycles), counters.cycles);
}

TEST(Stalls, OfRandomPipelinesSumToTheirCycles) {
  arch::DeviceDesc device = *arch::DeviceDesc::preset("tiny");
  device.timing.phaseOverheadCycles = 13;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    RandomPipeline pipeline(random, 10 + random.below(60), 2, 2);
    for (bool overlap : {false, true}) {
      spyre_sim_counters counters = launch(pipeline.build(overlap), device);
      EXPECT_EQ(sumOf(counters.stall_cycles), counters.cycles);
    }
  }
}

TEST(Stalls, AreAddedUpAndReset) {
  PhaseBuilder phase("0_load", 2);
  phase.load({8}, ddrAt(0, 0, {128}), at(0, {128}));
  TestSim sim(SimOptions{.device = plainDevice()});
  ASSERT_EQ(sim.launch(withoutIdleStrides(programOf({phase}))), "");
  spyre_sim_counters once = sim.counters();
  ASSERT_EQ(sim.launch(withoutIdleStrides(programOf({phase}))), "");
  spyre_sim_counters twice = sim.counters();
  for (size_t i = 0; i < SPYRE_SIM_STALLS; ++i) {
    EXPECT_EQ(twice.stall_cycles[i], 2 * once.stall_cycles[i]);
  }
  EXPECT_GT(once.stall_cycles[SPYRE_SIM_STALL_DDR], 0u);
}

// Phase by phase: names, work and time of each, without the launch.
TEST(Stalls, APhaseHasItsOwn) {
  arch::DeviceDesc device = plainDevice();
  PhaseBuilder load("0_load", 2), fill("1_fill", 1);
  load.load({8}, ddrAt(0, 0, {128}), at(0, {128}));
  fill.fill({32}, at(0, {128}), 0);
  std::string bytes = program::writeProgram(withoutIdleStrides(programOf({load, fill})));
  const char *text = "";
  spyre_sim_timer *timer = spyre_sim_timer_create(bytes.data(), bytes.size(), &text);
  ASSERT_NE(timer, nullptr) << text;
  std::array<spyre_sim_phase, 3> phases{};
  std::string json = device.toJson();
  ASSERT_EQ(spyre_sim_timer_phases(timer, json.c_str(), phases.data(), 1, &text), 2u) << text;
  EXPECT_EQ(phases[1].cycles, 0u);
  ASSERT_EQ(spyre_sim_timer_phases(timer, json.c_str(), phases.data(), 3, &text), 2u) << text;
  EXPECT_STREQ(spyre_sim_timer_phase_name(timer, 1), "1_fill");
  EXPECT_EQ(spyre_sim_timer_phase_name(timer, 2), nullptr);
  EXPECT_EQ(phases[0].cores, 2u);
  EXPECT_EQ(phases[0].ddr_read_bytes, 2u * 8 * 128);
  EXPECT_EQ(phases[1].stall_cycles[SPYRE_SIM_STALL_SFP], 32u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(sumOf(phases[i].stall_cycles), phases[i].cycles);
  }
  spyre_sim_counters counters{};
  ASSERT_EQ(spyre_sim_timer_run(timer, json.c_str(), &counters, &text), 0);
  EXPECT_EQ(counters.cycles, 1000 + phases[0].cycles + phases[1].cycles);
  EXPECT_EQ(spyre_sim_timer_phases(timer, "{}", phases.data(), 3, &text), 0u);
  expectFault(text, {"E9201"});
  EXPECT_EQ(spyre_sim_timer_phases(nullptr, json.c_str(), phases.data(), 3, &text), 0u);
  expectFault(text, {"E7001"});
  spyre_sim_timer_destroy(timer);
}

} // namespace
} // namespace spyre::test
