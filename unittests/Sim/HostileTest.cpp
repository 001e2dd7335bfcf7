//===- HostileTest.cpp - programs that pass the verifier and would like to hurt the host ----===//
#include "Program/RandomProgram.h"
#include "Sim/SimFixture.h"

namespace spyre::test {
namespace {

/// So that a program reaches what a test is about, and not the limit of the counters.
SimOptions countingFar() {
  SimOptions options;
  options.device.division.maxTripCount = 0;
  return options;
}

// All cores' data would have to be kept at once.
TEST(Hostile, AnExchangeIsBoundedByLx) {
  TestSim sim(countingFar());
  auto exchange = [](int64_t times) {
    PhaseBuilder phase("0_ring", 2);
    int32_t peers = phase.table({1, 0});
    phase.fill({2}, at(0, {128}), 1)
        .exchange(Function::Copy, {times, 2}, peers, at(0, {0, 128}), at(0, {0, 128}));
    return phase;
  };
  expectFault(sim.launch({exchange(int64_t(1) << 40)}),
              {"SPYRE-E7006", "SPYRE-E5103", "exchange moves", "but LX has 512"});
  expectFault(sim.launch({exchange(257)}), {"E5103", "exchange moves 514 sticks"});
  EXPECT_EQ(sim.launch({exchange(256)}), "");
}

TEST(Hostile, SignalsNobodyWaitsForAreBounded) {
  TestSim sim(countingFar());
  PhaseBuilder phase("0_signals", 1, true);
  phase.loop(int64_t(1) << 40).signal(Unit::Load, 5).end();
  expectFault(sim.launch({phase}),
              {"SPYRE-E7006: bad-program: core 0 phase 0_signals instruction 1 (signal)", "token 5",
               "65536 times"});
}

// A wait for each signal, always one behind: the queue never runs empty, and must not grow.
TEST(Hostile, ALongLoopOfTokensRuns) {
  TestSim sim(countingFar());
  PhaseBuilder phase("0_tokens", 1, true);
  phase.signal(Unit::Load, 0)
      .loop(200000)
      .signal(Unit::Load, 0)
      .wait(Unit::Vector, 0)
      .end()
      .wait(Unit::Vector, 0);
  EXPECT_EQ(sim.launch({phase}), "");
}

// Sticks with gaps never merge; the list of them has an end.
TEST(Hostile, SeparateRangesOfDdrAreBounded) {
  TestSim sim(countingFar());
  sim.segments[1] = {0, uint64_t(1) << 34};
  PhaseBuilder phase("0_ranges", 1);
  phase.loop(1 << 12).load({1 << 12}, ddrAt(1, 0, {256}).loops({256 << 12}), at(0)).end();
  expectFault(sim.launch({phase}),
              {"SPYRE-E7008: system-error: core 0 phase 0_ranges instruction 1 (load)",
               "2097152 separate ranges"});
  // The same number with barriers between is no problem.
  PhaseBuilder calm("0_ranges", 1);
  calm.loop(1 << 5).load({1 << 12}, ddrAt(1, 0, {512}).loops({512 << 12}), at(0)).barrier().end();
  EXPECT_EQ(sim.launch({calm}), "");
}

// Where no core executes an instruction its strides may be anything.
TEST(Hostile, InstructionsThatNobodyRunsMayReachAnywhere) {
  TestSim sim(countingFar());
  PhaseBuilder phase("0_nobody", 2);
  int32_t nobody = phase.table({0, 0});
  int64_t huge = INT64_MIN;
  phase.fill({3, 5}, at(INT64_MAX - 127, {huge, huge}), 0)
      .only(nobody)
      .matmul({1 << 20, 1 << 20}, at(0, {huge, huge}), at(0, {huge, huge}), at(0, {huge, huge}))
      .only(nobody);
  EXPECT_EQ(sim.launch({phase}), "");
}

// Parts of an address may leave 64 bits as long as the sum is right.
TEST(Hostile, AddressesMayWrapOnTheWay) {
  TestSim sim(countingFar());
  PhaseBuilder phase("0_wrap", 1);
  constexpr int64_t kHalf = int64_t(1) << 62;
  int32_t table = phase.table({kHalf});
  phase.loop(1).fill({}, at(-kHalf).table(table).loops({int64_t(1) << 62}), 6).end();
  EXPECT_EQ(sim.launch({phase}), "");
  EXPECT_EQ(sim.readLx<uint32_t>(0, 0, 1)[0], 6u);
}

// The base alone need not be an address: cores without an offset do not have the buffer.
TEST(Hostile, BuffersExistOnlyWhereTheyHaveOffsets) {
  TestSim sim(countingFar());
  EXPECT_EQ(sim.launchText(R"(
    buffer a lx -1024 bytes 128 live-out offsets 1024 2048
    buffer b lx 0 bytes 128 offsets 128
    buffer c lx 256 bytes 128 offsets 0 0 -128 -128
    phase 0 "0_fill" cores 1
      fill SEN169_FP16 a[0] pattern=7
    )"),
            "");
  EXPECT_EQ(sim.readLx<uint32_t>(0, 0, 1)[0], 7u);
}

TEST(Hostile, TracesEndAtTheirLimit) {
  TestSim sim(countingFar());
  spyre_sim_trace(sim.sim, 10);
  PhaseBuilder phase("0_many", 4);
  phase.loop(100000).fill({}, at(0), 0).end();
  ASSERT_EQ(sim.launch({phase}), "");
  EXPECT_EQ(sim.trace().size(), 10u);
}

TEST(Hostile, LargeProgramsAreRefusedBeforeTheyAreRead) {
  TestSim sim(countingFar());
  sim.segments[7] = {0, uint64_t(1) << 30};
  EXPECT_NE(
      spyre_sim_launch(sim.sim, uint64_t(ddr(7)), uint64_t(1) << 29, sim.segments.data(), 8, 0), 0);
  expectFault(spyre_sim_last_error(sim.sim), {"SPYRE-E7006: bad-program", "536870912 bytes"});
}

struct Seen {
  std::string error;
  spyre_sim_counters counters{};
  std::vector<uint8_t> ddr;
  bool operator==(const Seen &other) const {
    return error == other.error && ddr == other.ddr &&
           std::memcmp(&counters, &other.counters, sizeof(counters)) == 0;
  }
};

/// Several random programs one after the other on one device.
std::vector<Seen> runAll(const std::vector<std::string> &programs, const SimOptions &options) {
  // Mostly zeros, so that many indices are in range.
  static const std::vector<uint64_t> kData = [] {
    Random random(9);
    std::vector<uint64_t> data = randomBits<uint64_t>(random, kMappedBytes / 8);
    for (uint64_t &word : data) {
      word *= random.below(64) == 0;
    }
    return data;
  }();
  TestSim sim(options);
  for (uint64_t segment = 0; segment < 7; ++segment) {
    sim.write(dram(segment), kData);
  }
  std::vector<Seen> all;
  for (const std::string &program : programs) {
    Seen seen;
    seen.error = sim.launchBytes(program);
    seen.counters = sim.counters();
    if (seen.error.empty()) {
      seen.ddr = sim.read<uint8_t>(dram(0), kMappedBytes);
    }
    all.push_back(std::move(seen));
    if (!all.back().error.empty()) {
      return all; // Memory is unspecified now.
    }
  }
  return all;
}

/// Takes the usual reasons away why a random program stops at its first instruction.
program::Program tamed(program::Program program) {
  for (program::Symbol &symbol : program.symbols) {
    symbol.value = 0;
  }
  for (program::Buffer &buffer : program.buffers) {
    buffer.firstPhase = 0;
    buffer.lastPhase = int32_t(program.phases.size()) - 1;
  }
  for (program::Phase &phase : program.phases) {
    phase.overlap = false;
    for (Instruction &instruction : phase.instructions) {
      if (instruction.opcode == Opcode::Wait) {
        instruction.opcode = Opcode::Signal;
      }
    }
  }
  return program;
}

// Every opcode and field, with whatever data there is: no crash, and one answer for any threads.
TEST(Hostile, RandomProgramsHaveOneOutcome) {
  arch::DeviceDesc device = *arch::DeviceDesc::preset("tiny");
  size_t completed = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    Random random(seed);
    std::vector<std::string> programs;
    for (int i = 0; i < 4; ++i) {
      program::Program program = randomProgram(random, device);
      programs.push_back(program::writeProgram(seed % 3 == 0 ? program : tamed(program)));
    }
    std::vector<Seen> checked = runAll(programs, {.threads = 1});
    EXPECT_TRUE(runAll(programs, {.threads = 3}) == checked) << "seed " << seed;
    // Without the sanitizer nobody stops cores that race: one thread, which has one order.
    std::vector<Seen> unchecked = runAll(programs, {.sanitizer = false});
    completed += unchecked.back().error.empty();
  }
  EXPECT_GT(completed, 20u);
}

} // namespace
} // namespace spyre::test
