//===- ScanTest.cpp - x_cumsum, and the machines that have it -------------------------------===//
#include "spyre/BackEnd/BackEnd.h"

#include "ExpectSame.h"
#include "GeneratorWindows.h"
#include "Specs.h"

#include <cstdlib>
#include <cstring>

namespace spyre::backend::test {

using numerics::DataFormat;
using spec::SuperDsc;

/// Running sum over \p steps rows of \p sticks sticks of 32 lanes.
static OpSpec cumsum(int64_t steps, int64_t sticks, int64_t cores,
                     DataFormat format = DataFormat::IeeeFp32) {
  OpSpec spec;
  spec.op = "x_cumsum";
  spec.iterationSpace = {{"c", sticks * 32, cores}, {"s", steps, 1}};
  for (int64_t i = 0; i < 2; ++i) {
    TensorArg arg;
    arg.isInput = i == 0;
    arg.deviceDtype = format;
    arg.argIndex = i;
    arg.address = i << 34;
    arg.deviceSize = {sticks, steps, 32};
    arg.deviceCoordinates = {Coordinate::floorDiv("c", 32), Coordinate::var("s"),
                             Coordinate::mod("c", 32)};
    spec.args.push_back(arg);
  }
  return spec;
}

static RandomCase filled(const OpSpec &spec, uint64_t seed) {
  Random random(seed);
  RandomCase testCase;
  testCase.spec = spec;
  testCase.memory = randomMemory(spec, random);
  testCase.laneOps = 32;
  for (size_t j = 0; j + 1 < spec.args.back().deviceSize.size(); ++j) {
    testCase.laneOps *= uint64_t(spec.args.back().deviceSize[j]);
  }
  return testCase;
}

static SuperDsc emitted(const OpSpec &spec) {
  Expected<SuperDsc> dsc = throughJson(spec, 0);
  SPYRE_CHECK(dsc.ok(), "the running sums of the tests can be emitted");
  return *dsc;
}

static void expectError(const SuperDsc &dsc, const arch::DeviceDesc &device, int code,
                        const std::string &part) {
  Expected<program::Program> program = lowerSuperDscs({dsc}, device);
  ASSERT_FALSE(program.ok()) << "expected E" << code << " with '" << part << "'";
  EXPECT_EQ(program.status().code(), code) << program.status().message();
  EXPECT_NE(program.status().text().find(part), std::string::npos) << program.status().message();
}

class Scan : public testing::TestWithParam<const char *> {};

TEST_P(Scan, EqualsTheEvaluator) {
  arch::DeviceDesc device = presetDevice(GetParam());
  Card card(device);
  for (DataFormat format : {DataFormat::IeeeFp32, DataFormat::IeeeInt32}) {
    for (int64_t cores : {1, 3, 4, 32}) {
      for (int64_t steps : {1, 2, 5, 300}) {
        if (cores <= device.cores) {
          SCOPED_TRACE(fmt::format("{} cores, {} steps", cores, steps));
          expectSame(filled(cumsum(steps, cores * 2, cores, format), uint64_t(steps)), card,
                     device);
        }
      }
    }
  }
}

TEST_P(Scan, RandomOnesEqualTheEvaluator) {
  arch::DeviceDesc device = presetDevice(GetParam());
  Card card(device);
  const int cases = std::getenv("SPYRE_TEST_LONG") ? 3000 : 100;
  for (int seed = 0; seed < cases; ++seed) {
    Random random(uint64_t(seed) * 7919 + 5);
    RandomCase testCase =
        randomCase("x_cumsum", random, device, device.cores > 4 && seed % 10 == 0);
    SCOPED_TRACE(fmt::format("seed {} {}", seed, spec::writeOpSpecs({testCase.spec})));
    expectSame(testCase, card, device);
    if (HasFatalFailure()) {
      return;
    }
  }
}

/// A copy of argument \p i of \p spec.
static OpSpec copyOf(const OpSpec &spec, size_t i) {
  OpSpec copy = spec;
  copy.op = "identity";
  copy.args = {spec.args[i], spec.args[i]};
  copy.args[0].isInput = true;
  copy.args[1].isInput = false;
  return copy;
}

TEST_P(Scan, InLxAndInPlace) {
  arch::DeviceDesc device = presetDevice(GetParam());
  for (DataFormat format : {DataFormat::IeeeFp32, DataFormat::IeeeInt32}) {
    for (int64_t outAddress : {0, 16384, -1}) {
      SCOPED_TRACE(outAddress);
      RandomCase testCase = filled(cumsum(40, 8, 4, format), 9);
      OpSpec first = copyOf(testCase.spec, 0), last = copyOf(testCase.spec, 1);
      OpSpec middle = testCase.spec;
      moveToLx(first.args[1], 0);
      moveToLx(middle.args[0], 0);
      std::vector<OpSpec> specs{first, middle};
      if (outAddress >= 0) {
        moveToLx(specs[1].args[1], outAddress);
        moveToLx(last.args[0], outAddress);
        specs.push_back(last);
      }
      Expected<program::Program> program = lowerAll(specs, device);
      ASSERT_TRUE(program.ok()) << program.status().message();
      evaluator::Memory expected = testCase.memory, actual = testCase.memory;
      ASSERT_TRUE(evaluator::evaluate(specs, expected).ok());
      Card card(device);
      Status ran = card.run(*program, actual);
      ASSERT_TRUE(ran.ok()) << ran.text() << "\n" << program::disassemble(*program);
      EXPECT_EQ(expected.arguments, actual.arguments);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, Scan, testing::Values("openspyre", "tiny"));

// The last row is the sum of all: both start with +0 and ascend.
TEST(Scan, EndsWithTheSum) {
  arch::DeviceDesc device = presetDevice("tiny");
  Card card(device);
  RandomCase testCase = filled(cumsum(23, 1, 1), 4);
  std::fill_n(testCase.memory.arguments[0].begin(), 128, uint8_t(0x80)); // Tiny negative numbers.
  evaluator::Memory sums = testCase.memory, total = testCase.memory;
  OpSpec sum = testCase.spec;
  sum.op = "sum";
  sum.isReduction = true;
  sum.args[1].deviceSize[1] = 1;
  sum.args[1].deviceCoordinates[1] = Coordinate::constant(0);
  for (auto &[spec, memory] : {std::pair(&testCase.spec, &sums), std::pair(&sum, &total)}) {
    Expected<program::Program> program = lowerAll({*spec}, device);
    ASSERT_TRUE(program.ok()) << program.status().message();
    Status ran = card.run(*program, *memory);
    ASSERT_TRUE(ran.ok()) << ran.text();
  }
  EXPECT_EQ(std::memcmp(&sums.arguments[1][22 * 128], total.arguments[1].data(), 128), 0);
}

TEST(ScanRefuses, MachinesWithoutTheExtension) {
  SuperDsc dsc = emitted(cumsum(4, 1, 1));
  expectError(dsc, presetDevice("spyre"), 5307,
              "'x_cumsum' is an extension that machine 'spyre' does not have (it has none)");
  arch::DeviceDesc device = presetDevice("openspyre");
  EXPECT_TRUE(lowerSuperDscs({dsc}, device).ok());
  dsc.op = "x_argmax";
  expectError(dsc, device, 5307, "it has x_bitand, ");
  // Listed, but nobody has written it.
  device.extensions.push_back("x_argmax");
  expectError(dsc, device, 5301, "'x_argmax' is unknown");
}

TEST(ScanRefuses, FormatsThatLoseTheSum) {
  SuperDsc dsc = emitted(cumsum(4, 2, 1));
  dsc.layouts[0].stickSizes = {64};
  for (spec::DscTensor &tensor : dsc.tensors) {
    tensor.format = DataFormat::Sen169Fp16;
  }
  expectError(dsc, presetDevice("tiny"), 5302, "SEN169_FP16 is not lowered");
}

TEST(ScanRefuses, AScannedStickOrSplit) {
  SuperDsc stick = emitted(cumsum(32, 1, 1));
  stick.layouts[0].stickDims = {"out"};
  expectError(stick, presetDevice("tiny"), 5302, "sums along 'out', which is the stick");
  SuperDsc split = emitted(cumsum(4, 2, 2));
  for (size_t i = 0; i < 2; ++i) {
    split.slices[i].second = i == 0 ? 1 : 2;
    split.perCoreSize[i].second = split.size[i].second / split.slices[i].second;
  }
  expectError(split, presetDevice("tiny"), 5302, "which is split over cores");
}

TEST(ScanRefuses, AnOutputThatDropsADimension) {
  SuperDsc dsc = emitted(cumsum(4, 2, 1));
  dsc.tensors[1].scale = {{"out", -1}, {"mb", 1}};
  expectError(dsc, presetDevice("tiny"), 5302, "does not hold 'out'");
}

} // namespace spyre::backend::test
