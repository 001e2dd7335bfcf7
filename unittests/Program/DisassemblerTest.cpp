//===- DisassemblerTest.cpp - one readable line per instruction -----------------------------===//
#include "Program/ProgramBuilder.h"
#include "gtest/gtest.h"

#include <algorithm>

namespace spyre::program {
namespace {

using test::at;
using test::PhaseBuilder;
using test::programOf;

TEST(Disassembler, PrintsEveryInstruction) {
  PhaseBuilder phase("0_demo", 2);
  int32_t table = phase.table({0, 8192});
  phase.loop(3)
      .load({2, 4}, at((int64_t(1) << 34) + 256, {4096, 128}).table(table).loops({1024}),
            at(0, {512, 128}))
      .vector(Function::Add, {4}, {at(0, {128}), at(0x400).asSplat(), at(0x800, {128})})
      .end()
      .fill({}, at(0x1000), 0xff800000)
      .accumulate(Function::Max, {4}, at(0, {128}), at(0x1000), 60, 0xff800000)
      .matmul({}, at(0), at(0x4000), at(0x1000), 64, 256)
      .finish(Function::TreeSum, {}, at(0x1000), at(0x1200))
      .format(numerics::DataFormat::IeeeFp32)
      .shuffle(2, {64}, at(0, {128}), at(0x1300, {2}))
      .store({}, at(0x1200), at(128));
  EXPECT_EQ(disassemble(programOf({phase})),
            "phase 0 \"0_demo\" cores 2\n"
            "  table T0: 0 8192\n"
            "     0  loop 3\n"
            "     1    load SEN169_FP16 lx[0x0 + 512*p2 + 128*p3] <- "
            "ddr[1:0x100 + T0 + 1024*i0 + 4096*p2 + 128*p3] x 2,4\n"
            "     2    vector.add SEN169_FP16 lx[0x800 + 128*p3] <- lx[0x0 + 128*p3], splat "
            "lx[0x400] x 4\n"
            "     3  endloop\n"
            "     4  fill SEN169_FP16 lx[0x1000] <- pattern=0xff800000\n"
            "     5  accumulate.max SEN169_FP16 lx[0x1000] <- lx[0x0 + 128*p3] lanes=60 "
            "masked=0xff800000 "
            "x 4\n"
            "     6  matmul SEN169_FP16 lx[0x1000] <- lx[0x0], lx[0x4000] lanes=64 rowstride=256\n"
            "     7  finish.tree-sum IEEE_FP32 lx[0x1200] <- lx[0x1000]\n"
            "     8  shuffle SEN169_FP16 lx[0x1300 + 2*p3] <- lx[0x0 + 128*p3] element=2 x 64\n"
            "     9  store SEN169_FP16 ddr[0:0x80] <- lx[0x1200]\n");
}

// Names and numbers of an unverified program are anything; the text must stay one line each.
TEST(Disassembler, PrintsUnverifiedProgramsOnOneLineEach) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    Program program = test::randomProgram(random);
    size_t lines = 0;
    for (const Phase &phase : program.phases) {
      lines += 1 + phase.coreTables.size() + phase.instructions.size();
    }
    std::string text = disassemble(program);
    EXPECT_EQ(size_t(std::count(text.begin(), text.end(), '\n')), lines) << "seed " << seed;
    EXPECT_TRUE(std::all_of(text.begin(), text.end(),
                            [](char c) { return c == '\n' || (c >= 0x20 && c < 0x7f); }))
        << "seed " << seed;
  }
}

} // namespace
} // namespace spyre::program
