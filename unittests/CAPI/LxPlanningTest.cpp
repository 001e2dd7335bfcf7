//===- LxPlanningTest.cpp - what stays in the scratchpads, in bytes the device counted -------===//
#include "LxPrograms.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <set>

namespace spyre::testing {
namespace {

arch::DeviceDesc machine() { return *arch::DeviceDesc::preset("openspyre"); }

Graph softmaxOf(const std::vector<int64_t> &shape, int64_t dim) {
  GraphMaker maker;
  const int64_t x = maker.input(shape);
  return maker.finish({maker.softmax(x, dim)});
}

/// The documented plan: copies in front, greedy.
capi::CompileOptions compatOptions(int64_t cores) {
  capi::CompileOptions options = lxOptions(machine(), cores);
  options.lx.compat = true;
  options.lx.inputClones = false;
  options.lx.inPlace = false;
  return options;
}

LxRun runOf(const Graph &graph, const capi::CompileOptions &options) {
  Expected<LxRun> run = compileAndRun(graph, options);
  EXPECT_TRUE(run.ok()) << run.status().message();
  return run.ok() ? *std::move(run) : LxRun{};
}

} // namespace

// [spec: scratchpad 8] The documented stages, counted by the device.
TEST(LxPlanning, SoftmaxStagesMoveTheDocumentedBytes) {
  const Graph graph = softmaxOf({512, 1024}, 0);
  capi::CompileOptions options = compatOptions(1);
  options.lx.enabled = false;
  const LxRun off = runOf(graph, options);
  EXPECT_EQ(off.ddrBytes(), 8'396'800);

  options.lx.enabled = true;
  options.lx.allowedOps = {"max", "sum"};
  EXPECT_EQ(runOf(graph, options).ddrBytes(), 8'388'608);

  options.lx.allowedOps = {"max", "sum", "sub", "exp"};
  EXPECT_EQ(runOf(graph, options).ddrBytes(), 6'291'456);
  capi::CompileOptions exact = options;
  exact.lx.solver = "exact";
  EXPECT_EQ(runOf(graph, exact).ddrBytes(), 5'242'880);

  options.lx.inPlace = true;
  options.lx.inPlaceOps = {"exp", "sub"};
  EXPECT_EQ(runOf(graph, options).ddrBytes(), 3'145'728);

  options.lx.inputClones = true;
  const LxRun all = runOf(graph, options);
  EXPECT_EQ(all.ddrBytes(), 2'097'152);
  EXPECT_EQ(lxNumber(all.compiled, "all", "high_water"), 1'050'624);
  EXPECT_EQ(lxNumber(all.compiled, "all", "capacity"), 1'625'344);
  EXPECT_EQ(all.result.deviceBytes, off.result.deviceBytes);
}

TEST(LxPlanning, BestReachesTheLeastTrafficOfSoftmax) {
  const Graph graph = softmaxOf({512, 1024}, 0);
  const LxRun best = runOf(graph, lxOptions(machine(), 1));
  EXPECT_EQ(best.ddrBytes(), 2'097'152);
  EXPECT_EQ(lxNumber(best.compiled, "all", "gap"), 0);
  EXPECT_EQ(lxNumber(best.compiled, "all", "high_water"), 1'050'624);
}

TEST(LxPlanning, RowsSplitOverFourCoresFitWhatOneCannotHold) {
  const Graph graph = softmaxOf({1024, 2048}, 1);
  capi::CompileOptions rows = lxOptions(machine(), 4);
  rows.planner = "compat"; // all of it by rows
  const LxRun four = runOf(graph, rows);
  EXPECT_EQ(four.ddrBytes(), 8'388'608);
  EXPECT_EQ(lxNumber(four.compiled, "in0", "core_bytes"), 1'048'576);
  const LxRun one = runOf(graph, lxOptions(machine(), 1));
  const std::string reason = lxReason(one.compiled, "in0");
  EXPECT_NE(reason.find("4194304"), std::string::npos) << reason;
  EXPECT_NE(reason.find("1625344"), std::string::npos) << reason;
}

TEST(LxPlanning, ResidentBuffersHaveNoMemoryAndNoArgument) {
  const Graph graph = softmaxOf({512, 1024}, 0);
  const LxRun best = runOf(graph, lxOptions(machine(), 1));
  const std::string model = best.compiled.artifacts.at("model.json");
  EXPECT_NE(model.find("\"pool_bytes\": 0"), std::string::npos) << model;
  const std::string text = best.compiled.artifacts.at("bundle_0/sdsc_1.json");
  EXPECT_NE(text.find("\"component_\": \"lx\""), std::string::npos) << text;
}

namespace {

constexpr int64_t kTensor = 256 * 512 * 2;

/// t = exp(x); u = t + x; v = (u + t) + t: x is read twice, t three times.
Graph twoCandidates() {
  GraphMaker maker;
  const int64_t x = maker.input({256, 512});
  const int64_t t = maker.unary("exp", x);
  const int64_t u = maker.add(t, x);
  return maker.finish({maker.add(maker.add(u, t), t)});
}

/// y = exp(x) is returned and read twice.
Graph readOutput() {
  GraphMaker maker;
  const int64_t y = maker.unary("exp", maker.input({256, 512}));
  return maker.finish({y, maker.add(maker.unary("abs", y), maker.unary("neg", y))});
}

/// y = exp(x) is returned and read twice, a = abs(y) is read three times.
Graph readOutputBesideMore() {
  GraphMaker maker;
  const int64_t y = maker.unary("exp", maker.input({256, 512}));
  const int64_t a = maker.unary("abs", y);
  return maker.finish({y, maker.add(maker.add(maker.add(a, y), a), a)});
}

/// c = abs(p) could take the place of p = exp(x); t = neg(x), read three times while c waits, is
/// worth more.
Graph placeThatAnotherWants() {
  GraphMaker maker;
  const int64_t x = maker.input({256, 512});
  const int64_t c = maker.unary("abs", maker.unary("exp", x));
  const int64_t t = maker.unary("neg", x);
  return maker.finish({maker.add(maker.add(maker.add(maker.add(t, x), t), t), c)});
}

} // namespace

TEST(LxPlanning, CopiesOfInputsAreMadeWhereTheyPay) {
  const Graph graph = twoCandidates();
  capi::CompileOptions options = lxOptions(machine(), 1);
  const LxRun chosen = runOf(graph, options);
  EXPECT_EQ(lxReason(chosen.compiled, "in0").substr(0, 12), "input-clone:");
  options.lx.inputClones = false;
  const LxRun without = runOf(graph, options);
  EXPECT_EQ(chosen.ddrBytes(), without.ddrBytes() - kTensor);
  EXPECT_EQ(chosen.result.deviceBytes, without.result.deviceBytes);
  // One place only, which nobody hands over: t saves more.
  options.lx.budgetBytes = kTensor;
  options.lx.inPlace = false;
  const LxRun small = runOf(graph, options);
  options.lx.inputClones = true;
  const LxRun refused = runOf(graph, options);
  EXPECT_EQ(lxReason(refused.compiled, "in0").substr(0, 8), "no-room:");
  EXPECT_EQ(refused.ddrBytes(), small.ddrBytes());
  EXPECT_GT(small.ddrBytes(), without.ddrBytes());
}

TEST(LxPlanning, CopiesOfOutputsAreMadeWhereTheyPay) {
  const Graph graph = readOutput();
  capi::CompileOptions options = lxOptions(machine(), 1);
  const LxRun chosen = runOf(graph, options);
  EXPECT_EQ(lxReason(chosen.compiled, "out0").substr(0, 13), "output-clone:");
  options.lx.outputClones = false;
  const LxRun without = runOf(graph, options);
  EXPECT_EQ(chosen.ddrBytes(), without.ddrBytes() - 2 * kTensor);
  EXPECT_EQ(chosen.result.deviceBytes, without.result.deviceBytes);
}

TEST(LxPlanning, ACopyOfAnOutputIsRefusedWhereAnotherSavesMore) {
  const Graph graph = readOutputBesideMore();
  capi::CompileOptions options = lxOptions(machine(), 1);
  options.lx.budgetBytes = kTensor; // one place only, which nobody hands over
  options.lx.inPlace = false;
  const LxRun refused = runOf(graph, options);
  EXPECT_EQ(lxReason(refused.compiled, "out0").substr(0, 8), "no-room:");
  EXPECT_EQ(lxReason(refused.compiled, "t1").substr(0, 7), "placed:");
  options.lx.outputClones = false;
  EXPECT_EQ(runOf(graph, options).ddrBytes(), refused.ddrBytes());
}

TEST(LxPlanning, ResultsTakeThePlaceOfOperandsWhereThatMakesRoom) {
  const Graph graph = softmaxOf({512, 1024}, 0);
  capi::CompileOptions options = lxOptions(machine(), 1);
  options.lx.inputClones = false;
  const LxRun chosen = runOf(graph, options);
  options.lx.inPlace = false;
  const LxRun without = runOf(graph, options);
  EXPECT_EQ(chosen.ddrBytes(), 3'145'728);
  EXPECT_EQ(without.ddrBytes(), 5'242'880);
  EXPECT_EQ(chosen.result.deviceBytes, without.result.deviceBytes);
}

TEST(LxPlanning, APlaceIsNotHandedOverWhereAnotherSavesMore) {
  const Graph graph = placeThatAnotherWants();
  capi::CompileOptions options = lxOptions(machine(), 1);
  options.lx.inputClones = false;
  options.lx.inPlaceOps = {"abs"};
  const LxRun roomy = runOf(graph, options);
  EXPECT_NE(lxReason(roomy.compiled, "t1").find("in the place of 't0'"), std::string::npos)
      << lxReason(roomy.compiled, "t1");
  options.lx.budgetBytes = kTensor;
  const LxRun refused = runOf(graph, options);
  EXPECT_EQ(lxReason(refused.compiled, "t1").substr(0, 8), "no-room:");
  EXPECT_EQ(lxReason(refused.compiled, "t2").substr(0, 7), "placed:");
  options.lx.inPlace = false;
  EXPECT_EQ(runOf(graph, options).ddrBytes(), refused.ddrBytes());
}

// The documented co-optimiser is asked where it was asked for, and its splits are those that run.
TEST(LxPlanning, SplitsAreMovedOnRequest) {
  const Graph graph = softmaxOf({256, 512}, 1);
  capi::CompileOptions options = lxOptions(machine(), 4);
  options.lx.divideTogether = false;
  const LxRun without = runOf(graph, options);
  EXPECT_EQ(without.compiled.decisionsJson.find("move-splits"), std::string::npos);
  options.lx.coOptimize = true;
  const LxRun moved = runOf(graph, options);
  EXPECT_NE(moved.compiled.decisionsJson.find("move-splits"), std::string::npos);
  EXPECT_LE(moved.ddrBytes(), without.ddrBytes());
}

// Sixteen operations that could all be divided otherwise, each a variant of four: more combinations
// than plans are made of.
TEST(LxPlanning, TheLimitOfMovedSplitsIsSaid) {
  GraphMaker maker;
  const int64_t x = maker.input({16, 16, 16, 64});
  std::vector<int64_t> values = {x};
  for (int i = 0; i < 16; ++i) {
    values.push_back(maker.add(values.back(), values[values.size() / 2]));
  }
  const Graph graph = maker.finish({values.back()});
  capi::CompileOptions options = lxOptions(machine(), 4);
  options.planner = "compat";
  options.lx.coOptimize = true;
  options.lx.solver = "greedy";
  options.lx.budgetBytes = 128 * 1024;
  const LxRun moved = runOf(graph, options);
  EXPECT_NE(moved.compiled.decisionsJson.find("limit-reached"), std::string::npos)
      << moved.compiled.decisionsJson.substr(moved.compiled.decisionsJson.find("move-splits"), 300);
  options.lx.coOptimize = false;
  const LxRun plain = runOf(graph, options);
  EXPECT_EQ(moved.result.deviceBytes, plain.result.deviceBytes);
  EXPECT_LE(moved.ddrBytes(), plain.ddrBytes());
}

// Plan, bundle, plan again: nothing outlives a bundle, and what can stay inside one does.
TEST(LxPlanning, PlansAreMadeUntilNothingOutlivesABundle) {
  GraphMaker maker;
  std::vector<int64_t> inputs;
  for (int i = 0; i < 12; ++i) {
    inputs.push_back(maker.input({256, 512}));
  }
  int64_t value = inputs[0];
  for (int i = 1; i < 12; ++i) {
    value = maker.add(value, inputs[size_t(i)]);
  }
  const Graph graph = maker.finish({maker.softmax(value, 1)});
  capi::CompileOptions options = lxOptions(machine(), 4);
  options.symbolicArguments = false;
  options.lx.acrossBundles = false;
  const LxRun run = runOf(graph, options);
  ASSERT_TRUE(run.compiled.artifacts.contains("bundle_1/bundle.mlir"));
  EXPECT_EQ(run.compiled.artifacts.at("model.json").find("non_terminal"), std::string::npos);
  EXPECT_GT(lxNumber(run.compiled, "all", "high_water"), 0);
  EXPECT_NE(run.compiled.decisionsJson.find("bundle-border"), std::string::npos);
  options.lx.enabled = false;
  const LxRun off = runOf(graph, options);
  EXPECT_LT(run.ddrBytes(), off.ddrBytes());
  EXPECT_EQ(run.result.deviceBytes, off.result.deviceBytes);
}

// Seven tensors and more do not fit into one baked bundle; what is computed stays on the cores over
// the border. On a shared card LX is wiped between bundles, but not behind one that is marked.
TEST(LxPlanning, ABundleThatLeavesDataInLxIsNotTheEnd) {
  GraphMaker maker;
  std::vector<int64_t> inputs;
  for (int i = 0; i < 8; ++i) {
    inputs.push_back(maker.input({256, 512}));
  }
  int64_t value = inputs[0];
  for (int i = 1; i < 8; ++i) {
    value = maker.add(value, inputs[size_t(i)]);
  }
  const Graph graph = maker.finish({maker.softmax(value, 1)});
  capi::CompileOptions options = lxOptions(machine(), 4);
  options.symbolicArguments = false;
  const LxRun run = runOf(graph, options);
  ASSERT_TRUE(run.compiled.artifacts.contains("bundle_1/bundle.mlir"));
  ASSERT_NE(run.compiled.artifacts.at("bundle_0/bundle.mlir").find("non_terminal"),
            std::string::npos);
  EXPECT_NE(run.compiled.artifacts.at("bundle_0/spyreCodeDir/spyrecode.json").find("non_terminal"),
            std::string::npos);
  runtime::DriverOptions shared;
  shared.threads = 1;
  shared.sharedCard = true;
  shared.wipeSeed = 5;
  Expected<RunResult> kept =
      runOnSimulator(run.compiled.artifacts, options.device, graph.inputs, shared);
  ASSERT_TRUE(kept.ok()) << kept.status().message();
  EXPECT_EQ(kept->deviceBytes, run.result.deviceBytes);

  // Without the mark the sanitizer finds the read of what is gone.
  Artifacts unmarked = run.compiled.artifacts;
  for (const char *file : {"bundle_0/spyreCodeDir/spyrecode.json", "model.json"}) {
    std::string &text = unmarked.at(file);
    const size_t at = text.find("non_terminal");
    ASSERT_NE(at, std::string::npos) << file;
    const size_t comma = text.rfind(',', at), end = text.find_first_of(",}", at);
    text.erase(comma, end - comma);
  }
  Expected<RunResult> lost = runOnSimulator(unmarked, options.device, graph.inputs, shared);
  ASSERT_FALSE(lost.ok());
  EXPECT_EQ(lost.status().code(), 7013) << lost.status().message();
}

namespace {

/// The compiler's own: inputs that are read twice are copied in front of everything.
class CopyInputsInFront : public solver::placement::ScratchpadOptimizationPass {
public:
  std::string_view name() const override { return "copy-inputs-in-front"; }
  Status run(solver::placement::OpList &list, int64_t capacityBytes) const override {
    return solver::placement::createCloneInputsPass()->run(list, capacityBytes);
  }
};

/// After planning everything moves up by four sticks.
class FourSticksUp : public solver::placement::ScratchpadOptimizationPass {
public:
  std::string_view name() const override { return "four-sticks-up"; }
  Status runAfter(const solver::placement::OpList & /*list*/,
                  const solver::placement::OpListProblem & /*made*/,
                  solver::placement::Offsets &offsets) const override {
    for (std::optional<int64_t> &offset : offsets) {
      offset = offset ? std::optional(*offset + 512) : std::nullopt;
    }
    return Status::success();
  }
};

} // namespace

// [spec: scratchpad L10] The role ScratchpadOptimizationPass, before and after, down to the device.
TEST(LxPlanning, PassesOfUsersRunBeforeAndAfterPlanning) {
  namespace placement = solver::placement;
  ASSERT_TRUE(placement::registerScratchpadPass(std::make_shared<CopyInputsInFront>()).ok());
  ASSERT_TRUE(placement::registerScratchpadPass(std::make_shared<FourSticksUp>()).ok());
  const Graph graph = softmaxOf({512, 1024}, 0);
  capi::CompileOptions options = lxOptions(machine(), 1);
  options.lx.inputClones = false; // the pass makes them
  const LxRun without = runOf(graph, options);
  EXPECT_EQ(without.ddrBytes(), 3'145'728);
  options.lx.passes = {"copy-inputs-in-front"};
  const LxRun before = runOf(graph, options);
  EXPECT_EQ(before.ddrBytes(), 2'097'152);
  EXPECT_EQ(before.result.deviceBytes, without.result.deviceBytes);
  options.lx.passes = {"copy-inputs-in-front", "four-sticks-up"};
  const LxRun both = runOf(graph, options);
  EXPECT_EQ(both.ddrBytes(), 2'097'152);
  EXPECT_EQ(both.result.deviceBytes, without.result.deviceBytes);
  EXPECT_EQ(lxNumber(both.compiled, "all", "high_water"), 1'050'624 + 512);
}

// The same divisions with everything in memory: what stays in LX changes no bit, whoever divided.
TEST(LxPlanning, DivisionsWithNeighboursComputeTheSameBitsInMemory) {
  int resident = 0, moved = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    RandomGraphOptions shape;
    shape.steps = 4;
    shape.maxElements = 20'000;
    const Graph graph = randomGraph(random, shape);
    for (int64_t cores : {4, 32}) {
      capi::CompileOptions options = lxOptions(machine(), cores);
      Expected<LxRun> with = compileAndRun(graph, options);
      ASSERT_TRUE(with.ok()) << with.status().message() << graphText(graph);
      options.lx.forbidden = placedBuffers(with->compiled);
      if (options.lx.forbidden.empty()) {
        continue;
      }
      Expected<LxRun> without = compileAndRun(graph, options);
      ASSERT_TRUE(without.ok()) << without.status().message() << graphText(graph);
      ASSERT_TRUE(placedBuffers(without->compiled).empty()) << graphText(graph);
      ASSERT_EQ(with->result.deviceBytes, without->result.deviceBytes)
          << "seed " << seed << ", " << cores << " cores\n"
          << graphText(graph);
      EXPECT_LE(with->ddrBytes(), without->ddrBytes()) << graphText(graph);
      ++resident;
      moved += with->compiled.decisionsJson.find("with-neighbours") != std::string::npos ? 1 : 0;
    }
  }
  EXPECT_GT(resident, 20);
  EXPECT_GT(moved, 3);
}

