//===- CompileTime.cpp - how long the compiler takes, and how that grows --------------------===//
//
// The acceptance graph with all phases, and the front end alone (graph IR to bundle bytes) for
// decoder layers and for chains of n element-wise operations; and the time to take a model from the
// persistent cache. scripts/bench.py fits time ~ n^k to the chains and has the decoder layer beside
// its peer.
//
// The clock of the front end runs from the text of graph IR in memory to the bytes of the bundles.
// Contracts are bytes, so reading that text and writing and reading loop IR and OpSpecs in between
// is in it; so are model.json and the decision trace, which the definition would not ask for, since
// no compilation goes without them. Building the graph (GraphBuilder) is not, nor is scratchpad
// planning, which the peer does not have; decoderPlanned has it, as every user's compilation does.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/CAPI/Compiler.h"
#include "spyre/Runtime/Executable.h"

#include "DecoderLayer.h"
#include "benchmark/benchmark.h"

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <unistd.h>

namespace {

using namespace spyre;

capi::TensorType matrix(int64_t rows, int64_t columns) {
  return {numerics::HostType::Float16, {rows, columns}, {columns, 1}};
}

capi::ValueId addInput(capi::GraphBuilder &builder, const char *name,
                       const capi::TensorType &type) {
  return builder.addInput(name, type, 0, *layout::DeviceLayout::makeDefault(type.size, type.dtype));
}

void compile(benchmark::State &state, const std::string &text, const char *phase,
             bool plansLx = false) {
  capi::CompileOptions options;
  options.device = *arch::DeviceDesc::preset("openspyre");
  options.compileTo = phase;
  options.lx.enabled = plansLx;
  // The clock stops when the bytes are there: what becomes of them is the caller's time.
  std::optional<Expected<capi::CompileResult>> result;
  for (auto _ : state) {
    result.emplace(capi::compileGraph(text, options));
    if (!result->ok()) {
      state.SkipWithError(result->status().message().c_str());
      return;
    }
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
  compile(state, *builder.text(), "code");
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
  compile(state, *builder.text(), "bundle");
}
BENCHMARK(chain)->Arg(100)->Arg(1000)->Arg(10000)->Unit(benchmark::kMillisecond);

/// The peer runs in a process where large blocks have come and gone: there the C library keeps
/// freed memory for the next compilation. One such block puts this process into the same state.
void ageHeap() {
  constexpr size_t kTensorBytes = size_t(16) << 20;
  void *block = std::malloc(kTensorBytes);
  benchmark::DoNotOptimize(block);
  std::free(block);
}

/// The second compilation in the process is the first that is measured.
void compileDecoder(benchmark::State &state, bool plansLx) {
  const std::string text = bench::decoderLayers(state.range(0));
  capi::CompileOptions options;
  options.device = *arch::DeviceDesc::preset("openspyre");
  options.compileTo = "bundle";
  options.lx.enabled = plansLx;
  ageHeap();
  benchmark::DoNotOptimize(capi::compileGraph(text, options).ok());
  compile(state, text, "bundle", plansLx);
}

void decoder(benchmark::State &state) { compileDecoder(state, /*plansLx=*/false); }
BENCHMARK(decoder)->Arg(1)->Arg(40)->Iterations(1)->Repetitions(5)->ReportAggregatesOnly()->Unit(
    benchmark::kMillisecond);

/// With a plan of the scratchpads, as users compile.
void decoderPlanned(benchmark::State &state) { compileDecoder(state, /*plansLx=*/true); }
BENCHMARK(decoderPlanned)
    ->Arg(1)
    ->Arg(40)
    ->Iterations(1)
    ->Repetitions(5)
    ->ReportAggregatesOnly()
    ->Unit(benchmark::kMillisecond);

/// All phases, taken from the persistent cache and made ready to run; the first compilation fills
/// it.
void decoderFromCache(benchmark::State &state) {
  const std::string text = bench::decoderLayers(state.range(0));
  const auto folder =
      std::filesystem::temp_directory_path() / fmt::format("spyre-cache-bench-{}", getpid());
  capi::CompileOptions options;
  options.device = *arch::DeviceDesc::preset("openspyre");
  options.cacheDirectory = folder.string();
  auto device = runtime::Device::create(*runtime::createDriver("sim", options.device, {}), 1);
  auto first = capi::compileGraph(text, options);
  for (auto _ : state) {
    auto result = capi::compileGraph(text, options);
    if (!result.ok() || !result->fromCache) {
      state.SkipWithError("nothing was kept");
      break;
    }
    auto program = runtime::Executable::load(device, result->artifacts);
    if (!program.ok()) {
      state.SkipWithError(program.status().message().c_str());
      break;
    }
  }
  double bytes = 0;
  for (const auto &[name, contents] : first->artifacts) {
    bytes += double(contents.size());
  }
  state.counters["artifact_bytes"] = bytes;
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}
BENCHMARK(decoderFromCache)->Arg(1)->Arg(40)->Unit(benchmark::kMillisecond);

} // namespace
