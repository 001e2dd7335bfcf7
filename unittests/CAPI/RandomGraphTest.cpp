//===- RandomGraphTest.cpp - random graphs through every layer ------------------------------===//
//
// Three opinions on each graph: the simulator running the compiled model, the evaluator running its
// OpSpecs (equal bit for bit, padding included), and the interpreter running the graph itself,
// whose intervals must hold every result. A graph that fails is reduced before it is printed.
//
// CTest runs the two halves of the cases (even and odd) side by side, by gtest's own shards.
//===--------------------------------------------------------------------------------------------===//
#include "RandomGraph.h"

#include "FuzzStatistics.h"
#include "GraphReducer.h"
#include "ModelRunner.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

using namespace spyre;
using namespace spyre::testing;
using numerics::HostType;

namespace {

/// SPYRE_TEST_LONG=1 runs fifty times as many cases.
uint64_t cases() { return std::getenv("SPYRE_TEST_LONG") ? 12500 : 250; }

FuzzStatistics &statistics() {
  static FuzzStatistics instance;
  return instance;
}

class PrintStatistics : public ::testing::Environment {
  void TearDown() override {
    if (statistics().graphs > 0) {
      std::fputs(statistics().text().c_str(), stdout);
    }
  }
};
[[maybe_unused]] const auto *const environment =
    ::testing::AddGlobalTestEnvironment(new PrintStatistics);

struct Machine {
  arch::DeviceDesc device;
  int64_t cores = 0;
  bool uneven = false;
};

/// What is wrong with a graph: the kind stays the same while it is reduced.
struct Verdict {
  std::string kind, detail;
  bool ok() const { return kind.empty(); }
};

Verdict failed(const char *stage, const Status &status) {
  // A call that does not fit together is easily made of another one: it must be the same words.
  const bool isMalformed = status.code() >= 1003 && status.code() <= 1005;
  return {std::string(stage) + " E" + std::to_string(status.code()) +
              (isMalformed ? " " + status.text() : ""),
          status.message()};
}

/// The number as the host reads it.
double onHost(double value, HostType dtype) {
  const auto single = float(value);
  return dtype == HostType::Float16 ? numerics::halfToFloat(numerics::floatToHalf(single))
         : dtype == HostType::Bfloat16
             ? numerics::bfloat16ToFloat(numerics::floatToBfloat16(single))
         : dtype == HostType::Bool ? double(value != 0)
                                   : value;
}

Verdict judgeOutput(const Bounds &expected, const HostTensor &output) {
  // fp16 cannot carry what DLFloat16 can: results above its range come back as infinity.
  constexpr double kLargestHalf = 65504;
  if (output.shape != expected.shape || output.dtype != expected.dtype) {
    return {"type", "the output has another shape or type"};
  }
  for (size_t n = 0; n < expected.elements.size(); ++n) {
    const Interval &element = expected.elements[n];
    statistics().count(element);
    if (element.magnitude() > kLargestHalf) {
      continue;
    }
    const Interval onTheHost{onHost(element.lo, expected.dtype),
                             onHost(element.hi, expected.dtype)};
    const double got = double(output.values[n]);
    if (!onTheHost.contains(got)) {
      return {"value",
              fmt::format("element {}: {} is not in [{}, {}]", n, got, onTheHost.lo, onTheHost.hi)};
    }
  }
  return {};
}

Verdict judgeOutputs(const Graph &graph, const std::vector<Bounds> &values, const RunResult &run) {
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    Verdict verdict = judgeOutput(values[size_t(graph.outputs[i])], run.outputs[i]);
    if (!verdict.ok()) {
      verdict.detail = fmt::format("output {}, {}", i, verdict.detail);
      return verdict;
    }
  }
  return {};
}

/// Elements only: what is in the other lanes of a stick is nobody's result.
bool haveEqualBits(const std::vector<HostTensor> &some, const std::vector<HostTensor> &others) {
  return std::ranges::equal(some, others, [](const HostTensor &one, const HostTensor &other) {
    return std::ranges::equal(
        one.values, other.values, {}, [](float value) { return std::bit_cast<uint32_t>(value); },
        [](float value) { return std::bit_cast<uint32_t>(value); });
  });
}

