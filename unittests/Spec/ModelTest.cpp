//===- ModelTest.cpp - model.json -----------------------------------------------------------===//
#include "SpecExamples.h"
#include "SpecTestUtils.h"

#include <cmath>
#include <functional>
#include <limits>

using namespace spyre;
using namespace spyre::spec;
using namespace spyre::spec::test;

namespace {

Status failureAfter(const std::string &from, const std::string &to) {
  std::string text = writeModel(exampleModel());
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << "\n" << text;
  return readModel(text.replace(at, from.size(), to)).status();
}

} // namespace

TEST(Model, RoundTripsThroughTheGoldenFile) {
  const Model model = exampleModel();
  EXPECT_TRUE(verifyModel(model).ok()) << verifyModel(model).message();
  const std::string text = writeModel(model);
  expectGolden("model/model.json", text);
  EXPECT_EQ(valueOf(readModel(text)), model);
}

// JSON has no infinities, masks do.
TEST(Model, ConstantsMayBeInfinite) {
  Model model = exampleModel();
  for (double value : {-std::numeric_limits<double>::infinity(),
                       std::numeric_limits<double>::infinity(), -0.0, 1e-300, 1.0 / 3.0}) {
    model.constants[0].value = value;
    const Model read = valueOf(readModel(writeModel(model)));
    EXPECT_EQ(read, model);
    EXPECT_EQ(std::signbit(read.constants[0].value), std::signbit(value));
  }
  model.constants[0].value = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(valueOf(readModel(writeModel(model))).constants[0].value));
}

TEST(Model, ReaderIsStrict) {
  EXPECT_ERROR(readModel("").status(), 6001, "");
  EXPECT_ERROR(readModel("[]").status(), 6001, "$");
  EXPECT_ERROR(failureAfter("\"version\": 1", "\"version\": 2"), 6001, "version");
  EXPECT_ERROR(failureAfter("\"pool_bytes\"", "\"pool_byte\""), 6001, "pool_byte");
  EXPECT_ERROR(failureAfter("\"float16\"", "\"half\""), 6001, "$.inputs[0]");
  EXPECT_ERROR(failureAfter("\"standard\"", "\"other\""), 6001, "$.inputs[0].layout.arrangement");
  EXPECT_ERROR(failureAfter("SEN169_FP16", "FP16"), 6001, "$.inputs[0].layout.format");
  EXPECT_ERROR(failureAfter("\"kind\": \"bundle\"", "\"kind\": \"gpu\""), 6001, "$.steps[0].kind");
  EXPECT_ERROR(failureAfter("\"value\": 0.5", "\"value\": \"half\""), 6001, "$.constants[0].value");
  EXPECT_ERROR(failureAfter("\"value\": 0.5", "\"values\": 0.5"), 6001, "values");
}

TEST(Model, VerifierChecksEveryRule) {
  struct Case {
    const char *text;
    std::function<void(Model &)> change;
  };
  const std::vector<Case> cases = {
      {"version must be 1", [](Model &m) { m.version = 2; }},
      {"the device named", [](Model &m) { m.deviceHash = ""; }},
      {"pool_bytes 64", [](Model &m) { m.poolBytes = 64; }},
      {"is not a multiple", [](Model &m) { m.poolBytes = int64_t(1) << 48; }},
      {"used twice", [](Model &m) { m.outputs[0].name = m.inputs[0].name; }},
      {"used twice", [](Model &m) { m.constants[0].tensor.name = ""; }},
      {"equally many", [](Model &m) { m.inputs[0].stride.pop_back(); }},
      {"must be in 0..", [](Model &m) { m.inputs[0].size[0] = -1; }},
      {"must be in 0..", [](Model &m) { m.inputs[0].offset = -1; }},
      {"must be in 0..", [](Model &m) { m.inputs[0].size = {int64_t(1) << 40, int64_t(1) << 40}; }},
      {"tensor 'arg0'", [](Model &m) { m.inputs[0].layout.deviceSize.back() = 32; }},
      {"does not hold float32", [](Model &m) { m.inputs[0].dtype = numerics::HostType::Float32; }},
      {"plain directory name",
       [](Model &m) { std::get<BundleStep>(m.steps[0]).directory = "../x"; }},
      {"pool_bytes is 0", [](Model &m) { m.poolBytes = 0; }},
      {"at most 16384",
       [](Model &m) { std::get<BundleStep>(m.steps[0]).arguments.assign(16385, "arg0"); }},
      {"no buffer 'nobody'",
       [](Model &m) { std::get<BundleStep>(m.steps[0]).arguments[0] = "nobody"; }},
  };
  for (const Case &c : cases) {
    Model model = exampleModel();
    c.change(model);
    EXPECT_ERROR(verifyModel(model), 6002, c.text);
  }
}

