//===- HostCallsTest.cpp - calls the caller runs itself, through the compiler interface -----===//
#include "spyre/Base/Random.h"
#include "spyre/CAPI/Compiler.h"
#include "spyre/Spec/Model.h"

#include "gtest/gtest.h"

#include <cstdlib>

using namespace spyre;

namespace {

const capi::TensorType kHalf{numerics::HostType::Float16, {4, 64}, {64, 1}};
const capi::TensorType kDouble{numerics::HostType::Float16, {4, 64}, {64, 1}, "f64"};
const capi::TensorType kIndices{numerics::HostType::Int64, {4, 64}, {64, 1}};

capi::CompileOptions openSpyre(const std::string &phase = "code") {
  capi::CompileOptions options;
  options.device = *arch::DeviceDesc::preset("openspyre");
  options.compileTo = phase;
  return options;
}

/// exp, through float64 and a sort, then exp of the values; the indices are a result, too.
std::string sortGraph() {
  capi::GraphBuilder builder;
  auto x =
      builder.addInput("x", kHalf, 0, *layout::DeviceLayout::makeDefault({4, 64}, kHalf.dtype));
  auto exp = builder.addCall("aten.exp.default", {x}, {}, kHalf, "model.py:1", 0);
  auto wide = builder.addCall("aten._to_copy.default", {exp}, {{"dtype", "float64"}}, kDouble,
                              "model.py:2", 1);
  auto values = builder.addCall("aten.sort.default", {wide}, {{"result", int64_t(0)}}, kDouble,
                                "model.py:3", 2);
  auto indices = builder.addCall("aten.sort.default", {wide}, {{"result", int64_t(1)}}, kIndices,
                                 "model.py:3", 2);
  auto narrow = builder.addCall("aten._to_copy.default", {values}, {{"dtype", "float16"}}, kHalf,
                                "model.py:4", 3);
  builder.addOutput(builder.addCall("aten.exp.default", {narrow}, {}, kHalf, "model.py:5", 4),
                    kHalf);
  builder.addOutput(indices, kIndices);
  return *builder.text();
}

} // namespace

TEST(HostCalls, KeepTheirLineUnderAHint) {
  capi::GraphBuilder builder;
  auto x = builder.addInput("x|m:4,n:64", kHalf, 0,
                            *layout::DeviceLayout::makeDefault({4, 64}, kHalf.dtype));
  auto wide = builder.addCall("aten._to_copy.default", {x}, {{"dtype", "float64"}}, kDouble,
                              "model.py:7|work_div=m:1@0", 0);
  builder.addOutput(builder.addCall("aten._to_copy.default", {wide}, {{"dtype", "float16"}}, kHalf,
                                    "model.py:8", 1),
                    kHalf);
  auto result = capi::compileGraph(*builder.text(), openSpyre());
  ASSERT_TRUE(result.ok()) << result.status().message();
  const auto steps = spec::cpuSteps(*spec::readModel(result->artifacts.at("model.json")));
  ASSERT_FALSE(steps.empty());
  EXPECT_EQ(steps[0].location, "model.py:7");
}

TEST(HostCalls, AreStepsOfTheModel) {
  auto result = capi::compileGraph(sortGraph(), openSpyre());
  ASSERT_TRUE(result.ok()) << result.status().message();
  Expected<spec::Model> model = spec::readModel(result->artifacts.at("model.json"));
  ASSERT_TRUE(model.ok()) << model.status().message();
  const std::vector<spec::CpuStep> steps = spec::cpuSteps(*model);
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[0].gate, 3);
  EXPECT_EQ(steps[1].callee, "aten.sort.default");
  EXPECT_EQ(steps[1].node, 2);
  EXPECT_EQ(steps[1].results, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(steps[1].outputs[1], "out1");
  EXPECT_EQ(steps[1].location, "model.py:3");
  EXPECT_EQ(capi::gateName(steps[1].gate), "compatibility");
  // float64 never lies on the device; what goes there and back has memory of its own.
  EXPECT_EQ(model->hostValues.size(), 2u);
  EXPECT_EQ(model->buffers.size(), 2u);
  EXPECT_EQ(model->poolBytes, 0);
}

