//===- OverlapTest.cpp - units work at the same time, and results stay the same -------------===//
//
// Times are those of the device's clock: cycles of a run without the overhead of a launch, against
// what the machine's rates allow at best.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Arch/TimingFields.h"

#include "Generator.h"
#include "Harness.h"
#include "Specs.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <map>

namespace spyre::backend::test {

using program::Instruction;
using program::Opcode;

static spyre_sim_counters countersOf(const program::Program &program, evaluator::Memory &memory,
                                     const arch::DeviceDesc &device) {
  Card card(device);
  Status status = card.run(program, memory);
  EXPECT_TRUE(status.ok()) << status.text();
  return card.counters;
}

static OpSpec matmulOf(int64_t m, int64_t n, int64_t k, int64_t mCores, int64_t nCores) {
  return opOf("batchmatmul", {{"c0", m, mCores}, {"c1", n, nCores}, {"c2", k, 1}},
              {{{"c2", "c0"}, "c2"}, {{"c1", "c2"}, "c1"}, {{"c1", "c0"}, "c1"}});
}

/// Memory of the right sizes with small numbers, quickly.
static evaluator::Memory plainMemory(const OpSpec &spec) {
  evaluator::Memory memory;
  for (const TensorArg &arg : spec.args) {
    int64_t elements = 1;
    for (int64_t size : arg.deviceSize) {
      elements *= size;
    }
    memory.arguments.emplace_back(size_t(elements * 2), uint8_t(0x3E));
  }
  return memory;
}

static double cyclesWithoutOverhead(const OpSpec &spec, const arch::DeviceDesc &device) {
  Expected<program::Program> program = lowerAll({spec}, device);
  EXPECT_TRUE(program.ok()) << program.status().message();
  EXPECT_TRUE(program->phases[0].overlap);
  evaluator::Memory memory = plainMemory(spec);
  return double(countersOf(*program, memory, device).cycles) - device.timing.launchOverheadCycles;
}

TEST(Roofline, LargeMatmulReachesSeventyPercent) {
  arch::DeviceDesc device = presetDevice("openspyre");
  double macs = 2048.0 * 4096 * 4096;
  double bytes = 2.0 * (2048.0 * 4096 + 4096.0 * 4096 + 2048.0 * 4096);
  double best =
      std::max(macs / (32 * device.timing.ptMacsPerCycle), bytes / device.timing.ddrBytesPerCycle);
  double cycles = cyclesWithoutOverhead(matmulOf(2048, 4096, 4096, 8, 4), device);
  RecordProperty("percent", int(100 * best / cycles));
  EXPECT_GE(best / cycles, 0.70);
}

TEST(Roofline, LargeAddReachesEightyPercentOfDdr) {
  arch::DeviceDesc device = presetDevice("openspyre");
  Shape full{{"c1", "c0"}, "c1"};
  OpSpec spec = opOf("add", {{"c0", 8192, 32}, {"c1", 4096, 1}}, {full, full, full});
  double tensorBytes = 8192.0 * 4096 * 2;
  double best = arch::ddrCyclesAtBest(device.timing, 2 * tensorBytes, tensorBytes);
  double cycles = cyclesWithoutOverhead(spec, device);
  RecordProperty("percent", int(100 * best / cycles));
  EXPECT_GE(best / cycles, 0.80);
}

/// The same program with one instruction after the other and DDR read by every core.
static program::Program sequential(program::Program program) {
  for (program::Phase &phase : program.phases) {
    phase.overlap = false;
    std::erase_if(phase.instructions, [](const Instruction &instruction) {
      return instruction.opcode == Opcode::Signal || instruction.opcode == Opcode::Wait;
    });
    for (Instruction &instruction : phase.instructions) {
      instruction.peerTable = instruction.opcode == Opcode::Load ? -1 : instruction.peerTable;
    }
  }
  return program;
}

// The sanitizer is on: a missing token would be a fault here.
TEST(Overlap, GivesTheSameBitsAndIsNeverSlower) {
  for (const char *name : {"openspyre", "tiny"}) {
    arch::DeviceDesc device = presetDevice(name);
    uint64_t overlapped = 0, faster = 0;
    for (uint64_t seed = 0; seed < 132; ++seed) {
      const std::string &op = generatedOps()[size_t(seed) % generatedOps().size()];
      Random random(seed * 104729 + 5);
      RandomCase testCase = randomCase(op, random, device, false);
      SCOPED_TRACE(fmt::format("{} seed {} {}", name, seed, op));
      Expected<program::Program> program = lowerAll({testCase.spec}, device);
      ASSERT_TRUE(program.ok()) << program.status().message();
      evaluator::Memory units = testCase.memory, oneByOne = testCase.memory;
      spyre_sim_counters quick = countersOf(*program, units, device);
      spyre_sim_counters slow = countersOf(sequential(*program), oneByOne, device);
      ASSERT_EQ(units.arguments, oneByOne.arguments);
      ASSERT_LE(quick.cycles, slow.cycles) << program::disassemble(*program);
      overlapped += program->phases[0].overlap;
      faster += quick.cycles < slow.cycles;
    }
    EXPECT_GT(overlapped, 40u) << name;
    EXPECT_EQ(faster >= overlapped / 2, true) << name << " " << faster << " of " << overlapped;
  }
}

/// Times a signal or wait of each token is executed in the phase; must be equal.
static void countTokens(const program::Phase &phase, std::map<int, int64_t> &balance) {
  std::vector<int64_t> trips{1};
  for (const Instruction &instruction : phase.instructions) {
    switch (instruction.opcode) {
    case Opcode::Loop:
      trips.push_back(trips.back() * instruction.parameter);
      break;
    case Opcode::EndLoop:
      trips.pop_back();
      break;
    case Opcode::Signal:
      balance[instruction.token] += trips.back();
      break;
    case Opcode::Wait:
      balance[instruction.token] -= trips.back();
      break;
    default:
      break;
    }
  }
}

TEST(Tokens, AreAllUsedUpAtTheEndOfAPhase) {
  arch::DeviceDesc device = presetDevice("tiny");
  for (int64_t k : {64, 192, 320, 1024}) {
    Expected<program::Program> program = lowerAll({matmulOf(70, 192, k, 1, 1)}, device);
    ASSERT_TRUE(program.ok()) << program.status().message();
    std::map<int, int64_t> balance;
    countTokens(program->phases[0], balance);
    EXPECT_FALSE(balance.empty());
    for (auto [token, left] : balance) {
      EXPECT_EQ(left, 0) << "k " << k << " token " << token;
    }
  }
}

// Each tile of a copy has an odd number of lives or an even one; with two copies they take turns.
TEST(DoubleBuffers, TakeTurnsForEveryNumberOfTiles) {
  arch::DeviceDesc device = presetDevice("tiny");
  Shape full{{"c1", "c0"}, "c1"};
  int64_t tileRows = device.lxStagingBytes() / 2 / 3 / 128;
  for (int64_t tiles = 1; tiles <= 7; ++tiles) {
    for (int64_t rest : {0, 5}) {
      OpSpec spec =
          opOf("add", {{"c0", tiles * tileRows + rest, 1}, {"c1", 64, 1}}, {full, full, full});
      Expected<program::Program> program = lowerAll({spec}, device);
      ASSERT_TRUE(program.ok()) << program.status().message();
      auto copies = std::count_if(
          program->buffers.begin(), program->buffers.end(),
          [](const program::Buffer &buffer) { return buffer.name.ends_with(".tile.b"); });
      EXPECT_EQ(copies, tiles + (rest > 0) > 1 ? 3 : 0) << program::disassemble(*program);
      Random random(7);
      evaluator::Memory expected = randomMemory(spec, random), actual = expected;
      ASSERT_TRUE(evaluator::evaluate({spec}, expected).ok());
      countersOf(*program, actual, device);
      EXPECT_EQ(actual.arguments, expected.arguments) << tiles << " tiles and " << rest;
    }
  }
}

// A core loads the next tile while it multiplies: two events of one core at the same time.
TEST(Trace, ShowsLoadsBesideTheMatrixUnit) {
  arch::DeviceDesc device = presetDevice("openspyre");
  OpSpec spec = matmulOf(512, 1024, 2048, 4, 1);
  Expected<program::Program> program = lowerAll({spec}, device);
  ASSERT_TRUE(program.ok()) << program.status().message();
  evaluator::Memory memory = plainMemory(spec);
  Card card(device);
  card.trace(100'000);
  ASSERT_TRUE(card.run(*program, memory).ok());
  uint64_t together = 0;
  std::vector<spyre_sim_event> events = card.events();
  for (const spyre_sim_event &load : events) {
    for (const spyre_sim_event &matmul : events) {
      together += load.core == 0 && matmul.core == 0 && load.unit == 0 && matmul.unit == 2 &&
                  load.start_cycle < matmul.end_cycle && matmul.start_cycle < load.end_cycle;
    }
  }
  EXPECT_GT(together, 4u);
}

TEST(Multicast, ReadsAnOperandOnceForAllCoresThatShareIt) {
  arch::DeviceDesc device = presetDevice("tiny");
  OpSpec spec = matmulOf(16, 128, 64, 2, 2);
  Expected<program::Program> program = lowerAll({spec}, device);
  ASSERT_TRUE(program.ok()) << program.status().message();
  evaluator::Memory memory = plainMemory(spec);
  spyre_sim_counters counters = countersOf(*program, memory, device);
  EXPECT_EQ(counters.ddr_read_bytes, 16u * 128 + 64 * 2 * 128);
  // Of each pair the one that does not read.
  EXPECT_EQ(counters.ring_bytes, 16u * 128 + 64 * 2 * 128);
}

// The same sums on other arguments: one lowering, other buffers.
TEST(PhaseCache, RepeatsAnOperationAtOtherAddresses) {
  arch::DeviceDesc device = presetDevice("tiny");
  Shape full{{"c1", "c0"}, "c1"};
  OpSpec first = opOf("add", {{"c0", 100, 2}, {"c1", 128, 1}}, {full, full, full});
  OpSpec second = first, other = first;
  second.args[0].argIndex = 2;
  second.args[0].address = first.args[2].address;
  second.args[2].argIndex = 3;
  second.args[2].address = int64_t(3) << 34;
  other.op = "mul";
  other.args = second.args;
  other.args[0].argIndex = 3;
  other.args[0].address = int64_t(3) << 34;
  other.args[2].argIndex = 4;
  other.args[2].address = int64_t(4) << 34;
  std::vector<OpSpec> specs{first, other, second, other};
  Expected<program::Program> program = lowerAll(specs, device);
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_EQ(program->phases[2].name, "2_add");
  EXPECT_EQ(program->phases[2].instructions.size(), program->phases[0].instructions.size());
  Random random(5);
  evaluator::Memory expected = randomMemory(first, random);
  expected.arguments.resize(5, expected.arguments[0]);
  evaluator::Memory actual = expected;
  ASSERT_TRUE(evaluator::evaluate(specs, expected).ok());
  countersOf(*program, actual, device);
  EXPECT_EQ(actual.arguments, expected.arguments);
}

// exp(x) in place, then into another tensor: alike but for which tensors are the same.
TEST(PhaseCache, TellsAnOperationInPlaceFromOthers) {
  arch::DeviceDesc device = presetDevice("tiny");
  Shape full{{"c1", "c0"}, "c1"};
  OpSpec inPlace = opOf("exp", {{"c0", 10, 2}, {"c1", 64, 1}}, {full, full});
  OpSpec elsewhere = inPlace;
  inPlace.args[1].argIndex = 0;
  inPlace.args[1].address = 0;
  std::vector<OpSpec> specs{inPlace, elsewhere};
  Expected<program::Program> program = lowerAll(specs, device);
  ASSERT_TRUE(program.ok()) << program.status().message();
  Random random(5);
  evaluator::Memory expected = randomMemory(elsewhere, random);
  evaluator::Memory actual = expected;
  ASSERT_TRUE(evaluator::evaluate(specs, expected).ok());
  countersOf(*program, actual, device);
  EXPECT_EQ(actual.arguments, expected.arguments);
}

// x += y: a tile is overwritten while the next one is loaded.
TEST(Overlap, WorksInPlace) {
  arch::DeviceDesc device = presetDevice("tiny");
  Shape full{{"c1", "c0"}, "c1"};
  OpSpec spec = opOf("add", {{"c0", 300, 2}, {"c1", 128, 1}}, {full, full, full});
  spec.args[2].argIndex = 0;
  spec.args[2].address = spec.args[0].address;
  Expected<program::Program> program = lowerAll({spec}, device);
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_TRUE(program->phases[0].overlap);
  Random random(11);
  OpSpec apart = spec;
  apart.args.pop_back();
  evaluator::Memory expected = randomMemory(apart, random), actual = expected;
  ASSERT_TRUE(evaluator::evaluate({spec}, expected).ok());
  countersOf(*program, actual, device);
  EXPECT_EQ(actual.arguments, expected.arguments);
}

// The output is half a tensor behind the input: a tile would be loaded after it was overwritten.
TEST(Overlap, StaysSequentialWhereDdrCarriesADependence) {
  arch::DeviceDesc device = presetDevice("tiny");
  Shape full{{"c1", "c0"}, "c1"};
  OpSpec spec = opOf("exp", {{"c0", 300, 1}, {"c1", 128, 1}}, {full, full});
  spec.args[1].argIndex = 0;
  spec.args[1].address = spec.args[0].address + 300 * 128;
  Expected<program::Program> program = lowerAll({spec}, device);
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_FALSE(program->phases[0].overlap);
}

} // namespace spyre::backend::test
