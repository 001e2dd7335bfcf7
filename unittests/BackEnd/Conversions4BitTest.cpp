//===- Conversions4BitTest.cpp - four sticks of 16 bits in one of 4 (docs/adr/0019) ---------===//
#include "ConversionSpecs.h"

namespace spyre::backend::test {

/// Gives \p out the stick of \p op, with d and its partner o, and \p in the same rank.
static void appendStick(const std::string &op, TensorArg &in, TensorArg &out) {
  if (op == "csqint4") {
    out.deviceSize.insert(out.deviceSize.end(), {16, 2, 8});
    out.deviceCoordinates.insert(
        out.deviceCoordinates.end(),
        {Coordinate::mod("d", 16, 8), Coordinate::mod("o", 2), Coordinate::mod("d", 8)});
  } else {
    out.deviceSize.insert(out.deviceSize.end(), {64, 4});
    out.deviceCoordinates.insert(out.deviceCoordinates.end(),
                                 {Coordinate::mod("d", 64), Coordinate::mod("o", 4)});
  }
  for (size_t missing = out.deviceSize.size() - in.deviceSize.size(); missing > 0; --missing) {
    in.deviceSize.insert(in.deviceSize.begin(), 1);
    in.deviceCoordinates.insert(in.deviceCoordinates.begin(), Coordinate::constant(0));
  }
}

/// x planes of o rows of d elements to 4 bits: d outermost on both sides, then o. d and o are whole
/// sticks of the output, and d is divided over \p cores.
static OpSpec into4Bits(const std::string &op, int64_t x, int64_t o, int64_t d, int64_t cores = 1) {
  const int64_t rows = op == "csqint4" ? 2 : 4, width = 256 / rows;
  TensorArg in = argOf(DataFormat::Sen169Fp16, {d / 64, o, x, 64},
                       {Coordinate::floorDiv("d", 64), Coordinate::var("o"), Coordinate::var("x"),
                        Coordinate::mod("d", 64)});
  TensorArg out = argOf(
      DataFormat::SenInt4, {d / width, o / rows, x},
      {Coordinate::floorDiv("d", width), Coordinate::floorDiv("o", rows), Coordinate::var("x")});
  appendStick(op, in, out);
  return specOf(op, {{"x", x, 1}, {"o", o, 1}, {"d", d, cores}}, {in, out});
}

/// A copy of \p sticks sticks as they are, divided over \p cores.
static OpSpec copyOf(DataFormat format, int64_t sticks, int64_t cores) {
  return specOf("identity", {{"x", sticks, cores}, {"d", numerics::elemsPerStick(format), 1}},
                {rowsOf(format, sticks, numerics::elemsPerStick(format)),
                 rowsOf(format, sticks, numerics::elemsPerStick(format))});
}

// Every input brings its own number, 4 bits of it at a time: where it is found is where it went.
TEST(Conversions4Bit, EveryElementGoesToItsPlace) {
  const int64_t x = 3, o = 4, d = 256;
  for (const char *name : {"openspyre", "tiny"}) {
    for (const std::string op : {"csqint4", "csqint4wt"}) {
      OpSpec spec = into4Bits(op, x, o, d, 2);
      spec.constants = {{"scaleact", 1}, {"shiftact", -8}};
      Expected<program::Program> program = lowerAll({spec}, presetDevice(name));
      ASSERT_TRUE(program.ok()) << program.status().message();
      Card card(presetDevice(name));
      std::vector<int64_t> source(size_t(x * o * d), 0);
      for (int digit = 0; digit < 3; ++digit) {
        evaluator::Memory memory;
        for (int64_t i = 0; i < x * o * d; ++i) {
          uint16_t bits = numerics::floatToDl16(float(i >> (4 * digit) & 15));
          memory.arguments.resize(2);
          memory.arguments[0].push_back(uint8_t(bits));
          memory.arguments[0].push_back(uint8_t(bits >> 8));
        }
        memory.arguments[1].resize(size_t(x * o * d / 2));
        Status ran = card.run(*program, memory, &spec);
        ASSERT_TRUE(ran.ok()) << ran.text();
        for (int64_t i = 0; i < x * o * d; ++i) {
          int64_t half = memory.arguments[1][size_t(i / 2)] >> (4 * (i % 2)) & 15;
          source[size_t(i)] |= (half ^ 8) << (4 * digit); // Minus 8 in two's complement.
        }
      }
      for (int64_t at = 0; at < x * o * d; ++at) {
        // d / 64, o, x, d % 64
        int64_t from = source[size_t(at)], plane = from / 64 % x, row = from / 64 / x % o,
                column = from / (64 * x * o) * 64 + from % 64;
        int64_t moved =
            column / 128 * 128 + (column % 64 / 8 * 2 + column / 64 % 2) * 8 + column % 8;
        int64_t stick = op == "csqint4" ? (moved / 128 * (o / 2) + row / 2) * x + plane
                                        : (column / 64 * (o / 4) + row / 4) * x + plane;
        int64_t lane = op == "csqint4" ? moved % 128 / 8 * 16 + row % 2 * 8 + moved % 8
                                       : column % 64 * 4 + row % 4;
        ASSERT_EQ(at, stick * 256 + lane) << op << " on " << name << " from " << from;
      }
    }
  }
}

// Through LX on both sides, each core with its own slice; bytes tell what the half bytes are.
TEST(ConversionChains, HalfBytesAreMadeInLx) {
  for (const char *op : {"csqint4", "csqint4wt"}) {
    for (int64_t cores : {1, 4}) {
      const int64_t x = 4, o = 8, d = 512;
      OpSpec in = copyOf(DataFormat::Sen169Fp16, x * o * d / 64, cores);
      OpSpec quantise = into4Bits(op, x, o, d, cores);
      OpSpec out = copyOf(DataFormat::SenInt8, x * o * d / 256, cores);
      const int64_t behind = x * o * d * 2 / cores;
      toLx(in.args[1], 0);
      toLx(quantise.args[0], 0);
      toLx(quantise.args[1], behind);
      toLx(out.args[0], behind);
      toArgument(out.args[1], 1);
      expectChain({in, quantise, out}, uint64_t(x * o * d * 2));
    }
  }
}

// More dimensions than an instruction has levels, in orders that join none of them.
TEST(Conversions4Bit, LevelsAreLeftForTheSticksThatShareOne) {
  for (const char *name : {"openspyre", "tiny"}) {
    for (const std::string op : {"csqint4", "csqint4wt"}) {
      const int64_t rows = op == "csqint4" ? 2 : 4, width = 256 / rows;
      OpSpec spec = specOf(
          op,
          {{"a", 2, 1}, {"b", 3, 1}, {"c", 2, 1}, {"e", 2, 1}, {"o", 2 * rows, 1}, {"d", 256, 1}},
          {argOf(DataFormat::Sen169Fp16, {3, 3, 5, 1, 3, 2 * rows + 1, 4, 64},
                 {Coordinate::var("a"), Coordinate::var("c"), Coordinate::floorDiv("d", 64),
                  Coordinate::constant(0), Coordinate::var("e"), Coordinate::var("o"),
                  Coordinate::var("b"), Coordinate::mod("d", 64)}),
           argOf(DataFormat::SenInt4, {2, 2, 3, 2, 2, 256 / width},
                 {Coordinate::floorDiv("o", rows), Coordinate::var("c"), Coordinate::var("b"),
                  Coordinate::var("a"), Coordinate::var("e"), Coordinate::floorDiv("d", width)})});
      appendStick(op, spec.args[0], spec.args[1]);
      Expected<program::Program> program = lowerAll({spec}, presetDevice(name));
      ASSERT_TRUE(program.ok()) << program.status().message();
      Random random(8);
      evaluator::Memory expected = randomMemory(spec, random), actual = expected;
      ASSERT_TRUE(evaluator::evaluate({spec}, expected).ok());
      Card card(presetDevice(name));
      Status ran = card.run(*program, actual, &spec);
      ASSERT_TRUE(ran.ok()) << ran.text();
      EXPECT_EQ(actual.arguments, expected.arguments) << op << " on " << name;
    }
  }
}

TEST(RefusesConversions, SticksThatAreNotThoseOf4Bits) {
  const SuperDsc wt = dscOf(into4Bits("csqint4wt", 3, 8, 128));
  EXPECT_TRUE(lowerSuperDscs({wt}, presetDevice("openspyre")).ok());
  SuperDsc other = wt;
  other.op = "csqint4";
  expectError(other, 5302, "[8, partner=2, 16]");
  other.op = "csqint8wt";
  expectError(other, 5302, "it takes SEN169_FP16 and gives SENINT8");
  SuperDsc pairs = wt;
  layoutOf(pairs, 1).stickSizes = {2, 128};
  expectError(pairs, 5302, "[partner=4, 64]");
  SuperDsc few = wt;
  layoutOf(few, 1).stickSizes = {2, 64};
  expectError(few, 5302, "hold 2 x 64 elements but SENINT4 has 256");
  SuperDsc odd = wt;
  odd.size[1].second = odd.perCoreSize[1].second = 6;
  expectError(odd, 5302, "not whole sticks of 4");
  SuperDsc missing = wt;
  missing.constants.clear();
  expectError(missing, 5302, "'scaleact' is missing");
  const SuperDsc mb = dscOf(into4Bits("csqint4", 3, 4, 256));
  EXPECT_TRUE(lowerSuperDscs({mb}, presetDevice("openspyre")).ok());
  other = mb;
  other.op = "csqint4wt";
  expectError(other, 5302, "[partner=4, 64]");
  SuperDsc swapped = mb;
  layoutOf(swapped, 1).stickSizes = {16, 2, 8};
  expectError(swapped, 5302, "[8, partner=2, 16]");
  SuperDsc alone = mb;
  layoutOf(alone, 1).stickDims = {"out"};
  layoutOf(alone, 1).stickSizes = {256};
  expectError(alone, 5302, "[8, partner=2, 16]");
  SuperDsc lonely = mb;
  lonely.tensors[0].scale = {{"mb", 1}, {"x", -1}, {"out", 1}};
  expectError(lonely, 5302, "does not hold 'x', along which sticks are paired");
  SuperDsc half = mb; // One and a half sticks of the output.
  half.size[2].second = half.perCoreSize[2].second = 192;
  expectError(half, 5302, "not whole sticks of 128");
  SuperDsc copy = mb;
  copy.op = "identity";
  copy.constants.clear();
  expectError(copy, 5302, "convert first");
}

TEST(RefusesConversions, InputsInTheLxOfOtherCores) {
  OpSpec fours = into4Bits("csqint4", 4, 8, 512, 1);
  fours.iterationSpace[1].cores = 4;
  OpSpec eights =
      specOf("csqint8ch", {{"x", 16, 4}, {"d", 512, 1}},
             {rowsOf(DataFormat::Sen169Fp16, 16, 512), rowsOf(DataFormat::SenInt8, 16, 512)});
  for (OpSpec spec : {fours, eights}) {
    toLx(spec.args[0], 0);
    spec.args[0].lxDivision = {{"d", 4}};
    expectError(dscOf(spec), 5302, "copy it (identity) into the division of the operation first");
  }
}

TEST(RefusesConversions, WorkInPlaceTo4Bits) {
  OpSpec spec = into4Bits("csqint4", 1, 2, 128);
  toLx(spec.args[0], 2048);
  toLx(spec.args[1], 2048 + 512);
  EXPECT_TRUE(lowerSuperDscs({dscOf(spec)}, presetDevice("openspyre")).ok());
  spec.args[1].address -= 128;
  expectError(dscOf(spec), 5302, "does not work in place");
}

// Four sticks of input, four scaled and one of output are nine.
TEST(RefusesConversions, AStagingAreaWithoutRoomForFourSticks) {
  for (const char *op : {"csqint4", "csqint4wt"}) {
    arch::DeviceDesc device = presetDevice("tiny");
    SuperDsc dsc = dscOf(into4Bits(op, 3, 4, 128));
    device.lxPlannerBytes = device.lxBytes - 9 * 128;
    Expected<program::Program> enough = lowerSuperDscs({dsc}, device);
    EXPECT_TRUE(enough.ok()) << enough.status().message();
    device.lxPlannerBytes += 128;
    Expected<program::Program> program = lowerSuperDscs({dsc}, device);
    ASSERT_FALSE(program.ok());
    EXPECT_EQ(program.status().code(), 5303);
    EXPECT_NE(program.status().text().find("need 1152 bytes of staging area, the machine has 1024"),
              std::string::npos)
        << program.status().message();
  }
}

} // namespace spyre::backend::test
