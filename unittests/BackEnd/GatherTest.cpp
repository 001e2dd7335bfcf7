//===- GatherTest.cpp - rows chosen by indices, from OpSpec to the device -------------------===//
#include "spyre/BackEnd/BackEnd.h"

#include "ExpectSame.h"
#include "GeneratorGather.h"
#include "Specs.h"

#include <cstdlib>
#include <cstring>

namespace spyre::backend::test {

class DifferentialGather : public testing::TestWithParam<const char *> {};

// SPYRE_TEST_LONG=1 runs twenty times as many cases.
TEST_P(DifferentialGather, CardEqualsEvaluatorBitForBit) {
  arch::DeviceDesc device = presetDevice(GetParam());
  Card card(device);
  const int cases = std::getenv("SPYRE_TEST_LONG") ? 6000 : 300;
  for (int seed = 0; seed < cases && !HasFailure(); ++seed) {
    Random random(uint64_t(seed) * 104729 + 5);
    const char *op = seed % 2 == 0 ? "gather" : "gather.pointwise";
    RandomCase testCase = randomCase(op, random, device, false);
    SCOPED_TRACE(fmt::format("seed {} {}", seed, spec::writeOpSpecs({testCase.spec})));
    expectSame(testCase, card, device);
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, DifferentialGather, testing::Values("openspyre", "tiny"),
                         [](const testing::TestParamInfo<const char *> &info) {
                           return std::string(info.param);
                         });

} // namespace spyre::backend::test
