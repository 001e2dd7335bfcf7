//===- NestsTest.cpp - hinted operations run in one nest of loops ---------------------------===//
//
// The acceptance shapes of the documents [spec: work-division 19.9], in every mode of emission:
// bits are those of the evaluator and of every other mode, numbers those of the program without
// hints.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/CAPI/Compiler.h"
#include "spyre/Spec/Bundle.h"
#include "spyre/Spec/LoopSpec.h"
#include "spyre/Spec/Model.h"

#include "../Support/Tolerance.h"
#include "ModelRunner.h"
#include "RandomGraph.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace spyre::testing {

namespace {

using capi::ValueId;
using Attributes = std::vector<std::pair<std::string, capi::Attribute>>;
using Shape = std::vector<int64_t>;

capi::TensorType half(const Shape &size) {
  capi::TensorType type{numerics::HostType::Float16, size, Shape(size.size(), 1)};
  for (size_t i = size.size(); i-- > 1;) {
    type.stride[i - 1] = type.stride[i] * size[i];
  }
  return type;
}

/// One program; hints of calls are left out when \p hinted is off.
struct Program {
  explicit Program(bool hinted) : hinted(hinted) {}

  /// \p names: "A:256,B:128".
  ValueId input(const std::string &names, const Shape &size, bool filled = true) {
    int64_t elements = filled ? 1 : 0;
    for (int64_t extent : size) {
      elements *= extent;
    }
    HostTensor tensor;
    tensor.shape = size;
    for (int64_t i = 0; i < elements; ++i) {
      tensor.values.push_back(float((i * 7 + i / 64 + int64_t(inputs.size()) * 3) % 16) / 8.0F -
                              0.5F);
    }
    inputs.push_back(std::move(tensor));
    const std::string name = "x" + std::to_string(inputs.size());
    return graph.addInput(name + "|" + names, half(size), 0,
                          *layout::DeviceLayout::makeDefault(size, numerics::HostType::Float16));
  }
  ValueId call(const char *name, const std::vector<ValueId> &operands, const Shape &size,
               const Attributes &attributes = {}) {
    const std::string location =
        "model.py:12" + (hinted && !tiles.empty() ? "|tiles=" + tiles : "");
    return graph.addCall(std::string("aten.") + name, operands, attributes, half(size), location);
  }
  ValueId reduce(const char *name, ValueId operand, int64_t dim, const Shape &size) {
    return call(name, {operand}, size, {{"dim", Shape{dim}}, {"keepdim", false}});
  }
  void output(ValueId value, const Shape &size) { graph.addOutput(value, half(size)); }

