//===- BinaryTest.cpp - writing and reading programs, and reading damaged ones --------------===//
#include "Program/ProgramBuilder.h"
#include "Program/RandomProgram.h"
#include "gtest/gtest.h"

namespace spyre::program {
namespace {

using test::PhaseBuilder;

arch::DeviceDesc tiny() { return *arch::DeviceDesc::preset("tiny"); }

/// Accepted by the verifier for "tiny", with all parts a binary can have.
Program validProgram() {
  Random random(1);
  Program program = test::randomProgram(random, tiny());
  program.symbols.push_back({"base", 4096});
  program.buffers[0].coreOffset.assign(4, 0);
  return program;
}

/// One phase "abc" and nothing else.
Program smallProgram() {
  Program program;
  program.phases.push_back(PhaseBuilder("abc").phase);
  return program;
}

uint64_t numberAt(const std::string &bytes, size_t offset) {
  uint64_t value = 0;
  for (size_t i = 0; i < 8; ++i) {
    value |= uint64_t(uint8_t(bytes[offset + i])) << (8 * i);
  }
  return value;
}

void expectRoundTrip(const Program &program) {
  std::string bytes = writeProgram(program);
  Expected<Program> read = readProgram(bytes);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, program);
  EXPECT_EQ(writeProgram(*read), bytes);
}

TEST(ProgramBinary, ReadsBackWhatWasWritten) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    expectRoundTrip(test::arbitraryProgram(random));
    expectRoundTrip(test::randomProgram(random, tiny()));
  }
}

TEST(ProgramBinary, StartsWithMagicVersionAndTotalSize) {
  std::string bytes = writeProgram(validProgram());
  EXPECT_EQ(bytes.substr(0, 8), std::string("SPYP\3\0\0\0", 8));
  EXPECT_EQ(numberAt(bytes, 8), bytes.size());
  // Header, phase header, padded name; then the sizes docs/program-format.md gives.
  Program one = smallProgram();
  EXPECT_EQ(writeProgram(one).size(), 32u + 32u + 8u);
  one.phases[0].coreTables = {{1, 2}};
  one.phases[0].instructions.resize(1);
  EXPECT_EQ(writeProgram(one).size(), 72u + 8u + 16u + 88u);
  one.phases[0].instructions[0].operands.resize(3);
  EXPECT_EQ(writeProgram(one).size(), 72u + 8u + 16u + 88u + 3u * 104u);
  one.symbols = {{"s", 0}};
  EXPECT_EQ(writeProgram(one).size(), 72u + 8u + 16u + 88u + 3u * 104u + 24u);
  one = smallProgram();
  one.buffers.resize(1);
  one.buffers[0].name = "123456789";
  one.buffers[0].coreOffset = {0, 128};
  EXPECT_EQ(writeProgram(one).size(), 72u + 48u + 16u + 16u);
}

// Whoever launches a program patches the values without reading the rest.
TEST(ProgramBinary, SymbolValuesCanBePatched) {
  Program program = smallProgram();
  program.symbols = {{"first", kUnsetSymbol}, {"second", 7}};
  std::string bytes = writeProgram(program);
  EXPECT_EQ(numberAt(bytes, symbolValueOffset(0)), uint64_t(kUnsetSymbol));
  EXPECT_EQ(numberAt(bytes, symbolValueOffset(1)), 7u);
  bytes[symbolValueOffset(1)] = 8;
  Expected<Program> patched = readProgram(bytes);
  ASSERT_TRUE(patched.ok());
  EXPECT_EQ(patched->symbols[0].value, kUnsetSymbol);
  EXPECT_EQ(patched->symbols[1].value, 8);
  EXPECT_EQ(patched->symbols[1].name, "second");
}

TEST(ProgramBinary, AllowsOnlyZerosBehindTheProgram) {
  std::string bytes = writeProgram(validProgram());
  Expected<Program> padded = readProgram(bytes + std::string(100, '\0'));
  ASSERT_TRUE(padded.ok());
  EXPECT_EQ(*padded, validProgram());
  EXPECT_EQ(readProgram(bytes + std::string(99, '\0') + "x").status().code(), 5102);
}

