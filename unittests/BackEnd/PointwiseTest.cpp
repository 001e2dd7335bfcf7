//===- PointwiseTest.cpp - every element-wise operation in every form -----------------------===//
//
// The random cases of DifferentialTest.cpp meet most of this by chance; here each operation runs in
// each form of operands on each number of cores, on a machine with much LX and on one with little.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/BackEnd/BackEnd.h"
#include "spyre/Base/Math.h"

#include "ExpectSame.h"
#include "Specs.h"
#include "Support/Tolerance.h"

#include <cmath>
#include <cstdlib>
#include <cstring>

namespace spyre::backend::test {

using numerics::DataFormat;
using program::Instruction;
using program::Opcode;
using program::Operand;
using spec::Coordinate;
using spec::OpSpec;
using spec::TensorArg;

namespace {

/// Which symbols an operand holds: the stick's, and the others.
enum class Operands : uint8_t { Full, Row, Column, Scalar, Mixed };

struct Form {
  const char *name;
  /// Size of each dimension, as a function of cores and lanes; the last one is the stick.
  std::vector<int64_t> (*sizes)(int64_t cores, int64_t lanes);
  /// Dimension that is split over the cores.
  size_t split = 0;
  Operands operands = Operands::Full;
  /// The output has one value per stick.
  bool sparse = false;
  /// Every second input has its dimensions the other way round.
  bool permuted = false;
};

using Sizes = std::vector<int64_t>;

const Form kForms[] = {
    {"aligned", [](int64_t c, int64_t w) { return Sizes{2 * c, 3 * w}; }},
    {"unaligned", [](int64_t c, int64_t w) { return Sizes{3 * c, 2 * w + 17}; }},
    {"oneStick", [](int64_t c, int64_t w) { return Sizes{c, w}; }},
    {"partialStick", [](int64_t c, int64_t) { return Sizes{c, 5}; }},
    {"stickSplit", [](int64_t c, int64_t w) { return Sizes{3, 2 * c * w - 9}; }, 1},
    {"rank1", [](int64_t c, int64_t w) { return Sizes{2 * c * w - 1}; }},
    {"rank3", [](int64_t c, int64_t w) { return Sizes{2, c, w + 1}; }, 1, {}, false, true},
    {"rank4", [](int64_t c, int64_t w) { return Sizes{c, 3, 2, w}; }, 0, {}, false, true},
    {"rank5", [](int64_t c, int64_t w) { return Sizes{2, c, 1, 3, w + 3}; }, 1, {}, false, true},
    {"row", [](int64_t c, int64_t w) { return Sizes{2 * c, w + 9}; }, 0, Operands::Row},
    {"column", [](int64_t c, int64_t w) { return Sizes{c, 2 * w}; }, 0, Operands::Column},
    {"scalar", [](int64_t c, int64_t w) { return Sizes{c, w + 9}; }, 0, Operands::Scalar},
    {"mixed", [](int64_t c, int64_t w) { return Sizes{2, c, w + 1}; }, 1, Operands::Mixed},
    {"sparse", [](int64_t c, int64_t) { return Sizes{3, c, 1}; }, 1, {}, true},
};

class FormBuilder {
public:
  FormBuilder(const PointwiseOp &op, const Form &form, DataFormat format, int64_t cores)
      : op(op), form(form), format(format), lanes(numerics::elemsPerStick(format)) {
    testCase.spec.op = op.name;
    Sizes sizes = form.sizes(cores, lanes);
    testCase.laneOps = 1;
    for (size_t i = 0; i < sizes.size(); ++i) {
      bool isStick = i + 1 == sizes.size();
      testCase.spec.iterationSpace.push_back(
          {fmt::format("c{}", i), sizes[i], i == form.split ? cores : 1});
      testCase.laneOps *= uint64_t(isStick ? roundUp(sizes[i], lanes) : sizes[i]);
    }
  }

