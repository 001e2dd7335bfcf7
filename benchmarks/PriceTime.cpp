//===- PriceTime.cpp - how long one candidate division takes to be priced -------------------===//
//
// All divisions of an operation over up to 32 cores in one batch, on one thread. "per_candidate" is
// the time of one of them, those the back end would refuse included. `price` prices all of them;
// `best` finds the cheapest, `near` one that is at most 2 % dearer: what planners ask for.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/BackEnd/KernelPrices.h"
#include "spyre/CostModel/KernelPricer.h"

#include "BackEnd/Specs.h"
#include "benchmark/benchmark.h"

#include <cmath>

namespace {

using namespace spyre;
using backend::test::opOf;
using backend::test::Shape;

/// Every combination of slices whose product is at most \p cores.
void addDivisions(const std::vector<int64_t> &dims, int64_t cores, std::vector<int32_t> &chosen,
                  std::vector<int32_t> &all) {
  if (chosen.size() == dims.size()) {
    all.insert(all.end(), chosen.begin(), chosen.end());
    return;
  }
  for (int64_t slices = 1; slices <= cores; ++slices) {
    if (dims[chosen.size()] % slices == 0) {
      chosen.push_back(int32_t(slices));
      addDivisions(dims, cores / slices, chosen, all);
      chosen.pop_back();
    }
  }
}

enum class Asked { All, Best, Near };

void priceAs(benchmark::State &state, const spec::OpSpec &spec, Asked asked) {
  arch::DeviceDesc device = *arch::DeviceDesc::preset("openspyre");
  Expected<spec::SuperDsc> dsc = spec::emitSuperDsc(spec, 0);
  if (!dsc.ok()) {
    state.SkipWithError(dsc.status().message().c_str());
    return;
  }
  Expected<backend::PricedDsc> priced = backend::pricedKernelOf(*dsc, device);
  if (!priced.ok()) {
    state.SkipWithError(priced.status().message().c_str());
    return;
  }
  Expected<costmodel::KernelPricer> pricer =
      costmodel::KernelPricer::create(priced->kernel, device);
  std::vector<int32_t> chosen, all;
  addDivisions(priced->kernel.dims, device.cores, chosen, all);
  std::vector<double> nanoseconds(all.size() / priced->kernel.dims.size());
  costmodel::BestPrice best;
  for (auto _ : state) {
    if (asked == Asked::All) {
      pricer->price(all, nanoseconds);
      benchmark::DoNotOptimize(nanoseconds.data());
    } else {
      best = pricer->priceBest(all, asked == Asked::Best ? 0 : 0.02);
      benchmark::DoNotOptimize(best);
    }
  }
  pricer->price(all, nanoseconds);
  state.counters["priced"] = double(asked == Asked::All ? nanoseconds.size() : best.priced);
  auto count = double(nanoseconds.size());
  state.counters["candidates"] = count;
  double legal = 0;
  for (double time : nanoseconds) {
    legal += std::isfinite(time);
  }
  state.counters["legal"] = legal;
  state.counters["per_candidate"] = benchmark::Counter(
      count, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void price(benchmark::State &state, const spec::OpSpec &spec) { priceAs(state, spec, Asked::All); }
void best(benchmark::State &state, const spec::OpSpec &spec) { priceAs(state, spec, Asked::Best); }
void near(benchmark::State &state, const spec::OpSpec &spec) { priceAs(state, spec, Asked::Near); }

const Shape kFull{{"c1", "c0"}, "c1"};

spec::OpSpec add(int64_t rows, int64_t columns) {
  return opOf("add", {{"c0", rows, 1}, {"c1", columns, 1}}, {kFull, kFull, kFull});
}
spec::OpSpec exp(int64_t rows, int64_t columns) {
  return opOf("exp", {{"c0", rows, 1}, {"c1", columns, 1}}, {kFull, kFull});
}
spec::OpSpec sum(int64_t rows, int64_t columns) {
  return opOf("sum", {{"c0", rows, 1}, {"c1", columns, 1}}, {kFull, {{"c0"}, ""}});
}
spec::OpSpec matmul(int64_t m, int64_t n, int64_t k) {
  return opOf("batchmatmul", {{"c0", m, 1}, {"c1", n, 1}, {"c2", k, 1}},
              {{{"c2", "c0"}, "c2"}, {{"c1", "c2"}, "c1"}, {{"c1", "c0"}, "c1"}});
}

#define SPYRE_PRICED(name, ...)                                                                    \
  BENCHMARK_CAPTURE(price, name, __VA_ARGS__);                                                     \
  BENCHMARK_CAPTURE(best, name, __VA_ARGS__);                                                      \
  BENCHMARK_CAPTURE(near, name, __VA_ARGS__)

SPYRE_PRICED(add, add(4096, 4096));
SPYRE_PRICED(exp, exp(512, 12800));
SPYRE_PRICED(sum, sum(2048, 4096));
SPYRE_PRICED(decode, matmul(1, 26624, 4096));
SPYRE_PRICED(prefill, matmul(512, 4096, 12800));
SPYRE_PRICED(square, matmul(4096, 4096, 4096));

} // namespace
