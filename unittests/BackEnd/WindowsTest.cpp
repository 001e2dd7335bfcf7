//===- WindowsTest.cpp - convolutions and pooling against the evaluator, and what is refused ===//
#include "spyre/BackEnd/BackEnd.h"
#include "spyre/Base/Math.h"
#include "spyre/Spec/Bundle.h"

#include "ExpectSame.h"
#include "GeneratorWindows.h"
#include "Specs.h"

#include <bit>
#include <cstdlib>
#include <cstring>

namespace spyre::backend::test {

using spec::SuperDsc;

static RandomCase filled(const WindowShape &shape, uint64_t seed) {
  Random random(seed);
  RandomCase testCase = windowCase(shape);
  testCase.memory = randomMemory(testCase.spec, random);
  return testCase;
}

static SuperDsc emitted(const WindowShape &shape) {
  Expected<SuperDsc> dsc = throughJson(windowCase(shape).spec, 0);
  SPYRE_CHECK(dsc.ok(), "the shapes of the tests can be emitted");
  return *dsc;
}

static void expectError(const SuperDsc &dsc, int code, const std::string &part) {
  Expected<program::Program> program = lowerSuperDscs({dsc}, presetDevice("openspyre"));
  ASSERT_FALSE(program.ok()) << "expected E" << code << " with '" << part << "'";
  EXPECT_EQ(program.status().code(), code) << program.status().message();
  EXPECT_NE(program.status().text().find(part), std::string::npos) << program.status().message();
}

class Windows : public testing::TestWithParam<const char *> {};

TEST_P(Windows, EveryWindowStrideAndDivisionEqualsTheEvaluator) {
  static constexpr int64_t kWindows[][2] = {{1, 1}, {2, 2}, {3, 3}, {5, 1}};
  static constexpr int64_t kSteps[][2] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}};
  static const std::vector<std::pair<std::string, int64_t>> kDivisions[] = {
      {},
      {{"y", 3}},
      {{"y", 2}, {"x", 2}},
      {{"c", 2}, {"b", 2}},
      {{"k", 3}},
      {{"x", 4}, {"b", 2}, {"c", 2}, {"y", 2}}};
  arch::DeviceDesc device = presetDevice(GetParam());
  Card card(device);
  uint64_t seed = 0;
  for (const std::string &op : windowCases()) {
    for (const auto &window : kWindows) {
      for (const auto &[stride, dilation] : kSteps) {
        WindowShape shape;
        shape.op = op;
        shape.batch = 2;
        shape.channels = 100;
        shape.inChannels = 130;
        shape.pixels = {6, 4};
        shape.window = {window[0], window[1]};
        shape.stride = {stride, stride};
        shape.dilation = {dilation, dilation};
        shape.cores = kDivisions[seed % std::size(kDivisions)];
        int64_t cores = 1;
        for (const auto &[symbol, count] : shape.cores) {
          cores *= symbol != "k" || op == "conv2d" ? count : 1;
        }
        ++seed;
        if (op == "x_cumsum" || cores > device.cores) {
          continue;
        }
        RandomCase testCase = filled(shape, seed);
        SCOPED_TRACE(spec::writeOpSpecs({testCase.spec}));
        expectSame(testCase, card, device);
        if (HasFatalFailure()) {
          return;
        }
      }
    }
  }
}

TEST_P(Windows, RandomOnesEqualTheEvaluator) {
  arch::DeviceDesc device = presetDevice(GetParam());
  Card card(device);
  const int cases = std::getenv("SPYRE_TEST_LONG") ? 4000 : 160;
  for (int seed = 0; seed < cases; ++seed) {
    Random random(uint64_t(seed) * 104729 + 3);
    const std::string &op = windowCases()[size_t(seed) % windowCases().size()];
    RandomCase testCase = randomCase(op, random, device, false);
    SCOPED_TRACE(fmt::format("seed {} {}", seed, spec::writeOpSpecs({testCase.spec})));
    expectSame(testCase, card, device);
    if (HasFatalFailure()) {
      return;
    }
  }
}

