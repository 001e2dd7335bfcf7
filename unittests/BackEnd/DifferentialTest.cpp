//===- DifferentialTest.cpp - device == evaluator, bit for bit ------------------------------===//
//
// The judge of the back end: random operations run on the simulated card and in the evaluator,
// which shares no source with program, back end or simulator. All memory must be equal afterwards,
// inputs, gaps and padding lanes included. The card knows which lanes are padding: none may reach a
// sum, a maximum or a product, and every element of the output must have been computed. The card
// must have counted exactly the work the op asks for.
//===--------------------------------------------------------------------------------------------===//
#include "ExpectSame.h"

#include <cstdlib>

namespace spyre::backend::test {

struct Setting {
  const char *device;
  int cases;
  bool large;
};

class Differential : public testing::TestWithParam<Setting> {};

TEST_P(Differential, CardEqualsEvaluatorBitForBit) {
  arch::DeviceDesc device = presetDevice(GetParam().device);
  Card card(device);
  const int rounds = std::getenv("SPYRE_TEST_LONG") ? 10 : 1;
  for (int seed = 0; seed < rounds * GetParam().cases; ++seed) {
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
                         testing::Values(Setting{"openspyre", 490, false},
                                         Setting{"tiny", 588, false},
                                         Setting{"openspyre", 49, true}),
                         [](const testing::TestParamInfo<Setting> &info) {
                           return std::string(info.param.device) +
                                  (info.param.large ? "Large" : "");
                         });

} // namespace spyre::backend::test
