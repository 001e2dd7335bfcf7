//===- ProgramCacheTest.cpp - programs are decoded once -------------------------------------===//
#include "Sim/ProgramCache.h"

#include "Sim/SimFixture.h"

namespace spyre::test {
namespace {

std::string fillProgram(uint32_t pattern) {
  return program::writeProgram(programOf({PhaseBuilder("0_fill").fill({}, at(0), pattern)}));
}

TEST(ProgramCache, AThousandProgramsInTurnAreDecodedOnceEach) {
  constexpr uint32_t kPrograms = 1000;
  const arch::DeviceDesc device = *arch::DeviceDesc::preset("tiny");
  sim::ProgramCache cache;
  for (int round = 0; round < 3; ++round) {
    for (uint32_t i = 0; i < kPrograms; ++i) {
      const std::string bytes = fillProgram(i);
      auto plan = cache.find(bytes.data(), bytes.size(), device);
      ASSERT_TRUE(plan.ok()) << plan.status().message();
      EXPECT_EQ((*plan)->program.phases[0].instructions[0].constant, i);
    }
  }
  EXPECT_EQ(cache.decodedPrograms(), kPrograms);
}

// Values of symbols are not part of a program; every other byte is.
TEST(ProgramCache, SymbolValuesAreTakenOverWithoutDecoding) {
  const arch::DeviceDesc device = *arch::DeviceDesc::preset("tiny");
  program::Program program = programOf({PhaseBuilder("0_fill").fill({}, at(0), 7)});
  program.symbols = {{"x_base", 128}, {"y_base", 256}};
  sim::ProgramCache cache;
  for (int64_t value : {0, 128, 4096}) {
    program.symbols[1].value = value;
    const std::string bytes = program::writeProgram(program);
    auto plan = cache.find(bytes.data(), bytes.size(), device);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_EQ((*plan)->program.symbols[1].value, value);
  }
  EXPECT_EQ(cache.decodedPrograms(), 1u);
}

TEST(ProgramCache, BytesThatAreNoProgramAreRefused) {
  sim::ProgramCache cache;
  const arch::DeviceDesc device = *arch::DeviceDesc::preset("tiny");
  for (const std::string bytes : {"", "SPYP", "hello, this is not a program at all"}) {
    EXPECT_EQ(cache.find(bytes.data(), bytes.size(), device).status().code(), 7006);
  }
}

} // namespace
} // namespace spyre::test
