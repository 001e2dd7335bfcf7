//===- RelayoutTest.cpp - operands that come from other cores' LX ---------------------------===//
#include "GeneratorRelayout.h"
#include "Harness.h"
#include "Specs.h"
#include "gtest/gtest.h"

#include <cstdlib>

namespace spyre::backend::test {

static void expectSame(const RelayoutCase &testCase, Card &card, const arch::DeviceDesc &device) {
  Expected<program::Program> program = lowerAll(testCase.specs, device);
  ASSERT_TRUE(program.ok()) << program.status().message();
  evaluator::Memory expected = testCase.memory, actual = testCase.memory;
  Status evaluated = evaluator::evaluate(testCase.specs, expected);
  ASSERT_TRUE(evaluated.ok()) << evaluated.message();
  Status ran = card.run(*program, actual);
  ASSERT_TRUE(ran.ok()) << ran.text() << "\n" << program::disassemble(*program);
  for (size_t i = 0; i < expected.arguments.size(); ++i) {
    ASSERT_TRUE(expected.arguments[i] == actual.arguments[i]) << "argument " << i << "\n"
                                                              << program::disassemble(*program);
  }
  EXPECT_GT(card.counters.sanitizer_checks, 0u);
}

class DifferentialRelayout : public testing::TestWithParam<const char *> {};

// SPYRE_TEST_LONG=1 runs twenty times as many cases.
TEST_P(DifferentialRelayout, CardEqualsEvaluatorForAnyTwoDivisions) {
  arch::DeviceDesc device = presetDevice(GetParam());
  Card card(device);
  const uint64_t cases = std::getenv("SPYRE_TEST_LONG") ? 6000 : 210;
  uint64_t moved = 0;
  for (uint64_t seed = 0; seed < cases && !HasFailure(); ++seed) {
    Random random(seed * 7907 + 3);
    const std::string &name = relayoutCases()[seed % relayoutCases().size()];
    RelayoutCase testCase = randomRelayout(name, random, device, seed % 5 == 0 ? 6 : 1);
    SCOPED_TRACE(fmt::format("seed {} {} {}", seed, name, spec::writeOpSpecs(testCase.specs)));
    expectSame(testCase, card, device);
    moved += card.counters.ring_bytes > 0;
  }
  EXPECT_GT(moved, cases / 3);
}

INSTANTIATE_TEST_SUITE_P(Machines, DifferentialRelayout, testing::Values("openspyre", "tiny"),
                         [](const testing::TestParamInfo<const char *> &info) {
                           return std::string(info.param);
                         });

} // namespace spyre::backend::test
