//===- ConversionsTest.cpp - conversions, quantised sticks, 8-bit matmuls -------------------===//
#include "spyre/BackEnd/BackEnd.h"

#include "ExpectSame.h"
#include "GeneratorConversions.h"

namespace spyre::backend::test {

struct ConversionSetting {
  const char *device;
  int rounds;
  bool large;
};

class Conversions : public testing::TestWithParam<ConversionSetting> {};

TEST_P(Conversions, CardEqualsEvaluatorBitForBit) {
  arch::DeviceDesc device = presetDevice(GetParam().device);
  Card card(device);
  for (int round = 0; round < GetParam().rounds; ++round) {
    for (const std::string &op : conversionCases()) {
      Random random(uint64_t(round) * 104729);
      RandomCase testCase = randomCase(op, random, device, GetParam().large);
      SCOPED_TRACE(fmt::format("round {} {}", round, spec::writeOpSpecs({testCase.spec})));
      expectSame(testCase, card, device);
      if (HasFatalFailure()) {
        return;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, Conversions,
                         testing::Values(ConversionSetting{"openspyre", 30, false},
                                         ConversionSetting{"tiny", 40, false},
                                         ConversionSetting{"openspyre", 1, true}),
                         [](const testing::TestParamInfo<ConversionSetting> &info) {
                           return std::string(info.param.device) +
                                  (info.param.large ? "Large" : "");
                         });

} // namespace spyre::backend::test