  const bool hinted;
  /// Of the calls that follow: "A:4@0".
  std::string tiles;
  capi::GraphBuilder graph;
  std::vector<HostTensor> inputs;
};

struct Mode {
  const char *name;
  bool symbolic, unroll;
};
constexpr Mode kModes[] = {
    {"baked", false, true}, {"symbolic", true, true}, {"symbolic loops", true, false}};

struct Ran {
  Artifacts artifacts;
  RunResult result;
};

capi::CompileOptions optionsFor(const Mode &mode, bool scratchpads) {
  capi::CompileOptions options;
  options.device = *arch::DeviceDesc::preset("openspyre");
  options.symbolicArguments = mode.symbolic;
  options.unrollLoops = mode.unroll;
  options.lx.enabled = scratchpads;
  return options;
}

std::optional<Ran> run(const Program &program, const capi::CompileOptions &options) {
  Expected<capi::CompileResult> compiled = capi::compileGraph(*program.graph.text(), options);
  EXPECT_TRUE(compiled.ok()) << compiled.status().message();
  if (!compiled.ok()) {
    return std::nullopt;
  }
  Expected<RunResult> result = runOnSimulator(compiled->artifacts, options.device, program.inputs);
  EXPECT_TRUE(result.ok()) << result.status().message();
  auto expected = runOnEvaluator(compiled->artifacts, program.inputs);
  EXPECT_TRUE(expected.ok()) << expected.status().message();
  if (!result.ok() || !expected.ok()) {
    return std::nullopt;
  }
  EXPECT_GT(result->counters.launches, 0u);
  EXPECT_EQ(result->deviceBytes, *expected);
  return Ran{compiled->artifacts, *std::move(result)};
}

double distance(const RunResult &a, const RunResult &b) {
  double most = 0, largest = 0;
  for (size_t o = 0; o < a.outputs.size(); ++o) {
    for (size_t i = 0; i < a.outputs[o].values.size(); ++i) {
      most = std::max(most, std::fabs(double(a.outputs[o].values[i]) - b.outputs[o].values[i]));
      largest = std::max(largest, std::fabs(double(b.outputs[o].values[i])));
    }
  }
  return most / largest;
}

int64_t loopsIn(const spec::Kernel &kernel) {
  int64_t loops = 0;
  for (const spec::SpecNode &node : kernel) {
    loops += node.kind == spec::SpecNode::Kind::Loop ? 1 + loopsIn(node.body) : 0;
  }
  return loops;
}

spec::Kernel kernelIn(const Artifacts &artifacts) {
  return *spec::parseKernel(artifacts.at("bundle_0/op_spec.txt"));
}

int64_t poolOf(const Artifacts &artifacts) {
  return spec::readModel(artifacts.at("model.json"))->poolBytes;
}

struct Compared {
  Artifacts plain, hinted;
};

/// Builds with \p build, with and without hints, and runs all modes.
template <typename Fn>
std::optional<Compared> compare(Fn &&build, double tolerance, bool scratchpads = false) {
  Program plainProgram(false), hintedProgram(true);
  build(plainProgram);
  build(hintedProgram);
  std::optional<Ran> plain = run(plainProgram, optionsFor(kModes[1], scratchpads));
  if (!plain) {
    return std::nullopt;
  }
  std::vector<std::vector<uint8_t>> bits;
  Compared compared{plain->artifacts, {}};
  for (const Mode &mode : kModes) {
    SCOPED_TRACE(mode.name);
    std::optional<Ran> hinted = run(hintedProgram, optionsFor(mode, scratchpads));
    if (!hinted) {
      return std::nullopt;
    }
    bits = bits.empty() ? hinted->result.deviceBytes : bits;
    EXPECT_EQ(hinted->result.deviceBytes, bits);
    EXPECT_LE(distance(hinted->result, plain->result), tolerance);
    compared.hinted = hinted->artifacts;
  }
  return compared;
}

/// Loops of bundle.mlir, and their counts outermost first along the first ones.
std::vector<int64_t> nestOf(const Artifacts &artifacts) {
  std::vector<int64_t> counts;
  const spec::Bundle bundle = *spec::parseBundleMlir(artifacts.at("bundle_0/bundle.mlir"));
  const std::vector<spec::BundleNode> *nodes = &bundle.body;
  while (!nodes->empty() && nodes->front().isLoop) {
    counts.push_back(nodes->front().count);
    nodes = &nodes->front().body;
  }
  return counts;
}

} // namespace

TEST(Nests, OneOperationIsOneLoop) {
  const auto both = compare(
      [](Program &p) {
        const ValueId x = p.input("A:256,B:128", {256, 128});
        p.tiles = "A:4@0";
        p.output(p.call("abs.default", {x}, {256, 128}), {256, 128});
      },
      0);
  ASSERT_TRUE(both);
  EXPECT_EQ(nestOf(both->hinted), (std::vector<int64_t>{4}));
  EXPECT_EQ(loopsIn(kernelIn(both->hinted)), 1);
}

TEST(Nests, TwoScopesAreTwoLoops) {
  const auto both = compare(
      [](Program &p) {
        const ValueId x = p.input("A:256,B:128", {256, 128});
        p.tiles = "A:4@0";
        const ValueId y = p.call("abs.default", {x}, {256, 128});
        p.tiles = "A:8@1";
        p.output(p.call("neg.default", {y}, {256, 128}), {256, 128});
      },
      0);
  ASSERT_TRUE(both);
  EXPECT_EQ(loopsIn(kernelIn(both->hinted)), 2);
}

