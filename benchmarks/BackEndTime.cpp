//===- BackEndTime.cpp - how long the back end takes per operation --------------------------===//
//
// From the bytes of a bundle to the bytes of SpyreCode. Three kinds of bundles: operations that are
// all different (addresses and sizes), a model's layers that repeat, and single operations of each
// class. "per_op" is the time of one SuperDSC; the exponent of growth over their number is the
// slope that the library prints as "BigO" and scripts read from the times.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/BackEnd/BackEnd.h"
#include "spyre/Spec/Bundle.h"

#include "BackEnd/Specs.h"
#include "benchmark/benchmark.h"

namespace {

using namespace spyre;
using backend::test::opOf;
using backend::test::Shape;

/// Sizes that differ, as large as the span limit allows.
constexpr int64_t kDifferentSizes = 10000;
/// Prime to kDifferentSizes: any number of operations has the same mix of small and large ones.
constexpr int64_t kSaltStep = 7919;

/// Number \p i of operations as a transformer has them; \p salt < kDifferentSizes makes the sizes
/// different.
spec::OpSpec operation(int64_t i, int64_t salt) {
  const Shape full{{"c1", "c0"}, "c1"};
  int64_t rows = 512 + 32 * (salt % 1000);
  int64_t columns = 4096 - 256 * (salt / 1000);
  switch (i % 4) {
  case 0:
    return opOf("add", {{"c0", rows, 32}, {"c1", columns, 1}}, {full, full, full});
  case 1:
    return opOf("exp", {{"c0", rows, 32}, {"c1", columns, 1}}, {full, full});
  case 2:
    return opOf("sum", {{"c0", rows, 32}, {"c1", columns, 1}}, {full, {{"c0"}, ""}});
  default:
    return opOf("batchmatmul", {{"c0", rows, 8}, {"c1", columns, 4}, {"c2", 1024, 1}},
                {{{"c2", "c0"}, "c2"}, {{"c1", "c2"}, "c1"}, {{"c1", "c0"}, "c1"}});
  }
}

void compile(benchmark::State &state, const std::vector<spec::OpSpec> &operations) {
  arch::DeviceDesc device = *arch::DeviceDesc::preset("openspyre");
  Expected<Artifacts> bundle = spec::generateBundle(operations);
  if (!bundle.ok()) {
    state.SkipWithError(bundle.status().message().c_str());
    return;
  }
  size_t bytes = 0;
  for (auto _ : state) {
    Expected<Artifacts> code = backend::compileBundle(*bundle, device);
    if (!code.ok()) {
      state.SkipWithError(code.status().message().c_str());
      return;
    }
    bytes = (*code)["spyreCodeDir/init.bin"].size();
  }
  auto count = double(operations.size());
  state.counters["per_op"] = benchmark::Counter(
      count, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  state.counters["bytes_per_op"] = double(bytes) / count;
}

/// One operation of a class per bundle.
void single(benchmark::State &state) { compile(state, {operation(state.range(0), 0)}); }
BENCHMARK(single)->DenseRange(0, 3)->Unit(benchmark::kMicrosecond);

void different(benchmark::State &state) {
  std::vector<spec::OpSpec> operations;
  for (int64_t i = 0; i < state.range(0); ++i) {
    operations.push_back(operation(i, i * kSaltStep % kDifferentSizes));
  }
  compile(state, operations);
  state.SetComplexityN(state.range(0));
}
BENCHMARK(different)->RangeMultiplier(10)->Range(10, 10000)->Complexity()->Unit(
    benchmark::kMillisecond);

void repeated(benchmark::State &state) {
  std::vector<spec::OpSpec> operations;
  for (int64_t i = 0; i < state.range(0); ++i) {
    operations.push_back(operation(i, i % 8 * kSaltStep % kDifferentSizes));
  }
  compile(state, operations);
  state.SetComplexityN(state.range(0));
}
BENCHMARK(repeated)->RangeMultiplier(10)->Range(10, 10000)->Complexity()->Unit(
    benchmark::kMillisecond);

} // namespace
