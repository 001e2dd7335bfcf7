//===- AssemblerTest.cpp - program text, read back and damaged ------------------------------===//
#include "Program/ProgramBuilder.h"
#include "Program/RandomProgram.h"
#include "gtest/gtest.h"

namespace spyre::program {
namespace {

arch::DeviceDesc tiny() { return *arch::DeviceDesc::preset("tiny"); }

const char *const kHead = "spyre-program 2\n"
                          "buffer x ddr 0:0x0 bytes 65536\n"
                          "buffer t lx 0 bytes 8192\n"
                          "phase 0 \"p\" cores 2\n"
                          "table T0: 0 128\n";

/// Assembles kHead and \p line, and gives its instruction.
Instruction assembled(const std::string &line) {
  Expected<Program> program = assemble(kHead + line);
  EXPECT_TRUE(program.ok()) << program.status().message();
  return program.ok() ? program->phases.at(0).instructions.at(0) : Instruction();
}

/// \p text must be refused at \p place with \p words.
void expectRefused(const std::string &text, const std::string &place, const std::string &words) {
  Status status = assemble(text).status();
  EXPECT_EQ(status.code(), 5104) << text;
  EXPECT_TRUE(status.text().starts_with(place + ": ")) << status.text();
  EXPECT_NE(status.text().find(words), std::string::npos) << status.text();
}

void expectLineRefused(const std::string &line, size_t column, const std::string &words) {
  expectRefused(kHead + line, fmt::format("line 6 column {}", column), words);
}

TEST(Assembler, ReadsBackTheTextOfEveryValidProgram) {
  for (const char *name : {"tiny", "openspyre"}) {
    arch::DeviceDesc device = *arch::DeviceDesc::preset(name);
    for (uint64_t seed = 0; seed < 500; ++seed) {
      Random random(seed);
      Program program = test::randomProgram(random, device);
      Status status = verifyProgram(program, device);
      ASSERT_TRUE(status.ok()) << "seed " << seed << " " << status.message();
      std::string text = disassemble(program);
      Expected<Program> again = assemble(text);
      ASSERT_TRUE(again.ok()) << "seed " << seed << " " << again.status().message();
      EXPECT_EQ(*again, program) << "seed " << seed;
      EXPECT_EQ(disassemble(*again), text) << "seed " << seed;
    }
  }
}

TEST(Assembler, ToleratesBlanksCommentsNumbersAndOtherOrders) {
  Expected<Program> program =
      assemble("\n// a program\r\n  spyre-program 2 // version\n"
               "buffer x ddr 0x400 bytes 0x10000\n"
               "buffer t lx 0 bytes 8192 live-out phases 0 .. 0\n\n"
               "phase 0 \"a//b\" cores 1\n"
               "\tload SEN169_FP16 t[ 128*p5+0x80 ]<-x[128*p5 - 256] x 0x4\n"
               "99 fill SEN169_FP16 t[0] x 2,1 pattern=5 // two\n"
               "finish.lanes IEEE_FP32 t[0] <- t[128]");
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_EQ(program->buffers[0].base, 0x400);
  EXPECT_TRUE(program->buffers[1].liveOut);
  EXPECT_EQ(program->phases[0].name, "a//b");
  const std::vector<Instruction> &instructions = program->phases[0].instructions;
  ASSERT_EQ(instructions.size(), 3u);
  EXPECT_EQ(instructions[0].operands[0].offset, -256);
  EXPECT_EQ(instructions[0].operands[1].offset, 128);
  EXPECT_EQ(instructions[0].operands[1].stride[5], 128);
  EXPECT_EQ(instructions[0].counts, (std::array<int64_t, kMaxLevels>{1, 1, 1, 1, 1, 4}));
  EXPECT_EQ(instructions[1].counts, (std::array<int64_t, kMaxLevels>{1, 1, 1, 1, 2, 1}));
  EXPECT_EQ(instructions[1].constant, 5u);
  // The scale is 1 when none is given.
  EXPECT_EQ(instructions[2].constant, kScaleOne);
}

TEST(Assembler, ReadsEveryKindOfOperand) {
  Instruction vector =
      assembled("vector.layer-norm-norm SEN169_FP16 t[0 @T0] <- splat(7) t[128 + T0], #-1, "
                "#0xffffffff, t[-128*i3], t[0]");
  EXPECT_EQ(vector.function, Function::LayerNormNorm);
  EXPECT_EQ(vector.operands.size(), 6);
  EXPECT_EQ(vector.operands[0].splatLane, 7);
  EXPECT_EQ(vector.operands[0].coreTable, 0);
  EXPECT_EQ(vector.operands[1].kind, Operand::Kind::Constant);
  EXPECT_EQ(vector.operands[1].offset, 0xffffffff);
  EXPECT_EQ(vector.operands[2].offset, 0xffffffff);
  EXPECT_EQ(vector.operands[3].loopStride[3], -128);
  EXPECT_EQ(vector.operands[5].sliceTable, 0);
  Instruction topk = assembled("topk IEEE_FP32 t[256] <- t[0], number(3 + 2*p0) k=4 x 2,1,1,1,1,1");
  EXPECT_EQ(topk.operands[1].offset, 256);
  EXPECT_EQ(topk.operands[2].kind, Operand::Kind::Number);
  EXPECT_EQ(topk.operands[2].stride[0], 2);
  EXPECT_EQ(topk.parameter, 4);
  // Buffers may have the names of words of the language.
  Expected<Program> program =
      assemble("spyre-program 2\nbuffer number lx 0 bytes 128\nbuffer splat lx 0 bytes 128\n"
               "phase 0 \"\" cores 1\nvector.neg IEEE_FP32 splat[0] <- number[0]\n");
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_EQ(program->phases[0].instructions[0].operands[1].buffer, 1);
}

TEST(Assembler, ReadsTheExtremesOfNumbers) {
  Instruction fill = assembled("fill SEN169_FP16 t[-9223372036854775808 + 9223372036854775807*p5] "
                               "pattern=0xFFFFFFFF");
  EXPECT_EQ(fill.operands[0].offset, INT64_MIN);
  EXPECT_EQ(fill.operands[0].stride[5], INT64_MAX);
  EXPECT_EQ(fill.constant, UINT32_MAX);
  expectLineRefused("loop 9223372036854775808", 6, "64 bits");
  expectLineRefused("loop -9223372036854775809", 6, "64 bits");
  expectLineRefused("loop 99999999999999999999999", 6, "64 bits");
  expectLineRefused("loop 0xg", 6, "64 bits");
}

TEST(Assembler, RefusesOtherTexts) {
  expectRefused("", "line 0 column 1", "spyre-program 2");
  expectRefused("// nothing\n\n", "line 2 column 1", "spyre-program 2");
  expectRefused("SPYP", "line 1 column 1", "found 'SPYP'");
  expectRefused("spyre-program 1\n", "line 1 column 15", "version 1");
  expectRefused("spyre-program 2 x\n", "line 1 column 17", "the end of the line");
  expectRefused("spyre-program 2\nload\n", "line 2 column 1", "symbol, buffer or phase");
  // What a terminal would act on is not repeated.
  expectRefused("\x1b[31m", "line 1 column 1", "found '?[31m'");
}

TEST(Assembler, RefusesBadDeclarations) {
  auto refused = [](const std::string &line, size_t column, const std::string &words) {
    expectRefused("spyre-program 2\nsymbol s = 5\nbuffer b lx 0 bytes 128\n" + line,
                  fmt::format("line 4 column {}", column), words);
  };
  refused("symbol", 7, "expected symbol, found the end");
  refused("symbol s", 8, "'s' is declared twice");
  refused("symbol q = ", 12, "a number");
  refused("symbol q 5", 10, "the end of the line");
  refused("buffer b lx 0 bytes 1", 8, "'b' is declared twice");
  refused("buffer c hbm", 10, "ddr or lx");
  refused("buffer c lx bytes", 13, "the base, a number");
  refused("buffer c lx 0 size", 15, "'bytes'");
  refused("buffer c lx 0:0x0 bytes 1", 14, "'bytes'");
  refused("buffer c ddr 536870912:0 bytes 1", 14, "segment");
  refused("buffer c ddr 0:0x400000000 bytes 1", 16, "the offset in the segment");
  refused("buffer c ddr 0:0 bytes 1 symbol r", 33, "no symbol 'r'");
  refused("buffer c lx 0 bytes 1 in-place-of z", 35, "no buffer 'z'");
  refused("buffer c lx 0 bytes 1 phases 0-1", 31, "'..'");
  refused("buffer c lx 0 bytes 1 phases 0..4294967296", 33, "the last phase");
  refused("buffer c lx 0 bytes 1 alive", 23, "symbol, phases, live-in");
  refused("phase 1 \"p\" cores 1", 7, "phase number 0");
  refused("phase 0 p cores 1", 9, "'\"'");
  refused("phase 0 \"p cores 1", 19, "closing quote");
  refused("phase 0 \"\\n\" cores 1", 10, "\\xNN");
  refused("phase 0 \"p\" core 1", 13, "'cores'");
  expectLineRefused("table T2: 0", 7, "table number 1");
  expectLineRefused("table 1: 0", 7, "a table T<n>");
  expectLineRefused("table T1 0", 10, "':'");
  expectLineRefused("table T1: 0 x", 13, "the end of the line");
}

TEST(Assembler, RefusesBadInstructions) {
  expectLineRefused("lod SEN169_FP16", 1, "an instruction (load, store,");
  expectLineRefused("vector.addd SEN169_FP16", 1, "vector has no function 'addd'");
  expectLineRefused("load.copy SEN169_FP16", 1, "it has none");
  expectLineRefused("vector.sum SEN169_FP16", 1, "vector has no function 'sum'");
  expectLineRefused("load FP16 t[0]", 6, "unknown device format");
  expectLineRefused("convert.nearest SEN169_FP16 IEEE_FP32", 29, "'to'");
  expectLineRefused("fill SEN169_FP16 q[0]", 18, "no buffer 'q'");
  expectLineRefused("fill SEN169_FP16 t 0", 20, "'['");
  expectLineRefused("fill SEN169_FP16 t[]", 20, "a term of the address");
  expectLineRefused("fill SEN169_FP16 t[0 + ]", 24, "a term of the address");
  expectLineRefused("fill SEN169_FP16 t[0 + 5]", 24, "two terms");
  expectLineRefused("fill SEN169_FP16 t[1*p0 + 2*p0]", 27, "two terms");
  expectLineRefused("fill SEN169_FP16 t[T0 + T0]", 25, "at most one core table");
  expectLineRefused("fill SEN169_FP16 t[128*q0]", 24, "a loop i<n> or a level p<n>");
  expectLineRefused("fill SEN169_FP16 t[128*p6]", 24, "0..5");
  expectLineRefused("fill SEN169_FP16 t[128*i4]", 24, "0..3");
  expectLineRefused("fill SEN169_FP16 t[Tx]", 20, "a table T<n>");
  expectLineRefused("fill SEN169_FP16 t[0 @0]", 23, "a table T<n>");
  expectLineRefused("fill SEN169_FP16 t[0", 21, "']'");
  expectLineRefused("topk SEN169_FP16 t[0] <- t[0], number(0", 40, "')'");
  expectLineRefused("vector.neg SEN169_FP16 t[0] <- splat(200) t[0]", 38, "the lane");
  expectLineRefused("vector.neg SEN169_FP16 t[0] <- #x", 33, "the constant");
  expectLineRefused("vector.neg SEN169_FP16 t[0] <- #0x100000000", 33, "-2147483648..4294967295");
  expectLineRefused("vector.neg SEN169_FP16 t[0] <- #-2147483649", 33, "-2147483648..4294967295");
  expectLineRefused("vector.neg SEN169_FP16 t[0] <- t[0],t[0],t[0],t[0],t[0],t[0]", 56,
                    "at most 6 operands");
  expectLineRefused("fill SEN169_FP16 t[0] lanes=5", 23, "fill has no field 'lanes'");
  expectLineRefused("fill SEN169_FP16 t[0] pattern 5", 31, "'='");
  expectLineRefused("fill SEN169_FP16 t[0] pattern=-1", 31, "0..4294967295");
  expectLineRefused("fill SEN169_FP16 t[0] pattern=1 pattern=1", 33, "given twice");
  expectLineRefused("fill SEN169_FP16 t[0] only=0", 28, "a table T<n>");
  expectLineRefused("shuffle SEN169_FP16 t[0] <- t[0] element=65536", 42, "0..65535");
  expectLineRefused("fill SEN169_FP16 t[0] x 1,1,1,1,1,1,1", 36, "at most 6 levels");
  expectLineRefused("fill SEN169_FP16 t[0] !", 23, "a field or 'x'");
  expectLineRefused("signal sfp 0", 8, "a unit (load, store");
  expectLineRefused("signal load 256", 13, "the token");
  expectLineRefused("barrier 5", 9, "the end of the line");
}

// Every instruction takes far more memory than its line: what could take all of it is refused.
TEST(Assembler, RefusesMoreInstructionsThanAPhaseMayHave) {
  std::string text = "spyre-program 2\nphase 0 \"p\" cores 1\n";
  for (size_t i = 0; i < program::kMaxInstructions; ++i) {
    text += "barrier\n";
  }
  auto program = program::assemble(text);
  ASSERT_TRUE(program.ok());
  EXPECT_TRUE(program::readProgram(program::writeProgram(*program)).ok());
  EXPECT_EQ(program::assemble(text + "barrier\n").status().code(), 5104);
  program->phases[0].instructions.push_back(program->phases[0].instructions[0]);
  EXPECT_EQ(program::readProgram(program::writeProgram(*program)).status().code(), 5102);
}

// Any text gives a program or E5104.
TEST(Assembler, SurvivesMutations) {
  Random programs(3);
  std::vector<std::string> originals;
  for (int i = 0; i < 8; ++i) {
    originals.push_back(disassemble(test::randomProgram(programs, tiny())));
  }
  const std::string alphabet = "[]()#@+-*,=:.\"\\/ \n\t0123456789xTip<_abz\x00\xff";
  size_t read = 0, refused = 0;
  for (uint64_t seed = 0; seed < 20000; ++seed) {
    Random random(seed);
    std::string text = originals[seed % originals.size()];
    for (uint64_t i = 1 + random.below(3); i > 0 && !text.empty(); --i) {
      size_t place = random.below(text.size());
      switch (random.below(4)) {
      case 0:
        text[place] = alphabet[random.below(alphabet.size())];
        break;
      case 1:
        text.erase(place, 1 + random.below(8));
        break;
      case 2:
        text.insert(place, 1, alphabet[random.below(alphabet.size())]);
        break;
      default:
        // A piece from elsewhere: valid words in wrong places.
        text.insert(place, text.substr(random.below(text.size()), random.below(20)));
        break;
      }
    }
    if (random.below(16) == 0) {
      text.resize(random.below(text.size() + 1));
    }
    Expected<Program> program = assemble(text);
    if (!program) {
      EXPECT_EQ(program.status().code(), 5104);
      ++refused;
      continue;
    }
    ++read;
    Status status = verifyProgram(*program, tiny());
    EXPECT_TRUE(status.ok() || status.code() == 5103);
    if (status.ok()) {
      EXPECT_EQ(*assemble(disassemble(*program)), *program) << "seed " << seed;
    }
  }
  EXPECT_GT(read, 500u);
  EXPECT_GT(refused, 5000u);
}

} // namespace
} // namespace spyre::program
