//===- LxTime.cpp - how long scratchpad planning takes, and how that grows --------------------===//
//
// The whole pass spyre-loop-plan-lx with its default limits, cold, on one thread: divisions of
// neighbours, problem, plan, check, addresses and copies, the decision trace included. Decoder
// layers of the shape of Granite, and chains of n operations (scripts/bench.py fits the growth).
//===--------------------------------------------------------------------------------------------===//
#include "spyre/CAPI/Compiler.h"
#include "spyre/Conversion/LoopToSpec/LoopToSpec.h"
#include "spyre/Pipelines/Pipelines.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include "DecoderLayer.h"
#include "benchmark/benchmark.h"

namespace {

using namespace spyre;

/// What is asked differently; 0: nothing.
struct WhatIf {
  int64_t budgetBytes = 0, cores = 0;
  std::vector<std::string> forbidden = {};
  std::map<std::string, int64_t> pins = {};
};

void planLx(benchmark::State &state, const std::string &graph, const WhatIf &whatIf = {}) {
  pipelines::Options with;
  with.device = *arch::DeviceDesc::preset("openspyre");
  with.cores = whatIf.cores > 0 ? whatIf.cores : with.device.cores;
  with.lx.budgetBytes = whatIf.budgetBytes;
  with.lx.forbidden = whatIf.forbidden;
  with.lx.pins = whatIf.pins;
  pipelines::Options without = with;
  without.lx.enabled = false;
  auto text =
      pipelines::runIrPhases(pipelines::Phase::Graph, pipelines::Phase::Division, graph, without);
  if (!text.ok()) {
    state.SkipWithError(text.status().message().c_str());
    return;
  }
  mlir::DialectRegistry registry;
  pipelines::registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(*text, &context);
  int64_t operations = 0;
  module->walk([&](mlir::Operation *) { ++operations; });
  for (auto _ : state) {
    state.PauseTiming();
    mlir::OwningOpRef<mlir::ModuleOp> fresh(module->clone());
    DecisionTrace trace;
    PlanLxOptions options{with.lx, *pipelines::lxCapacity(with), with.cores};
    options.device = with.device;
    options.trace = &trace;
    mlir::PassManager manager(&context);
    manager.enableVerifier(false);
    manager.addPass(createPlanLxPass(options));
    state.ResumeTiming();
    if (mlir::failed(manager.run(*fresh))) {
      state.SkipWithError("the pass failed");
      return;
    }
  }
  state.counters["operations"] = double(operations);
}

void graniteLayers(benchmark::State &state) { planLx(state, bench::decoderLayers(state.range(0))); }
BENCHMARK(graniteLayers)->Arg(1)->Arg(8)->Arg(40)->Unit(benchmark::kMillisecond);

/// A Granite layer planned again with less room, fewer cores, something that may not stay or has
/// its place.
void whatIf(benchmark::State &state, const WhatIf &question) {
  planLx(state, bench::decoderLayers(1), question);
}
BENCHMARK_CAPTURE(whatIf, budget, WhatIf{262'144, 0})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(whatIf, cores, WhatIf{0, 8})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(whatIf, forbidden, WhatIf{0, 0, {"t0"}})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(whatIf, pinned, WhatIf{0, 0, {}, {{"t0", 131'072}}})
    ->Unit(benchmark::kMillisecond);

/// n alternating additions and exponentials.
void chain(benchmark::State &state) {
  capi::GraphBuilder builder;
  const capi::TensorType type{numerics::HostType::Float16, {256, 512}, {512, 1}};
  auto value =
      builder.addInput("x", type, 0, *layout::DeviceLayout::makeDefault(type.size, type.dtype));
  for (int64_t i = 0; i < state.range(0); ++i) {
    value = i % 2 ? builder.addCall("aten.exp.default", {value}, {}, type, "")
                  : builder.addCall("aten.add.Tensor", {value}, {{"scalar1", 0.5}}, type, "");
  }
  builder.addOutput(value, type);
  planLx(state, *builder.text());
}
BENCHMARK(chain)->Arg(100)->Arg(1000)->Arg(10'000)->Unit(benchmark::kMillisecond);

} // namespace