// The sum is needed one tile at a time: an eighth of the memory.
TEST(Nests, ChainsRunInOneNestAndNeedLessMemory) {
  const auto both = compare(
      [](Program &p) {
        const ValueId a = p.input("A:1024,B:4096", {1024, 4096});
        const ValueId b = p.input("A:1024,B:4096", {1024, 4096});
        const ValueId c = p.input("A:1024,B:4096", {1024, 4096});
        p.tiles = "A:2@0,B:4@1";
        const ValueId sum = p.call("add.Tensor", {a, b}, {1024, 4096});
        p.output(p.call("mul.Tensor", {sum, c}, {1024, 4096}), {1024, 4096});
      },
      0);
  ASSERT_TRUE(both);
  EXPECT_EQ(nestOf(both->hinted), (std::vector<int64_t>{2, 4}));
  const spec::Kernel kernel = kernelIn(both->hinted);
  EXPECT_EQ(loopsIn(kernel), 2);
  ASSERT_EQ(kernel.front().body.front().body.size(), 2u);
  const spec::TensorArg &tile = kernel.front().body.front().body.front().op.args.back();
  EXPECT_TRUE(tile.perTileFixed);
  EXPECT_EQ(tile.deviceSize, (Shape{16, 512, 64}));
  EXPECT_EQ(poolOf(both->plain), 1024 * 4096 * 2);
  EXPECT_EQ(poolOf(both->hinted), 512 * 1024 * 2);
  EXPECT_EQ(spec::unrollKernel(kernel)->size(), 16u);
  // Inputs move by physical strides [spec: work-division 19.9].
  const spec::OpSpec &sum = kernel.front().body.front().body.front().op;
  const std::vector<spec::LoopLevel> levels = {{2, kernel.front().tiledSymbols},
                                               {4, kernel.front().body.front().tiledSymbols}};
  EXPECT_EQ(spec::bytesPerIteration(sum, sum.args.front(), levels, 0), 512 * 64 * 2);
  EXPECT_EQ(spec::bytesPerIteration(sum, sum.args.front(), levels, 1), 16 * 1024 * 64 * 2);
  EXPECT_EQ(spec::bytesPerIteration(sum, sum.args.back(), levels, 0), 0);
  EXPECT_EQ(spec::bytesPerIteration(sum, sum.args.back(), levels, 1), 0);
}

// Planned only: one column tile of [120000, 4096] is 245,760,000 elements further.
TEST(Nests, LargeTilesMoveByPhysicalStrides) {
  Program program(true);
  const ValueId x = program.input("A:120000,B:4096", {120000, 4096}, /*filled=*/false);
  program.tiles = "B:2@0";
  program.output(program.call("abs.default", {x}, {120000, 4096}), {120000, 4096});
  Expected<capi::CompileResult> compiled =
      capi::compileGraph(*program.graph.text(), optionsFor(kModes[2], false));
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  const spec::SpecNode loop = kernelIn(compiled->artifacts).front();
  const spec::OpSpec &op = loop.body.front().op;
  EXPECT_EQ(spec::bytesPerIteration(op, op.args.front(), {{loop.count, loop.tiledSymbols}}, 0),
            int64_t(245760000) * 2);
}

TEST(Nests, TilesOfChainsStayInScratchpads) {
  const auto both = compare(
      [](Program &p) {
        const ValueId a = p.input("A:1024,B:4096", {1024, 4096});
        const ValueId b = p.input("A:1024,B:4096", {1024, 4096});
        p.tiles = "A:2@0,B:4@1";
        const ValueId sum = p.call("add.Tensor", {a, b}, {1024, 4096});
        p.output(p.call("mul.Tensor", {sum, a}, {1024, 4096}), {1024, 4096});
      },
      0, /*scratchpads=*/true);
  ASSERT_TRUE(both);
  const spec::Kernel kernel = kernelIn(both->hinted);
  const spec::TensorArg &tile = kernel.front().body.front().body.front().op.args.back();
  EXPECT_TRUE(tile.perTileFixed);
  EXPECT_EQ(tile.residency, spec::Residency::Lx);
}

TEST(Nests, RowsOfASoftmax) {
  const auto both = compare(
      [](Program &p) {
        const ValueId x = p.input("A:512,B:256", {512, 256});
        p.tiles = "A:4@0";
        p.output(p.call("_softmax.default", {x}, {512, 256},
                        {{"dim", int64_t(-1)}, {"half_to_float", false}}),
                 {512, 256});
      },
      tolerance("chain", "float16", 4));
  ASSERT_TRUE(both);
  EXPECT_EQ(loopsIn(kernelIn(both->hinted)), 1);
  EXPECT_LT(poolOf(both->hinted), poolOf(both->plain) / 3);
}