TEST(ProgramBinary, RefusesOtherFilesAndVersions) {
  for (const char *other : {"", "SPY",
                            "\x7f"
                            "ELF and more bytes than a header"}) {
    EXPECT_EQ(readProgram(other).status().code(), 5101);
  }
  std::string bytes = writeProgram(validProgram());
  bytes[4] = 2;
  EXPECT_EQ(readProgram(bytes).status().code(), 5101);
  // The empty program of version 1 was shorter than the header of version 2.
  std::string old("SPYP\1\0\0\0\x18\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24);
  Status status = readProgram(old).status();
  EXPECT_EQ(status.code(), 5101);
  EXPECT_NE(status.text().find("compile the model again"), std::string::npos) << status.text();
  Status text = readProgram("spyre-program 2\n").status();
  EXPECT_EQ(text.code(), 5101);
  EXPECT_NE(text.text().find("assemble"), std::string::npos) << text.text();
}

TEST(ProgramBinary, RefusesEveryTruncation) {
  std::string bytes = writeProgram(validProgram());
  for (size_t size = 4; size < bytes.size(); ++size) {
    EXPECT_EQ(readProgram(bytes.substr(0, size)).status().code(), 5102) << size;
    // The same with a size in the header that agrees with the bytes.
    if (size >= 32) {
      std::string agreeing = bytes.substr(0, size);
      for (size_t i = 0; i < 8; ++i) {
        agreeing[8 + i] = char(uint64_t(size) >> (8 * i));
      }
      EXPECT_EQ(readProgram(agreeing).status().code(), 5102) << size;
    }
  }
}

TEST(ProgramBinary, RefusesCountsThatDoNotFitBeforeAllocating) {
  Program program = smallProgram();
  program.symbols.resize(1);
  program.buffers.resize(1);
  program.phases[0].coreTables.resize(1);
  // Counts: phases, symbols, buffers, name bytes of the symbol, name and core offsets of the
  // buffer, name, tables, instructions and constants of the phase, entries of the table.
  for (size_t offset : {16u, 20u, 24u, 40u, 44u, 48u, 52u, 96u, 100u, 104u, 120u, 136u, 140u}) {
    std::string bytes = writeProgram(program);
    for (size_t i = 0; i < 4; ++i) {
      bytes[offset + i] = char(0xFF);
    }
    EXPECT_EQ(readProgram(bytes).status().code(), 5102) << offset;
  }
}

TEST(ProgramBinary, RefusesBytesInReservedFields) {
  Program program = smallProgram();
  program.symbols = {{"s", 0}};
  program.buffers.resize(1);
  program.buffers[0].name = "b";
  program.phases[0].instructions.resize(1);
  program.phases[0].instructions[0].operands.resize(1);
  // Header; padding of the symbol's name; flags (2), reserved and padding of the buffer; flags,
  // reserved and padding of the phase; three of the instruction; one of the operand.
  for (size_t offset : {28u, 55u, 66u, 100u, 111u, 124u, 140u, 151u, 159u, 166u, 180u, 242u}) {
    std::string bytes = writeProgram(program);
    ASSERT_EQ(bytes[offset], 0) << offset;
    bytes[offset] = 8;
    EXPECT_EQ(readProgram(bytes).status().code(), 5102) << offset;
  }
  std::string bytes = writeProgram(program);
  bytes[65] = 4; // a flag of the buffer that does not exist
  EXPECT_EQ(readProgram(bytes).status().code(), 5102);
  bytes = writeProgram(program);
  bytes[152 + 6] = 7; // operands
  EXPECT_EQ(readProgram(bytes).status().code(), 5102);
}

// Instructions name their 32-bit constants by numbers of 16 bits; equal ones have one number.
TEST(ProgramBinary, ConstantsAreInTheTableOfTheirPhase) {
  Program program = smallProgram();
  program.phases[0].instructions.resize(3);
  program.phases[0].instructions[0].constant = 0xFEDCBA98;
  program.phases[0].instructions[2].constant = 0xFEDCBA98;
  program.phases[0].instructions[1].operands = {constantOperand(0x3F800000), constantOperand(0)};
  const size_t table = 72, first = table + 8, second = first + 88, operands = second + 88;
  const size_t third = operands + 2 * 104;
  const std::string bytes = writeProgram(program);
  ASSERT_EQ(bytes.size(), third + 88);
  EXPECT_EQ(numberAt(bytes, table), 0x3F800000FEDCBA98u);
  EXPECT_EQ(bytes[first + 16], 1);
  EXPECT_EQ(bytes[operands + 16], 2);
  EXPECT_EQ(bytes[operands + 104 + 16], 0);
  EXPECT_EQ(bytes[third + 16], 1);
  expectRoundTrip(program);

  const auto refused = [&](size_t offset, char value) {
    std::string changed = bytes;
    changed[offset] = value;
    return readProgram(changed).status().code() == 5102;
  };
  EXPECT_TRUE(refused(first + 16, 3)) << "not in the table";
  EXPECT_TRUE(refused(operands + 16, 1)) << "a constant nobody uses";
  EXPECT_TRUE(refused(first + 16, 2)) << "not in the order of use";
  EXPECT_TRUE(refused(first + 18, 1)) << "more than 16 bits";
  std::string zero = bytes;
  zero.replace(table, 4, 4, '\0');
  EXPECT_EQ(readProgram(zero).status().code(), 5102) << "0 is not in tables";
}

TEST(ProgramBinary, RefusesMoreConstantsThan16BitsName) {
  Program program = smallProgram();
  for (uint32_t i = 1; i <= kMaxConstants; ++i) {
    Instruction fill;
    fill.constant = i;
    program.phases[0].instructions.push_back(fill);
  }
  EXPECT_TRUE(readProgram(writeProgram(program)).ok());
  program.phases[0].instructions.push_back(program.phases[0].instructions[0]);
  EXPECT_TRUE(readProgram(writeProgram(program)).ok());
  program.phases[0].instructions.back().constant = kMaxConstants + 1;
  EXPECT_EQ(readProgram(writeProgram(program)).status().code(), 5102);
}

// Any bytes give a program or an error; what is read, verifies or is refused, and prints. What
// verifies, has a text that says all of it.
TEST(ProgramBinary, SurvivesMutations) {
  const std::string original = writeProgram(validProgram());
  ASSERT_TRUE(verifyProgram(validProgram(), tiny()).ok());
  size_t readable = 0, accepted = 0;
  for (uint64_t seed = 0; seed < 5000; ++seed) {
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
    std::string text = disassemble(*program);
    Status status = verifyProgram(*program, tiny());
    EXPECT_TRUE(status.ok() || status.code() == 5103);
    if (status.ok()) {
      ++accepted;
      Expected<Program> again = assemble(text);
      ASSERT_TRUE(again.ok()) << "seed " << seed << " " << again.status().message();
      EXPECT_EQ(*again, *program) << "seed " << seed;
    }
  }
  EXPECT_GT(readable, 1000u);
  EXPECT_GT(accepted, 100u);
  EXPECT_LT(accepted, readable);
}

} // namespace
} // namespace spyre::program
