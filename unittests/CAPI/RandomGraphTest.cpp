//===- RandomGraphTest.cpp - random graphs through every layer ------------------------------===//
//
// Three opinions on each graph: the simulator running the compiled model, the evaluator running its
// OpSpecs (equal bit for bit, padding included), and the interpreter running the graph itself
// (equal for integer data; else within the bound that ErrorBound.h derives from the tolerances).
//===--------------------------------------------------------------------------------------------===//
#include "RandomGraph.h"

#include "ErrorBound.h"
#include "ModelRunner.h"
#include "Support/Tolerance.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstdlib>

using namespace spyre;
using namespace spyre::testing;

namespace {

/// SPYRE_TEST_LONG=1 runs twenty times as many cases.
uint64_t cases(uint64_t quick) { return std::getenv("SPYRE_TEST_LONG") ? quick * 20 : quick; }

int refusedForSpan = 0;

float largest(const HostTensor &tensor) {
  float value = 0;
  for (float v : tensor.values) {
    value = std::max(value, std::fabs(v));
  }
  return value;
}

void checkGraph(const Graph &graph, const arch::DeviceDesc &device, int64_t cores, bool exact,
                const std::string &what) {
  std::string text = graphText(graph);
  capi::CompileOptions options;
  options.device = device;
  options.cores = cores;
  Expected<capi::CompileResult> compiled = capi::compileGraph(text, options);
  // The tiny machine's span is small: a reshape through rows may honestly not fit.
  if (device.name == "tiny" && compiled.status().code() == 3003) {
    ++refusedForSpan;
    return;
  }
  ASSERT_TRUE(compiled.ok()) << what << "\n" << text << compiled.status().message();
  Expected<RunResult> run = runOnSimulator(compiled->artifacts, device, graph.inputs);
  ASSERT_TRUE(run.ok()) << what << "\n" << text << run.status().message();
  auto evaluated = runOnEvaluator(compiled->artifacts, graph.inputs);
  ASSERT_TRUE(evaluated.ok()) << what << "\n" << text << evaluated.status().message();
  ASSERT_EQ(run->deviceBytes, *evaluated) << what << "\n" << text;
  std::vector<HostTensor> values = interpret(graph);
  std::vector<std::vector<float>> bounds;
  if (!exact) {
    bounds = errorBounds(graph, values);
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const HostTensor &expected = values[graph.outputs[i]];
    // fp16 cannot carry what DLFloat16 can: results above its range come back as infinity.
    if (largest(expected) > 60000) {
      continue;
    }
    ASSERT_EQ(run->outputs[i].shape, expected.shape) << what << "\n" << text;
    for (size_t n = 0; n < expected.values.size(); ++n) {
      float want = expected.values[n], got = run->outputs[i].values[n];
      float tolerance = exact ? 0 : bounds[graph.outputs[i]][n] + float(hostAbsoluteTolerance());
      ASSERT_LE(std::fabs(want - got), tolerance)
          << what << " output " << i << " element " << n << ": " << want << " vs " << got << "\n"
          << text;
    }
  }
}

void checkSeeds(uint64_t first, uint64_t count, const char *preset, int64_t cores, bool exact,
                int64_t maxSize) {
  arch::DeviceDesc device = *arch::DeviceDesc::preset(preset);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    Random random(seed);
    RandomGraphOptions options;
    options.exact = exact;
    options.maxSize = maxSize;
    Graph graph = randomGraph(random, options);
    checkGraph(graph, device, cores, exact, "seed " + std::to_string(seed));
    if (::testing::Test::HasFatalFailure()) {
      return;
    }
  }
}

} // namespace

TEST(RandomGraph, IntegerGraphsAreExactOn32Cores) {
  checkSeeds(0, cases(150), "openspyre", 32, true, 140);
}
TEST(RandomGraph, IntegerGraphsAreExactOnOneCore) {
  checkSeeds(50000, cases(50), "openspyre", 1, true, 140);
}
TEST(RandomGraph, IntegerGraphsAreExactOnTheTinyMachine) {
  refusedForSpan = 0;
  checkSeeds(100000, cases(100), "tiny", 0, true, 140);
  EXPECT_LE(refusedForSpan, int(cases(100) / 10));
}
TEST(RandomGraph, RealGraphsAreCloseOn7Cores) {
  checkSeeds(150000, cases(80), "openspyre", 7, false, 100);
}