TEST(Nests, RowsOfAProduct) {
  const auto both = compare(
      [](Program &p) {
        const ValueId x = p.input("M:256,K:128", {256, 128}), y = p.input("K:128,N:64", {128, 64});
        p.tiles = "M:4@0";
        p.output(p.call("mm.default", {x, y}, {256, 64}), {256, 64});
      },
      tolerance("matmul", "float16", 128));
  ASSERT_TRUE(both);
  EXPECT_EQ(nestOf(both->hinted), (std::vector<int64_t>{4}));
}

TEST(Nests, SumsAlongTiles) {
  for (const char *name : {"sum.dim_IntList", "amax.default", "amin.default", "mean.dim"}) {
    SCOPED_TRACE(name);
    const auto both = compare(
        [&](Program &p) {
          const ValueId x = p.input("B:512,D:64", {512, 64});
          p.tiles = "B:4@0";
          p.output(p.reduce(name, x, 0, {64}), {64});
        },
        tolerance("chain", "float16", 4));
    ASSERT_TRUE(both);
    EXPECT_EQ(loopsIn(kernelIn(both->hinted)), 1);
  }
}

TEST(Nests, ProductsInTilesOfK) {
  const auto both = compare(
      [](Program &p) {
        const ValueId x = p.input("M:64,K:512", {64, 512}), y = p.input("K:512,N:32", {512, 32});
        p.tiles = "K:4@0";
        p.output(p.call("mm.default", {x, y}, {64, 32}), {64, 32});
      },
      tolerance("chain", "float16", 4));
  ASSERT_TRUE(both);
  EXPECT_EQ(loopsIn(kernelIn(both->hinted)), 1);
}

TEST(Nests, ProductsInTilesOfRowsAndK) {
  for (const char *tiles : {"M:2@0,K:4@1", "K:4@0,M:2@1"}) {
    SCOPED_TRACE(tiles);
    const auto both = compare(
        [&](Program &p) {
          const ValueId x = p.input("M:128,K:512", {128, 512});
          const ValueId y = p.input("K:512,N:32", {512, 32});
          p.tiles = tiles;
          p.output(p.call("mm.default", {x, y}, {128, 32}), {128, 32});
        },
        tolerance("chain", "float16", 4));
    ASSERT_TRUE(both);
    EXPECT_EQ(loopsIn(kernelIn(both->hinted)), 2);
  }
}

TEST(Nests, BatchesInTilesOfBatchAndK) {
  const auto both = compare(
      [](Program &p) {
        const ValueId x = p.input("B:4,M:64,K:512", {4, 64, 512});
        const ValueId y = p.input("B:4,K:512,N:32", {4, 512, 32});
        p.tiles = "B:2@0,K:4@1";
        p.output(p.call("bmm.default", {x, y}, {4, 64, 32}), {4, 64, 32});
      },
      tolerance("chain", "float16", 4));
  ASSERT_TRUE(both);
  EXPECT_EQ(loopsIn(kernelIn(both->hinted)), 2);
}

// What needs all rows begins a loop of its own.
TEST(Nests, ReadersOfAWholeSumHaveTheirOwnLoop) {
  const auto both = compare(
      [](Program &p) {
        const ValueId x = p.input("A:256,B:128", {256, 128});
        p.tiles = "A:4@0";
        const ValueId e = p.call("exp.default", {x}, {256, 128});
        const ValueId sum =
            p.call("sum.dim_IntList", {e}, {1, 128}, {{"dim", Shape{0}}, {"keepdim", true}});
        p.output(p.call("div.Tensor", {e, sum}, {256, 128}), {256, 128});
      },
      tolerance("chain", "float16", 8));
  ASSERT_TRUE(both);
  EXPECT_EQ(loopsIn(kernelIn(both->hinted)), 2);
}

