//===- LxBundlesTest.cpp - where bundles end, and what lies in LX then ------------------------===//
#include "spyre/Spec/LoopSpec.h"
#include "spyre/Spec/Model.h"

#include "LxPrograms.h"
#include "gtest/gtest.h"

namespace spyre::testing {
namespace {

arch::DeviceDesc machine() { return *arch::DeviceDesc::preset("openspyre"); }

spec::Model modelOf(const Artifacts &artifacts) {
  return *spec::readModel(artifacts.at("model.json"));
}

/// "bundle" or "cpu", in order.
std::vector<std::string> stepsOf(const Artifacts &artifacts) {
  std::vector<std::string> kinds;
  for (const spec::ModelStep &step : modelOf(artifacts).steps) {
    if (std::holds_alternative<spec::BundleStep>(step)) {
      kinds.push_back("bundle");
    } else if (std::holds_alternative<spec::CpuStep>(step)) {
      kinds.push_back("cpu");
    }
  }
  return kinds;
}

/// \p count additions in a row, of so many different inputs.
Graph longChain(int64_t count, int64_t inputs) {
  GraphMaker maker;
  for (int64_t i = 0; i < inputs; ++i) {
    maker.input({1, 64});
  }
  int64_t value = 0;
  for (int64_t i = 0; i < count; ++i) {
    value = maker.add(value, (i + 1) % inputs);
  }
  return maker.finish({value});
}

/// The model in \p artifacts (phase "opspec", one bundle) with its bundle cut before operation
/// \p at.
Artifacts cutInTwo(const Artifacts &artifacts, size_t at, bool isMarked) {
  spec::Model model = modelOf(artifacts);
  const spec::Kernel kernel = *spec::parseKernel(artifacts.at("bundle_0/op_spec.txt"));
  Artifacts cut;
  cut["bundle_0/op_spec.txt"] =
      spec::writeKernel(spec::Kernel(kernel.begin(), kernel.begin() + std::ptrdiff_t(at)));
  cut["bundle_1/op_spec.txt"] =
      spec::writeKernel(spec::Kernel(kernel.begin() + std::ptrdiff_t(at), kernel.end()));
  auto first = std::get<spec::BundleStep>(model.steps.at(0)), second = first;
  first.nonTerminal = isMarked;
  second.directory = "bundle_1";
  model.steps = {first, second};
  cut["model.json"] = spec::writeModel(model);
  return cut;
}

} // namespace

// [spec: scratchpad L20] Softmax itself, cut where only LX holds what the second half reads. On a
// card that is shared LX is wiped at each border that is not marked.
TEST(LxBundles, SoftmaxCutInTwoNeedsTheMark) {
  GraphMaker maker;
  const Graph graph = maker.finish({maker.softmax(maker.input({512, 1024}), 0)});
  capi::CompileOptions options = lxOptions(machine(), 1);
  Expected<LxRun> whole = compileAndRun(graph, options);
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  capi::CompileOptions early = options;
  early.compileTo = "opspec";
  Expected<capi::CompileResult> specs = capi::compileGraph(graphText(graph), early);
  ASSERT_TRUE(specs.ok()) << specs.status().message();
  runtime::DriverOptions shared;
  shared.threads = 1;
  shared.sharedCard = true;
  shared.wipeSeed = 7;
  const size_t operations = spec::parseKernel(specs->artifacts.at("bundle_0/op_spec.txt"))->size();
  ASSERT_EQ(operations, 6u) << "a copy, max, sub, exp, sum, div";
  for (size_t at = 1; at < operations; ++at) {
    for (bool isMarked : {true, false}) {
      SCOPED_TRACE(fmt::format("cut before {}, marked {}", at, isMarked));
      Expected<capi::CompileResult> cut =
          capi::compileFromArtifacts("opspec", cutInTwo(specs->artifacts, at, isMarked), options);
      ASSERT_TRUE(cut.ok()) << cut.status().message();
      const bool isInBundle =
          cut->artifacts.at("bundle_0/bundle.mlir").find("non_terminal") != std::string::npos;
      EXPECT_EQ(isInBundle, isMarked);
      Expected<RunResult> run =
          runOnSimulator(cut->artifacts, options.device, graph.inputs, shared);
      if (isMarked) {
        ASSERT_TRUE(run.ok()) << run.status().message();
        EXPECT_EQ(run->deviceBytes, whole->result.deviceBytes);
      } else {
        EXPECT_EQ(run.status().code(), 7013) << run.status().message();
      }
    }
  }
}

// [spec: scratchpad L3] With symbolic addresses neither many tensors nor many operations end a
// bundle.
TEST(LxBundles, OnlyCpuStepsEndSymbolicBundles) {
  const Graph graph = longChain(2'500, 300);
  capi::CompileOptions options = lxOptions(machine(), 1);
  options.lx.acrossBundles = false;
  Expected<LxRun> run = compileAndRun(graph, options);
  ASSERT_TRUE(run.ok()) << run.status().message();
  EXPECT_EQ(stepsOf(run->compiled.artifacts), std::vector<std::string>{"bundle"});
  EXPECT_EQ(run->compiled.decisionsJson.find("bundle-limit"), std::string::npos);
  EXPECT_EQ(run->compiled.decisionsJson.find("bundle-border"), std::string::npos);
  auto evaluated = runOnEvaluator(run->compiled.artifacts, graph.inputs);
  ASSERT_TRUE(evaluated.ok()) << evaluated.status().message();
  EXPECT_EQ(run->result.deviceBytes, *evaluated);
  // The chain stays on the core: what is added comes from memory, the last sum goes there.
  EXPECT_LE(run->ddrBytes(), 2'501 * 128);
}

TEST(LxBundles, ACpuStepEndsThem) {
  const capi::TensorType half{numerics::HostType::Float16, {4, 64}, {64, 1}};
  const capi::TensorType wide{numerics::HostType::Float16, {4, 64}, {64, 1}, "f64"};
  capi::GraphBuilder builder;
  auto value =
      builder.addInput("x", half, 0, *layout::DeviceLayout::makeDefault({4, 64}, half.dtype));
  for (int64_t part = 0; part < 3; ++part) {
    for (int64_t i = 0; i < 20; ++i) {
      value = builder.addCall("aten.exp.default", {value}, {}, half, "", part * 100 + i);
    }
    if (part < 2) {
      value = builder.addCall("aten._to_copy.default", {value}, {{"dtype", "float64"}}, wide, "",
                              part * 100 + 50);
      value = builder.addCall("aten._to_copy.default", {value}, {{"dtype", "float16"}}, half, "",
                              part * 100 + 51);
    }
  }
  builder.addOutput(value, half);
  auto compiled = capi::compileGraph(*builder.text(), lxOptions(machine(), 4));
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  std::vector<std::string> steps = stepsOf(compiled->artifacts);
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end()); // CPU steps in a row
  EXPECT_EQ(steps, (std::vector<std::string>{"bundle", "cpu", "bundle", "cpu", "bundle"}));
}

// More than readers take: the border is there, and the trace says why.
TEST(LxBundles, ALimitIsSaid) {
  capi::CompileOptions options = lxOptions(machine(), 1);
  options.lx.acrossBundles = false;
  options.compileTo = "opspec";
  auto compiled = capi::compileGraph(graphText(longChain(8'200, 4)), options);
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  EXPECT_EQ(stepsOf(compiled->artifacts), (std::vector<std::string>{"bundle", "bundle"}));
  EXPECT_NE(compiled->decisionsJson.find("bundle-limit"), std::string::npos);
}

} // namespace spyre::testing
