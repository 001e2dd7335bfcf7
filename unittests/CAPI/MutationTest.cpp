//===- MutationTest.cpp - random graphs that give their inputs new contents -----------------===//
//
// A random graph is told to store some of its values in inputs of the same type. Whatever the
// compiler elides, simulator and evaluator must leave the same bytes in every input, the
// interpreter's intervals must hold them, and inputs that were not named must be untouched.
//===--------------------------------------------------------------------------------------------===//
#include "ModelRunner.h"
#include "RandomGraph.h"
#include "gtest/gtest.h"

#include <set>

using namespace spyre;
using namespace spyre::testing;

namespace {

const std::vector<int64_t> &shapeOf(const Graph &graph, int64_t value) {
  const auto inputs = int64_t(graph.inputs.size());
  return value < inputs ? graph.inputs[size_t(value)].shape
                        : graph.calls[size_t(value - inputs)].shape;
}

numerics::HostType typeOf(const Graph &graph, int64_t value) {
  const auto inputs = int64_t(graph.inputs.size());
  return value < inputs ? graph.inputs[size_t(value)].dtype
                        : graph.calls[size_t(value - inputs)].dtype;
}

/// Each input may get any value of its type, another input's old contents among them.
void addMutations(Graph &graph, Random &random) {
  const auto inputs = int64_t(graph.inputs.size());
  const int64_t values = inputs + int64_t(graph.calls.size());
  for (int64_t input = 0; input < inputs; ++input) {
    std::vector<int64_t> candidates;
    for (int64_t value = 0; value < values; ++value) {
      if (shapeOf(graph, value) == shapeOf(graph, input) &&
          typeOf(graph, value) == typeOf(graph, input)) {
        candidates.push_back(value);
      }
    }
    if (random.below(4) != 0) {
      graph.mutations.emplace_back(input, candidates[random.below(candidates.size())]);
    }
  }
}

/// fp16 cannot carry what DLFloat16 can: larger numbers come back as infinity.
constexpr double kLargestHalf = 65504;

void expectInside(const Bounds &expected, const HostTensor &got, const std::string &what) {
  ASSERT_EQ(expected.elements.size(), got.values.size()) << what;
  for (size_t n = 0; n < expected.elements.size(); ++n) {
    const Interval &element = expected.elements[n];
    if (element.magnitude() <= kLargestHalf) {
      // What is read back is rounded to the host's type.
      const double slack = 0x1p-8 * element.magnitude() + 0x1p-24;
      ASSERT_GE(double(got.values[n]), element.lo - slack) << what << ", element " << n;
      ASSERT_LE(double(got.values[n]), element.hi + slack) << what << ", element " << n;
    }
  }
}

struct Tally {
  int64_t graphs = 0, mutations = 0, elided = 0, kept = 0;
};

int64_t countOf(const std::string &text, const std::string &part) {
  int64_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

void check(uint64_t seed, const arch::DeviceDesc &device, Tally &tally) {
  Random random(seed);
  RandomGraphOptions options;
  options.steps = random.between(2, 8);
  options.maxElements = 4000;
  Graph graph = randomGraph(random, options);
  addMutations(graph, random);
  capi::CompileOptions compile;
  compile.device = device;
  const std::string text = graphText(graph);
  Expected<capi::CompileResult> compiled = capi::compileGraph(text, compile);
  if (device.name == "tiny" && compiled.status().code() == 3065) {
    return; // its span is small
  }
  ASSERT_TRUE(compiled.ok()) << compiled.status().message() << "\n" << text;
  Expected<RunResult> run = runOnSimulator(compiled->artifacts, device, graph.inputs, 1);
  ASSERT_TRUE(run.ok()) << run.status().message() << "\n" << text;
  std::vector<std::vector<uint8_t>> inputBytes;
  auto evaluated = runOnEvaluator(compiled->artifacts, graph.inputs, &inputBytes);
  ASSERT_TRUE(evaluated.ok()) << evaluated.status().message() << "\n" << text;
  EXPECT_EQ(run->deviceBytes, *evaluated) << text;
  EXPECT_EQ(run->inputBytes, inputBytes) << text;
  const std::vector<Bounds> values = interpret(graph);
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    expectInside(values[size_t(graph.outputs[i])], run->outputs[i],
                 fmt::format("seed {}, output {}\n{}", seed, i, text));
  }
  std::vector<int64_t> contents(graph.inputs.size());
  for (size_t i = 0; i < contents.size(); ++i) {
    contents[i] = int64_t(i);
  }
  for (auto [input, value] : graph.mutations) {
    contents[size_t(input)] = value;
  }
  for (size_t i = 0; i < contents.size(); ++i) {
    expectInside(values[size_t(contents[i])], run->inputs[i],
                 fmt::format("seed {}, input {}\n{}", seed, i, text));
  }
  ++tally.graphs;
  tally.mutations += int64_t(graph.mutations.size());
  tally.elided += countOf(compiled->decisionsJson, "\"in-place\"");
  tally.kept += countOf(compiled->decisionsJson, "\"old-contents-read\"");
}

} // namespace

TEST(Mutation, RandomGraphsLeaveTheRightContents) {
  Tally tally;
  for (uint64_t seed = 0; seed < 100 && !HasFatalFailure(); ++seed) {
    check(seed, *arch::DeviceDesc::preset(seed % 4 == 3 ? "tiny" : "openspyre"), tally);
  }
  // The test is about something: all three ways occur.
  EXPECT_GT(tally.graphs, 80);
  EXPECT_GT(tally.mutations, 80);
  EXPECT_GT(tally.elided, 10);
  EXPECT_GT(tally.kept, 0);
}
