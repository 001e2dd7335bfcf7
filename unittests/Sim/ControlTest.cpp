//===- ControlTest.cpp - nests, loops, barriers, predicates, symbols and the program cache --===//
#include "Sim/SimFixture.h"

namespace spyre::test {
namespace {

// Six levels and four loops, each with a stride of its own: every address is visited once.
TEST(Control, SixLevelsInsideFourLoopsReachEveryAddress) {
  TestSim sim;
  Random random(1);
  constexpr int64_t kSticks = 64 * 16;
  std::vector<uint32_t> data = randomBits<uint32_t>(random, kSticks * 32);
  sim.write(dram(0), data);
  // Bits of the stick number, one per level and loop; the copy reverses them.
  constexpr int64_t kBits = 10;
  auto bit = [](int64_t i) { return int64_t(128) << i; };
  auto reversed = [&](int64_t i) { return bit(kBits - 1 - i); };
  PhaseBuilder phase("0_reverse");
  Counts levels, levelsTo, loops, loopsTo;
  for (int64_t i = 0; i < kBits; ++i) {
    (i < 6 ? levels : loops).push_back(bit(i));
    (i < 6 ? levelsTo : loopsTo).push_back(reversed(i));
  }
  phase.loop(2).loop(2).loop(2).loop(2);
  phase.load({2, 2, 2, 2, 2, 2}, ddrAt(0, 0, levels).loops(loops),
             at(0, {128 * 32, 128 * 16, 128 * 8, 128 * 4, 256, 128}));
  phase.store({2, 2, 2, 2, 2, 2}, at(0, {128 * 32, 128 * 16, 128 * 8, 128 * 4, 256, 128}),
              ddrAt(1, 0, levelsTo).loops(loopsTo));
  phase.end().end().end().end();
  ASSERT_EQ(sim.launch({phase}), "");
  std::vector<uint32_t> result = sim.read<uint32_t>(dram(1), data.size());
  for (int64_t stick = 0; stick < kSticks; ++stick) {
    int64_t to = 0;
    for (int64_t i = 0; i < kBits; ++i) {
      to |= (stick >> i & 1) << (kBits - 1 - i);
    }
    ASSERT_EQ(result[size_t(to * 32)], data[size_t(stick * 32)]);
  }
  EXPECT_EQ(sim.counters().instructions, 32u);
}

TEST(Control, OnlySkipsCores) {
  TestSim sim;
  PhaseBuilder phase("0_only", 4);
  int32_t odd = phase.table({0, 1, 0, 1});
  phase.fill({}, at(0), 7).fill({}, at(0), 9).only(odd);
  ASSERT_EQ(sim.launch({phase}), "");
  for (uint32_t core = 0; core < 4; ++core) {
    EXPECT_EQ(sim.readLx<uint32_t>(core, 0, 1)[0], core % 2 == 1 ? 9u : 7u);
  }
  EXPECT_EQ(sim.counters().instructions, 6u);
}

// Each trip hands a stick to the next core through DDR; the barriers make that legal.
TEST(Control, BarriersInsideALoopOrderTheCores) {
  for (uint32_t threads : {1, 3}) {
    TestSim sim(threads);
    PhaseBuilder phase("0_relay", 4);
    int32_t own = phase.table({0, 128, 256, 384}), next = phase.table({128, 256, 384, 0});
    sim.write(dram(0), std::vector<uint32_t>(128, 1));
    phase.loop(4)
        .load({}, ddrAt(0, 0).table(next), at(0))
        .vector(Function::Add, {}, {at(0), constant(1), at(0)})
        .format(numerics::DataFormat::IeeeInt32)
        .barrier()
        .store({}, at(0), ddrAt(0, 0).table(own))
        .barrier()
        .end();
    ASSERT_EQ(sim.launch({phase}), "");
    EXPECT_EQ(sim.read<uint32_t>(dram(0), 128), std::vector<uint32_t>(128, 5));
  }
}

// Tokens are numbers of a phase: a barrier between signal and wait does not take them away.
TEST(Control, TokensSurviveABarrierButNotAPhase) {
  TestSim sim;
  PhaseBuilder phase("0_token", 1, true);
  phase.signal(Unit::Load, 3).barrier().wait(Unit::Vector, 3).fill({}, at(0), 0);
  EXPECT_EQ(sim.launch({phase}), "");
  PhaseBuilder first("0_signal", 1, true), second("1_wait", 1, true);
  first.signal(Unit::Load, 3);
  second.wait(Unit::Vector, 3);
  expectFault(sim.launch({first, second}),
              {"SPYRE-E7016: deadlock", "core 0 phase 1_wait instruction 0 (wait)", "token 3"});
}

const char *const kCopyText = R"(
    symbol source = 0
    symbol target = 0
    buffer x ddr 0:0 bytes 128 symbol source
    buffer y ddr 0:0 bytes 128 symbol target
    buffer t lx 0 bytes 128
    phase 0 "0_copy" cores 1
      load SEN169_FP16 t[0] <- x[0]
      store SEN169_FP16 y[0] <- t[0]
    )";

std::string copyProgram(int64_t source, int64_t target) {
  program::Program program = *program::assemble(std::string("spyre-program 2\n") + kCopyText);
  program.symbols[0].value = source;
  program.symbols[1].value = target;
  return program::writeProgram(program);
}

// One binary, other symbol values: each launch takes its own, also back to earlier ones.
TEST(Control, SymbolsChangeBetweenLaunches) {
  TestSim sim;
  sim.write(dram(0), std::vector<uint32_t>(32, 1));
  sim.write(dram(1), std::vector<uint32_t>(32, 2));
  auto launch = [&](int64_t source, int64_t target) {
    return sim.launchBytes(copyProgram(source, target));
  };
  ASSERT_EQ(launch(ddr(0), ddr(2)), "");
  ASSERT_EQ(launch(ddr(1), ddr(3)), "");
  ASSERT_EQ(launch(ddr(2), ddr(4)), "");
  EXPECT_EQ(sim.read<uint32_t>(dram(3), 1)[0], 2u);
  EXPECT_EQ(sim.read<uint32_t>(dram(4), 1)[0], 1u);
  std::string outside = launch(ddr(8) - 64, ddr(2));
  expectFault(outside, {"SPYRE-E7007: bad-mapping", "symbol source", "buffer x"});
  expectFault(launch(ddr(9), ddr(2)), {"E7007", "symbol source"});
  expectFault(launch(INT64_MAX, ddr(2)), {"E7007"});
  expectFault(launch(-128, ddr(2)), {"E7007"});
  expectFault(launch(program::kUnsetSymbol, ddr(2)), {"SPYRE-E7006", "symbol source", "no value"});
  expectFault(launch(ddr(0, kMappedBytes), ddr(2)), {"SPYRE-E7002", "buffer x", "segment 0"});
  EXPECT_EQ(launch(ddr(0), ddr(5)), "");
  EXPECT_EQ(sim.read<uint32_t>(dram(5), 1)[0], 1u);
  // The answer does not depend on whether the program was seen before.
  TestSim fresh;
  EXPECT_EQ(fresh.launchBytes(copyProgram(ddr(8) - 64, ddr(2))), outside);
}

// Another program of the same size at the same address.
TEST(Control, AReplacedProgramIsNoticed) {
  TestSim sim;
  auto program = [](uint32_t pattern) {
    return program::writeProgram(programOf({PhaseBuilder("0_fill").fill({}, at(0), pattern)}));
  };
  ASSERT_EQ(program(1).size(), program(2).size());
  for (uint32_t pattern : {1, 2, 1, 3, 2}) {
    ASSERT_EQ(sim.launchBytes(program(pattern)), "");
    EXPECT_EQ(sim.readLx<uint32_t>(0, 0, 1)[0], pattern);
  }
  // More programs than are kept.
  for (uint32_t pattern = 0; pattern < 300; ++pattern) {
    ASSERT_EQ(sim.launchBytes(program(pattern)), "");
    ASSERT_EQ(sim.readLx<uint32_t>(0, 0, 1)[0], pattern);
  }
}

} // namespace
} // namespace spyre::test