  RandomCase build(Random &random) {
    testCase.spec.constants = randomConstants(op, random);
    for (size_t i = 0; i < op.inputs; ++i) {
      // The first operand of several is whole, the others are broadcast.
      Operands operands = i == 0 && op.inputs > 1 ? Operands::Full : form.operands;
      if (operands == Operands::Mixed) {
        operands = std::array{Operands::Row, Operands::Column, Operands::Scalar}[i % 3];
      }
      bool hasRows = operands == Operands::Full || operands == Operands::Column;
      bool hasStick = operands == Operands::Full || operands == Operands::Row;
      add(hasRows, hasStick && !form.sparse && int(i) != op.pairInput, i % 2 == 1);
    }
    add(true, !form.sparse, false);
    testCase.spec.args.back().isInput = false;
    testCase.spec.args.back().deviceDtype = op.resultOf(format); // as wide as the others
    testCase.memory = randomMemory(testCase.spec, random);
    return std::move(testCase);
  }

private:
  void add(bool hasRows, bool hasStick, bool reversed) {
    const std::vector<spec::IterationDim> &space = testCase.spec.iterationSpace;
    TensorArg arg;
    arg.deviceDtype = format;
    arg.argIndex = int64_t(testCase.spec.args.size());
    arg.address = arg.argIndex << 34;
    size_t rows = space.size() - 1;
    for (size_t i = 0; i < rows; ++i) {
      const spec::IterationDim &dim = space[reversed && form.permuted ? rows - 1 - i : i];
      arg.deviceSize.push_back(hasRows ? dim.range : 1);
      arg.deviceCoordinates.push_back(hasRows ? Coordinate::var(dim.symbol)
                                              : Coordinate::constant(0));
    }
    // The tiles of the stick dimension are one step inside the outermost dimension, as planners
    // have them, or outermost.
    int64_t at = arg.deviceSize.size() > 1 && !reversed ? 1 : 0;
    const spec::IterationDim &stick = space.back();
    arg.deviceSize.insert(arg.deviceSize.begin() + at, hasStick ? ceilDiv(stick.range, lanes) : 1);
    arg.deviceCoordinates.insert(arg.deviceCoordinates.begin() + at,
                                 hasStick ? Coordinate::floorDiv(stick.symbol, lanes)
                                          : Coordinate::constant(0));
    arg.deviceSize.push_back(lanes);
    arg.deviceCoordinates.push_back(hasStick ? Coordinate::mod(stick.symbol, lanes)
                                             : Coordinate::constant(0));
    testCase.spec.args.push_back(std::move(arg));
  }

