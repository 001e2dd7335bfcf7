//===- BinaryTest.cpp - writing and reading programs, and reading damaged ones --------------===//
#include "Program/ProgramBuilder.h"
#include "gtest/gtest.h"

namespace spyre::program {
namespace {

using test::at;
using test::PhaseBuilder;
using test::programOf;

arch::DeviceDesc tiny() { return *arch::DeviceDesc::preset("tiny"); }

/// Loops, tables, every opcode: accepted by the verifier for "tiny".
Program validProgram() {
  PhaseBuilder phase("0_everything", 2);
  int32_t table = phase.table({0, 8192});
  phase.loop(3)
      .load({4}, at(0, {128}).table(table).loops({1024}), at(0, {128}))
      .vector(Function::Where, {4},
              {at(0, {128}), at(0, {0}).asSplat(), at(0, {128}), at(512, {128})})
      .fill({2}, at(0x2000, {128}), 0x7FFF7FFF)
      .accumulate(Function::Sum, {4}, at(512, {128}), at(0x2000), 60, 0)
      .matmul({2}, at(0, {128}), at(0x3000), at(0x2000))
      .finish(Function::TreeMax, {}, at(0x2000), at(0x1000))
      .shuffle(2, {8, 8}, at(0, {2, 128}), at(0x1100, {16, 2}))
      .store({4}, at(512, {128}), at(int64_t(1) << 34, {128}).table(table).loops({1024}))
      .end();
  PhaseBuilder second("1_copy");
  second.load({}, at(0), at(0)).store({}, at(0), at(4096));
  return programOf({phase, second});
}

TEST(ProgramBinary, ReadsBackWhatWasWritten) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    Program program = test::randomProgram(random);
    std::string bytes = writeProgram(program);
    Expected<Program> read = readProgram(bytes);
    ASSERT_TRUE(read.ok()) << "seed " << seed << " " << read.status().message();
    EXPECT_EQ(*read, program) << "seed " << seed;
    EXPECT_EQ(writeProgram(*read), bytes) << "seed " << seed;
  }
}

TEST(ProgramBinary, StartsWithMagicVersionAndTotalSize) {
  std::string bytes = writeProgram(validProgram());
  EXPECT_EQ(bytes.substr(0, 8), std::string("SPYP\1\0\0\0", 8));
  uint64_t total = 0;
  for (size_t i = 0; i < 8; ++i) {
    total |= uint64_t(uint8_t(bytes[8 + i])) << (8 * i);
  }
  EXPECT_EQ(total, bytes.size());
  // Header, phase header, padded name; then the sizes docs/program-format.md gives.
  Program one = programOf({PhaseBuilder("abc")});
  EXPECT_EQ(writeProgram(one).size(), 24u + 24u + 8u);
  one.phases[0].coreTables = {{1, 2}};
  one.phases[0].instructions.resize(1);
  EXPECT_EQ(writeProgram(one).size(), 56u + 8u + 16u + 56u);
  one.phases[0].instructions[0].operandCount = 3;
  EXPECT_EQ(writeProgram(one).size(), 56u + 8u + 16u + 56u + 3u * 80u);
}

TEST(ProgramBinary, AllowsOnlyZerosBehindTheProgram) {
  std::string bytes = writeProgram(validProgram());
  Expected<Program> padded = readProgram(bytes + std::string(100, '\0'));
  ASSERT_TRUE(padded.ok());
  EXPECT_EQ(*padded, validProgram());
  EXPECT_EQ(readProgram(bytes + std::string(99, '\0') + "x").status().code(), 5102);
}

TEST(ProgramBinary, RefusesOtherFilesAndVersions) {
  EXPECT_EQ(readProgram("").status().code(), 5101);
  EXPECT_EQ(readProgram("SPY").status().code(), 5101);
  EXPECT_EQ(readProgram("\x7f"
                        "ELF and more bytes than a header")
                .status()
                .code(),
            5101);
  std::string bytes = writeProgram(validProgram());
  bytes[4] = 2;
  EXPECT_EQ(readProgram(bytes).status().code(), 5101);
}

TEST(ProgramBinary, RefusesEveryTruncation) {
  std::string bytes = writeProgram(validProgram());
  for (size_t size = 4; size < bytes.size(); ++size) {
    EXPECT_EQ(readProgram(bytes.substr(0, size)).status().code(), 5102) << size;
  }
}

TEST(ProgramBinary, RefusesCountsThatDoNotFitBeforeAllocating) {
  // Offsets of the counts: phases, name bytes, tables, instructions.
  for (size_t offset : {16u, 24u, 28u, 32u}) {
    std::string bytes = writeProgram(programOf({PhaseBuilder("abc")}));
    for (size_t i = 0; i < 4; ++i) {
      bytes[offset + i] = char(0xFF);
    }
    EXPECT_EQ(readProgram(bytes).status().code(), 5102) << offset;
  }
}

TEST(ProgramBinary, RefusesBytesInReservedFields) {
  // Header, phase header, padding of the name.
  for (size_t offset : {20u, 36u, 55u}) {
    std::string bytes = writeProgram(programOf({PhaseBuilder("abc")}));
    bytes[offset] = 1;
    EXPECT_EQ(readProgram(bytes).status().code(), 5102) << offset;
  }
}

// Any bytes give a program or an error; what is read, verifies or is refused, and prints.
TEST(ProgramBinary, SurvivesMutations) {
  const std::string original = writeProgram(validProgram());
  ASSERT_TRUE(verifyProgram(validProgram(), tiny()).ok());
  size_t readable = 0, accepted = 0;
  for (uint64_t seed = 0; seed < 20000; ++seed) {
    Random random(seed);
    std::string bytes = original;
    for (uint64_t i = 1 + random.below(4); i > 0; --i) {
      bytes[random.below(bytes.size())] = char(random.below(4) == 0 ? 0xFF : random.below(256));
    }
    if (random.below(8) == 0) {
      bytes.resize(random.below(bytes.size()));
    }
    Expected<Program> program = readProgram(bytes);
    if (!program) {
      EXPECT_TRUE(program.status().code() == 5101 || program.status().code() == 5102);
      continue;
    }
    ++readable;
    EXPECT_FALSE(disassemble(*program).empty() && !program->phases.empty());
    Status status = verifyProgram(*program, tiny());
    EXPECT_TRUE(status.ok() || status.code() == 5103);
    accepted += status.ok() ? 1 : 0;
  }
  EXPECT_GT(readable, 1000u);
  EXPECT_GT(accepted, 100u);
  EXPECT_LT(accepted, readable);
}

} // namespace
} // namespace spyre::program
