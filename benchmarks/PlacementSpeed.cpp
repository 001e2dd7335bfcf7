//===- PlacementSpeed.cpp - how long placement takes, and how far from the bound it ends ------===//
//
// Random problems of the shape of real graphs, of 100 to 10,000 buffers (scripts/bench.py fits the
// growth) and of 100,000; and published problems, whose CSV files are named in the variable
// SPYRE_PLACEMENT_FILES (separated by colons), one benchmark each. Their capacity is in the file's
// name ("A.1048576.csv"). `calibration` is a fixed amount of the same kind of work, to compare
// hosts with.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Artifacts.h"
#include "spyre/Base/Random.h"
#include "spyre/Solver/Placement/Files.h"

#include "benchmark/benchmark.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sys/resource.h>

namespace {

using namespace spyre;
namespace placement = solver::placement;

/// Sorting and hashing of small numbers: what the searches do, without any of their code.
void calibration(benchmark::State &state) {
  for (auto _ : state) {
    Random random(1);
    uint64_t sum = 0;
    std::vector<uint64_t> values(64);
    for (int round = 0; round < 20'000; ++round) {
      for (uint64_t &value : values) {
        value = random.next() >> 40;
      }
      std::sort(values.begin(), values.end());
      sum += values[round % 64];
    }
    benchmark::DoNotOptimize(sum);
  }
}
BENCHMARK(calibration)->Unit(benchmark::kMillisecond);

/// A graph in which each operation reads recent results and now and then an old one; the capacity
/// holds \p percent of what is alive at most.
placement::Problem graphLike(int64_t count, int64_t percent) {
  Random random(7);
  placement::Problem problem;
  problem.alignment = 128;
  std::vector<int64_t> load(size_t(count) + 64, 0);
  for (int64_t i = 0; i < count; ++i) {
    placement::Buffer buffer;
    buffer.name = "b" + std::to_string(i);
    buffer.lower = i;
    buffer.upper =
        std::min(count + 40, i + 2 + int64_t(random.below(8)) +
                                 (random.below(16) == 0 ? int64_t(random.below(32)) : 0));
    buffer.sizeBytes = 128 * random.between(1, 40);
    buffer.value = buffer.sizeBytes * random.between(2, 5);
    for (int64_t t = buffer.lower; t < buffer.upper; ++t) {
      load[size_t(t)] += buffer.sizeBytes;
    }
    problem.buffers.push_back(std::move(buffer));
  }
  const int64_t most = *std::max_element(load.begin(), load.end());
  problem.capacityBytes = std::max<int64_t>(128, most * percent / 100 / 128 * 128);
  return problem;
}

void report(benchmark::State &state, const placement::Plan &plan) {
  state.counters["value"] = double(plan.certificate.value);
  state.counters["bound"] = double(plan.certificate.bound);
  state.counters["gap_percent"] =
      plan.certificate.bound == 0
          ? 0
          : 100.0 * double(plan.certificate.gap()) / double(plan.certificate.bound);
  state.counters["nodes"] = double(plan.certificate.nodes);
}

void solve(benchmark::State &state, const placement::Problem &problem, placement::Variant variant) {
  auto solver = *placement::createSolver("exact");
  for (auto _ : state) {
    auto plan = solver->plan(problem, variant);
    if (!plan.ok() || !plan->complete) {
      state.SkipWithError(plan.ok() ? "no plan" : plan.status().message().c_str());
      return;
    }
    state.PauseTiming();
    if (!placement::verifyPlan(problem, plan->offsets, variant).ok()) {
      state.SkipWithError("wrong plan");
      return;
    }
    report(state, *plan);
    state.ResumeTiming();
  }
}

/// Everything fits: the usual case.
void allFit(benchmark::State &state) {
  solve(state, graphLike(state.range(0), 125), placement::Variant::Pick);
}
BENCHMARK(allFit)->Arg(100)->Arg(1000)->Arg(10'000)->Unit(benchmark::kMillisecond);

/// Three fifths fit.
void pick(benchmark::State &state) {
  solve(state, graphLike(state.range(0), 60), placement::Variant::Pick);
}
BENCHMARK(pick)->Arg(100)->Arg(1000)->Unit(benchmark::kMillisecond);
BENCHMARK(pick)->Arg(10'000)->Iterations(1)->Unit(benchmark::kMillisecond);

/// 100,000 buffers, the memory of the whole process with them.
void pickLarge(benchmark::State &state) {
  constexpr double kMostBytes = double(int64_t(2) << 30);
  solve(state, graphLike(state.range(0), 60), placement::Variant::Pick);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const double peakBytes = 1024.0 * double(usage.ru_maxrss);
  state.counters["peak_bytes"] = peakBytes;
  if (peakBytes > kMostBytes) {
    state.SkipWithError("more than 2 GiB of memory");
  }
}
BENCHMARK(pickLarge)->Arg(100'000)->Iterations(1)->Unit(benchmark::kMillisecond);

/// "A.1048576.csv" -> 1048576.
int64_t capacityInName(const std::filesystem::path &file) {
  const std::string middle = file.stem().extension().string();
  return middle.size() > 1 ? std::atoll(middle.c_str() + 1) : 0;
}

void addFiles(const std::string &list) {
  for (size_t from = 0; from < list.size();) {
    const size_t end = std::min(list.find(':', from), list.size());
    const std::filesystem::path file = list.substr(from, end - from);
    from = end + 1;
    auto text = readFile(file);
    auto problem = text.ok() ? placement::parseCsv(*text, capacityInName(file)) : text.status();
    benchmark::RegisterBenchmark(("file/" + file.stem().stem().string()).c_str(),
                                 [problem](benchmark::State &state) {
                                   if (!problem.ok()) {
                                     state.SkipWithError(problem.status().message().c_str());
                                     return;
                                   }
                                   solve(state, *problem, placement::Variant::Fit);
                                 })
        ->Iterations(1)
        ->Unit(benchmark::kMillisecond);
  }
}

[[maybe_unused]] const bool kFilesAdded = [] {
  if (const char *list = std::getenv("SPYRE_PLACEMENT_FILES")) {
    addFiles(list);
  }
  return true;
}();

} // namespace