/// The same graph with intermediates in LX: the same bits, and no more bytes of memory. Where other
/// divisions go with it sums may have another order: right results.
Verdict judgeLx(const Graph &graph, const Machine &machine, capi::CompileOptions options,
                const RunResult &plain, const std::vector<Bounds> &values) {
  options.lx.enabled = true;
  // A third of the graphs each: the documented way, a plan alone, a plan with its divisions; one
  // bundle where the machine allows it.
  options.lx.compat = graph.calls.size() % 3 == 0;
  options.lx.divideTogether = graph.calls.size() % 3 == 2;
  options.padding = options.lx.divideTogether; // rows have other cores then
  options.symbolicArguments = true;
  Expected<capi::CompileResult> compiled = capi::compileGraph(graphText(graph), options);
  if (!compiled.ok()) {
    return failed("lx compiler", compiled.status());
  }
  Expected<RunResult> run = runOnSimulator(compiled->artifacts, machine.device, graph.inputs, 1);
  if (!run.ok()) {
    return failed("lx simulator", run.status());
  }
  auto evaluated = runOnEvaluator(compiled->artifacts, graph.inputs);
  if (!evaluated.ok()) {
    return failed("lx evaluator", evaluated.status());
  }
  if (run->deviceBytes != *evaluated) {
    return {"lx bits", "simulator and evaluator differ"};
  }
  if (options.lx.divideTogether) {
    return judgeOutputs(graph, values, *run);
  }
  if (!haveEqualBits(run->outputs, plain.outputs) || !haveEqualBits(run->inputs, plain.inputs)) {
    return {"lx result", "what stays in LX changes the result"};
  }
  const auto bytesOf = [](const RunResult &one) {
    return one.counters.ddrReadBytes + one.counters.ddrWriteBytes;
  };
  if (!options.lx.compat && bytesOf(*run) > bytesOf(plain)) {
    return {"lx bytes",
            fmt::format("{} bytes of memory instead of {}", bytesOf(*run), bytesOf(plain))};
  }
  return {};
}

Verdict judge(const Graph &graph, const Machine &machine) {
  capi::CompileOptions options;
  options.device = machine.device;
  options.cores = machine.cores;
  options.unevenDivision = machine.uneven;
  options.lx.enabled = false;
  options.padding = false;
  Expected<capi::CompileResult> compiled = capi::compileGraph(graphText(graph), options);
  // A reshape through rows may not fit small spans; the caller then runs the call.
  if (compiled.status().code() == 3065) {
    ++statistics().refusedForSpan;
    const auto withHost = capi::compileGraph(graphText(graph, {}, /*numbered=*/true), options);
    return withHost.ok() ? Verdict() : failed("compiler with host calls", withHost.status());
  }
  if (!compiled.ok()) {
    return failed("compiler", compiled.status());
  }
  Expected<RunResult> run = runOnSimulator(compiled->artifacts, machine.device, graph.inputs, 1);
  if (!run.ok()) {
    return failed("simulator", run.status());
  }
  auto evaluated = runOnEvaluator(compiled->artifacts, graph.inputs);
  if (!evaluated.ok()) {
    return failed("evaluator", evaluated.status());
  }
  if (run->deviceBytes != *evaluated) {
    return {"bits", "simulator and evaluator differ"};
  }
  statistics().count(compiled->artifacts);
  const std::vector<Bounds> values = interpret(graph);
  if (Verdict verdict = judgeLx(graph, machine, options, *run, values); !verdict.ok()) {
    return verdict;
  }
  return judgeOutputs(graph, values, *run);
}

Graph graphOf(uint64_t seed) {
  Random random(seed);
  RandomGraphOptions options;
  options.steps = random.between(4, 16);
  options.whole = seed % 2 == 0;
  options.maxElements = seed % 8 == 0 ? 40000 : 8000;
  return randomGraph(random, options);
}

/// Enough to see what is wrong with a build.
constexpr int kMostFailures = 5;

bool check(const Graph &graph, const Machine &machine, uint64_t seed) {
  statistics().count(graph);
  const Verdict verdict = judge(graph, machine);
  if (verdict.ok()) {
    return true;
  }
  const Graph small = reduceGraph(graph, [&](const Graph &candidate) {
    return judge(candidate, machine).kind == verdict.kind;
  });
  const Verdict reduced = judge(small, machine);
  ADD_FAILURE() << "seed " << seed << " on " << machine.device.name << ", " << machine.cores
                << " cores: " << reduced.kind << ": " << reduced.detail << "\n"
                << graphText(small);
  return false;
}

