//===- FaultTest.cpp - each category of fault, provoked -------------------------------------===//
#include "Sim/SimFixture.h"

namespace spyre::test {
namespace {

TEST(Faults, BadProgram) {
  TestSim sim;
  expectFault(sim.launchBytes("hello"), {"SPYRE-E7006: bad-program: SPYRE-E5101"});
  std::string bytes = program::writeProgram(programOf({PhaseBuilder("0_fill").fill({}, at(0), 0)}));
  expectFault(sim.launchBytes(bytes.substr(0, bytes.size() - 1)), {"E7006", "SPYRE-E5102"});
  // LX has 64 KiB: an address outside never starts to run.
  expectFault(sim.launch({PhaseBuilder("0_fill").fill({}, at(64 << 10), 0)}),
              {"E7006", "SPYRE-E5103", "phase 0 instruction 0", "reaches LX"});
  EXPECT_EQ(sim.launchBytes(bytes + std::string(50, '\0')), "");
}

// Nested loops that would run for days are refused before anything is executed.
TEST(Faults, TooMuchWork) {
  const std::string loops = R"(buffer x.tile lx 0x0 bytes 128 phases 0..0
phase 0 "0_fill" cores 1
  loop 65535
  loop 65535
  loop 65535
  fill IEEE_INT32 x.tile[0] pattern=0
  endloop
  endloop
  endloop
)";
  TestSim sim;
  expectFault(sim.launchText(loops), {"SPYRE-E7019: too-much-work", "1.8e+13", "phase 0_fill"});
  const std::string bytes = program::writeProgram(*program::assemble("spyre-program 2\n" + loops));
  const char *error = nullptr;
  EXPECT_EQ(spyre_sim_timer_create(bytes.data(), bytes.size(), &error), nullptr);
  expectFault(error, {"E7019"});
}

// The phase of a bad index is reported; phases before it are complete.
TEST(Faults, ABadIndexIsContained) {
  const auto fill = [] { return PhaseBuilder("0_fill").fill({}, at(0), 7); };
  TestSim sim;
  uint32_t phase = 99;
  EXPECT_NE(sim.launchText(R"(buffer x ddr 0:0x0 bytes 1024 phases 1..1
buffer index lx 0x0 bytes 128 phases 1..1
buffer tile lx 0x80 bytes 128 phases 1..1
phase 0 "0_wait" cores 1
  barrier
phase 1 "1_gather" cores 1
  fill IEEE_INT32 index[0] pattern=9
  gather SEN169_FP16 tile[0] <- x[0], index[0] element=4 bound=8 stride=128
)"),
            "");
  EXPECT_EQ(spyre_sim_is_contained(sim.sim, &phase), 1) << spyre_sim_last_error(sim.sim);
  EXPECT_EQ(phase, 1u);
  EXPECT_EQ(sim.launch({fill()}), "");
  EXPECT_EQ(spyre_sim_is_contained(sim.sim, &phase), 0) << "it succeeded";
  sim.segments[0].bytes = 0;
  EXPECT_NE(sim.launch({PhaseBuilder("0_load").load({}, ddrAt(0, 0), at(0))}), "");
  EXPECT_EQ(spyre_sim_is_contained(sim.sim, &phase), 0);
  EXPECT_EQ(spyre_sim_is_contained(nullptr, nullptr), 0);
}

TEST(Faults, BadMapping) {
  TestSim sim;
  auto launch = [&](uint64_t address, uint64_t bytes) {
    EXPECT_NE(spyre_sim_launch(sim.sim, address, bytes, sim.segments.data(), 8, 0), 0);
    return std::string(spyre_sim_last_error(sim.sim));
  };
  auto program = uint64_t(ddr(kProgramSegment));
  expectFault(launch(program, kMappedBytes + 1), {"SPYRE-E7007: bad-mapping", "program segment 7"});
  expectFault(launch(program + kMappedBytes, 1), {"E7007"});
  expectFault(launch(0, 128), {"E7007", "program segment"});
  expectFault(launch(UINT64_MAX, UINT64_MAX), {"E7007"});
  sim.segments[2] = {64, 128};
  expectFault(launch(program, 128), {"E7007", "segment 2", "start at a stick"});
  sim.segments[2] = {UINT64_MAX - 127, 256};
  expectFault(launch(program, 128), {"E7007", "segment 2"});
  sim.segments[2] = {0, (uint64_t(1) << 34) + 1};
  expectFault(launch(program, 128), {"E7007", "segment 2"});
  sim.segments[2] = {0, 0};
  std::vector<spyre_sim_segment> nine(9);
  EXPECT_NE(spyre_sim_launch(sim.sim, program, 128, nine.data(), 9, 0), 0);
  expectFault(spyre_sim_last_error(sim.sim), {"E7007", "9 segments"});
  EXPECT_NE(spyre_sim_launch(sim.sim, program, 128, sim.segments.data(), 7, 0), 0);
  expectFault(spyre_sim_last_error(sim.sim), {"E7007", "program segment"});
}

TEST(Faults, OutOfBoundsInDdr) {
  TestSim sim;
  constexpr auto kMapped = int64_t(kMappedBytes);
  EXPECT_EQ(sim.launch({PhaseBuilder("0_load").load({}, ddrAt(1, kMapped - 128), at(0))}), "");
  expectFault(sim.launch({PhaseBuilder("0_load").load({2}, ddrAt(1, kMapped - 128, {128}), at(0))}),
              {"SPYRE-E7002: out-of-bounds", "core 0 phase 0_load instruction 0 (load)",
               "DDR 0x4000fff80..0x400100080", "segment 1"});
  expectFault(
      sim.launch({PhaseBuilder("0_store").fill({}, at(0), 0).store({}, at(0), ddrAt(3, kMapped))}),
      {"E7002", "instruction 1 (store)", "segment 3"});
  sim.segments[4].bytes = 0;
  expectFault(sim.launch({PhaseBuilder("0_load").load({}, ddrAt(4, 0), at(0))}),
              {"E7002", "segment 4 has 0x0 mapped bytes"});
}

// Each operand that a unit reads traps when nobody wrote it in this launch.
TEST(Faults, UninitializedRead) {
  struct Case {
    PhaseBuilder phase;
    std::string words;
  };
  auto fresh = [] { return PhaseBuilder("0_p").fill({100}, at(0, {128}), 0); };
  constexpr int64_t kFresh = 0x8000;
  std::vector<Case> cases{
      {fresh().store({}, at(kFresh), ddrAt(0, 0)), "(store) operand 0 (buffer lx) at LX 0x8000"},
      {fresh().vector(Function::Copy, {}, {at(kFresh), at(0)}), "(vector.copy) operand 0"},
      {fresh().vector(Function::Add, {}, {at(0), at(kFresh).splat(0), at(0)}),
       "operand 1 (buffer lx) at LX 0x8000"},
      {fresh().vector(Function::Where, {}, {at(0), at(0), at(kFresh), at(0)}),
       "operand 2 (buffer lx) at LX 0x8000"},
      {fresh().accumulate(Function::Sum, {}, at(kFresh), at(0), 64), "(accumulate.sum) operand 0"},
      {fresh().accumulate(Function::Max, {}, at(0), at(kFresh), 64),
       "operand 1 (buffer lx) at LX 0x8000"},
      {fresh().finish(Function::Lanes, {}, at(kFresh), at(0)), "(finish.lanes) operand 0"},
      {fresh().shuffle(2, {}, at(kFresh + 6), at(0)),
       "(shuffle) operand 0 (buffer lx) at LX 0x8000"},
      {fresh().matmul({}, at(kFresh), at(0), at(0x2800)), "(matmul) operand 0"},
      {fresh().matmul({}, at(0), at(kFresh), at(0x2800)), "(matmul) operand 1"},
      {fresh().matmul({}, at(0), at(0), at(kFresh)), "(matmul) operand 2 (buffer lx) at LX 0x8000"},
      // Stick 100 is the first one not filled: runs, gaps, halves of accumulators, rows of B.
      {fresh().vector(Function::Copy, {101}, {at(0, {128}), at(0, {128})}),
       "(buffer lx) at LX 0x3200"},
      {fresh().vector(Function::Copy, {51}, {at(0, {256}), at(0, {128})}),
       "(buffer lx) at LX 0x3200"},
      {fresh().accumulate(Function::Sum, {}, at(0), at(99 * 128), 64), "(buffer lx) at LX 0x3200"},
      {fresh().matmul({}, at(0), at(37 * 128), at(0)), "operand 1 (buffer lx) at LX 0x3200"},
      {fresh().shuffle(2, {65}, at(99 * 128, {2}), at(0, {2})), "(buffer lx) at LX 0x3200"},
  };
  TestSim sim;
  // What an earlier launch left in LX does not count.
  ASSERT_EQ(sim.launch({PhaseBuilder("0_all").fill({512}, at(0, {128}), 0)}), "");
  for (const Case &test : cases) {
    expectFault(sim.launch({test.phase}), {"SPYRE-E7003: uninitialized-read", "core 0 phase 0_p",
                                           "instruction 1", test.words});
  }
  // 300 launches: the shadow's launch numbers wrap around.
  for (int i = 0; i < 300; ++i) {
    ASSERT_EQ(sim.launch({PhaseBuilder("0_all").fill({512}, at(0, {128}), 0)}), "");
  }
  expectFault(sim.launch({cases[0].phase}), {"E7003"});
}

// Whether a point may read what an earlier point wrote must not depend on how units cut the work.
TEST(Faults, PointsMayReadWhatEarlierPointsWrote) {
  TestSim sim;
  EXPECT_EQ(sim.launch({PhaseBuilder("0_chain")
                            .fill({}, at(0), 0)
                            .vector(Function::Copy, {20}, {at(0, {128}), at(128, {128})})
                            .shuffle(4, {64}, at(0, {32}), at(128, {32}))}),
            "");
}

TEST(Faults, OverlappingWrite) {
  TestSim sim;
  PhaseBuilder phase("0_clash", 4);
  int32_t table = phase.table({0, 256, 512, 640});
  phase.fill({2}, at(0, {128}), 0).store({2}, at(0, {128}), ddrAt(1, 0, {128}).table(table));
  expectFault(sim.launch({phase}), {"SPYRE-E7004: overlapping-write", "core 2 phase 0_clash",
                                    "instruction 1", "core 3", "0x200280"});
  phase.phase.coreTables[0][3] = 768;
  EXPECT_EQ(sim.launch({phase}), "");
  // Different phases are ordered by the barrier.
  PhaseBuilder again = phase;
  std::reverse(again.phase.coreTables[0].begin(), again.phase.coreTables[0].end());
  EXPECT_EQ(sim.launch({phase, again}), "");
  // Interleaved sticks do not overlap, the same memory behind two segments does.
  PhaseBuilder interleaved("0_interleaved", 2);
  int32_t odd = interleaved.table({0, 128});
  interleaved.fill({}, at(0), 0).store({9}, at(0), ddrAt(1, 0, {256}).table(odd));
  EXPECT_EQ(sim.launch({interleaved}), "");
  PhaseBuilder aliased("0_aliased", 2);
  int32_t other = aliased.table({0, 512});
  aliased.fill({}, at(0), 0)
      .store({}, at(0), ddrAt(1, 0).table(other))
      .store({}, at(0), ddrAt(2, 1024).table(other));
  EXPECT_EQ(sim.launch({aliased}), "");
  sim.segments[2].physical_base = sim.segments[1].physical_base - 512;
  expectFault(sim.launch({aliased}),
              {"E7004", "core 0 phase 0_aliased instruction 2 (buffer segment2) and core 1 "
                        "instruction 1 (buffer segment1)"});
}

// More ranges than are kept apart: merging them must not lose or invent a clash.
TEST(Faults, OverlapsAreFoundAmongManyRanges) {
  TestSim sim;
  PhaseBuilder phase("0_many", 2);
  int32_t own = phase.table({0, 128});
  int32_t shared = phase.table({4096, 8192});
  phase.fill({}, at(0), 0)
      .loop(40000)
      .store({3}, at(0), ddrAt(1, 1024, {-256}).table(own))
      .store({}, at(0), ddrAt(1, 0).table(shared))
      .end();
  EXPECT_EQ(sim.launch({phase}), "");
  phase.phase.coreTables[1][1] = 768;
  expectFault(sim.launch({phase}),
              {"E7004", "core 0 phase 0_many instruction 2 (buffer segment1) and core 1 "
                        "instruction 3 (buffer segment1) both write physical DDR 0x200300"});
}

TEST(Faults, ReadOfWhatAnotherCoreWrites) {
  TestSim sim;
  PhaseBuilder phase("0_race", 3);
  int32_t own = phase.table({0, 128, 256});
  int32_t next = phase.table({1024, 128, 0});
  phase.fill({}, at(0), 0)
      .store({}, at(0), ddrAt(1, 0).table(own))
      .load({}, ddrAt(1, 0).table(next), at(128));
  expectFault(sim.launch({phase}),
              {"SPYRE-E7005: missing-barrier", "core 2 phase 0_race",
               "instruction 2 (buffer segment1) reads physical DDR 0x200000", "core 0"});
  // Its own writes a core may read.
  phase.phase.coreTables[1] = {0, 128, 256};
  EXPECT_EQ(sim.launch({phase}), "");
}

TEST(Faults, TheLowestCoreIsReported) {
  for (uint32_t threads : {1, 2, 3, 8}) {
    TestSim sim(threads);
    PhaseBuilder phase("0_fault", 4);
    // Core 0 is fine, core 1 faults at instruction 5, cores 2 and 3 already at instruction 3.
    int32_t early = phase.table({0, 0, 0x1000, 0x1000});
    int32_t late = phase.table({0, 0x2000, 0, 0});
    // Enough work that threads are worth waking.
    phase.loop(1000)
        .fill({}, at(0), 0)
        .end()
        .vector(Function::Copy, {}, {at(0).table(early), at(0)})
        .fill({}, at(0), 0)
        .vector(Function::Exp, {}, {at(0).table(late), at(0)});
    expectFault(sim.launch({phase}), {"E7003", "core 1", "instruction 5", "LX 0x2000"});
  }
}

TEST(Faults, AFaultLeavesTheDeviceUsableAndTheCountersAlone) {
  TestSim sim;
  PhaseBuilder good = PhaseBuilder("0_good").fill({}, at(0), 0).store({}, at(0), ddrAt(0, 0));
  ASSERT_EQ(sim.launch({good}), "");
  spyre_sim_counters before = sim.counters();
  PhaseBuilder bad = PhaseBuilder("1_bad").store({}, at(0x1000), ddrAt(0, 0));
  EXPECT_NE(sim.launch({good, bad}), "");
  spyre_sim_counters after = sim.counters();
  EXPECT_EQ(std::memcmp(&before, &after, sizeof(before)), 0);
  EXPECT_EQ(sim.launch({good}), "");
  EXPECT_EQ(sim.counters().launches, 2u);
}

TEST(Faults, SanitizerSwitchesTheDataChecksOnly) {
  TestSim sim(SimOptions{.sanitizer = false});
  PhaseBuilder race("0_race", 2);
  race.store({}, at(0), ddrAt(0, 0));
  EXPECT_EQ(sim.launch({race}), "");
  EXPECT_EQ(sim.counters().sanitizer_checks, 0u);
  expectFault(sim.launch({PhaseBuilder("0_load").load({}, ddrAt(1, kMappedBytes), at(0))}),
              {"E7002"});
  TestSim checked;
  EXPECT_NE(checked.launch({race}), "");
}

TEST(Faults, NamesFromTheProgramAreMadePrintable) {
  TestSim sim;
  std::string name("a\0b\n\xff", 5);
  expectFault(sim.launch({PhaseBuilder(name).store({}, at(0), ddrAt(0, 0))}),
              {"phase a?b?? instr"});
}

} // namespace
} // namespace spyre::test
