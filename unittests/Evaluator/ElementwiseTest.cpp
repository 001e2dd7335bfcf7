//===- ElementwiseTest.cpp - every element-wise rule on values computed by hand -------------===//
//
// Expected values come from the definitions in double, not from the functions under the rules, so
// that a rule with the wrong function or the wrong order of operands fails.
//===--------------------------------------------------------------------------------------------===//
#include "Machine.h"
#include "Support/Tolerance.h"

#include <bit>
#include <cmath>
#include <functional>

using namespace spyre;
using namespace spyre::evaluator::test;
using evaluator::evaluate;

namespace {

using Constants = std::vector<std::pair<std::string, double>>;

struct Row {
  const char *op;
  size_t inputs;
  std::function<double(const double *)> expected;
  Constants constants = {};
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::log1p(std::exp(x)); }

const Row kRows[] = {
    {"abs", 1, [](const double *v) { return std::fabs(v[0]); }},
    {"neg", 1, [](const double *v) { return -v[0]; }},
    {"floor", 1, [](const double *v) { return std::floor(v[0]); }},
    {"sqrt", 1, [](const double *v) { return std::sqrt(v[0]); }},
    {"rsqrt", 1, [](const double *v) { return 1 / std::sqrt(v[0]); }},
    {"exp", 1, [](const double *v) { return std::exp(v[0]); }},
    {"fastexp", 1, [](const double *v) { return std::exp(v[0]); }},
    {"log", 1, [](const double *v) { return std::log(v[0]); }},
    {"reciprocal", 1, [](const double *v) { return 1 / v[0]; }},
    {"sigmoid", 1, [](const double *v) { return sigmoid(v[0]); }},
    {"fastsigmoid", 1, [](const double *v) { return sigmoid(v[0]); }},
    {"tanh", 1, [](const double *v) { return std::tanh(v[0]); }},
    {"relufwd", 1, [](const double *v) { return v[0] > 0 ? v[0] : 0; }},
    {"relu6fwd", 1, [](const double *v) { return std::fmin(v[0] > 0 ? v[0] : 0, 6); }},
    {"leakyrelufwd",
     1,
     [](const double *v) { return v[0] > 0 ? v[0] : v[0] * 0.125; },
     {{"leakyReluAlpha", 0.125}}},
    {"gelufwd", 1,
     [](const double *v) { return v[0] * (1 + std::erf(v[0] / std::sqrt(2.0))) / 2; }},
    {"silu", 1, [](const double *v) { return v[0] * sigmoid(v[0]); }},
    {"mish", 1, [](const double *v) { return v[0] * std::tanh(softplus(v[0])); }},
    {"softplus",
     1,
     [](const double *v) { return v[0] * 2 > 3 ? v[0] : softplus(v[0] * 2) / 2; },
     {{"softplusThresh", 3}, {"softplusBeta", 2}}},
    {"clip",
     1,
     [](const double *v) { return std::fmin(std::fmax(v[0], -0.5), 1.5); },
     {{"clipMin", -0.5}, {"clipMax", 1.5}}},
    {"add", 2, [](const double *v) { return v[0] + v[1]; }},
    {"biasadd", 2, [](const double *v) { return v[0] + v[1]; }},
    {"sub", 2, [](const double *v) { return v[0] - v[1]; }},
    {"revsub", 2, [](const double *v) { return v[1] - v[0]; }},
    {"mul", 2, [](const double *v) { return v[0] * v[1]; }},
    {"realdiv", 2, [](const double *v) { return v[0] / v[1]; }},
    {"maximum", 2, [](const double *v) { return std::fmax(v[0], v[1]); }},
    {"minimum", 2, [](const double *v) { return std::fmin(v[0], v[1]); }},
    {"equal", 2, [](const double *v) { return double(v[0] == v[1]); }},
    {"notequal", 2, [](const double *v) { return double(v[0] != v[1]); }},
    {"greaterequal", 2, [](const double *v) { return double(v[0] >= v[1]); }},
    {"greaterthan", 2, [](const double *v) { return double(v[0] > v[1]); }},
    {"lesserequal", 2, [](const double *v) { return double(v[0] <= v[1]); }},
    {"lesserthan", 2, [](const double *v) { return double(v[0] < v[1]); }},
    {"where3", 3, [](const double *v) { return v[0] != 0 ? v[1] : v[2]; }},
};

/// One stick of 32 fp32 lanes per operand.
Machine oneStick(const char *op, size_t inputs, DataFormat format = DataFormat::IeeeFp32) {
  const std::vector<Coordinate> c = {fixed(), Coordinate::mod("c0", 32)};
  return Machine(op, {{"c0", 32, 1}},
                 std::vector<TensorArg>(inputs + 1, tensor({1, 32}, c, format)));
}

void setInteger(Machine &m, size_t argument, int64_t element, int32_t value) {
  std::memcpy(m.memory.arguments[argument].data() + element * 4, &value, 4);
}
int32_t integerResult(const Machine &m, int64_t element) {
  int32_t value = 0;
  std::memcpy(&value, m.memory.arguments.back().data() + element * 4, 4);
  return value;
}

void expectNoRule(const OpSpec &spec, evaluator::Memory memory, const std::string &part) {
  const Status status = evaluate({spec}, memory);
  ASSERT_FALSE(status.ok()) << part;
  EXPECT_EQ(status.code(), 1401);
  EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
}

} // namespace

