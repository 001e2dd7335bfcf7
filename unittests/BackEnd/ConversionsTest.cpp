//===- ConversionsTest.cpp - conversions, quantised sticks, 8-bit matmuls -------------------===//
#include "ConversionSpecs.h"
#include "ExpectSame.h"
#include "GeneratorConversions.h"

#include <cstdlib>

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
  const int factor = std::getenv("SPYRE_TEST_LONG") ? 10 : 1;
  for (int round = 0; round < factor * GetParam().rounds; ++round) {
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

/// \p from -> \p to of [x, d], rows over \p cores.
static OpSpec alongStick(const std::string &op, DataFormat from, DataFormat to, int64_t x,
                         int64_t d, int64_t cores) {
  return specOf(op, {{"x", x, cores}, {"d", d, 1}}, {rowsOf(from, x, d), rowsOf(to, x, d)});
}

/// [k, n] in fp16 to sticks of two k and 64 n.
static OpSpec weightsOf(const std::string &op, DataFormat to, int64_t k, int64_t n,
                        int64_t nCores) {
  return specOf(op, {{"k", k, 1}, {"n", n, nCores}},
                {argOf(DataFormat::Sen169Fp16, {1, n / 64, k, 64},
                       {Coordinate::constant(0), Coordinate::floorDiv("n", 64),
                        Coordinate::var("k"), Coordinate::mod("n", 64)}),
                 argOf(to, {n / 64, k / 2, 64, 2},
                       {Coordinate::floorDiv("n", 64), Coordinate::floorDiv("k", 2),
                        Coordinate::mod("n", 64), Coordinate::mod("k", 2)})});
}

static OpSpec matmulOf(const std::string &op, DataFormat format, int64_t m, int64_t n, int64_t k,
                       int64_t mCores, int64_t nCores) {
  return specOf(op, {{"m", m, mCores}, {"n", n, nCores}, {"k", k, 1}},
                {argOf(format, {1, k / 128, m, 128},
                       {Coordinate::constant(0), Coordinate::floorDiv("k", 128),
                        Coordinate::var("m"), Coordinate::mod("k", 128)}),
                 argOf(format, {n / 64, k / 2, 64, 2},
                       {Coordinate::floorDiv("n", 64), Coordinate::floorDiv("k", 2),
                        Coordinate::mod("n", 64), Coordinate::mod("k", 2)}),
                 argOf(DataFormat::Sen169Fp16, {1, n / 64, m, 64},
                       {Coordinate::constant(0), Coordinate::floorDiv("n", 64),
                        Coordinate::var("m"), Coordinate::mod("n", 64)})});
}

// fp16 -> fp32 in LX -> fp16: every element is where and what it was, padding positions too.
TEST(ConversionChains, ThereAndBackThroughLxIsTheSame) {
  struct Case {
    const char *there, *back;
    DataFormat narrow, between;
  };
  for (const Case &test :
       {Case{"dl16tofp32", "fp32todl16", DataFormat::Sen169Fp16, DataFormat::IeeeFp32},
        Case{"fp8todl16", "qfp8ch", DataFormat::Sen143Fp8, DataFormat::Sen169Fp16}}) {
    OpSpec there = alongStick(test.there, test.narrow, test.between, 6, 256, 2);
    OpSpec back = alongStick(test.back, test.between, test.narrow, 6, 256, 2);
    toLx(there.args[1], 1024);
    toLx(back.args[0], 1024);
    uint64_t bytes = 6 * 256 * uint64_t(numerics::elementBytes(test.narrow));
    expectChain({there, back}, bytes);
    Random random(5);
    evaluator::Memory memory = randomMemory(there, random);
    memory.arguments.resize(2, std::vector<uint8_t>(memory.arguments[0].size()));
    Expected<program::Program> program = lowerAll({there, back}, presetDevice("tiny"));
    ASSERT_TRUE(program.ok()) << program.status().message();
    Card card(presetDevice("tiny"));
    ASSERT_TRUE(card.run(*program, memory).ok());
    EXPECT_EQ(memory.arguments[1], memory.arguments[0]) << test.there;
  }
}

// Activations and weights are quantised into LX and multiplied there.
TEST(ConversionChains, QuantisedOperandsAreMultipliedInLx) {
  struct Case {
    const char *activations, *weights, *matmul;
    DataFormat format;
  };
  for (const Case &test :
       {Case{"qfp8ch", "qfp8wt", "batchmatmulfp8", DataFormat::Sen143Fp8},
        Case{"csqint8ch", "csqint8wt", "batchmatmulint8", DataFormat::SenInt8}}) {
    const int64_t m = 12, n = 128, k = 256;
    OpSpec x = alongStick(test.activations, DataFormat::Sen169Fp16, test.format, m, k, 1);
    OpSpec w = weightsOf(test.weights, test.format, k, n, 1);
    OpSpec product = matmulOf(test.matmul, test.format, m, n, k, 1, 1);
    toLx(x.args[1], 0);
    toLx(product.args[0], 0);
    toLx(w.args[1], 4096);
    toLx(product.args[1], 4096);
    // One core: LX tensors are whole.
    toArgument(w.args[0], 1);
    toArgument(product.args[2], 2);
    for (TensorArg *arg : {&x.args[1], &product.args[0]}) {
      arg->deviceSize = {1, k / 128, m, 128};
    }
    x.args[0].deviceSize.insert(x.args[0].deviceSize.begin(), 1);
    x.args[0].deviceCoordinates.insert(x.args[0].deviceCoordinates.begin(),
                                       Coordinate::constant(0));
    x.args[1].deviceCoordinates.insert(x.args[1].deviceCoordinates.begin(),
                                       Coordinate::constant(0));
    expectChain({x, w, product}, uint64_t(2 * m * k + 2 * k * n));
  }
}

// Each core quantises its own columns of the weights into its LX and multiplies with them there;
// a product that takes the columns of another core is caught.
TEST(ConversionChains, EveryCoreMultipliesWithItsOwnSliceOfTheWeights) {
  const int64_t m = 5, n = 256, k = 128;
  OpSpec w = weightsOf("qfp8wt", DataFormat::Sen143Fp8, k, n, 4);
  OpSpec product = matmulOf("batchmatmulfp8", DataFormat::Sen143Fp8, m, n, k, 1, 4);
  toLx(w.args[1], 256);
  toLx(product.args[1], 256);
  toArgument(product.args[0], 1);
  toArgument(product.args[2], 2);
  // All cores need all activations: one read, sent along the ring.
  expectChain({w, product}, uint64_t(2 * k * n + m * k));
  OpSpec halves = matmulOf("batchmatmulfp8", DataFormat::Sen143Fp8, m, n, k, 1, 2);
  halves.args[0] = product.args[0];
  halves.args[1] = product.args[1];
  halves.args[2] = product.args[2];
  Expected<program::Program> program = lowerAll({w, halves}, presetDevice("tiny"));
  ASSERT_TRUE(program.ok()) << program.status().message();
  Random random(1);
  evaluator::Memory memory = randomMemory(w, random), more = randomMemory(halves, random);
  memory.arguments.resize(3);
  memory.arguments[1] = more.arguments[1];
  memory.arguments[2] = more.arguments[2];
  EXPECT_FALSE(Card(presetDevice("tiny")).run(*program, memory).ok());
}

TEST(Conversions8Bit, OneStepOfTheMatrixUnitTakes128OfK) {
  arch::DeviceDesc device = presetDevice("openspyre");
  auto matrixInstructions = [&](const OpSpec &spec) {
    Expected<program::Program> program = lowerAll({spec}, device);
    EXPECT_TRUE(program.ok()) << program.status().message();
    int64_t points = 0;
    for (const program::Instruction &instruction : program->phases[0].instructions) {
      points += instruction.opcode == program::Opcode::Matmul ? instruction.points() : 0;
    }
    return points;
  };
  EXPECT_EQ(matrixInstructions(matmulOf("batchmatmulint8", DataFormat::SenInt8, 16, 64, 256, 1, 1)),
            16 * 256 / 128);
}

TEST(Conversions8Bit, EveryFp8CodeBecomesItsValue) {
  OpSpec spec = alongStick("fp8todl16", DataFormat::Sen143Fp8, DataFormat::Sen169Fp16, 1, 256, 1);
  Expected<program::Program> program = lowerAll({spec}, presetDevice("tiny"));
  ASSERT_TRUE(program.ok()) << program.status().message();
  evaluator::Memory memory;
  memory.arguments.resize(2);
  for (int code = 0; code < 256; ++code) {
    memory.arguments[0].push_back(uint8_t(code));
  }
  memory.arguments[1].resize(512);
  Card card(presetDevice("tiny"));
  ASSERT_TRUE(card.run(*program, memory).ok());
  for (int code = 0; code < 256; ++code) {
    // Dense position 128q + 16j + 8s + i is wide position 128q + 64s + 8j + i.
    int at = code / 128 * 128 + code / 8 % 2 * 64 + code % 128 / 16 * 8 + code % 8;
    uint16_t bits = uint16_t(memory.arguments[1][size_t(2 * at)] |
                             memory.arguments[1][size_t(2 * at + 1)] << 8);
    EXPECT_EQ(bits, numerics::floatToDl16(numerics::e4m3fnToFloat(uint8_t(code)))) << code;
  }
}

// A row for all x: scaled once per tile, the values are those of every x.
TEST(Conversions8Bit, BroadcastInputsAreScaledToo) {
  for (const char *name : {"openspyre", "tiny"}) {
    OpSpec spec = alongStick("csqint8ch", DataFormat::Sen169Fp16, DataFormat::SenInt8, 300, 256, 4);
    spec.args[0].deviceSize[1] = 1;
    spec.args[0].deviceCoordinates[1] = Coordinate::constant(0);
    arch::DeviceDesc device = presetDevice(name);
    Expected<program::Program> program = lowerAll({spec}, device);
    ASSERT_TRUE(program.ok()) << program.status().message();
    Random random(3);
    evaluator::Memory expected = randomMemory(spec, random), actual = expected;
    ASSERT_TRUE(evaluator::evaluate({spec}, expected).ok());
    Card card(device);
    Status ran = card.run(*program, actual, &spec);
    ASSERT_TRUE(ran.ok()) << ran.text();
    EXPECT_EQ(actual.arguments, expected.arguments) << name;
    EXPECT_EQ(card.counters.ddr_write_bytes, 300u * 256);
  }
}

TEST(RefusesConversions, MatmulsWithOtherSticksOrFormats) {
  const SuperDsc good = dscOf(matmulOf("batchmatmulfp8", DataFormat::Sen143Fp8, 8, 128, 256, 1, 1));
  SuperDsc plain = good;
  layoutOf(plain, 1) = {"KERNEL", {"in", "out"}, {"out"}, {128}};
  expectError(plain, 5302, "2 of k inside 64 of n");
  SuperDsc reversed = good;
  layoutOf(reversed, 1) = {"KERNEL", {"in", "out"}, {"out", "in"}, {64, 2}};
  expectError(reversed, 5302, "2 of k inside 64 of n");
  SuperDsc both = good;
  layoutOf(both, 0) = {"INPUT", {"mb", "in"}, {"mb", "in"}, {2, 64}};
  expectError(both, 5302, "k alone in input 1");
  SuperDsc mixed = good;
  mixed.tensors[1].format = DataFormat::SenInt8;
  expectError(mixed, 5302, "it takes SEN143_FP8 and gives SEN169_FP16");
  SuperDsc integers = good;
  integers.op = "batchmatmulint8";
  expectError(integers, 5302, "it takes SENINT8");
  SuperDsc wide = good;
  wide.op = "batchmatmul";
  expectError(wide, 5302, "convert first");
  SuperDsc tail = good;
  tail.masking = {{"in", {100, 156}}};
  expectError(tail, 5302, "tail of less than one stick (128 lanes)");
  SuperDsc sixteen = dscOf(specOf(
      "batchmatmul", {{"m", 8, 1}, {"n", 64, 1}, {"k", 64, 1}},
      {argOf(DataFormat::Sen169Fp16, {1, 8, 64},
             {Coordinate::floorDiv("k", 64), Coordinate::var("m"), Coordinate::mod("k", 64)}),
       argOf(DataFormat::Sen169Fp16, {1, 64, 64},
             {Coordinate::floorDiv("n", 64), Coordinate::var("k"), Coordinate::mod("n", 64)}),
       argOf(DataFormat::Sen169Fp16, {1, 8, 64},
             {Coordinate::floorDiv("n", 64), Coordinate::var("m"), Coordinate::mod("n", 64)})}));
  layoutOf(sixteen, 1).stickDims = {"in", "out"};
  layoutOf(sixteen, 1).stickSizes = {2, 32};
  expectError(sixteen, 5302, "2 stick dimensions; one is possible here");
}

TEST(RefusesConversions, SticksThatAreNotThoseOfThePacking) {
  const SuperDsc wt = dscOf(weightsOf("qfp8wt", DataFormat::Sen143Fp8, 4, 64, 1));
  SuperDsc other = wt;
  other.op = "qfp8mb";
  expectError(other, 5302, "[8, partner=2, 8]");
  other.op = "qfp8ch";
  expectError(other, 5302, "the same one alone");
  SuperDsc two = wt;
  layoutOf(two, 0).stickDims = {"mb", "out"};
  layoutOf(two, 0).stickSizes = {2, 32};
  expectError(two, 5302, "one dimension in the input's stick");
  SuperDsc four = wt;
  layoutOf(four, 1).stickDims = {"out", "mb", "out", "mb"};
  layoutOf(four, 1).stickSizes = {4, 2, 8, 2};
  expectError(four, 5302, "1..3 are possible here");
  SuperDsc few = wt;
  layoutOf(few, 1).stickSizes = {2, 32};
  expectError(few, 5302, "hold 2 x 32 elements");
  SuperDsc lonely = wt;
  lonely.tensors[0].scale = {{"mb", -1}, {"out", 1}};
  expectError(lonely, 5302, "does not hold 'mb', along which sticks are paired");
  SuperDsc sparse = wt;
  sparse.tensors[1].scale = {{"mb", -2}, {"out", 1}};
  expectError(sparse, 5302, "a stick of several has all of them");
  SuperDsc odd = wt;
  odd.size[0].second = odd.perCoreSize[0].second = 3;
  expectError(odd, 5302, "not whole sticks of 2");
  SuperDsc masked = wt;
  masked.masking = {{"out", {60, 4}}};
  expectError(masked, 5302, "only a reduced stick dimension");
}

TEST(RefusesConversions, OtherFormatsConstantsAndDroppedDimensions) {
  const SuperDsc good =
      dscOf(alongStick("csqint8ch", DataFormat::Sen169Fp16, DataFormat::SenInt8, 4, 128, 1));
  SuperDsc formats = good;
  formats.op = "qfp8ch";
  expectError(formats, 5302, "it takes SEN169_FP16 and gives SEN143_FP8");
  SuperDsc missing = good;
  missing.constants.pop_back();
  expectError(missing, 5302, "'shiftact' is missing");
  SuperDsc more =
      dscOf(alongStick("qfp8ch", DataFormat::Sen169Fp16, DataFormat::Sen143Fp8, 4, 128, 1));
  more.constants = good.constants;
  expectError(more, 5302, "no constant 'scaleact'");
  SuperDsc dropped = good;
  dropped.tensors[1].scale = {{"mb", -1}, {"out", 1}};
  expectError(dropped, 5302, "only a reduction may drop");
  SuperDsc add = good;
  add.op = "abs";
  add.constants.clear();
  expectError(add, 5302, "convert first");
}

TEST(RefusesConversions, WorkInPlace) {
  OpSpec spec = alongStick("dl16tofp32", DataFormat::Sen169Fp16, DataFormat::IeeeFp32, 4, 128, 1);
  toLx(spec.args[0], 2048);
  toLx(spec.args[1], 2048 + 1024);
  EXPECT_TRUE(lowerSuperDscs({dscOf(spec)}, presetDevice("openspyre")).ok());
  spec.args[1].address -= 128;
  expectError(dscOf(spec), 5302, "does not work in place");
  spec.args[1].address = 0; // Its 2,048 bytes end where the input begins.
  EXPECT_TRUE(lowerSuperDscs({dscOf(spec)}, presetDevice("openspyre")).ok());
  spec.args[1].address = 128;
  expectError(dscOf(spec), 5302, "does not work in place");
}

TEST(RefusesConversions, AStagingAreaWithoutRoomForOnePair) {
  arch::DeviceDesc device = presetDevice("tiny");
  device.lxPlannerBytes = device.lxBytes - 4 * 128;
  SuperDsc dsc =
      dscOf(alongStick("csqint8ch", DataFormat::Sen169Fp16, DataFormat::SenInt8, 4, 128, 1));
  Expected<program::Program> program = lowerSuperDscs({dsc}, device);
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.status().code(), 5303);
  EXPECT_NE(program.status().text().find("need 640 bytes of staging area, the machine has 512"),
            std::string::npos)
      << program.status().message();
}

} // namespace spyre::backend::test
