//===- BackEndTime.cpp - how long the back end takes per operation --------------------------===//
//
// From the bytes of a bundle to the bytes of SpyreCode. Three kinds of bundles: operations that are
// all different (addresses and sizes), a model's layers that repeat, and single operations of each
// class. "per_op" is the time of one SuperDSC; the exponent of growth over their number is the
// slope that the library prints as "BigO" and scripts read from the times.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/BackEnd/BackEnd.h"
#include "spyre/Spec/Bundle.h"

#include "benchmark/benchmark.h"

#include <algorithm>

namespace {

using namespace spyre;
using spec::Coordinate;

struct Shape {
  std::vector<std::string> symbols;
  std::string stick;
};

spec::TensorArg tensorOf(const spec::OpSpec &op, const Shape &shape, int64_t argument) {
  spec::TensorArg arg;
  arg.argIndex = argument;
  arg.address = argument << 34;
  for (size_t i = shape.symbols.size(); i < op.iterationSpace.size(); ++i) {
    arg.deviceSize.push_back(1);
    arg.deviceCoordinates.push_back(Coordinate::constant(0));
  }
  for (const std::string &symbol : shape.symbols) {
    auto dim = std::find_if(op.iterationSpace.begin(), op.iterationSpace.end(),
                            [&](const spec::IterationDim &d) { return d.symbol == symbol; });
    bool isStick = symbol == shape.stick;
    arg.deviceSize.push_back(isStick ? (dim->range + 63) / 64 : dim->range);
    arg.deviceCoordinates.push_back(isStick ? Coordinate::floorDiv(symbol, 64)
                                            : Coordinate::var(symbol));
  }
  arg.deviceSize.push_back(64);
  arg.deviceCoordinates.push_back(shape.stick.empty() ? Coordinate::constant(0)
                                                      : Coordinate::mod(shape.stick, 64));
  return arg;
}

spec::OpSpec opOf(const std::string &name, std::vector<spec::IterationDim> space,
                  const std::vector<Shape> &shapes) {
  spec::OpSpec op;
  op.op = name;
  op.isReduction = name == "sum" || name == "batchmatmul";
  op.iterationSpace = std::move(space);
  for (size_t i = 0; i < shapes.size(); ++i) {
    op.args.push_back(tensorOf(op, shapes[i], int64_t(i)));
  }
  op.args.back().isInput = false;
  return op;
}

/// Number \p i of operations as a transformer has them; \p salt makes the sizes different.
spec::OpSpec operation(int64_t i, int64_t salt) {
  const Shape full{{"c1", "c0"}, "c1"};
  int64_t rows = 512 + 32 * salt;
  switch (i % 4) {
  case 0:
    return opOf("add", {{"c0", rows, 32}, {"c1", 4096, 1}}, {full, full, full});
  case 1:
    return opOf("exp", {{"c0", rows, 32}, {"c1", 4096, 1}}, {full, full});
  case 2:
    return opOf("sum", {{"c0", rows, 32}, {"c1", 4096, 1}}, {full, {{"c0"}, ""}});
  default:
    return opOf("batchmatmul", {{"c0", rows, 8}, {"c1", 4096, 4}, {"c2", 1024, 1}},
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
    operations.push_back(operation(i, i % 1000));
  }
  compile(state, operations);
  state.SetComplexityN(state.range(0));
}
BENCHMARK(different)->RangeMultiplier(10)->Range(10, 10000)->Complexity()->Unit(
    benchmark::kMillisecond);

void repeated(benchmark::State &state) {
  std::vector<spec::OpSpec> operations;
  for (int64_t i = 0; i < state.range(0); ++i) {
    operations.push_back(operation(i, i % 8));
  }
  compile(state, operations);
  state.SetComplexityN(state.range(0));
}
BENCHMARK(repeated)->RangeMultiplier(10)->Range(10, 10000)->Complexity()->Unit(
    benchmark::kMillisecond);

} // namespace
