//===- LoweringTest.cpp - how programs use LX, DDR and loops --------------------------------===//
#include "Generator.h"
#include "Harness.h"
#include "Specs.h"
#include "gtest/gtest.h"

#include <algorithm>

namespace spyre::backend::test {

using program::Instruction;
using program::Opcode;
using spec::OpSpec;
using spec::Residency;
using spec::TensorArg;

static spyre_sim_counters countersOf(const OpSpec &spec, const char *deviceName) {
  arch::DeviceDesc device = presetDevice(deviceName);
  Expected<program::Program> program = lowerAll({spec}, device);
  EXPECT_TRUE(program.ok()) << program.status().message();
  if (!program.ok()) {
    return {};
  }
  Random random(1);
  evaluator::Memory memory = randomMemory(spec, random);
  Card card(device);
  Status status = card.run(*program, memory);
  EXPECT_TRUE(status.ok()) << status.text();
  return card.counters;
}

// Everything below the staging area belongs to the planner, and none of these operations keeps a
// tensor in LX.
TEST(Staging, NeverTouchesThePlannersPart) {
  for (const char *name : {"openspyre", "tiny"}) {
    arch::DeviceDesc device = presetDevice(name);
    for (uint64_t seed = 0; seed < 110; ++seed) {
      Random random(seed);
      RandomCase testCase =
          randomSpec(generatedOps()[seed % generatedOps().size()], random, device, false);
      Expected<program::Program> program = lowerAll({testCase.spec}, device);
      ASSERT_TRUE(program.ok()) << program.status().message();
      for (const program::Buffer &buffer : program->buffers) {
        if (buffer.space == program::Space::Lx) {
          ASSERT_GE(buffer.base, device.lxStagingBegin()) << "seed " << seed << " " << buffer.name;
          ASSERT_LE(buffer.base + buffer.bytes, device.lxBytes) << "seed " << seed;
        }
      }
    }
  }
}

TEST(Staging, OneRestickifyBlockFillsTheTinyMachine) {
  arch::DeviceDesc tiny = presetDevice("tiny");
  OpSpec spec = opOf("ReStickifyOpHBM", {{"c0", 128, 1}, {"c1", 128, 1}},
                     {{{"c1", "c0"}, "c1"}, {{"c0", "c1"}, "c0"}});
  Expected<program::Program> program = lowerAll({spec}, tiny);
  ASSERT_TRUE(program.ok()) << program.status().message();
  int64_t end = 0;
  for (const Instruction &instruction : program->phases[0].instructions) {
    if (instruction.opcode == Opcode::Store) {
      EXPECT_EQ(instruction.points(), 64);
      end = program->buffers[size_t(instruction.operands[0].buffer)].base + 64 * 128;
    }
  }
  EXPECT_EQ(end, tiny.lxBytes);
  EXPECT_EQ(tiny.lxStagingBytes(), 2 * 64 * 128);
}

// Each operand of a product that fits is read once; on the small machine B is read once per group
// of rows, and a group has at least eight.
TEST(Matmul, ReadsOperandsAsOftenAsTheMachineForces) {
  OpSpec spec = opOf("batchmatmul", {{"c0", 64, 1}, {"c1", 128, 1}, {"c2", 256, 1}},
                     {{{"c2", "c0"}, "c2"}, {{"c1", "c2"}, "c1"}, {{"c1", "c0"}, "c1"}});
  const uint64_t aBytes = 64 * 4 * 128, bBytes = 256 * 2 * 128;
  spyre_sim_counters big = countersOf(spec, "openspyre");
  EXPECT_EQ(big.ddr_read_bytes, aBytes + bBytes);
  EXPECT_EQ(big.pt_macs, 64u * 128 * 256);
  spyre_sim_counters small = countersOf(spec, "tiny");
  EXPECT_EQ(small.pt_macs, 64u * 128 * 256);
  EXPECT_LE(small.ddr_read_bytes, 2 * aBytes + 64 / 8 * bBytes);
  EXPECT_EQ(small.ddr_write_bytes, 64u * 2 * 128);
}

TEST(Pointwise, LoadsABroadcastRowOncePerStickColumn) {
  OpSpec spec = opOf("add", {{"c0", 500, 1}, {"c1", 256, 1}},
                     {{{"c1", "c0"}, "c1"}, {{"c1"}, "c1"}, {{"c1", "c0"}, "c1"}});
  for (const char *name : {"openspyre", "tiny"}) {
    EXPECT_EQ(countersOf(spec, name).ddr_read_bytes, 4u * 500 * 128 + 4 * 128) << name;
  }
}

TEST(Pointwise, JoinsDimensionsThatAreOneRun) {
  OpSpec spec = opOf("mul", {{"c0", 4, 1}, {"c1", 6, 1}, {"c2", 5, 1}, {"c3", 128, 1}},
                     {{{"c0", "c1", "c3", "c2"}, "c3"},
                      {{"c0", "c1", "c3", "c2"}, "c3"},
                      {{"c0", "c1", "c3", "c2"}, "c3"}});
  Expected<program::Program> program = lowerAll({spec}, presetDevice("openspyre"));
  ASSERT_TRUE(program.ok()) << program.status().message();
  size_t work = 0;
  for (const Instruction &instruction : program->phases[0].instructions) {
    if (instruction.operands.size() > 0) {
      EXPECT_EQ(instruction.counts,
                (std::array<int64_t, program::kMaxLevels>{1, 1, 1, 1, 1, 4 * 6 * 5 * 2}));
      ++work;
    }
  }
  EXPECT_EQ(work, 4u) << program::disassemble(*program);
}

TEST(Copy, StoresWhatItLoadedWithoutAUnit) {
  OpSpec spec =
      opOf("identity", {{"c0", 8, 1}, {"c1", 64, 1}}, {{{"c1"}, "c1"}, {{"c1", "c0"}, "c1"}});
  Expected<program::Program> program = lowerAll({spec}, presetDevice("tiny"));
  ASSERT_TRUE(program.ok()) << program.status().message();
  ASSERT_EQ(program->phases[0].instructions.size(), 2u) << program::disassemble(*program);
  EXPECT_EQ(program->phases[0].instructions[0].points(), 1);
  EXPECT_EQ(program->phases[0].instructions[1].points(), 8);
}

// Seven dimensions, reversed between input and output so that nothing joins, on a machine whose
// tile is a handful of sticks: more tiled axes than the machine has loops.
TEST(Loops, AxesBeyondTheMachinesLoopsAreUnrolled) {
  std::vector<spec::IterationDim> space;
  Shape in, out;
  for (int i = 0; i < 7; ++i) {
    std::string symbol = "c" + std::to_string(i);
    space.push_back({symbol, i == 6 ? 128 : 3, 1});
    out.symbols.push_back(symbol);
    in.symbols.insert(in.symbols.begin(), symbol);
  }
  in.stick = out.stick = "c6";
  OpSpec spec = opOf("exp", space, {in, out});
  arch::DeviceDesc device = presetDevice("tiny");
  device.lxPlannerBytes = device.lxBytes - 4 * 128;
  Expected<program::Program> program = lowerAll({spec}, device);
  ASSERT_TRUE(program.ok()) << program.status().message();
  Random random(3);
  evaluator::Memory expected = randomMemory(spec, random), actual = expected;
  ASSERT_TRUE(evaluator::evaluate({spec}, expected).ok());
  Status status = Card(device).run(*program, actual);
  ASSERT_TRUE(status.ok()) << status.text();
  EXPECT_EQ(actual.arguments, expected.arguments);
}

/// The same operations with what is in LX moved to the pool, where the evaluator can see it.
static std::vector<OpSpec> inPool(std::vector<OpSpec> specs) {
  for (OpSpec &spec : specs) {
    for (TensorArg &arg : spec.args) {
      if (arg.residency == Residency::Lx) {
        arg.residency = Residency::Pool;
      }
    }
  }
  return specs;
}

// exp -> LX, then a reduction, a matmul and a copy that read it there, all on two cores that split
// the rows. One pool size for all: the evaluator ignores the split.
TEST(LxTensors, AreUsedWhereTheyAre) {
  std::vector<spec::IterationDim> space{{"c0", 8, 2}, {"c1", 128, 1}};
  Shape full{{"c1", "c0"}, "c1"};
  OpSpec produce = opOf("exp", space, {full, full});
  OpSpec reduce = opOf("max", space, {full, {{"c0"}, ""}});
  OpSpec copy = opOf("identity", space, {full, full});
  OpSpec multiply = opOf("batchmatmul", {{"c0", 8, 2}, {"c2", 64, 1}, {"c1", 128, 1}},
                         {{{"c1", "c0"}, "c1"}, {{"c2", "c1"}, "c2"}, {{"c2", "c0"}, "c2"}});
  moveToLx(produce.args[1], 1024);
  moveToLx(reduce.args[0], 1024);
  moveToLx(copy.args[0], 1024);
  moveToLx(copy.args[1], 8192);
  moveToLx(multiply.args[0], 8192);
  reduce.args[1].argIndex = 1;
  multiply.args[1].argIndex = 2;
  multiply.args[2].argIndex = 3;
  std::vector<OpSpec> specs{produce, reduce, copy, multiply};
  // Segment 0 is the pool in the evaluator's version only; addresses of arguments do not matter
  // there.
  reduce.args[1].address = specs[1].args[1].address = int64_t(1) << 34;
  specs[3].args[1].address = int64_t(2) << 34;
  specs[3].args[2].address = int64_t(3) << 34;
  Random random(9);
  evaluator::Memory expected;
  for (const OpSpec &spec : specs) {
    evaluator::Memory some = randomMemory(spec, random);
    expected.arguments.resize(std::max(expected.arguments.size(), some.arguments.size()));
    for (size_t i = 0; i < some.arguments.size(); ++i) {
      if (!some.arguments[i].empty()) {
        expected.arguments[i] = some.arguments[i];
      }
    }
  }
  evaluator::Memory actual = expected;
  expected.pool.resize(16384);
  Status evaluated = evaluator::evaluate(inPool(specs), expected);
  ASSERT_TRUE(evaluated.ok()) << evaluated.message();
  for (const char *name : {"openspyre", "tiny"}) {
    arch::DeviceDesc device = presetDevice(name);
    Expected<program::Program> program = lowerAll(specs, device);
    ASSERT_TRUE(program.ok()) << program.status().message();
    evaluator::Memory memory = actual;
    Card card(device);
    Status status = card.run(*program, memory);
    ASSERT_TRUE(status.ok()) << status.text();
    EXPECT_EQ(memory.arguments, expected.arguments) << name;
    // x once, the weights once for both cores, nothing else.
    EXPECT_EQ(card.counters.ddr_read_bytes, 8u * 2 * 128 + 128 * 128);
  }
}

} // namespace spyre::backend::test
