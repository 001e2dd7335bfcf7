//===- FailureLogsTest.cpp - shapes that other planners failed on, scaled down and run ------===//
//
// [spec: work-division 25] names operations no even division fits. At full size they are planned
// (test/Dialect/Loop/Tiling, spyre-plan); here extents and the limit of the machine are fractions,
// which keeps the structure: the same divisions fail for the same reason. They run in tiles, with
// the right elements.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Json.h"

#include "ModelRunner.h"
#include "gtest/gtest.h"

namespace spyre::testing {
namespace {

capi::TensorType half(const std::vector<int64_t> &size) {
  capi::TensorType type{numerics::HostType::Float16, size, std::vector<int64_t>(size.size(), 1)};
  for (size_t i = size.size(); i-- > 1;) {
    type.stride[i - 1] = type.stride[i] * size[i];
  }
  return type;
}

/// Multiples of 1/8 that sums of two keep.
HostTensor numbers(const std::vector<int64_t> &size) {
  HostTensor tensor;
  tensor.shape = size;
  int64_t count = 1;
  for (int64_t extent : size) {
    count *= extent;
  }
  for (int64_t i = 0; i < count; ++i) {
    tensor.values.push_back(float(i % 1021) / 8);
  }
  return tensor;
}

struct Ran {
  std::vector<float> values;
  std::string division, decisions;
};

Ran run(const capi::GraphBuilder &graph, const std::vector<HostTensor> &inputs, int64_t scale) {
  capi::CompileOptions options;
  options.device = *arch::DeviceDesc::preset("openspyre");
  options.device.spanLimitBytes /= scale;
  options.keepPhases = true;
  Expected<capi::CompileResult> compiled = capi::compileGraph(*graph.text(), options);
  EXPECT_TRUE(compiled.ok()) << compiled.status().message();
  if (!compiled.ok()) {
    return {};
  }
  Expected<RunResult> result = runOnSimulator(compiled->artifacts, options.device, inputs);
  EXPECT_TRUE(result.ok()) << result.status().message();
  if (!result.ok()) {
    return {};
  }
  EXPECT_GT(result->counters.launches, 0u);
  return {result->outputs[0].values, compiled->artifacts.at("phases/3-division.mlir"),
          compiled->decisionsJson};
}

void expectProof(const Ran &ran) {
  EXPECT_NE(ran.decisions.find("no even division without padding exists"), std::string::npos);
  const size_t first = ran.division.find("loop.compute");
  const bool isCut = ran.division.find("tiles = ") != std::string::npos ||
                     ran.division.find("loop.compute", first + 1) != std::string::npos;
  EXPECT_TRUE(isCut) << ran.division;
}

TEST(FailureLogs, PointwiseRunsInTiles) {
  for (const std::vector<int64_t> &size :
       {std::vector<int64_t>{32, 128, 1088}, std::vector<int64_t>{32, 129, 100}}) {
    const HostTensor x = numbers(size);
    capi::GraphBuilder graph;
    const capi::ValueId in = graph.addInput(
        "x", half(size), 0, *layout::DeviceLayout::makeDefault(size, numerics::HostType::Float16));
    graph.addOutput(graph.addCall("aten.add.Tensor", {in, in}, {}, half(size), ""), half(size));
    const Ran ran = run(graph, {x}, 1024);
    expectProof(ran);
    ASSERT_EQ(ran.values.size(), x.values.size());
    for (size_t i = 0; i < x.values.size(); ++i) {
      ASSERT_EQ(ran.values[i], 2 * x.values[i]) << i;
    }
  }
}

TEST(FailureLogs, RestickifiesRunInTiles) {
  // [131072, 5120] and [262144, 3840]: rows and limit a 64th.
  struct Case {
    int64_t rows, columns, scale;
  };
  for (const Case &each : {Case{2048, 5120, 64}, Case{4096, 3840, 64}}) {
    const std::vector<int64_t> size{each.rows, each.columns}, turned{each.columns, each.rows};
    const HostTensor x = numbers(size);
    capi::GraphBuilder graph;
    const capi::ValueId in = graph.addInput(
        "x", half(size), 0, *layout::DeviceLayout::makeDefault(size, numerics::HostType::Float16));
    const capi::ValueId view = graph.addCall(
        "aten.transpose.int", {in}, {{"dim0", int64_t(0)}, {"dim1", int64_t(1)}}, half(turned), "");
    graph.addOutput(graph.addCall("aten.clone.default", {view}, {}, half(turned), ""),
                    half(turned));
    const Ran ran = run(graph, {x}, each.scale);
    expectProof(ran);
    ASSERT_EQ(ran.values.size(), x.values.size());
    for (int64_t c = 0; c < each.columns; ++c) {
      for (int64_t r = 0; r < each.rows; ++r) {
        ASSERT_EQ(ran.values[size_t(c * each.rows + r)], x.values[size_t(r * each.columns + c)]);
      }
    }
  }
}

// Weights [n, k] of a product are copied into sticks along n; the last ones are partial, and a
// tensor that is given has no rows for them.
TEST(FailureLogs, PartialSticksAreCopiedByThemselves) {
  constexpr int64_t kRows = 64;
  for (const auto &[n, k] :
       {std::pair<int64_t, int64_t>{1543, 4096}, {1543, 4103}, {1537, 4096}, {1599, 4096}}) {
    HostTensor weights = numbers({n, k}), x = numbers({kRows, k});
    // Row i of the product is one column of the weights.
    const auto column = [k = k](int64_t i) { return (i * 977 + k - 1) % k; };
    std::fill(x.values.begin(), x.values.end(), 0.0f);
    for (int64_t i = 0; i < kRows; ++i) {
      x.values[size_t(i * k + column(i))] = 1;
    }
    capi::GraphBuilder graph;
    const auto input = [&](const char *name, const std::vector<int64_t> &of) {
      return graph.addInput(name, half(of), 0,
                            *layout::DeviceLayout::makeDefault(of, numerics::HostType::Float16));
    };
    const capi::ValueId first = input("x", {kRows, k}), second = input("w", {n, k});
    const capi::TensorType result = half({kRows, n});
    graph.addOutput(graph.addCall("aten.linear.default", {first, second}, {}, result, ""), result);
    const Ran ran = run(graph, {x, weights}, 32);
    EXPECT_NE(ran.decisions.find("tail-apart"), std::string::npos) << ran.division;
    ASSERT_EQ(ran.values.size(), size_t(kRows * n));
    for (int64_t i = 0; i < kRows; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        ASSERT_EQ(ran.values[size_t(i * n + j)], weights.values[size_t(j * k + column(i))])
            << i << ", " << j;
      }
    }
  }
}

} // namespace
} // namespace spyre::testing
