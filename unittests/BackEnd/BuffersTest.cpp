//===- BuffersTest.cpp - which buffers a program has, and what the sanitizer sees in them ---===//
#include "Generator.h"
#include "Harness.h"
#include "Specs.h"
#include "gtest/gtest.h"

namespace spyre::backend::test {

using program::Buffer;
using program::Space;

static const Shape kRows{{"c1", "c0"}, "c1"};

/// \p op over fp16 [8, 128] with \p rowCores x \p columnCores, tensors in segments 0, 1, ...
static OpSpec plain(const std::string &op, size_t tensors, int64_t rowCores,
                    int64_t columnCores = 1) {
  return opOf(op, {{"c0", 8, rowCores}, {"c1", 128, columnCores}},
              std::vector<Shape>(tensors, kRows));
}

static program::Program lowered(const std::vector<OpSpec> &specs) {
  Expected<program::Program> program = lowerAll(specs, presetDevice("tiny"));
  EXPECT_TRUE(program.ok()) << program.status().message();
  return program.ok() ? *program : program::Program();
}

static const Buffer *find(const program::Program &program, const std::string &name) {
  for (const Buffer &buffer : program.buffers) {
    if (buffer.name == name) {
      return &buffer;
    }
  }
  ADD_FAILURE() << "no buffer '" << name << "' in\n" << program::disassemble(program);
  static const Buffer none;
  return &none;
}

static std::vector<std::string> namesOf(const program::Program &program) {
  std::vector<std::string> names;
  for (const Buffer &buffer : program.buffers) {
    names.push_back(buffer.name);
  }
  return names;
}

/// The slice table of the LX tensor in \p buffer as \p phase uses it.
static std::vector<int64_t> slicesOf(const program::Program &program, size_t phase,
                                     const std::string &buffer) {
  int32_t index = int32_t(find(program, buffer) - program.buffers.data());
  for (const program::Instruction &instruction : program.phases[phase].instructions) {
    for (size_t i = 0; i < instruction.operands.size(); ++i) {
      const program::Operand &operand = instruction.operands[i];
      if (operand.buffer == index && operand.sliceTable >= 0) {
        return program.phases[phase].coreTables[size_t(operand.sliceTable)];
      }
    }
  }
  ADD_FAILURE() << "phase " << phase << " says no slices of " << buffer;
  return {};
}

TEST(Buffers, ATensorInDdrIsWholeOverAllCores) {
  program::Program program = lowered({plain("add", 3, 2)});
  EXPECT_EQ(namesOf(program),
            (std::vector<std::string>{"0_add.in0", "0_add.in1", "0_add.out", "0_add.in0.tile",
                                      "0_add.in1.tile", "0_add.out.tile"}));
  const Buffer *in1 = find(program, "0_add.in1");
  EXPECT_EQ(in1->space, Space::Ddr);
  EXPECT_EQ(in1->base, int64_t(1) << 34);
  EXPECT_EQ(in1->bytes, 2 * 8 * 128);
  EXPECT_EQ(find(program, "0_add.in1.tile")->bytes, 2 * 4 * 128);
}

// A slice of a larger tensor: the gap behind the last stick is not the operation's.
TEST(Buffers, AnOffsetIntoALargerTensorStaysInsideIt) {
  OpSpec spec = plain("exp", 2, 1);
  spec.args[0].deviceSize = {2, 12, 64};
  spec.args[0].deviceCoordinates[1] = Coordinate::var("c0", 3);
  program::Program program = lowered({spec});
  const Buffer *in = find(program, "0_exp.in0");
  EXPECT_EQ(in->base, 3 * 128);
  EXPECT_EQ(in->base + in->bytes, (12 + 3 + 8) * 128);
}

TEST(Buffers, ATensorInLxIsOneBufferForAllPhases) {
  OpSpec produce = plain("exp", 2, 2), use = plain("mul", 3, 2), last = plain("exp", 2, 2);
  moveToLx(produce.args[1], 1024);
  moveToLx(use.args[0], 1024);
  moveToLx(use.args[2], 4096);
  moveToLx(last.args[0], 1024);
  program::Program program = lowered({produce, use, last});
  const Buffer *first = find(program, "lx.1024.1024");
  EXPECT_EQ(first->firstPhase, 0);
  EXPECT_EQ(first->lastPhase, 2);
  EXPECT_TRUE(!first->liveIn && first->liveOut);
  EXPECT_EQ(find(program, "lx.4096.1024")->firstPhase, 1);
  for (size_t phase : {0, 1, 2}) {
    EXPECT_EQ(slicesOf(program, phase, "lx.1024.1024"), (std::vector<int64_t>{0, 4}));
  }
}

TEST(Buffers, AResultInPlaceOfAnInputIsTheSameBuffer) {
  OpSpec produce = plain("exp", 2, 2), inPlace = plain("exp", 2, 2);
  moveToLx(produce.args[1], 256);
  moveToLx(inPlace.args[0], 256);
  moveToLx(inPlace.args[1], 256);
  program::Program program = lowered({produce, inPlace});
  EXPECT_EQ(namesOf(program),
            (std::vector<std::string>{"0_exp.in0", "lx.256.1024", "0_exp.in0.tile"}));
  // A smaller result at the same address is another buffer, which may overlap the one it ends.
  OpSpec reduce = opOf("max", {{"c0", 8, 2}, {"c1", 128, 1}}, {kRows, {{"c0"}, ""}});
  moveToLx(reduce.args[0], 256);
  moveToLx(reduce.args[1], 256);
  program = lowered({produce, reduce});
  const Buffer *input = find(program, "0_exp.out"), *result = find(program, "lx.256.512");
  EXPECT_FALSE(input->liveOut);
  EXPECT_TRUE(result->liveOut);
  ASSERT_GE(result->inPlaceOf, 0);
  EXPECT_EQ(&program.buffers[size_t(result->inPlaceOf)], input);
}

// Two programs name what they hand over in the same way.
TEST(Buffers, WhatAProgramReadsButNeverWroteIsLiveIn) {
  OpSpec produce = plain("exp", 2, 2), use = plain("exp", 2, 2);
  moveToLx(produce.args[1], 1024);
  moveToLx(use.args[0], 1024);
  program::Program writer = lowered({produce}), reader = lowered({use});
  EXPECT_TRUE(find(writer, "lx.1024.1024")->liveOut);
  EXPECT_FALSE(find(writer, "lx.1024.1024")->liveIn);
  EXPECT_TRUE(find(reader, "lx.1024.1024")->liveIn);

  arch::DeviceDesc device = presetDevice("tiny");
  Card card(device);
  Random random(4);
  evaluator::Memory memory = randomMemory(plain("exp", 2, 2), random), expected = memory;
  Status status = card.run(writer, memory);
  ASSERT_TRUE(status.ok()) << status.text();
  status = card.run(reader, memory);
  ASSERT_TRUE(status.ok()) << status.text();
  for (int twice = 0; twice < 2; ++twice) {
    ASSERT_TRUE(evaluator::evaluate({plain("exp", 2, 1)}, expected).ok());
    expected.arguments[0] = expected.arguments[1];
  }
  EXPECT_EQ(memory.arguments[1], expected.arguments[1]);
}

// Reading it later means the new contents; the old ones ended when other data took their place.
TEST(Buffers, AnAddressThatIsUsedAgainBeginsANewLife) {
  OpSpec first = plain("exp", 2, 2), large = plain("exp", 2, 1), again = plain("exp", 2, 2);
  OpSpec read = plain("exp", 2, 2);
  moveToLx(first.args[1], 0);
  moveToLx(large.args[1], 0);
  moveToLx(again.args[1], 0);
  moveToLx(read.args[0], 0);
  program::Program program = lowered({first, large, again, read});
  const Buffer *old = find(program, "0_exp.out"), *between = find(program, "1_exp.out");
  EXPECT_EQ(old->lastPhase, 0);
  EXPECT_EQ(between->bytes, 2048);
  EXPECT_FALSE(old->liveOut || between->liveOut);
  EXPECT_EQ(find(program, "lx.0.1024")->firstPhase, 2);
  EXPECT_EQ(find(program, "lx.0.1024")->lastPhase, 3);
}

//===- What the sanitizer catches -----------------------------------------------------------===//

static Status runOnCard(const std::vector<OpSpec> &specs) {
  Random random(6);
  evaluator::Memory memory = randomMemory(plain("mul", 3, 1), random);
  return Card(presetDevice("tiny")).run(lowered(specs), memory);
}

// Rows over two cores, then columns over two cores: the same place and size, other data.
TEST(Buffers, AReaderWithAnotherDivisionIsCaught) {
  OpSpec produce = plain("exp", 2, 2), same = plain("exp", 2, 2), other = plain("exp", 2, 1, 2);
  for (OpSpec *reader : {&same, &other}) {
    moveToLx(reader->args[0], 0);
  }
  moveToLx(produce.args[1], 0);
  program::Program program = lowered({produce, other});
  EXPECT_EQ(slicesOf(program, 0, "lx.0.1024"), (std::vector<int64_t>{0, 4}));
  EXPECT_EQ(slicesOf(program, 1, "lx.0.1024"), (std::vector<int64_t>{0, 8}));
  Status status = runOnCard({produce, same});
  EXPECT_TRUE(status.ok()) << status.text();
  status = runOnCard({produce, other});
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.text().find("lx.0.1024"), std::string::npos) << status.text();
}

TEST(Buffers, TensorsThatShareBytesAreCaught) {
  OpSpec first = plain("exp", 2, 2), second = plain("exp", 2, 2), read = plain("mul", 3, 2);
  moveToLx(first.args[1], 0);
  moveToLx(second.args[1], 512);
  moveToLx(read.args[0], 0);
  EXPECT_FALSE(runOnCard({first, second, read}).ok());
  moveToLx(second.args[1], 1024);
  Status status = runOnCard({first, second, read});
  EXPECT_TRUE(status.ok()) << status.text();
}

} // namespace spyre::backend::test
