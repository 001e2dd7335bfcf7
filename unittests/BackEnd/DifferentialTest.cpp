//===- DifferentialTest.cpp - device == evaluator, bit for bit ------------------------------===//
//
// The judge of the back end: random operations run on the simulated card and in the evaluator,
// which shares no source with program, back end or simulator. All memory must be equal afterwards,
// inputs, gaps and padding lanes included. The card knows which lanes are padding: none may reach a
// sum, a maximum or a product, and every element of the output must have been computed. The card
// must have counted exactly the work the op asks for.
//===--------------------------------------------------------------------------------------------===//
#include "Generator.h"
#include "Harness.h"
#include "gtest/gtest.h"

namespace spyre::backend::test {

struct Setting {
  const char *device;
  int cases;
  bool large;
};

class Differential : public testing::TestWithParam<Setting> {};

static void expectSame(const RandomCase &testCase, Card &card, const arch::DeviceDesc &device) {
  Expected<program::Program> program = lowerAll({testCase.spec}, device);
  ASSERT_TRUE(program.ok()) << program.status().message();
  evaluator::Memory expected = testCase.memory, actual = testCase.memory;
  Status evaluated = evaluator::evaluate({testCase.spec}, expected);
  ASSERT_TRUE(evaluated.ok()) << evaluated.message();
  Status ran = card.run(*program, actual, &testCase.spec);
  ASSERT_TRUE(ran.ok()) << ran.text() << "\n" << program::disassemble(*program);
  for (size_t i = 0; i < expected.arguments.size(); ++i) {
    const std::vector<uint8_t> &want = expected.arguments[i], &got = actual.arguments[i];
    for (size_t at = 0; at < want.size(); ++at) {
      ASSERT_EQ(want[at], got[at]) << "argument " << i << " byte " << at << "\n"
                                   << program::disassemble(*program);
    }
  }
  EXPECT_EQ(card.counters.pt_macs, testCase.macs);
  EXPECT_EQ(card.counters.sfp_lane_ops, testCase.laneOps);
  EXPECT_GT(card.counters.sanitizer_checks, 0u);
}

TEST_P(Differential, CardEqualsEvaluatorBitForBit) {
  arch::DeviceDesc device = presetDevice(GetParam().device);
  Card card(device);
  for (int seed = 0; seed < GetParam().cases; ++seed) {
    const std::string &op = generatedOps()[size_t(seed) % generatedOps().size()];
    Random random(uint64_t(seed) * 7919 + 1);
    RandomCase testCase = randomCase(op, random, device, GetParam().large);
    SCOPED_TRACE(fmt::format("seed {} {}", seed, spec::writeOpSpecs({testCase.spec})));
    expectSame(testCase, card, device);
    if (HasFatalFailure()) {
      return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, Differential,
                         testing::Values(Setting{"openspyre", 330, false},
                                         Setting{"tiny", 440, false},
                                         Setting{"openspyre", 22, true}),
                         [](const testing::TestParamInfo<Setting> &info) {
                           return std::string(info.param.device) +
                                  (info.param.large ? "Large" : "");
                         });

} // namespace spyre::backend::test
