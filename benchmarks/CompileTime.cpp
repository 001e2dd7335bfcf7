//===- CompileTime.cpp - how long the compiler takes, and how that grows --------------------===//
//
// The acceptance graph, and chains of n element-wise operations; the fitted exponent of the chain
// is printed by the library ("BigO"): a pass that is worse than linear shows here first.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/CAPI/Compiler.h"

#include "benchmark/benchmark.h"

namespace {

using namespace spyre;

capi::TensorType matrix(int64_t rows, int64_t columns) {
  return {numerics::HostType::Float16, {rows, columns}, {columns, 1}};
}

capi::ValueId addInput(capi::GraphBuilder &builder, const char *name,
                       const capi::TensorType &type) {
  return builder.addInput(name, type, 0, *layout::DeviceLayout::makeDefault(type.size, type.dtype));
}

void compile(benchmark::State &state, const std::string &text, const char *phase) {
  capi::CompileOptions options;
  options.device = *arch::DeviceDesc::preset("openspyre");
  options.compileTo = phase;
  for (auto _ : state) {
    auto result = capi::compileGraph(text, options);
    if (!result.ok()) {
      state.SkipWithError(result.status().message().c_str());
      return;
    }
    benchmark::DoNotOptimize(result->artifacts.size());
  }
}

/// (x @ y).exp().sum(0) on (55, 67) x (67, 130), all phases.
void matmulExpSum(benchmark::State &state) {
  capi::GraphBuilder builder;
  auto x = addInput(builder, "x", matrix(55, 67)), y = addInput(builder, "y", matrix(67, 130));
  auto product = builder.addCall("aten.mm.default", {x, y}, {}, matrix(55, 130), "");
  auto exponential = builder.addCall("aten.exp.default", {product}, {}, matrix(55, 130), "");
  capi::TensorType vector{numerics::HostType::Float16, {130}, {1}};
  auto sum = builder.addCall("aten.sum.dim_IntList", {exponential},
                             {{"dim", std::vector<int64_t>{0}}}, vector, "");
  builder.addOutput(sum, vector);
  compile(state, builder.text(), "code");
}
BENCHMARK(matmulExpSum)->Unit(benchmark::kMillisecond);

/// n alternating additions and exponentials.
void chain(benchmark::State &state) {
  capi::GraphBuilder builder;
  capi::TensorType type = matrix(256, 512);
  auto value = addInput(builder, "x", type);
  for (int64_t i = 0; i < state.range(0); ++i) {
    value = i % 2 ? builder.addCall("aten.exp.default", {value}, {}, type, "")
                  : builder.addCall("aten.add.Tensor", {value}, {{"scalar1", 0.5}}, type, "");
  }
  builder.addOutput(value, type);
  compile(state, builder.text(), "code");
  state.SetComplexityN(state.range(0));
}
BENCHMARK(chain)->RangeMultiplier(4)->Range(16, 1024)->Complexity()->Unit(benchmark::kMillisecond);

} // namespace