// A sort between two kernels, and a value that never sees the device.
TEST(Model, CpuStepsRoundTripThroughTheGoldenFile) {
  const Model model = modelWithCpuSteps();
  EXPECT_TRUE(verifyModel(model).ok()) << verifyModel(model).message();
  const std::string text = writeModel(model);
  expectGolden("model/cpu-steps.json", text);
  EXPECT_EQ(valueOf(readModel(text)), model);
  EXPECT_EQ(describeSteps(model), "  0 allocate t0\n"
                                  "  1 launch bundle_0(arg0, half, t0) with pool\n"
                                  "  2 cpu h0 = aten.double.default(t0) node 3, gate 3: f64\n"
                                  "  3 free t0\n"
                                  "  4 cpu out0, t1 = aten.sort.default(h0) node 7, gate 1: not in "
                                  "the op table [model.py:12]\n");
}

TEST(Model, ThoseWhoCannotRunCpuStepsNameThem) {
  EXPECT_TRUE(refuseCpuSteps(exampleModel()).ok());
  EXPECT_ERROR(refuseCpuSteps(modelWithCpuSteps()), 6206,
               "aten.double.default (1x), aten.sort.default (1x)");
}

TEST(Model, ReaderOfCpuStepsIsStrict) {
  auto failure = [](const std::string &from, const std::string &to) {
    std::string text = writeModel(modelWithCpuSteps());
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from << "\n" << text;
    return readModel(text.replace(at, from.size(), to)).status();
  };
  EXPECT_ERROR(failure("\"gate\": 3", "\"gate\": 6"), 6001, "$.steps[2].gate");
  EXPECT_ERROR(failure("\"node\": 3", "\"node\": -1"), 6001, "$.steps[2].node");
  EXPECT_ERROR(failure("\"reason\": \"f64\"", "\"because\": \"f64\""), 6001, "because");
  EXPECT_ERROR(failure("\"buffer\": \"t0\"", "\"name\": \"t0\""), 6001, "name");
  EXPECT_ERROR(failure("\"dtype\": \"f64\"", "\"type\": \"f64\""), 6001, "type");
}

TEST(Model, VerifierKnowsWhatExistsAtEachStep) {
  struct Case {
    const char *text;
    std::function<void(Model &)> change;
  };
  auto cpu = [](Model &m, size_t i) -> CpuStep & { return std::get<CpuStep>(m.steps[i]); };
  const std::vector<Case> cases = {
      {"used before it is there", [](Model &m) { m.steps.erase(m.steps.begin()); }},
      {"used before it is there", [](Model &m) { std::swap(m.steps[2], m.steps[3]); }},
      {"used before it is there", [](Model &m) { std::swap(m.steps[2], m.steps[4]); }},
      {"never freed", [](Model &m) { m.steps.erase(m.steps.begin() + 3); }},
      {"has memory already", [](Model &m) { m.steps[1] = m.steps[0]; }},
      {"has no memory", [](Model &m) { m.steps[4] = m.steps[3]; }},
      {"no buffer of the model", [](Model &m) { m.steps[0] = AllocateStep{"arg0"}; }},
      {"only CPU steps can use it",
       [](Model &m) { m.steps.push_back(BundleStep{"bundle_1", false, {"h0"}}); }},
      {"no buffer 'nobody'", [&](Model &m) { cpu(m, 2).inputs = {"nobody"}; }},
      {"one output per", [&](Model &m) { cpu(m, 4).results = {0}; }},
      {"one output per", [&](Model &m) { cpu(m, 4).callee = ""; }},
      {"gate 0", [&](Model &m) { cpu(m, 4).gate = 0; }},
      {"used twice", [](Model &m) { m.hostValues[0].name = "t0"; }},
      {"used twice", [](Model &m) { m.buffers[0].name = "arg0"; }},
  };
  for (const Case &c : cases) {
    Model model = modelWithCpuSteps();
    c.change(model);
    EXPECT_ERROR(verifyModel(model), 6002, c.text);
  }
}

TEST(Model, RefusesAbsurdTextBeforeItIsParsed) {
  EXPECT_ERROR(readModel(std::string((16 << 20) + 1, '[')).status(), 6001, "the limit is");
}
