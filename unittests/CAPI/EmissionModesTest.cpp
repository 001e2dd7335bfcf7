//===- EmissionModesTest.cpp - every mode of emission computes the same bits ----------------===//
//
// The four modes of bundles, on graphs that make them differ: many tensors (symbolic bundles have
// no limit of six), tensors beyond the span of the cores (loops), more variables than names.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Spec/Bundle.h"
#include "spyre/Spec/Model.h"

#include "ModelRunner.h"
#include "RandomGraph.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <cstdlib>

namespace spyre::testing {

namespace {

using capi::Attribute;
using capi::ValueId;
using Attributes = std::vector<std::pair<std::string, Attribute>>;

capi::TensorType half(const std::vector<int64_t> &size) {
  capi::TensorType type{numerics::HostType::Float16, size, std::vector<int64_t>(size.size(), 1)};
  for (size_t i = size.size(); i-- > 1;) {
    type.stride[i - 1] = type.stride[i] * size[i];
  }
  return type;
}

struct Builder {
  capi::GraphBuilder graph;
  std::vector<HostTensor> inputs;

  ValueId input(const std::vector<int64_t> &size) {
    const capi::TensorType type = half(size);
    int64_t elements = 1;
    for (int64_t extent : size) {
      elements *= extent;
    }
    HostTensor tensor;
    tensor.shape = size;
    for (int64_t i = 0; i < elements; ++i) {
      tensor.values.push_back(float((i * 7 + int64_t(inputs.size()) * 3) % 16) / 8.0F - 0.5F);
    }
    inputs.push_back(std::move(tensor));
    return graph.addInput("x" + std::to_string(inputs.size()), type, 0,
                          *layout::DeviceLayout::makeDefault(size, type.dtype));
  }
  ValueId call(const char *name, const std::vector<ValueId> &operands,
               const std::vector<int64_t> &size, const Attributes &attributes = {}) {
    return graph.addCall(std::string("aten.") + name, operands, attributes, half(size), "");
  }
};

struct Mode {
  const char *name;
  bool symbolic, unroll;
};
constexpr Mode kModes[] = {{"baked", false, true},
                           {"baked, loops kept where nothing moves", false, false},
                           {"symbolic", true, true},
                           {"symbolic loops", true, false}};

capi::CompileOptions optionsFor(const Mode &mode, const std::string &device) {
  capi::CompileOptions options;
  options.device = *arch::DeviceDesc::preset(device);
  options.symbolicArguments = mode.symbolic;
  options.unrollLoops = mode.unroll;
  options.chunkLargeTensors = true;
  return options;
}

/// Artifacts of each mode; all of them gave the bits of the evaluator. Nothing when the operation
/// is still too large and \p mayRefuse allows it.
std::vector<Artifacts> expectSameBits(const std::string &text,
                                      const std::vector<HostTensor> &inputs,
                                      const arch::DeviceDesc &device, bool mayRefuse = false) {
  std::vector<Artifacts> all;
  std::vector<std::vector<uint8_t>> bits;
  for (const Mode &mode : kModes) {
    SCOPED_TRACE(mode.name);
    capi::CompileOptions options = optionsFor(mode, "tiny");
    options.device = device;
    Expected<capi::CompileResult> result = capi::compileGraph(text, options);
    if (mayRefuse && !result.ok() && result.status().code() == 3065) {
      return {};
    }
    EXPECT_TRUE(result.ok()) << result.status().message();
    if (!result.ok()) {
      return {};
    }
    Expected<RunResult> run = runOnSimulator(result->artifacts, device, inputs);
    EXPECT_TRUE(run.ok()) << run.status().message();
    auto expected = runOnEvaluator(result->artifacts, inputs);
    EXPECT_TRUE(expected.ok()) << expected.status().message();
    if (!run.ok() || !expected.ok()) {
      return {};
    }
    EXPECT_GT(run->counters.launches, 0u);
    EXPECT_EQ(run->deviceBytes, *expected);
    bits = bits.empty() ? run->deviceBytes : bits;
    EXPECT_EQ(run->deviceBytes, bits);
    all.push_back(result->artifacts);
  }
  return all;
}

std::vector<Artifacts> expectSameBits(const Builder &builder, const std::string &device) {
  return expectSameBits(*builder.graph.text(), builder.inputs, *arch::DeviceDesc::preset(device));
}

size_t bundlesOf(const Artifacts &artifacts) {
  size_t count = 0;
  const spec::Model model = *spec::readModel(artifacts.at("model.json"));
  for (const spec::ModelStep &step : model.steps) {
    count += std::holds_alternative<spec::BundleStep>(step);
  }
  return count;
}

} // namespace

// Twenty operations on eleven inputs: four bundles when each tensor needs a segment, one otherwise.
TEST(EmissionModes, BordersOfSymbolicBundlesAreCpuStepsOnly) {
  Builder builder;
  ValueId sum = builder.input({24, 96});
  for (int i = 0; i < 10; ++i) {
    const ValueId next = builder.input({24, 96});
    sum =
        builder.call("add.Tensor", {builder.call("exp.default", {next}, {24, 96}), sum}, {24, 96});
  }
  builder.graph.addOutput(sum, half({24, 96}));
  const std::vector<Artifacts> all = expectSameBits(builder, "tiny");
  ASSERT_EQ(all.size(), 4u);
  EXPECT_GE(bundlesOf(all[0]), 3u);
  EXPECT_EQ(bundlesOf(all[2]), 1u);
  EXPECT_EQ(all[2], all[3]); // no loops
  const spec::Bundle bundle = *spec::parseBundleMlir(all[2].at("bundle_0/bundle.mlir"));
  EXPECT_EQ(bundle.arguments.size(), 12u); // eleven inputs, the output; LX has the rest
  EXPECT_EQ(bundle.body.size(), 20u);
}

// Columns of [2048, 2300] are 36 tiles of 256 KiB; the four cores of `tiny` hold four each.
TEST(EmissionModes, LargeTensorsRunInLoops) {
  Builder builder;
  const ValueId x = builder.input({2048, 2300}), y = builder.input({2048, 2300});
  builder.graph.addOutput(builder.call("add.Tensor", {x, y}, {2048, 2300}), half({2048, 2300}));
  capi::CompileOptions refused = optionsFor(kModes[0], "tiny");
  refused.planner = "compat";
  refused.chunkLargeTensors = false;
  EXPECT_EQ(capi::compileGraph(*builder.graph.text(), refused).status().code(), 3064);
  const std::vector<Artifacts> all = expectSameBits(builder, "tiny");
  ASSERT_EQ(all.size(), 4u);
  EXPECT_NE(all[0].at("bundle_0/op_spec.txt").find("LoopSpec("), std::string::npos);
  EXPECT_EQ(all[0].at("bundle_0/bundle.mlir").find("scf.for"), std::string::npos);
  EXPECT_EQ(all[0], all[1]); // addresses move
  EXPECT_EQ(all[2].at("bundle_0/bundle.mlir").find("scf.for"), std::string::npos);
  EXPECT_NE(all[3].at("bundle_0/bundle.mlir").find("scf.for"), std::string::npos);
}

TEST(EmissionModes, LargeProductsAndSumsRunInLoops) {
  Builder builder;
  const ValueId x = builder.input({4000, 192}), y = builder.input({192, 128});
  const ValueId product = builder.call("mm.default", {x, y}, {4000, 128});
  const ValueId sums = builder.call("sum.dim_IntList", {product}, {4000},
                                    {{"dim", std::vector<int64_t>{1}}, {"keepdim", false}});
  builder.graph.addOutput(sums, half({4000}));
  const std::vector<Artifacts> all = expectSameBits(builder, "tiny");
  ASSERT_EQ(all.size(), 4u);
  // In loops, or with the reduced dimension on three cores.
  const std::string &specs = all[0].at("bundle_0/op_spec.txt");
  EXPECT_TRUE(specs.find("LoopSpec(") != std::string::npos ||
              specs.find("(sympify('192'), 3)") != std::string::npos)
      << specs;
}

// Rows of x are seven permuted digits, rows of y six that are cut elsewhere: eight and the columns.
TEST(EmissionModes, MoreVariablesThanNames) {
  Builder builder;
  const std::vector<int64_t> reversed{6, 5, 4, 3, 2, 1, 0, 7};
  ValueId x = builder.input({4, 2, 2, 2, 2, 2, 2, 64});
  x = builder.call("permute.default", {x}, {2, 2, 2, 2, 2, 2, 4, 64}, {{"dims", reversed}});
  x = builder.call("reshape.default", {x}, {256, 64}, {{"shape", std::vector<int64_t>{256, 64}}});
  ValueId y = builder.input({2, 2, 2, 2, 4, 4, 64});
  y = builder.call("permute.default", {y}, {4, 4, 2, 2, 2, 2, 64},
                   {{"dims", std::vector<int64_t>{5, 4, 3, 2, 1, 0, 6}}});
  y = builder.call("reshape.default", {y}, {256, 64}, {{"shape", std::vector<int64_t>{256, 64}}});
  builder.graph.addOutput(builder.call("mul.Tensor", {x, y}, {256, 64}), half({256, 64}));
  EXPECT_EQ(expectSameBits(builder, "tiny").size(), 4u);
}

// A batch of six permuted digits, rows, columns and K: nine variables for seven names.
TEST(EmissionModes, ProductsWithMoreVariablesThanNames) {
  Builder builder;
  ValueId x = builder.input({2, 2, 2, 2, 2, 2, 8, 64});
  x = builder.call("permute.default", {x}, {2, 2, 2, 2, 2, 2, 8, 64},
                   {{"dims", std::vector<int64_t>{5, 4, 3, 2, 1, 0, 6, 7}}});
  x = builder.call("reshape.default", {x}, {64, 8, 64},
                   {{"shape", std::vector<int64_t>{64, 8, 64}}});
  const ValueId y = builder.input({64, 64, 64});
  builder.graph.addOutput(builder.call("bmm.default", {x, y}, {64, 8, 64}), half({64, 8, 64}));
  EXPECT_EQ(expectSameBits(builder, "tiny").size(), 4u);
}

// Eight dimensions, one of them permuted into the sticks: eight variables, and one per element.
TEST(EmissionModes, EightPermutedDimensions) {
  Builder builder;
  const std::vector<int64_t> size{2, 3, 2, 2, 2, 2, 3, 5}, turned{5, 3, 2, 2, 2, 2, 3, 2};
  const ValueId x = builder.call("permute.default", {builder.input(size)}, turned,
                                 {{"dims", std::vector<int64_t>{7, 6, 5, 4, 3, 2, 1, 0}}});
  const ValueId y = builder.input(turned);
  const ValueId sum = builder.call("add.Tensor", {x, y}, turned);
  builder.graph.addOutput(builder.call("sum.dim_IntList", {sum}, {5, 3, 2, 2, 2, 2, 3},
                                       {{"dim", std::vector<int64_t>{7}}, {"keepdim", false}}),
                          half({5, 3, 2, 2, 2, 2, 3}));
  EXPECT_EQ(expectSameBits(builder, "tiny").size(), 4u);
}

// Six batch dimensions beside rows, columns and K.
TEST(EmissionModes, ProductsOfEightDimensions) {
  Builder builder;
  const std::vector<int64_t> size{2, 2, 2, 2, 2, 2, 4, 64};
  ValueId x = builder.input(size), y = builder.input({2, 2, 2, 2, 2, 2, 64, 64});
  builder.graph.addOutput(builder.call("matmul.default", {x, y}, size), half(size));
  EXPECT_EQ(expectSameBits(builder, "tiny").size(), 4u);
}

// 32 columns are half a stick of 16 bits: the conversions touch both sticks of 32 bits of a row, 64
// sticks apart. 64 + 8 sticks let the rows run in two tiles; 4 KiB hold no tile at all, which the
// division must find, not the back end.
TEST(EmissionModes, ConversionsOfHalfAStick) {
  Builder builder;
  capi::TensorType wide = half({64, 32});
  wide.dtype = numerics::HostType::Float32;
  const ValueId x = builder.input({64, 32});
  const ValueId up = builder.graph.addCall("aten._to_copy.default", {x},
                                           {{"dtype", std::string("float32")}}, wide, "");
  const ValueId positive = builder.graph.addCall("aten.abs.default", {up}, {}, wide, "");
  const ValueId down =
      builder.call("_to_copy.default", {positive}, {64, 32}, {{"dtype", std::string("float16")}});
  builder.graph.addOutput(down, half({64, 32}));
  arch::DeviceDesc device = *arch::DeviceDesc::preset("tiny");
  device.spanLimitBytes = (64 + 8) * 128;
  const std::vector<Artifacts> all = expectSameBits(*builder.graph.text(), builder.inputs, device);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_NE(all[0].at("bundle_0/op_spec.txt").find("LoopSpec("), std::string::npos);
  capi::CompileOptions refused = optionsFor(kModes[0], "tiny");
  refused.device.spanLimitBytes = 4096;
  const Status why = capi::compileGraph(*builder.graph.text(), refused).status();
  EXPECT_EQ(why.code(), 3065) << why.message();
}

// A machine whose cores reach 4 KiB of a tensor: much has to run in tiles, of every kind of
// operation.
TEST(EmissionModes, RandomGraphsOnCoresOfShortReach) {
  arch::DeviceDesc device = *arch::DeviceDesc::preset("tiny");
  device.spanLimitBytes = 4096;
  size_t looped = 0, compiled = 0;
  const uint64_t cases = std::getenv("SPYRE_TEST_LONG") ? 4000 : 160;
  for (uint64_t seed = 0; seed < cases; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    RandomGraphOptions options;
    options.steps = 3;
    const Graph graph = randomGraph(random, options);
    const std::vector<Artifacts> all = expectSameBits(graphText(graph), graph.inputs, device, true);
    if (::testing::Test::HasFailure()) {
      FAIL() << graphText(graph);
    }
    compiled += !all.empty();
    looped += !all.empty() && std::any_of(all[3].begin(), all[3].end(), [](const auto &file) {
      return file.second.find("scf.for") != std::string::npos;
    });
  }
  EXPECT_GE(compiled, 50u);
  EXPECT_GE(looped, 4u);
  RecordProperty("compiled", int(compiled));
  RecordProperty("looped", int(looped));
}

} // namespace spyre::testing