TEST(Elementwise, RulesFollowTheDefinitions) {
  const double relative = spyre::testing::tolerance("pointwise", "float32");
  const float kValues[] = {-3.25f, -1.0f, -0.5f, 0.0f, 0.25f, 1.0f, 1.75f, 7.5f};
  for (const Row &row : kRows) {
    Machine m = oneStick(row.op, row.inputs);
    m.spec.constants = row.constants;
    for (size_t i = 0; i < row.inputs; ++i) {
      for (int64_t e = 0; e < 32; ++e) {
        m.set(i, e, kValues[size_t(e * (2 * int64_t(i) + 1) + e / 8) % 8]);
      }
    }
    m.run();
    for (int64_t e = 0; e < 32; ++e) {
      double inputs[3] = {};
      for (size_t i = 0; i < row.inputs; ++i) {
        inputs[i] = m.get(i, e);
      }
      const double expected = row.expected(inputs), got = m.result(e);
      if (std::isfinite(expected)) {
        EXPECT_NEAR(got, expected, relative * std::fabs(expected)) << row.op << " of " << inputs[0];
      } else {
        EXPECT_EQ(std::isnan(got), std::isnan(expected)) << row.op << " of " << inputs[0];
        EXPECT_FALSE(std::isfinite(got)) << row.op << " of " << inputs[0];
      }
    }
  }
}

// exx2 leaves the mean in lane 0 and the mean of squares in lane 1.
TEST(Elementwise, LayerNormTakesThePairFromLanesZeroAndOne) {
  const TensorArg sparse = tensor({1, 2, 64}, {fixed(), sym("c0"), fixed()});
  Machine scale("layernormscale", {{"c0", 2, 1}}, {sparse, sparse});
  scale.spec.constants = {{"eps", 0.75}};
  scale.set(0, 0, 2);     // mean
  scale.set(0, 1, 7.25f); // 7.25 - 4 + 0.75 = 4
  scale.set(0, 64, -1);
  scale.set(0, 65, 16.25f); // 16.25 - 1 + 0.75 = 16
  scale.run();
  for (int64_t l = 0; l < 64; ++l) {
    EXPECT_EQ(scale.result(l), 0.5f);
    EXPECT_EQ(scale.result(64 + l), 0.25f);
  }

  const TensorArg row = tensor({1, 1, 64}, {fixed(), tile("c1"), lane("c1")});
  Machine norm("layernormnorm", {{"c0", 2, 1}, {"c1", 64, 1}},
               {matrix(2, 64), sparse, sparse, row, row, matrix(2, 64)});
  norm.set(1, 0, 2);
  norm.set(1, 1, 99);
  norm.set(2, 0, 0.5f);
  norm.set(2, 1, 99);
  norm.set(0, 7, 6);
  norm.set(3, 7, 3);
  norm.set(4, 7, -1);
  norm.run();
  EXPECT_EQ(norm.result(7), (6 - 2) * 0.5f * 3 - 1);
}

// The same with the stick symbol of the output in the pair's coordinates.
TEST(Elementwise, LayerNormScaleReducesTheStickOfItsPair) {
  Machine m("layernormscale", {{"c0", 2, 1}, {"c1", 64, 1}}, {matrix(2, 64), matrix(2, 64)});
  m.spec.constants = {{"eps", 0}};
  m.set(0, 64, 0);
  m.set(0, 65, 4);
  for (int64_t l = 2; l < 64; ++l) {
    m.set(0, 64 + l, 9);
  }
  m.run();
  for (int64_t l = 0; l < 64; ++l) {
    EXPECT_EQ(m.result(64 + l), 0.5f);
  }
}

TEST(Elementwise, ConstantsAreRoundedToTheFormatOfTheOperation) {
  const std::vector<Coordinate> half = {fixed(), lane("c0")};
  Machine m("clip", {{"c0", 64, 1}}, {tensor({1, 64}, half), tensor({1, 64}, half)});
  m.spec.constants = {{"clipMin", -1.0}, {"clipMax", 1.0 + 0x1p-10 - 0x1p-20}};
  m.set(0, 0, 2);
  m.run();
  EXPECT_EQ(m.result(0), 1); // 1 + 2^-10 would have been rounded up
  m.spec.constants[1].second = 1.0 + 0x1p-10;
  m.run();
  EXPECT_EQ(m.result(0), 1 + 0x1p-9f);
}