namespace {

/// Divisors of \p size from 2 on.
std::vector<int64_t> divisorsOf(int64_t size) {
  std::vector<int64_t> divisors;
  for (int64_t divisor = 2; divisor <= size; ++divisor) {
    if (size % divisor == 0) {
      divisors.push_back(divisor);
    }
  }
  return divisors;
}

/// Up to two scopes around a run of calls, each with tiles of a dimension of some input.
std::vector<std::string> randomHints(Random &random, const Graph &graph) {
  std::vector<std::string> hints(graph.calls.size(), "model.py:1");
  std::vector<int64_t> sizes;
  for (const HostTensor &input : graph.inputs) {
    sizes.insert(sizes.end(), input.shape.begin(), input.shape.end());
  }
  std::string text;
  std::vector<int64_t> used;
  const int64_t scopes = random.between(1, 2);
  for (int64_t scope = 0; scope < scopes && !sizes.empty(); ++scope) {
    const int64_t size = sizes[size_t(random.between(0, int64_t(sizes.size()) - 1))];
    const std::vector<int64_t> divisors = divisorsOf(size);
    if (divisors.empty() || std::count(used.begin(), used.end(), size)) {
      continue;
    }
    used.push_back(size);
    const int64_t count = divisors[size_t(random.between(0, int64_t(divisors.size()) - 1))];
    text += fmt::format("{}d{}:{}@{}", text.empty() ? "|tiles=" : ",", size, count, scope);
  }
  const int64_t first = random.between(0, int64_t(hints.size()) - 1);
  const int64_t last = random.between(first, int64_t(hints.size()) - 1);
  for (int64_t i = first; i <= last; ++i) {
    hints[size_t(i)] += text;
  }
  return hints;
}

/// What a user is told of hints that cannot be followed.
bool isRefusal(const Status &status) {
  return status.code() == 3077 || status.code() == 3140 || status.code() == 3142 ||
         status.code() == 3143;
}

/// The largest distance of an output from where the interpreter says it can be, relative to the
/// largest number of that output.
double distanceFromBounds(const Graph &graph, const RunResult &run) {
  const std::vector<Bounds> values = interpret(graph);
  double most = 0;
  for (size_t o = 0; o < graph.outputs.size(); ++o) {
    const Bounds &bounds = values[size_t(graph.outputs[o])];
    double largest = 1, away = 0;
    for (size_t i = 0; i < bounds.elements.size(); ++i) {
      const double value = run.outputs[o].values[i];
      const Interval &interval = bounds.elements[i];
      if (interval.contains(value) || interval.isOpen()) {
        continue;
      }
      away = std::max(away, std::max(interval.lo - value, value - interval.hi));
    }
    for (const Interval &interval : bounds.elements) {
      largest = interval.isOpen() ? largest : std::max(largest, interval.magnitude());
    }
    most = std::max(most, away / largest);
  }
  return most;
}

} // namespace

// What shares a loop computes what it computes by itself. Sums of tiles are rounded once more, so
// numbers may leave their bounds by a little; what a loop must not do leaves nothing of them.
TEST(Nests, RandomGraphsInRandomNests) {
  const uint64_t cases = std::getenv("SPYRE_TEST_LONG") ? 6000 : 200;
  size_t nested = 0, shared = 0;
  for (uint64_t seed = 0; seed < cases; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    RandomGraphOptions options;
    options.steps = random.between(3, 8);
    options.whole = true;
    const Graph graph = randomGraph(random, options);
    const std::string text = graphText(graph, randomHints(random, graph));
    const Mode &mode = kModes[seed % std::size(kModes)];
    capi::CompileOptions compile = optionsFor(mode, seed % 2 == 0);
    compile.cores = seed % 3 == 0 ? 7 : 32;
    Expected<capi::CompileResult> compiled = capi::compileGraph(text, compile);
    if (!compiled.ok() && isRefusal(compiled.status())) {
      continue;
    }
    ASSERT_TRUE(compiled.ok()) << compiled.status().message() << "\n" << text;
    auto run = runOnSimulator(compiled->artifacts, compile.device, graph.inputs, 1);
    ASSERT_TRUE(run.ok()) << run.status().message() << "\n" << text;
    auto evaluated = runOnEvaluator(compiled->artifacts, graph.inputs);
    ASSERT_TRUE(evaluated.ok()) << evaluated.status().message() << "\n" << text;
    ASSERT_EQ(run->deviceBytes, *evaluated) << text;
    ASSERT_LE(distanceFromBounds(graph, *run), tolerance("acceptance", "float16")) << text;
    for (const auto &[name, file] : compiled->artifacts) {
      nested += name.ends_with("op_spec.txt") && file.find("LoopSpec(") != std::string::npos;
      shared += name.ends_with("op_spec.txt") && file.find("per_tile_fixed") != std::string::npos;
    }
  }
  EXPECT_GE(nested, cases / 10);
  EXPECT_GE(shared, cases / 50);
  RecordProperty("nested", int(nested));
  RecordProperty("shared", int(shared));
}

} // namespace spyre::testing