  const PointwiseOp &op;
  const Form &form;
  DataFormat format;
  int64_t lanes;
  RandomCase testCase;
};

struct Setting {
  const char *device;
  int64_t cores;
};

const PointwiseOp &opNamed(const std::string &name) {
  for (const PointwiseOp &op : pointwiseOps()) {
    if (name == op.name) {
      return op;
    }
  }
  SPYRE_CHECK(false, "tests name generated operations");
}

RandomCase caseOf(const char *op, const char *form, int64_t cores = 1,
                  DataFormat format = DataFormat::Sen169Fp16) {
  for (const Form &candidate : kForms) {
    if (std::string(candidate.name) == form) {
      Random random(77);
      return FormBuilder(opNamed(op), candidate, format, cores).build(random);
    }
  }
  SPYRE_CHECK(false, "tests name a form of the table");
}

spec::SuperDsc dscOf(const OpSpec &spec) {
  Expected<spec::SuperDsc> dsc = throughJson(spec, 0);
  SPYRE_CHECK(dsc.ok(), "forms can be emitted");
  return *dsc;
}

} // namespace

class PointwiseForms : public ::testing::TestWithParam<Setting> {};

// By default the formats take turns, so that each operation meets each of them in several forms;
// SPYRE_TEST_LONG=1 runs all.
TEST_P(PointwiseForms, CardEqualsEvaluatorBitForBit) {
  const auto [name, cores] = GetParam();
  arch::DeviceDesc device = presetDevice(name);
  device.cores = std::max(device.cores, cores);
  Card card(device);
  const bool all = std::getenv("SPYRE_TEST_LONG") != nullptr;
  uint64_t turn = uint64_t(cores);
  for (const PointwiseOp &op : pointwiseOps()) {
    const std::vector<DataFormat> formats = op.formats();
    for (const Form &form : kForms) {
      ++turn;
      for (size_t f = 0; f < (all ? formats.size() : 1); ++f) {
        Random random(turn);
        DataFormat format = formats[(turn + f) % formats.size()];
        RandomCase testCase = FormBuilder(op, form, format, cores).build(random);
        SCOPED_TRACE(fmt::format("{}\n{}", form.name, spec::writeOpSpecs({testCase.spec})));
        expectSame(testCase, card, device);
        if (HasFailure()) {
          return;
        }
      }
    }
  }
}

static std::vector<Setting> settings() {
  std::vector<Setting> all;
  for (const char *device : {"openspyre", "tiny"}) {
    for (int64_t cores : {1, 3, 7, 32}) {
      all.push_back({device, cores});
    }
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(Machines, PointwiseForms, ::testing::ValuesIn(settings()),
                         [](const ::testing::TestParamInfo<Setting> &info) {
                           return fmt::format("{}{}Cores", info.param.device, info.param.cores);
                         });

// The pair of layernormscale may have the symbol of the output's stick, of which it is one stick.
TEST(LayerNorm, ScaleTakesAPairWhoseStickSymbolIsSpelledOut) {
  arch::DeviceDesc device = presetDevice("openspyre");
  Card card(device);
  for (int64_t cores : {1, 4}) {
    RandomCase testCase = caseOf("layernormscale", "oneStick", cores);
    TensorArg &pair = testCase.spec.args[0];
    pair.deviceCoordinates[0] = Coordinate::floorDiv("c1", 64);
    pair.deviceCoordinates.back() = Coordinate::mod("c1", 64);
    spec::SuperDsc dsc = dscOf(testCase.spec);
    EXPECT_EQ(dsc.tensors[0].scale, (spec::DimMap<int64_t>{{"mb", 1}, {"out", -2}}));
    expectSame(testCase, card, device);
  }
}

TEST(LayerNorm, RefusesAPairThatIsNotOneStick) {
  spec::SuperDsc dsc = dscOf(caseOf("layernormnorm", "oneStick").spec);
  for (auto &[dim, scale] : dsc.tensors[1].scale) {
    scale = 1;
  }
  Expected<program::Program> program = lowerSuperDscs({dsc}, presetDevice("openspyre"));
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.status().code(), 5302);
  EXPECT_NE(program.status().message().find("one stick holds one pair"), std::string::npos)
      << program.status().message();
}

// exx2, layernormscale, layernormnorm as one program, against layer norm in double.
TEST(LayerNorm, TheThreeStepsNormaliseRows) {
  const std::vector<spec::IterationDim> space{{"c0", 12, 3}, {"c1", 100, 1}};
  const Shape full{{"c1", "c0"}, "c1"}, column{{"c0"}, ""}, row{{"c1"}, "c1"};
  OpSpec moments = opOf("exx2", space, {full, column});
  moments.isReduction = true;
  moments.constants = {{"exx2scale", 1.0 / 100}, {"useZeroMean", 0}};
  OpSpec scale = opOf("layernormscale", {{"c0", 12, 3}}, {column, column});
  scale.constants = {{"eps", 1e-5}};
  OpSpec norm = opOf("layernormnorm", space, {full, column, column, row, row, full});
  // x, pair, scale, weight, bias, result
  auto place = [](TensorArg &arg, int64_t argument) {
    arg.argIndex = argument;
    arg.address = argument << 34;
  };
  place(scale.args[0], 1);
  place(scale.args[1], 2);
  Random random(4);
  evaluator::Memory expected = randomMemory(norm, random);
  for (uint64_t e = 0; e < expected.arguments[0].size() / 2; ++e) {
    const uint16_t bits = numerics::floatToDl16(random.uniform(-1, 3));
    std::memcpy(expected.arguments[0].data() + 2 * e, &bits, 2);
  }
  evaluator::Memory actual = expected;
  const std::vector<OpSpec> specs{moments, scale, norm};
  const Status evaluated = evaluator::evaluate(specs, expected);
  ASSERT_TRUE(evaluated.ok()) << evaluated.message();
  arch::DeviceDesc device = presetDevice("tiny");
  Expected<program::Program> program = lowerAll(specs, device);
  ASSERT_TRUE(program.ok()) << program.status().message();
  const Status ran = Card(device).run(*program, actual);
  ASSERT_TRUE(ran.ok()) << ran.text();
  EXPECT_EQ(actual.arguments, expected.arguments);

  auto element = [&](size_t argument, int64_t index) {
    uint16_t bits = 0;
    std::memcpy(&bits, actual.arguments[argument].data() + 2 * index, 2);
    return double(numerics::dl16ToFloat(bits));
  };
  for (int64_t r = 0; r < 12; ++r) {
    auto at = [&](int64_t c) { return (c / 64 * 12 + r) * 64 + c % 64; };
    double mean = 0, squares = 0;
    for (int64_t c = 0; c < 100; ++c) {
      mean += element(0, at(c)) / 100;
      squares += element(0, at(c)) * element(0, at(c)) / 100;
    }
    for (int64_t c = 0; c < 100; ++c) {
      const double weight = element(3, c), bias = element(4, c);
      const double scale = 1 / std::sqrt(squares - mean * mean + 1e-5);
      const double want = (element(0, at(c)) - mean) * scale * weight + bias;
      // Mean, mean of squares, scale and result are rounded; the variance is a difference of them.
      const double magnitude = (std::fabs(element(0, at(c))) + std::fabs(mean)) * scale *
                                   (1 + squares * scale * scale) * std::fabs(weight) +
                               std::fabs(bias);
      if (std::fabs(weight) < 10 && std::fabs(bias) < 10) { // not the special values
        EXPECT_NEAR(element(5, at(c)), want,
                    spyre::testing::tolerance("chain", "float16", 4) * magnitude)
            << r << " " << c;
      }
    }
  }
}

static const Instruction &onlyVector(const program::Program &program) {
  for (const Instruction &instruction : program.phases[0].instructions) {
    if (instruction.opcode == Opcode::Vector) {
      return instruction;
    }
  }
  SPYRE_CHECK(false, "an element-wise operation has a Vector");
}

TEST(PointwiseConstants, BecomeFp32OperandsInTheOrderOfTheFunction) {
  for (DataFormat format : {DataFormat::Sen169Fp16, DataFormat::IeeeFp32}) {
    OpSpec spec = caseOf("clip", "aligned", 1, format).spec;
    // Not the order of the function; both are exact in DLFloat16.
    spec.constants = {{"clipMax", 2.5}, {"clipMin", -0.75}};
    Expected<program::Program> program = lowerAll({spec}, presetDevice("openspyre"));
    ASSERT_TRUE(program.ok()) << program.status().message();
    const Instruction &vector = onlyVector(*program);
    ASSERT_EQ(vector.operands.size(), 4);
    EXPECT_EQ(vector.operands[1].kind, Operand::Kind::Constant);
    EXPECT_EQ(vector.operands[1].offset, 0xBF400000);
    EXPECT_EQ(vector.operands[2].offset, 0x40200000);
    EXPECT_EQ(vector.operands[3].kind, Operand::Kind::Memory);
  }
}

TEST(PointwiseConstants, WrongOnesAreRefusedByName) {
  const spec::SuperDsc good = dscOf(caseOf("softplus", "aligned").spec);
  auto expectRefused = [](const spec::SuperDsc &dsc, const std::string &part) {
    Expected<program::Program> program = lowerSuperDscs({dsc}, presetDevice("openspyre"));
    ASSERT_FALSE(program.ok()) << part;
    EXPECT_EQ(program.status().code(), 5302);
    EXPECT_NE(program.status().message().find(part), std::string::npos)
        << program.status().message();
  };
  ASSERT_TRUE(lowerSuperDscs({good}, presetDevice("openspyre")).ok());
  spec::SuperDsc dsc = good;
  dsc.constants.pop_back();
  expectRefused(dsc, "'softplusThresh' is missing");
  dsc = good;
  dsc.constants.push_back({"eps", DataFormat::Sen169Fp16, 0});
  expectRefused(dsc, "no constant 'eps'");
  dsc = good;
  dsc.constants.push_back(dsc.constants[0]);
  expectRefused(dsc, "'softplusBeta' appears twice");
  dsc = good;
  dsc.constants[1].bits = 0x10000;
  expectRefused(dsc, "'softplusThresh' has the bits 0x10000");
  dsc = dscOf(caseOf("add", "aligned").spec);
  dsc.constants.push_back({"alpha", DataFormat::Sen169Fp16, 0});
  expectRefused(dsc, "no constant 'alpha'");
}

TEST(PointwiseFormats, IntegersOnlyWhereTheUnitHasThem) {
  OpSpec spec = caseOf("exp", "aligned", 1, DataFormat::IeeeInt32).spec;
  Expected<program::Program> program = lowerAll({spec}, presetDevice("openspyre"));
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.status().code(), 5302);
  EXPECT_NE(program.status().message().find("IEEE_INT32"), std::string::npos);
}

} // namespace spyre::backend::test