TEST(HostCalls, EveryPhaseContinuesToTheSameBytes) {
  const Artifacts whole = capi::compileGraph(sortGraph(), openSpyre())->artifacts;
  for (const char *phase : {"graph", "loop", "layout", "division"}) {
    const std::string text =
        capi::compileGraph(sortGraph(), openSpyre(phase))->artifacts.begin()->second;
    auto resumed = capi::compileFromPhase(phase, text, openSpyre());
    ASSERT_TRUE(resumed.ok()) << phase << ": " << resumed.status().message();
    EXPECT_EQ(resumed->artifacts, whole) << phase;
  }
}

TEST(HostCalls, DamagedTextGivesErrorsNotCrashes) {
  const char *phases[] = {"graph", "loop", "layout", "division"};
  const uint64_t cases = std::getenv("SPYRE_TEST_LONG") ? 20000 : 400;
  uint64_t refused = 0;
  for (uint64_t seed = 0; seed < cases; ++seed) {
    const char *phase = phases[seed % 4];
    std::string text = capi::compileGraph(sortGraph(), openSpyre(phase))->artifacts.begin()->second;
    Random random(seed);
    for (uint64_t n = random.between(1, 3); n > 0; --n) {
      const size_t at = random.below(text.size());
      switch (random.below(4)) {
      case 0:
        text[at] = char(random.between(32, 126));
        break;
      case 1:
        text.erase(at, random.between(1, 20));
        break;
      case 2: { // exchange two lines
        const size_t begin = text.rfind('\n', at) + 1, end = text.find('\n', at);
        if (end != std::string::npos) {
          const std::string line = text.substr(begin, end + 1 - begin);
          text.erase(begin, line.size());
          const size_t to = text.find('\n', random.below(text.size()));
          text.insert(to == std::string::npos ? 0 : to + 1, line);
        }
        break;
      }
      default:
        text.insert(at, std::to_string(random.below(100)));
      }
    }
    auto result = capi::compileFromPhase(phase, text, openSpyre());
    refused += result.ok() ? 0 : 1;
    if (!result.ok()) {
      EXPECT_GE(result.status().code(), 1000) << text;
    }
  }
  EXPECT_GT(refused, cases / 4);
  EXPECT_LT(refused, cases);
}

namespace {

/// exp of the sums of rows: a core reads one row whole, which is 32 sticks.
std::string rowsGraph(int64_t node) {
  const capi::TensorType rows{numerics::HostType::Float16, {64, 2048}, {2048, 1}};
  const capi::TensorType sums{numerics::HostType::Float16, {64}, {1}};
  capi::GraphBuilder builder;
  auto x =
      builder.addInput("x", rows, 0, *layout::DeviceLayout::makeDefault(rows.size, rows.dtype));
  auto sum = builder.addCall("aten.sum.dim_IntList", {x},
                             {{"dim", std::vector<int64_t>{1}}, {"keepdim", false}}, sums,
                             "model.py:7", node);
  builder.addOutput(
      builder.addCall("aten.exp.default", {sum}, {}, sums, "model.py:8", node < 0 ? -1 : node + 1),
      sums);
  return *builder.text();
}

} // namespace

TEST(HostCalls, WhatCannotBeDividedGoesBackToTheCaller) {
  capi::CompileOptions options = openSpyre();
  options.device.spanLimitBytes = 2 * options.device.stickBytes;
  options.cores = 1;
  auto result = capi::compileGraph(rowsGraph(5), options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  const std::vector<spec::CpuStep> steps =
      spec::cpuSteps(*spec::readModel(result->artifacts.at("model.json")));
  ASSERT_EQ(steps.size(), 1u) << "only the sum leaves the device, not " << steps.back().callee;
  EXPECT_EQ(steps[0].callee, "aten.sum.dim_IntList");
  EXPECT_EQ(steps[0].node, 5);
  EXPECT_EQ(steps[0].location, "model.py:7");
  EXPECT_NE(steps[0].reason.find("SPYRE-E3065"), std::string::npos) << steps[0].reason;

  auto again = capi::compileGraph(rowsGraph(5), options);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->artifacts, result->artifacts);
}

TEST(HostCalls, ErrorsStayWhereNobodyRunsTheCallOrThePlannerIsADocumentedOne) {
  capi::CompileOptions options = openSpyre();
  options.device.spanLimitBytes = 2 * options.device.stickBytes;
  options.cores = 1;
  EXPECT_EQ(capi::compileGraph(rowsGraph(-1), options).status().code(), 3065);
  options.planner = "compat";
  EXPECT_EQ(capi::compileGraph(rowsGraph(5), options).status().code(), 3062);
}
