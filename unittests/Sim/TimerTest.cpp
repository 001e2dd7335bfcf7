//===- TimerTest.cpp - the time of a program without its data is that of a launch -----------===//
#include "Sim/RandomPipeline.h"

namespace spyre::test {
namespace {

struct Timer {
  explicit Timer(const std::string &bytes) {
    const char *text = "";
    timer = spyre_sim_timer_create(bytes.data(), bytes.size(), &text);
    error = text;
  }
  ~Timer() { spyre_sim_timer_destroy(timer); }
  Timer(const Timer &) = delete;
  Timer &operator=(const Timer &) = delete;

  spyre_sim_counters run(const arch::DeviceDesc &device) {
    spyre_sim_counters counters{};
    const char *text = "";
    std::string json = device.toJson();
    failed = spyre_sim_timer_run(timer, json.c_str(), &counters, &text);
    error = text;
    return counters;
  }

  spyre_sim_timer *timer = nullptr;
  int failed = 0;
  std::string error;
};

/// All counters of a launch are those of the timer but what the sanitizer counts. Behind the last
/// instruction the program has \p barriers.
void expectSame(const arch::DeviceDesc &device, const std::vector<PhaseBuilder> &phases,
                uint64_t barriers = 1) {
  TestSim sim(SimOptions{.device = device});
  program::Program program = withoutIdleStrides(programOf(phases));
  ASSERT_EQ(sim.launch(program), "");
  spyre_sim_counters launched = sim.counters();
  // Traced, every core has its own clock: the last event is when the timer says.
  TestSim traced(SimOptions{.device = device});
  spyre_sim_trace(traced.sim, 1 << 20);
  ASSERT_EQ(traced.launch(program), "");
  EXPECT_EQ(traced.counters().cycles, launched.cycles);
  uint64_t last = 0;
  for (const spyre_sim_event &event : traced.trace()) {
    last = std::max(last, event.end_cycle);
  }
  EXPECT_EQ(last + barriers * uint64_t(device.timing.barrierCycles), launched.cycles);
  Timer timer(program::writeProgram(program));
  ASSERT_NE(timer.timer, nullptr) << timer.error;
  spyre_sim_counters timed = timer.run(device);
  ASSERT_EQ(timer.failed, 0) << timer.error;
  timed.sanitizer_checks = launched.sanitizer_checks;
  EXPECT_EQ(timed.cycles, launched.cycles);
  EXPECT_EQ(std::memcmp(&timed, &launched, sizeof(timed)), 0);
}

TEST(Timer, AgreesOnRandomPipelines) {
  arch::DeviceDesc device = *arch::DeviceDesc::preset("tiny");
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    RandomPipeline pipeline(random, 10 + random.below(60), 2, 2);
    expectSame(device, {pipeline.build(true)});
    expectSame(device, {pipeline.build(false), pipeline.build(true)});
  }
}

// Loops, predicates, groups that read together, exchanges in which some only serve, barriers.
TEST(Timer, AgreesWhereCoresDiffer) {
  arch::DeviceDesc device = *arch::DeviceDesc::preset("tiny");
  for (bool overlap : {false, true}) {
    PhaseBuilder phase("0_all", 4, overlap);
    int32_t rows = phase.table({0, 1024, 2048, 3072}), pairs = phase.table({0, 0, 2, 2});
    int32_t odd = phase.table({0, 1, 0, 1}), peers = phase.table({1, -1, 3, 0});
    phase.loop(3)
        .load({4}, ddrAt(0, 0, {128}).table(rows), at(0, {128}))
        .load({2}, ddrAt(1, 0, {128}), at(0x400, {128}))
        .peers(pairs)
        .signal(Unit::Load, 0)
        .wait(Unit::Vector, 0)
        .vector(Function::Exp, {4}, {at(0, {128}), at(0x800, {128})})
        .fill({9}, at(0xC00, {128}), 0)
        .only(odd)
        .signal(Unit::Vector, 1)
        .wait(Unit::Ring, 1)
        .exchange(Function::Copy, {2}, peers, at(0x800, {128}), at(0x2000, {128}))
        .signal(Unit::Ring, 2)
        .wait(Unit::Store, 2)
        .store({2}, at(0x800, {128}), ddrAt(2, 0, {128}).table(rows))
        .barrier()
        .end();
    expectSame(device, {phase}, 2);
  }
}

// The same timer on other rates: what a launch on such a machine counts.
TEST(Timer, TakesTheRatesOfEachRun) {
  arch::DeviceDesc slow = *arch::DeviceDesc::preset("tiny"), quick = slow;
  slow.timing.ddrBytesPerCycle = slow.timing.ddrPortBytesPerCycle = 1;
  PhaseBuilder phase("0_load", 2);
  phase.load({8}, ddrAt(0, 0, {128}), at(0, {128}));
  expectSame(slow, {phase});
  expectSame(quick, {phase});
  Timer timer(program::writeProgram(withoutIdleStrides(programOf({phase}))));
  uint64_t first = timer.run(quick).cycles;
  EXPECT_GT(timer.run(slow).cycles, first);
  EXPECT_EQ(timer.run(quick).cycles, first);
}

TEST(Timer, RefusesWhatIsNoProgramOrOfAnotherMachine) {
  Timer none("no program at all");
  EXPECT_EQ(none.timer, nullptr);
  expectFault(none.error, {"E7006"});
  PhaseBuilder wide("0_wide", 8);
  wide.fill({}, at(0), 0);
  Timer timer(program::writeProgram(programOf({wide})));
  ASSERT_NE(timer.timer, nullptr);
  timer.run(*arch::DeviceDesc::preset("tiny"));
  EXPECT_NE(timer.failed, 0);
  expectFault(timer.error, {"E7006"});
  timer.run(*arch::DeviceDesc::preset("openspyre"));
  EXPECT_EQ(timer.failed, 0) << timer.error;
  spyre_sim_counters counters{};
  const char *text = "";
  EXPECT_NE(spyre_sim_timer_run(timer.timer, "{}", &counters, &text), 0);
  expectFault(text, {"E9201"});
  EXPECT_NE(spyre_sim_timer_run(nullptr, "{}", &counters, &text), 0);
  EXPECT_EQ(spyre_sim_timer_create(nullptr, 4, &text), nullptr);
  PhaseBuilder stuck("0_stuck", 1, true);
  stuck.wait(Unit::Load, 3);
  Timer waits(program::writeProgram(programOf({stuck})));
  waits.run(*arch::DeviceDesc::preset("tiny"));
  expectFault(waits.error, {"E7006", "token 3"});
}

} // namespace
} // namespace spyre::test