/// Distance of the first seeds of two tests.
constexpr uint64_t kSeedsPerTest = 1'000'000;

void checkSeeds(uint64_t first, Machine machine, uint64_t count = cases()) {
  const auto checkSeed = [&](uint64_t seed) {
    machine.uneven = seed % 4 == 3;
    return check(graphOf(seed), machine, seed);
  };
  // SPYRE_TEST_SEED=n runs this graph only, in the test whose seeds have it.
  if (const char *only = std::getenv("SPYRE_TEST_SEED")) {
    const uint64_t seed = std::strtoull(only, nullptr, 10);
    if (seed >= first && seed < first + kSeedsPerTest) {
      checkSeed(seed);
    }
    return;
  }
  int failures = 0;
  for (uint64_t seed = first; seed < first + count && failures < kMostFailures; ++seed) {
    failures += checkSeed(seed) ? 0 : 1;
  }
}

void checkSeeds(uint64_t first, const char *preset, int64_t cores) {
  checkSeeds(first, Machine{*arch::DeviceDesc::preset(preset), cores});
}

/// Most operands exceed the span limit. At most a quarter of the graphs needs the caller. Graphs
/// are compiled once per kind of call that is refused, so only long runs have the time.
void checkNarrowSpans(uint64_t first, const char *preset, int64_t cores, int64_t spanBytes) {
  constexpr uint64_t kFewer = 4, kMostRefused = 4;
  if (!std::getenv("SPYRE_TEST_LONG")) {
    GTEST_SKIP() << "set SPYRE_TEST_LONG=1";
  }
  Machine machine{*arch::DeviceDesc::preset(preset), cores};
  machine.device.spanLimitBytes = spanBytes;
  const int64_t refusedBefore = statistics().refusedForSpan;
  checkSeeds(first, machine, cases() / kFewer);
  EXPECT_LE(statistics().refusedForSpan - refusedBefore, int64_t(cases() / kFewer / kMostRefused));
}

} // namespace

TEST(RandomGraph, EvenOn32Cores) { checkSeeds(1'000'000, "openspyre", 32); }
TEST(RandomGraph, OddOn32Cores) { checkSeeds(2'000'000, "openspyre", 32); }
TEST(RandomGraph, EvenOn7Cores) { checkSeeds(3'000'000, "openspyre", 7); }
TEST(RandomGraph, OddOn7Cores) { checkSeeds(4'000'000, "openspyre", 7); }
TEST(RandomGraph, EvenOnOneCore) { checkSeeds(5'000'000, "openspyre", 1); }
TEST(RandomGraph, OddOnOneCore) { checkSeeds(6'000'000, "openspyre", 1); }
TEST(RandomGraph, EvenOnTheTinyMachine) { checkSeeds(7'000'000, "tiny", 0); }
TEST(RandomGraph, OddOnTheTinyMachine) { checkSeeds(8'000'000, "tiny", 0); }

TEST(RandomGraph, NarrowSpansOn7Cores) { checkNarrowSpans(9'000'000, "openspyre", 7, 16 << 10); }
TEST(RandomGraph, NarrowSpansOnTheTinyMachine) {
  checkNarrowSpans(10'000'000, "tiny", 0, 16 << 10);
}

/// Seeds of long runs: masks of attention that leave nothing of a row, which is 0 then.
TEST(RandomGraph, RowsThatSeeNothing) {
  const Machine machine{*arch::DeviceDesc::preset("openspyre"), 1};
  for (uint64_t seed : {5'000'522, 5'000'993, 5'001'628}) {
    EXPECT_TRUE(check(graphOf(seed), machine, seed));
  }
  // In fp32, where the lanes behind a short row were more than its -inf.
  const Machine tiny{*arch::DeviceDesc::preset("tiny"), 0};
  for (uint64_t seed : {7'002'699, 7'009'587}) {
    EXPECT_TRUE(check(graphOf(seed), tiny, seed));
  }
}
