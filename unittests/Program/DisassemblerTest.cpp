//===- DisassemblerTest.cpp - one readable line per instruction -----------------------------===//
#include "Program/ProgramBuilder.h"
#include "Program/RandomProgram.h"
#include "gtest/gtest.h"

#include <algorithm>

namespace spyre::program {
namespace {

using numerics::DataFormat;
using test::at;
using test::PhaseBuilder;

/// Buffers 0 "x" in DDR and 1 "t" in LX, without those every builder program starts with.
Program demoOf(const PhaseBuilder &phase) {
  Program program;
  program.buffers = {test::ddrBuffer("x", (int64_t(1) << 34) + 256, 65536),
                     test::lxBuffer("t", 0x1000, 8192)};
  program.phases = {phase.phase};
  return program;
}

test::At x(int64_t offset, const test::Counts &strides = {}) { return at(offset, strides).in(0); }
test::At t(int64_t offset, const test::Counts &strides = {}) { return at(offset, strides).in(1); }

TEST(Disassembler, PrintsEveryInstruction) {
  PhaseBuilder phase("0_demo", 2, true);
  int32_t table = phase.table({0, 8192});
  int32_t peers = phase.table({0, 0});
  phase.loop(3)
      .load({2, 4}, x(0, {4096, 128}).loops({1024}), t(0, {512, 128}))
      .peers(peers)
      .vector(Function::Add, {4}, {t(0, {128}), t(0x400).splat(3), t(0x800, {-128}).slices(1)})
      .signal(Unit::Vector, 5)
      .wait(Unit::Store, 5)
      .end()
      .barrier()
      .fill({}, t(0x1000), 0xff800000)
      .only(peers)
      .accumulate(Function::Max, {4, 1}, t(0, {128, 0}), t(0x1000), 60, 0xff800000)
      .matmul({}, t(0), t(128), t(0x1000), 64, 256)
      .finish(Function::TreeSum, {}, t(0x1000), t(0x1200))
      .format(DataFormat::IeeeFp32)
      .shuffle(2, {64}, t(0, {128}), t(0x1300, {2}))
      .gather({}, x(0), t(4), t(128), 7, 256, 8)
      .scatter({}, t(128), t(4), x(0), 7, 256)
      .pick(2, {}, t(0), t(4), t(130), 9, -2)
      .convert(DataFormat::IeeeFp32, DataFormat::SenInt8, {}, t(0), t(1024), 128, 8,
               Function::Truncate)
      .vector(Function::Clip, {}, {t(0), test::constant(0), test::constant(0x3f800000), t(0)})
      .topk(4, {2}, t(0, {128}), t(1024), test::number(-5, {64}))
      .exchange(Function::Sum, {}, peers, t(0), t(128))
      .store({}, t(0x1200), x(-128).table(table));
  EXPECT_EQ(disassemble(demoOf(phase)),
            R"(spyre-program 2
buffer x ddr 1:0x100 bytes 65536 phases 0..0
buffer t lx 0x1000 bytes 8192 phases 0..0
phase 0 "0_demo" cores 2 overlap
  table T0: 0 8192
  table T1: 0 0
     0  loop 3
     1    load SEN169_FP16 t[512*p4 + 128*p5] <- x[1024*i0 + 4096*p4 + 128*p5] peers=T1 x 2,4
     2    vector.add SEN169_FP16 t[2048 - 128*p5 @T1] <- t[128*p5], splat(3) t[1024] x 4
     3    signal vector 5
     4    wait store 5
     5  endloop
     6  barrier
     7  fill SEN169_FP16 t[4096] pattern=0xff800000 only=T1
     8  accumulate.max SEN169_FP16 t[4096] <- t[128*p4] lanes=60 masked=0xff800000 x 4,1
     9  matmul SEN169_FP16 t[4096] <- t[0], t[128] lanes=64 rowstride=256
    10  finish.tree-sum IEEE_FP32 t[4608] <- t[4096] scale=0x3f800000
    11  shuffle SEN169_FP16 t[4864 + 2*p5] <- t[128*p5] element=2 x 64
    12  gather SEN169_FP16 t[128] <- x[0], t[4] element=8 bound=7 stride=256
    13  scatter SEN169_FP16 x[0] <- t[128], t[4] element=4 bound=7 stride=256
    14  pick SEN169_FP16 t[130] <- t[0], t[4] element=2 bound=9 stride=-2
    15  convert.truncate IEEE_FP32 to SENINT8 t[1024] <- t[0] group=8 stride=128
    16  vector.clip SEN169_FP16 t[0] <- t[0], #0x0, #0x3f800000
    17  topk SEN169_FP16 t[1024] <- t[128*p5], number(-5 + 64*p5) k=4 x 2
    18  exchange.sum IEEE_FP32 t[128] <- t[0] peers=T1
    19  store SEN169_FP16 x[-128 + T0] <- t[4608]
)");
}

TEST(Disassembler, PrintsSymbolsAndPropertiesOfBuffers) {
  Program program = demoOf(PhaseBuilder("p"));
  program.symbols = {{"unset", kUnsetSymbol}, {"base", 0x400000000}, {"minus", -16}};
  program.buffers[0].base = 128;
  program.buffers[0].symbol = 1;
  program.buffers[1].liveIn = program.buffers[1].liveOut = true;
  program.buffers.push_back(test::lxBuffer("next", 0, 128));
  program.buffers[2].inPlaceOf = 1;
  program.buffers[2].coreOffset = {0, 128};
  EXPECT_EQ(disassemble(program), R"(spyre-program 2
symbol unset
symbol base = 0x400000000
symbol minus = -0x10
buffer x ddr 0:0x80 bytes 65536 symbol base phases 0..0
buffer t lx 0x1000 bytes 8192 phases 0..0 live-in live-out
buffer next lx 0x0 bytes 128 phases 0..0 in-place-of t offsets 0 128
phase 0 "p" cores 1
)");
}

// Names and numbers of an unverified program are anything; the text must stay one line each.
TEST(Disassembler, PrintsUnverifiedProgramsOnOneLineEach) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    Program program = test::arbitraryProgram(random);
    size_t lines = 1 + program.symbols.size() + program.buffers.size();
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