// The staging area of the small machine holds neither input, weights nor window at once.
TEST_P(Windows, StreamWhatIsLargerThanLx) {
  arch::DeviceDesc device = presetDevice(GetParam());
  Card card(device);
  for (const std::string &op : windowCases()) {
    if (op == "x_cumsum") {
      continue;
    }
    WindowShape shape;
    shape.op = op;
    shape.batch = 2;
    shape.channels = op == "conv2d" ? 128 : 200;
    shape.inChannels = 70;
    shape.pixels = {9, 7};
    shape.cores = {{"y", 3}};
    RandomCase testCase = filled(shape, 11);
    SCOPED_TRACE(op);
    expectSame(testCase, card, device);
    // A window as large as an image.
    shape.batch = 1;
    shape.channels = 100;
    shape.pixels = {1, 2};
    shape.window = {op == "conv2d" ? 5 : 20, op == "conv2d" ? 6 : 30};
    shape.cores = {};
    testCase = filled(shape, 12);
    expectSame(testCase, card, device);
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, Windows, testing::Values("openspyre", "tiny"));

TEST(Windows, AllCoresOfTheMachine) {
  arch::DeviceDesc device = presetDevice("openspyre");
  Card card(device);
  for (const char *op : {"conv2d", "maxpoolfwd", "depthwiseconv2dnative"}) {
    WindowShape shape;
    shape.op = op;
    shape.pixels = {16, 6};
    shape.stride = {2, 1};
    shape.channels = 128;
    shape.cores = {{"y", 16}, {"c", 2}};
    expectSame(filled(shape, 5), card, device);
    EXPECT_EQ(card.counters.ddr_write_bytes, 16u * 6 * 2 * 128);
  }
}

// Everything fits: input and weights are read once.
TEST(Windows, WeightsAndInputAreLoadedOnce) {
  arch::DeviceDesc device = presetDevice("openspyre");
  Card card(device);
  WindowShape shape;
  shape.op = "conv2d";
  shape.pixels = {5, 6};
  shape.inChannels = 128;
  expectSame(filled(shape, 1), card, device);
  EXPECT_EQ(card.counters.ddr_read_bytes, (7u * 8 * 2 + 9 * 128) * 128);
  shape.op = "depthwiseconv2dnative";
  expectSame(filled(shape, 2), card, device);
  EXPECT_EQ(card.counters.ddr_read_bytes, (7u * 8 + 9) * 128);
}

// Strides larger than the window leave rows out, which are not loaded.
TEST(Windows, WhatNoWindowMeetsIsNotLoaded) {
  arch::DeviceDesc device = presetDevice("openspyre");
  Card card(device);
  WindowShape shape;
  shape.op = "maxpoolfwd";
  shape.pixels = {5, 4};
  shape.window = {2, 1};
  shape.stride = {4, 3};
  expectSame(filled(shape, 3), card, device);
  EXPECT_EQ(card.counters.ddr_read_bytes, 5u * 2 * 4 * 128);
}

// Each core starts at the window of its first pixel, also when the launch says where that is.
TEST(Windows, SymbolicBundlesGiveTheSame) {
  arch::DeviceDesc device = presetDevice("tiny");
  for (const char *op : {"conv2d", "depthwiseconv2dnative", "maxpoolfwd"}) {
    WindowShape shape;
    shape.op = op;
    shape.stride = {2, 3};
    shape.before = {1, 0};
    shape.cores = {{"y", 2}, {"x", 2}};
    RandomCase testCase = filled(shape, 31);
    Expected<Artifacts> bundle = spec::generateBundle({testCase.spec}, {.symbolicArguments = true});
    ASSERT_TRUE(bundle.ok()) << bundle.status().message();
    Expected<Artifacts> code = compileBundle(*bundle, device);
    ASSERT_TRUE(code.ok()) << code.status().message();
    Expected<program::Program> program = program::readProgram(code->at("spyreCodeDir/init.bin"));
    ASSERT_TRUE(program.ok()) << program.status().message();
    for (size_t i = 0; i < program->symbols.size(); ++i) {
      program->symbols[i].value = device.segmentBase(int64_t(i));
    }
    evaluator::Memory expected = testCase.memory, actual = testCase.memory;
    ASSERT_TRUE(evaluator::evaluate({testCase.spec}, expected).ok());
    Card card(device);
    Status ran = card.run(*program, actual);
    ASSERT_TRUE(ran.ok()) << ran.text();
    EXPECT_EQ(expected.arguments, actual.arguments);
  }
}

//===- Tensors in LX ------------------------------------------------------------------------===//

/// A copy of \p arg, a whole tensor with a stick, divided as \p spec divides it.
static OpSpec copyOf(const OpSpec &spec, const TensorArg &arg) {
  OpSpec copy;
  copy.op = "identity";
  TensorArg same = arg;
  for (size_t j = 0; j + 1 < arg.deviceSize.size(); ++j) {
    const Coordinate &coordinate = arg.deviceCoordinates[j];
    bool isStick = coordinate.kind == Coordinate::Kind::Floor;
    std::string name = fmt::format("d{}", j);
    int64_t cores = 1;
    for (const spec::IterationDim &dim : spec.iterationSpace) {
      bool owns = dim.symbol == coordinate.symbol && coordinate.kind != Coordinate::Kind::Window;
      cores = owns ? dim.cores : cores;
    }
    copy.iterationSpace.push_back({name, arg.deviceSize[j] * (isStick ? 64 : 1), cores});
    same.deviceCoordinates[j] = isStick ? Coordinate::floorDiv(name, 64) : Coordinate::var(name);
    if (isStick) {
      same.deviceCoordinates.back() = Coordinate::mod(name, 64);
    }
  }
  copy.args = {same, same};
  copy.args[0].isInput = true;
  copy.args[1].isInput = false;
  return copy;
}

/// Runs \p testCase with the tensors of \p inLx in LX; copies bring them there and back.
static void expectSameInLx(const RandomCase &testCase, const std::vector<size_t> &inLx,
                           const arch::DeviceDesc &device) {
  OpSpec middle = testCase.spec;
  std::vector<OpSpec> specs;
  int64_t address = 0;
  OpSpec back;
  for (size_t i : inLx) {
    OpSpec copy = copyOf(middle, testCase.spec.args[i]);
    bool isOutput = i + 1 == middle.args.size();
    moveToLx(middle.args[i], address);
    moveToLx(copy.args[isOutput ? 0 : 1], address);
    int64_t bytes = 2;
    for (int64_t size : middle.args[i].deviceSize) {
      bytes *= size;
    }
    address += bytes;
    (isOutput ? back : specs.emplace_back()) = copy;
  }
  specs.push_back(middle);
  if (!back.args.empty()) {
    specs.push_back(back);
  }
  Expected<program::Program> program = lowerAll(specs, device);
  ASSERT_TRUE(program.ok()) << program.status().message();
  evaluator::Memory expected = testCase.memory, actual = testCase.memory;
  Status evaluated = evaluator::evaluate(specs, expected);
  ASSERT_TRUE(evaluated.ok()) << evaluated.message();
  evaluator::Memory direct = testCase.memory;
  ASSERT_TRUE(evaluator::evaluate({testCase.spec}, direct).ok());
  EXPECT_EQ(expected.arguments, direct.arguments);
  Card card(device);
  Status ran = card.run(*program, actual);
  ASSERT_TRUE(ran.ok()) << ran.text() << "\n" << program::disassemble(*program);
  EXPECT_EQ(expected.arguments, actual.arguments);
}

TEST(Windows, OperandsInLxWhenTheDivisionIsLocal) {
  for (const char *machine : {"openspyre", "tiny"}) {
    arch::DeviceDesc device = presetDevice(machine);
    for (const char *op : {"conv2d", "depthwiseconv2dnative", "maxpoolfwd", "avgpoolfwd"}) {
      SCOPED_TRACE(std::string(machine) + " " + op);
      WindowShape shape;
      shape.op = op;
      shape.batch = 4;
      shape.pixels = {3, 2};
      shape.stride = {2, 1};
      shape.window = {2, 3};
      shape.behind = {1, 0};
      shape.inChannels = 64;
      shape.cores = {{"b", 4}};
      size_t output = windowCase(shape).spec.args.size() - 1;
      expectSameInLx(filled(shape, 21), {0}, device);
      expectSameInLx(filled(shape, 22), {0, output}, device);
      expectSameInLx(filled(shape, 23), {output}, device);
      shape.channels = 128;
      shape.window = {2, 1};
      shape.cores = {{"c", 2}};
      if (output == 2) {
        expectSameInLx(filled(shape, 24), {1, 2}, device);
      }
    }
  }
}

TEST(WindowsRefuse, PixelsOfALocalInputThatAreSplit) {
  WindowShape shape;
  shape.op = "maxpoolfwd";
  shape.cores = {{"y", 2}};
  OpSpec spec = windowCase(shape).spec;
  moveToLx(spec.args[0], 0);
  Expected<SuperDsc> dsc = spec::emitSuperDsc(spec, 0);
  ASSERT_FALSE(dsc.ok());
  EXPECT_EQ(dsc.status().code(), 5001);
  EXPECT_NE(dsc.status().text().find("in LX, but y is split"), std::string::npos);
  // Anyone's bundle.
  SuperDsc foreign = emitted(shape);
  foreign.tensors[0].inLx = true;
  foreign.tensors[0].startAddress = {0, 0};
  expectError(foreign, 5302, "the input is in LX and 'y' is split");
}

TEST(WindowsRefuse, WorkInPlace) {
  WindowShape shape;
  shape.op = "avgpoolfwd";
  OpSpec spec = windowCase(shape).spec;
  moveToLx(spec.args[0], 0);
  moveToLx(spec.args[1], 128);
  Expected<SuperDsc> dsc = throughJson(spec, 0);
  ASSERT_TRUE(dsc.ok()) << dsc.status().message();
  expectError(*dsc, 5302, "cannot work in place");
}

TEST(WindowsRefuse, WindowsOutsideOfTheInput) {
  for (const char *op : {"conv2d", "maxpoolfwd"}) {
    WindowShape shape;
    shape.op = op;
    shape.cores = {{"y", 2}}; // What one core meets is inside.
    SuperDsc dsc = emitted(shape);
    for (auto *sizes : {&dsc.size, &dsc.perCoreSize}) {
      for (auto &[dim, size] : *sizes) {
        size = dim == "i" ? 5 : size;
      }
    }
    expectError(dsc, 5302, "need 6 elements of 'i', which has 5; pad the input first");
    Status verified = spec::verifySuperDsc(dsc, presetDevice("openspyre"));
    EXPECT_EQ(verified.code(), 5003) << verified.message();
  }
}

TEST(WindowsRefuse, StepsThatAreNoWholeNumbers) {
  WindowShape shape;
  shape.op = "maxpoolfwd";
  shape.stride = {2, 1};
  SuperDsc dsc = emitted(shape);
  ASSERT_EQ(dsc.constants.size(), 1u);
  EXPECT_EQ(dsc.constants[0].name, "windowStrideY");
  for (double value : {0.0, -1.0, 1.5, 1e9}) {
    dsc.constants[0].bits = numerics::encodeConstant(value, dsc.format);
    expectError(dsc, 5302, "it is a whole number in 1..65536");
    EXPECT_EQ(spec::verifySuperDsc(dsc, presetDevice("openspyre")).code(), 5003);
  }
}

TEST(WindowsRefuse, SplitWindows) {
  WindowShape shape;
  shape.op = "conv2d";
  shape.window = {2, 2};
  shape.cores = {{"y", 2}};
  SuperDsc dsc = emitted(shape);
  auto set = [](spec::DimMap<int64_t> &map, const char *dim, int64_t value) {
    for (auto &[name, number] : map) {
      number = name == dim ? value : number;
    }
  };
  set(dsc.slices, "y", 1);
  set(dsc.perCoreSize, "y", 4);
  set(dsc.slices, "ki", 2);
  set(dsc.perCoreSize, "ki", 1);
  expectError(dsc, 5302, "'ki' or 'i' is split");
  EXPECT_EQ(spec::verifySuperDsc(dsc, presetDevice("openspyre")).code(), 5003);
}

TEST(WindowsRefuse, TensorsWithTheWrongSticksOrDimensions) {
  WindowShape shape;
  shape.op = "conv2d";
  SuperDsc sticks = emitted(shape);
  sticks.layouts[1].stickDims = {"in"};
  expectError(sticks, 5302, "in1 has its stick along 'in'; this operation needs 'out'");
  SuperDsc pixels = emitted(shape);
  pixels.tensors[1].dimOrder.push_back("y");
  expectError(pixels, 5302, "in1 holds 'y'");
  SuperDsc rows = emitted(shape);
  std::erase(rows.tensors[1].dimOrder, "in");
  expectError(rows, 5302, "no rows of 'in'");
  SuperDsc flat = emitted(shape);
  std::erase(flat.tensors[0].dimOrder, "i");
  expectError(flat, 5302, "the input does not hold 'i'");
  SuperDsc half = emitted(shape);
  std::erase_if(half.size, [](const auto &entry) { return entry.first == "ki"; });
  half.tensors[1].dimOrder = {"in", "out", "kj"};
  expectError(half, 5302, "are one window; N_ has all or none");
}

TEST(WindowsRefuse, FormatsAndMissingConstants) {
  WindowShape shape;
  shape.op = "avgpoolfwd";
  SuperDsc dsc = emitted(shape);
  dsc.constants.clear();
  expectError(dsc, 5302, "needs the constant 'nmap'");
  shape.op = "conv2d";
  SuperDsc conv = emitted(shape);
  for (spec::DscTensor &tensor : conv.tensors) {
    tensor.format = numerics::DataFormat::IeeeFp32;
  }
  expectError(conv, 5302, "IEEE_FP32 is not lowered");
  for (const char *name : {"avgpoolnmapfwd", "conv2dfp8", "conv2dint8", "conv2dint4"}) {
    conv.op = name;
    expectError(conv, 5301, "is known, undocumented");
  }
}

TEST(WindowsRefuse, AStagingAreaWithoutRoom) {
  arch::DeviceDesc device = presetDevice("tiny");
  device.lxPlannerBytes = device.lxBytes - 512;
  for (const char *op : {"conv2d", "depthwiseconv2dnative"}) {
    WindowShape shape;
    shape.op = op;
    Expected<program::Program> program = lowerSuperDscs({emitted(shape)}, device);
    ASSERT_FALSE(program.ok());
    EXPECT_EQ(program.status().code(), 5303) << program.status().message();
  }
}

} // namespace spyre::backend::test
