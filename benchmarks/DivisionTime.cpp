//===- DivisionTime.cpp - how long the cheapest division of an operation takes to find ------===//
//
// Random operations that are all different: pointwise, broadcasts, reductions, matrix products and
// restickifies over 2 to 5 dims. Five dims that every number divides would have 1,142 divisions on
// 32 cores; of sizes that fit a card the counters say how many there are at most. Each is searched,
// priced and verified from the beginning; nothing is kept between them. One thread.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Random.h"
#include "spyre/Solver/Division/Build.h"
#include "spyre/Solver/Division/Divide.h"
#include "spyre/Solver/Division/Kernels.h"
#include "spyre/Solver/Division/ProblemFile.h"

#include "benchmark/benchmark.h"

#include <set>

namespace {

using namespace spyre;
using namespace spyre::solver::division;

int64_t randomExtent(Random &random, size_t rank = 2) {
  constexpr int64_t kFactors[] = {1, 2, 3, 4, 5, 6, 8, 12, 15, 16, 24, 32, 37, 60};
  const int64_t base = kFactors[random.below(std::size(kFactors))];
  const int64_t size = base << random.below(rank >= 4 ? 2 : 5);
  return std::max<int64_t>(2, size) + (random.below(8) == 0 ? 1 : 0);
}

Op randomOperation(Random &random) {
  std::vector<int64_t> shape(2 + random.below(4));
  for (int64_t &size : shape) {
    size = randomExtent(random, shape.size());
  }
  // The last dim counts in sticks.
  shape.back() *= 64;
  switch (random.below(4)) {
  case 0:
    return makePointwise(shape, 2);
  case 1:
    return makeReduction(shape, random.below(shape.size()));
  case 2:
    return makeMatmul(random.below(2) == 0 ? 0 : randomExtent(random), 8 * randomExtent(random),
                      64 * randomExtent(random), 64 * randomExtent(random));
  default:
    return makeRestickify(shape, random.below(shape.size()));
  }
}

/// Small enough that a division exists: tiles are another question.
bool isDivisible(const Op &op, const arch::DeviceDesc &device) {
  constexpr double kMostPoints = 0x1p31;
  double points = 1;
  for (const Dim &dim : op.dims) {
    points *= double(dim.extent);
  }
  if (op.kind != Kind::Matmul && points > kMostPoints) {
    return false;
  }
  Expected<Outcome> outcome = divide(op, device, {}, DeviceRates(device));
  return outcome.ok() && !outcome->tiling;
}

const std::vector<Op> &differentOperations() {
  static const std::vector<Op> ops = [] {
    constexpr size_t kOperations = 10000;
    const arch::DeviceDesc device = *arch::DeviceDesc::preset("openspyre");
    Random random(1);
    std::vector<Op> found;
    std::set<std::string> known;
    while (found.size() < kOperations) {
      Op op = randomOperation(random);
      if (isDivisible(op, device) && known.insert(writeProblem({op})).second) {
        found.push_back(std::move(op));
      }
    }
    return found;
  }();
  return ops;
}

void divideAll(benchmark::State &state, const CostModel &costs, const Options &options) {
  const std::vector<Op> &ops = differentOperations();
  const arch::DeviceDesc device = *arch::DeviceDesc::preset("openspyre");
  const auto count = size_t(state.range(0));
  int64_t candidates = 0, largest = 0;
  for (auto _ : state) {
    candidates = largest = 0;
    for (size_t i = 0; i < count; ++i) {
      Expected<Outcome> outcome = divide(ops[i], device, options, costs);
      if (!outcome.ok()) {
        state.SkipWithError(outcome.status().message().c_str());
        return;
      }
      candidates += outcome->candidatesTried;
      largest = std::max(largest, outcome->candidatesTried);
    }
  }
  state.counters["per_op"] = benchmark::Counter(
      double(count), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  state.counters["candidates_per_op"] = double(candidates) / double(count);
  state.counters["most_candidates"] = double(largest);
}

/// As the compiler asks: the calibrated clock, and no comparison with the documented plan.
void best(benchmark::State &state) {
  const arch::DeviceDesc device = *arch::DeviceDesc::preset("openspyre");
  Options options;
  options.padding = options.compare = false;
  options.slack = 0.02;
  divideAll(state, KernelCosts(device), options);
}
BENCHMARK(best)->Arg(100)->Arg(1000)->Arg(10000)->Unit(benchmark::kMillisecond);

/// Prices in first order, all candidates, padding, and how the documented plan compares.
void rates(benchmark::State &state) {
  const arch::DeviceDesc device = *arch::DeviceDesc::preset("openspyre");
  divideAll(state, DeviceRates(device), {});
}
BENCHMARK(rates)->Arg(1000)->Unit(benchmark::kMillisecond);

} // namespace