// The exact plan moves no more than the documented one, of any graph and number of cores.
TEST(LxPlanning, BestIsNeverWorseThanTheDocumentedPlan) {
  int better = 0;
  for (uint64_t seed = 100; seed < 150; ++seed) {
    Random random(seed);
    RandomGraphOptions shape;
    shape.steps = 5;
    shape.maxElements = 20'000;
    const Graph graph = randomGraph(random, shape);
    for (int64_t cores : {1, 4, 32}) {
      capi::CompileOptions options = lxOptions(machine(), cores);
      options.lx.divideTogether = false; // of the same divisions
      Expected<LxRun> best = compileAndRun(graph, options);
      options.lx.compat = options.lx.allOps = true;
      Expected<LxRun> documented = compileAndRun(graph, options);
      ASSERT_TRUE(best.ok() && documented.ok()) << best.status().message() << graphText(graph);
      EXPECT_LE(best->ddrBytes(), documented->ddrBytes())
          << "seed " << seed << ", " << cores << " cores\n"
          << graphText(graph);
      better += best->ddrBytes() < documented->ddrBytes() ? 1 : 0;
    }
  }
  EXPECT_GT(better, 10);
}

// Each operation of the table alone, with x + x and a sum behind it: what is planned into LX
// computes the same bits.
TEST(LxPlanning, EveryOperationComputesTheSameBits) {
  std::set<std::string> missing;
  for (const std::string &name : capi::supportedOperations()) {
    // Packed statistics: they come with layer norms, which are drawn.
    const bool isPart = name == "spyre.exx2.default" || name == "spyre.layernormscale.default" ||
                        name == "spyre.layernormnorm.default";
    if (!isPart) {
      missing.insert(name);
    }
  }
  int planned = 0;
  for (uint64_t seed = 1; seed < 20'000 && !missing.empty(); ++seed) {
    Random random(seed);
    RandomGraphOptions options;
    options.steps = 1;
    options.maxElements = 3000;
    Graph graph = randomGraph(random, options);
    bool isNew = false;
    for (const Call &call : graph.calls) {
      isNew = missing.erase(call.target) > 0 || isNew;
    }
    if (!isNew) {
      continue;
    }
    const size_t inputs = graph.inputs.size();
    const Call tail = graph.calls.back();
    const int64_t value = int64_t(inputs + graph.calls.size()) - 1;
    const bool isFloat =
        tail.dtype == numerics::HostType::Float16 || tail.dtype == numerics::HostType::Float32;
    if (isFloat && !tail.shape.empty()) {
      graph.calls.push_back({"aten.add.Tensor", {value, value}, {}, tail.shape, tail.dtype});
      std::vector<int64_t> reduced = tail.shape;
      reduced[0] = 1;
      graph.calls.push_back({"aten.sum.dim_IntList",
                             {value + 1},
                             {{"dim", std::vector<int64_t>{0}}, {"keepdim", true}},
                             reduced,
                             tail.dtype});
      graph.outputs = {value, value + 1, value + 2};
    }
    for (int64_t cores : {1, 4, 32}) {
      capi::CompileOptions on = lxOptions(machine(), cores);
      capi::CompileOptions off = on;
      off.lx.enabled = false;
      Expected<LxRun> with = compileAndRun(graph, on), without = compileAndRun(graph, off);
      ASSERT_TRUE(without.ok()) << without.status().message() << "\n" << graphText(graph);
      ASSERT_TRUE(with.ok()) << with.status().message() << "\n" << graphText(graph);
      planned += lxNumber(with->compiled, "all", "high_water") > 0 ? 1 : 0;
      ASSERT_EQ(with->result.deviceBytes, without->result.deviceBytes)
          << "seed " << seed << ", " << cores << " cores\n"
          << graphText(graph);
      EXPECT_LE(with->ddrBytes(), without->ddrBytes()) << graphText(graph);
    }
  }
  EXPECT_TRUE(missing.empty()) << missing.size() << " operations were not drawn, the first is "
                               << (missing.empty() ? "" : *missing.begin());
  EXPECT_GT(planned, 100);
}

} // namespace spyre::testing