TEST(Elementwise, IntegersWrapAndCompareToOneOrZero) {
  const int32_t low = INT32_MIN;
  const struct {
    const char *op;
    std::vector<int32_t> inputs;
    int32_t expected;
  } rows[] = {{"abs", {low}, low},
              {"abs", {-5}, 5},
              {"neg", {low}, low},
              {"add", {INT32_MAX, 2}, low + 1},
              {"biasadd", {3, -5}, -2},
              {"sub", {low, 1}, INT32_MAX},
              {"revsub", {1, low}, INT32_MAX},
              {"mul", {0x10001, 0x10001}, 0x20001},
              {"maximum", {-3, 16777217}, 16777217},
              {"minimum", {-3, 16777217}, -3},
              {"equal", {16777216, 16777217}, 0},
              {"notequal", {16777216, 16777217}, 1},
              {"greaterequal", {5, 5}, 1},
              {"greaterthan", {16777217, 16777216}, 1},
              {"lesserequal", {-5, -6}, 0},
              {"lesserthan", {low, INT32_MAX}, 1},
              {"where3", {-1, 10, 20}, 10},
              {"where3", {0, 10, 20}, 20},
              {"x_bitand", {12, 10}, 8},
              {"x_bitand", {-1, low}, low},
              {"x_bitor", {12, 10}, 14},
              {"x_bitxor", {12, -1}, -13},
              {"x_shiftleft", {3, 30}, -1073741824},
              {"x_shiftleft", {3, 32}, 0},
              {"x_shiftleft", {3, -1}, 0},
              {"x_shiftright", {-5, 1}, -3},
              {"x_shiftright", {-5, 40}, -1},
              {"x_shiftright", {5, -2}, 0},
              {"x_floordiv", {-7, 2}, -4},
              {"x_floordiv", {7, -2}, -4},
              {"x_floordiv", {7, 0}, 0},
              {"x_floordiv", {low, -1}, low},
              {"x_truncdiv", {-7, 2}, -3},
              {"x_truncdiv", {low, -1}, low},
              {"x_truncdiv", {-7, 0}, 0},
              {"x_floormod", {-7, 2}, 1},
              {"x_floormod", {7, -2}, -1},
              {"x_floormod", {6, -2}, 0},
              {"x_floormod", {7, 0}, 7},
              {"x_truncmod", {-7, 2}, -1},
              {"x_truncmod", {7, -2}, 1},
              {"x_truncmod", {-7, 0}, -7}};
  for (const auto &row : rows) {
    Machine m = oneStick(row.op, row.inputs.size(), DataFormat::IeeeInt32);
    for (size_t i = 0; i < row.inputs.size(); ++i) {
      setInteger(m, i, 3, row.inputs[i]);
    }
    m.run();
    EXPECT_EQ(integerResult(m, 3), row.expected) << row.op;
  }
}

TEST(Elementwise, IntegersAndFloatsAreReadAsEachOther) {
  Machine from = oneStick("x_int32tofp32", 1, DataFormat::IeeeInt32);
  from.spec.args.back().deviceDtype = DataFormat::IeeeFp32;
  setInteger(from, 0, 3, 16777219); // between two floats: to the even one
  from.run();
  EXPECT_EQ(integerResult(from, 3), std::bit_cast<int32_t>(16777220.0f));
  const std::pair<float, int32_t> cuts[] = {{-1.75f, -1},
                                            {1.75f, 1},
                                            {3e9f, INT32_MAX},
                                            {-3e9f, INT32_MIN},
                                            {-2147483648.0f, INT32_MIN},
                                            {NAN, 0},
                                            {INFINITY, INT32_MAX}};
  for (const auto &[value, expected] : cuts) {
    Machine to = oneStick("x_fp32toint32", 1, DataFormat::IeeeFp32);
    to.spec.args.back().deviceDtype = DataFormat::IeeeInt32;
    setInteger(to, 0, 3, std::bit_cast<int32_t>(value));
    to.run();
    EXPECT_EQ(integerResult(to, 3), expected) << value;
  }
}

TEST(Elementwise, RefusesWhatHasNoRule) {
  Machine m = oneStick("clip", 1);
  expectNoRule(m.spec, m.memory, "0 constants 'clipMin'");
  m.spec.constants = {{"clipMin", 0}, {"clipMax", 1}, {"clipMax", 2}};
  expectNoRule(m.spec, m.memory, "2 constants 'clipMax'");
  m.spec.constants = {{"clipMin", 0}, {"clipMax", 1}, {"eps", 2}};
  expectNoRule(m.spec, m.memory, "a constant 'eps'");
  Machine integers = oneStick("exp", 1, DataFormat::IeeeInt32);
  expectNoRule(integers.spec, integers.memory, "on IEEE_INT32");
  Machine mixed = oneStick("add", 2);
  mixed.spec.args[1].deviceDtype = DataFormat::IeeeInt32;
  expectNoRule(mixed.spec, mixed.memory, "on IEEE_INT32");
  Machine pair("layernormnorm", {{"c0", 2, 1}, {"c1", 64, 1}},
               std::vector<TensorArg>(6, matrix(2, 64)));
  expectNoRule(pair.spec, pair.memory, "a pair per stick");
}
