//===- LxPlanTest.cpp - OpSpecs as planning sees them, plans, and what the last check refuses
//--===//
#include "spyre/Solver/Placement/LxPlan.h"

#include "spyre/Base/Random.h"
#include "spyre/Solver/Placement/DimFlip.h"

#include "SpecPrograms.h"
#include "gtest/gtest.h"

namespace spyre::solver::placement {
namespace {

/// x -> a -> b -> y; a and b stay.
struct Chain {
  ProgramMaker maker;
  int x = maker.tensor("x", kBytes, true), a = maker.tensor("a"), b = maker.tensor("b"),
      y = maker.tensor("y", kBytes, false, true);
  Chain() {
    maker.pointwise("exp", {x}, a, {4, 1});
    maker.pointwise("abs", {a}, b, {4, 1});
    maker.pointwise("neg", {b}, y, {4, 1});
  }
  Status verify(const Residents &residents) const {
    return verifyResidents(maker.list(), residents, kCapacity, 4);
  }
};

void expectRefused(const Status &status, const char *words) {
  EXPECT_EQ(status.code(), 3101);
  EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
}

} // namespace

TEST(SpecViews, ACoreHoldsTheSticksItsSliceHas) {
  ProgramMaker maker;
  const int x = maker.tensor("x"), y = maker.tensor("y");
  maker.pointwise("exp", {x}, y, {4, 2});
  const CoreView view = viewOf(maker.specs[0], 0, kBytes, true);
  EXPECT_TRUE(view.known);
  EXPECT_EQ(view.cores, 8);
  // 16 rows of one of two halves of the four columns of sticks; rows are next to each other.
  const std::vector<std::pair<int64_t, int64_t>> walk = {{16, 1}, {2, 64}};
  EXPECT_EQ(view.walk, walk);
  const std::vector<int64_t> starts = {0, 16, 32, 48, 128, 144, 160, 176};
  EXPECT_EQ(view.sliceOfCore, starts);
}

// 256 columns as 4 x 64 or in one: the same sticks in the same order.
TEST(SpecViews, SpellingsOfOneDivisionAreEqual) {
  OpSpec whole, cut;
  whole.op = cut.op = "exp";
  whole.iterationSpace = {{"c0", 64, 2}, {"c1", 256, 4}};
  whole.args.assign(2, matrix(64, 256));
  cut.iterationSpace = {{"r", 64, 2}, {"c2", 4, 4}, {"c3", 64, 1}};
  TensorArg arg;
  arg.deviceSize = {4, 64, 64};
  arg.deviceCoordinates = {Coordinate::var("c2"), Coordinate::var("r"), Coordinate::mod("c3", 64)};
  cut.args.assign(2, arg);
  EXPECT_EQ(viewOf(whole, 0, kBytes, true), viewOf(cut, 0, kBytes, true));
  cut.iterationSpace[0].cores = 1;
  EXPECT_NE(viewOf(whole, 0, kBytes, true), viewOf(cut, 0, kBytes, true));
}

TEST(SpecViews, PartsAreNotKnown) {
  OpSpec op;
  op.op = "exp";
  op.iterationSpace = {{"c0", 32, 1}, {"c1", 256, 1}};
  op.args = {matrix(32, 256, 32), matrix(32, 256)};
  EXPECT_FALSE(viewOf(op, 0, kBytes, true).known) << "rows from 32 on";
  EXPECT_TRUE(viewOf(op, 1, kBytes / 2, true).known);
  EXPECT_FALSE(viewOf(op, 1, kBytes, true).known) << "half of the tensor";
}

TEST(LxPlans, AChainStaysInOnePlace) {
  const Chain chain;
  LxOptions options;
  Expected<LxPlan> plan = planLx(chain.maker.list(), options, 4, kCapacity);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->trafficBefore, 6 * kBytes);
  EXPECT_EQ(plan->trafficAfter, 2 * kBytes);
  EXPECT_EQ(heightOf(plan->made.problem, plan->plan.offsets), kBytes / 4) << "in place";
  options.inPlace = false;
  plan = planLx(chain.maker.list(), options, 4, kCapacity);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(heightOf(plan->made.problem, plan->plan.offsets), kBytes / 2);
}

TEST(LxPlans, WishesAreKeptOrRefused) {
  const Chain chain;
  LxOptions options;
  options.forbidden = {"a"};
  options.pins = {{"b", 4096}};
  Expected<LxPlan> plan = planLx(chain.maker.list(), options, 4, kCapacity);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_FALSE(plan->plan.offsets[0].has_value());
  EXPECT_EQ(plan->plan.offsets[1], 4096);
  options.forbidden = {"none"};
  EXPECT_EQ(planLx(chain.maker.list(), options, 4, kCapacity).status().code(), 3100);
  options.forbidden.clear();
  options.pins = {{"none", 0}};
  EXPECT_EQ(planLx(chain.maker.list(), options, 4, kCapacity).status().code(), 3100);
  options.pins = {{"a", 0}, {"b", 128}};
  const Status clash = planLx(chain.maker.list(), options, 4, kCapacity).status();
  EXPECT_EQ(clash.code(), 3120);
  EXPECT_NE(clash.message().find("'a'"), std::string::npos) << clash.message();
  options.pins.clear();
  options.solver = "none";
  EXPECT_EQ(planLx(chain.maker.list(), options, 4, kCapacity).status().code(), 3045);
}

namespace {

/// A user's pass: results of one operation do not stay.
class NoExp : public ScratchpadOptimizationPass {
public:
  std::string_view name() const override { return "no-exp"; }
  Status run(OpList &list, int64_t /*capacityBytes*/) const override {
    for (const OpStep &op : list.ops) {
      if (op.name == "exp") {
        list.tensors[size_t(op.writes[0])].barred = "results of exp go to memory";
      }
    }
    return Status::success();
  }
};

/// After planning: the first sticks stay free, everything moves up.
class LeaveLowSticks : public ScratchpadOptimizationPass {
public:
  std::string_view name() const override { return "leave-low-sticks"; }
  Status runAfter(const OpList & /*list*/, const OpListProblem & /*made*/,
                  Offsets &offsets) const override {
    for (std::optional<int64_t> &offset : offsets) {
      offset = offset ? std::optional(*offset + 512) : std::nullopt;
    }
    return Status::success();
  }
};

/// After planning: what saves least goes back to memory.
class EvictTheLeast : public ScratchpadOptimizationPass {
public:
  std::string_view name() const override { return "evict-the-least"; }
  Status runAfter(const OpList & /*list*/, const OpListProblem &made,
                  Offsets &offsets) const override {
    int least = -1;
    for (size_t i = 0; i < offsets.size(); ++i) {
      const auto worth = [&](int buffer) { return made.problem.buffers[size_t(buffer)].worth(); };
      least = offsets[i] && (least < 0 || worth(int(i)) < worth(least)) ? int(i) : least;
    }
    if (least >= 0) {
      offsets[size_t(least)] = std::nullopt;
    }
    return Status::success();
  }
};

/// After planning, and wrong: all at one address.
class AllAtZero : public ScratchpadOptimizationPass {
public:
  std::string_view name() const override { return "all-at-zero"; }
  Status runAfter(const OpList & /*list*/, const OpListProblem & /*made*/,
                  Offsets &offsets) const override {
    std::fill(offsets.begin(), offsets.end(), std::optional<int64_t>(0));
    return Status::success();
  }
};

} // namespace

TEST(LxPlans, AUsersPassRunsAfterPlanning) {
  const Chain chain;
  LxOptions options;
  const Expected<LxPlan> without = planLx(chain.maker.list(), options, 4, kCapacity);
  ASSERT_TRUE(registerScratchpadPass(std::make_shared<LeaveLowSticks>()).ok());
  ASSERT_TRUE(registerScratchpadPass(std::make_shared<EvictTheLeast>()).ok());
  ASSERT_TRUE(registerScratchpadPass(std::make_shared<AllAtZero>()).ok());
  options.passes = {"leave-low-sticks"};
  const Expected<LxPlan> moved = planLx(chain.maker.list(), options, 4, kCapacity);
  ASSERT_TRUE(without.ok() && moved.ok()) << moved.status().message();
  for (size_t i = 0; i < moved->plan.offsets.size(); ++i) {
    ASSERT_EQ(moved->plan.offsets[i].has_value(), without->plan.offsets[i].has_value());
    if (moved->plan.offsets[i]) {
      EXPECT_EQ(*moved->plan.offsets[i], *without->plan.offsets[i] + 512);
    }
  }
  EXPECT_EQ(moved->trafficAfter, without->trafficAfter);
  EXPECT_EQ(moved->plan.certificate.gap(), 0);
  options.passes = {"evict-the-least", "leave-low-sticks"};
  const Expected<LxPlan> less = planLx(chain.maker.list(), options, 4, kCapacity);
  ASSERT_TRUE(less.ok()) << less.status().message();
  EXPECT_GT(less->trafficAfter, without->trafficAfter);
  EXPECT_EQ(less->plan.certificate.value, valueOf(less->made.problem, less->plan.offsets));
  EXPECT_GT(less->plan.certificate.gap(), 0);
  EXPECT_EQ(less->plan.certificate.proof, Proof::None);
  // What a pass leaves is a plan like any other.
  options.passes = {"all-at-zero"};
  const Status wrong = planLx(chain.maker.list(), options, 4, kCapacity).status();
  EXPECT_EQ(wrong.code(), 3044) << wrong.message();
  EXPECT_NE(wrong.message().find("all-at-zero"), std::string::npos) << wrong.message();
}

TEST(LxPlans, CopiesThatAPassInsertedAreFound) {
  ProgramMaker maker;
  const int x = maker.tensor("x", kBytes, true), a = maker.tensor("a"),
            y = maker.tensor("y", kBytes, false, true);
  maker.pointwise("exp", {x}, a, {4, 1});
  maker.pointwise("add", {a, x}, y, {4, 1});
  const OpList before = maker.list();
  OpList after = before;
  ASSERT_TRUE(createCloneInputsPass()->run(after, kCapacity).ok());
  const auto copies = insertedCopies(before, after);
  ASSERT_TRUE(copies.ok()) << copies.status().message();
  ASSERT_EQ(copies->size(), 1u);
  EXPECT_EQ((*copies)[0].source, x);
  EXPECT_EQ((*copies)[0].position, 0u);
  const std::vector<std::pair<size_t, size_t>> readers = {{0, 0}, {1, 1}};
  EXPECT_EQ((*copies)[0].readers, readers);
  // Anything else is the compiler's.
  OpList renamed = before, shorter = before, unused = before;
  renamed.ops[0].name = "abs";
  shorter.ops.pop_back();
  unused.tensors.push_back(unused.tensors.front());
  for (const OpList &changed : {renamed, shorter, unused}) {
    EXPECT_EQ(insertedCopies(before, changed).status().code(), 3103);
  }
}

TEST(LxPlans, TheDocumentedPlannerHasItsListOfOperations) {
  const Chain chain; // exp, abs, neg
  LxOptions options;
  options.compat = true;
  const Expected<LxPlan> documented = planLx(chain.maker.list(), options, 4, kCapacity);
  ASSERT_TRUE(documented.ok());
  EXPECT_TRUE(documented->plan.offsets[0].has_value()) << "exp is on the list";
  EXPECT_FALSE(documented->plan.offsets[1].has_value()) << "abs is not";
  EXPECT_EQ(documented->made.decisions[1].reason(), "op-not-allowed");
  options.allOps = true;
  const Expected<LxPlan> all = planLx(chain.maker.list(), options, 4, kCapacity);
  ASSERT_TRUE(all.ok());
  EXPECT_TRUE(all->plan.offsets[1].has_value());
}

TEST(LxPlans, CompatFitsByLifetime) {
  ProgramMaker maker;
  const int x = maker.tensor("x", kBytes, true), many = maker.tensor("many"),
            brief = maker.tensor("brief");
  maker.pointwise("exp", {x}, many, {4, 1});
  maker.pointwise("neg", {many}, brief, {4, 1});
  for (const char *name : {"a", "b"}) {
    maker.pointwise("abs", {many}, maker.tensor(name, kBytes, false, true), {4, 1});
  }
  maker.pointwise("add", {many, brief}, maker.tensor("y", kBytes, false, true), {4, 1});
  LxOptions options;
  options.solver = "firstfit";
  options.allOps = true;
  options.inputClones = options.outputClones = false;
  for (const bool compat : {false, true}) {
    options.compat = compat;
    const Expected<LxPlan> plan = planLx(maker.list(), options, 4, kBytes / 4);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    // Five uses in five ticks, or two uses in four.
    EXPECT_EQ(plan->plan.offsets[0].has_value(), !compat);
    EXPECT_EQ(plan->plan.offsets[1].has_value(), compat);
  }
}

TEST(LxPlans, AUsersPassRunsBeforePlanning) {
  const Chain chain;
  LxOptions options;
  options.passes = {"no-exp"};
  EXPECT_EQ(planLx(chain.maker.list(), options, 4, kCapacity).status().code(), 3103);
  ASSERT_TRUE(registerScratchpadPass(std::make_shared<NoExp>()).ok());
  EXPECT_EQ(registerScratchpadPass(std::make_shared<NoExp>()).code(), 3103);
  const Expected<LxPlan> plan = planLx(chain.maker.list(), options, 4, kCapacity);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_FALSE(plan->plan.offsets[0].has_value());
  EXPECT_TRUE(plan->plan.offsets[1].has_value());
}

// Of any program: the exact plan, which may copy inputs and outputs or not, moves no more than the
// documented one, whatever solver makes that.
TEST(LxPlans, BestIsNeverWorseThanTheDocumentedPlan) {
  Random random(17);
  int better = 0;
  for (int round = 0; round < 300; ++round) {
    ProgramMaker maker;
    std::vector<int> tensors;
    for (int i = 0; i < 2; ++i) {
      tensors.push_back(maker.tensor(fmt::format("x{}", i), kBytes, true));
    }
    const int ops = int(random.between(3, 10));
    for (int i = 0; i < ops; ++i) {
      const bool isOutput = i + 1 == ops || random.below(4) == 0;
      std::vector<int> inputs = {tensors[random.below(tensors.size())],
                                 tensors[random.below(tensors.size())]};
      tensors.push_back(maker.tensor(fmt::format("t{}", i), kBytes, false, isOutput));
      maker.pointwise("add", inputs, tensors.back(),
                      random.below(4) == 0 ? Splits{1, 4} : Splits{4, 1});
    }
    const OpList list = maker.list();
    OpList copied = list;
    const int64_t capacity = kBytes / 4 * random.between(1, 4);
    ASSERT_TRUE(createCloneInputsPass()->run(copied, capacity).ok());
    const Expected<LxPlan> best = planLx(list, {}, 4, capacity);
    ASSERT_TRUE(best.ok()) << best.status().message();
    EXPECT_EQ(best->plan.certificate.gap(), 0) << round;
    for (const char *solver : {"greedy", "firstfit", "bestfit"}) {
      LxOptions documented;
      documented.compat = documented.allOps = true;
      documented.solver = solver;
      for (const OpList *one : std::initializer_list<const OpList *>{&list, &copied}) {
        const Expected<LxPlan> plan = planLx(*one, documented, 4, capacity);
        ASSERT_TRUE(plan.ok()) << plan.status().message();
        EXPECT_LE(best->trafficAfter, plan->trafficAfter) << round << " " << solver;
        better += best->trafficAfter < plan->trafficAfter ? 1 : 0;
      }
    }
  }
  EXPECT_GT(better, 100);
}

// exp divides rows, abs columns: only one of them moved lets a stay.
TEST(DimFlips, NeighboursAreBroughtTogether) {
  ProgramMaker maker;
  const int x = maker.tensor("x", kBytes, true), a = maker.tensor("a"),
            y = maker.tensor("y", kBytes, false, true);
  maker.pointwise("exp", {x}, a, {4, 1});
  maker.pointwise("abs", {a}, y, {1, 4});
  const Expected<FlipResult> flipped = flipDims(maker.program, {}, 4, kCapacity, true);
  ASSERT_TRUE(flipped.ok()) << flipped.status().message();
  EXPECT_EQ(flipped->flippable, 2);
  EXPECT_EQ(flipped->bytesBefore, 4 * kBytes);
  EXPECT_EQ(flipped->bytesAfter, 2 * kBytes);
  EXPECT_TRUE(flipped->isComplete);
  const CoreSplits rows = {4, 1};
  EXPECT_TRUE(flipped->splits[0].empty()) << "the first best one wins";
  EXPECT_EQ(flipped->splits[1], rows);
}

// The bound changes how many plans are made, not which one wins.
TEST(DimFlips, HasTheWinnerOfAllCombinations) {
  Random random(7);
  int improved = 0;
  for (int round = 0; round < 60; ++round) {
    ProgramMaker maker;
    std::vector<int> tensors = {maker.tensor("x", kBytes, true)};
    const int ops = int(random.between(2, 8));
    for (int i = 0; i < ops; ++i) {
      tensors.push_back(maker.tensor(fmt::format("t{}", i), kBytes, false, i + 1 == ops));
      std::vector<int> inputs = {tensors[random.below(uint64_t(i) + 1)],
                                 tensors[random.below(uint64_t(i) + 1)]};
      maker.pointwise("add", inputs, tensors.back(),
                      random.below(2) == 0 ? Splits{4, 1} : Splits{1, 4});
    }
    LxOptions options;
    options.solver = "greedy";
    const int64_t capacity = kBytes / 4 * random.between(1, 3);
    const Expected<FlipResult> flipped = flipDims(maker.program, options, 4, capacity, true);
    ASSERT_TRUE(flipped.ok()) << flipped.status().message();
    // All combinations, in the order of the search.
    int64_t least = -1;
    uint32_t winner = 0;
    const std::deque<OpSpec> own = maker.specs;
    for (uint32_t mask = 0; mask < (1u << ops); ++mask) {
      for (int i = 0; i < ops; ++i) {
        maker.specs[size_t(i)] = own[size_t(i)];
        if ((mask >> (ops - 1 - i) & 1) != 0) {
          auto &space = maker.specs[size_t(i)].iterationSpace;
          std::swap(space[0].cores, space[1].cores);
        }
      }
      const Expected<LxPlan> plan = planLx(maker.list(), options, 4, capacity);
      ASSERT_TRUE(plan.ok());
      if (least < 0 || plan->trafficAfter < least) {
        least = plan->trafficAfter;
        winner = mask;
      }
    }
    EXPECT_EQ(flipped->bytesAfter, least) << round;
    for (int i = 0; i < ops; ++i) {
      EXPECT_EQ(!flipped->splits[size_t(i)].empty(), (winner >> (ops - 1 - i) & 1) != 0) << round;
    }
    improved += flipped->bytesAfter < flipped->bytesBefore ? 1 : 0;
  }
  EXPECT_GT(improved, 20);
}

TEST(DimFlips, StopsAtItsLimit) {
  ProgramMaker maker;
  std::vector<int> tensors = {maker.tensor("x", kBytes, true)};
  for (int i = 0; i < 12; ++i) {
    tensors.push_back(maker.tensor(fmt::format("t{}", i), kBytes, false, i == 11));
    maker.pointwise("exp", {tensors[size_t(i)]}, tensors.back(),
                    i % 2 == 0 ? Splits{4, 1} : Splits{1, 4});
  }
  FlipLimits limits;
  limits.leaves = 3;
  const Expected<FlipResult> flipped = flipDims(maker.program, {}, 4, kCapacity, true, limits);
  ASSERT_TRUE(flipped.ok());
  EXPECT_FALSE(flipped->isComplete);
  EXPECT_EQ(flipped->leaves, 3);
  EXPECT_LE(flipped->bytesAfter, flipped->bytesBefore);
  limits = {};
  limits.nodes = 20;
  const Expected<FlipResult> few = flipDims(maker.program, {}, 4, kCapacity, true, limits);
  ASSERT_TRUE(few.ok());
  EXPECT_FALSE(few->isComplete);
}

// However many operations there are: 4,096 plans at most.
TEST(DimFlips, StopsAtItsOwnLimit) {
  ProgramMaker maker;
  std::vector<int> tensors = {maker.tensor("x", kBytes, true)};
  for (int i = 0; i < 40; ++i) {
    tensors.push_back(maker.tensor(fmt::format("t{}", i), kBytes, false, true));
    // Each reads all before it in pairs: nothing agrees, and nothing is decided early.
    maker.pointwise("add", {tensors[size_t(i)], tensors[size_t(i) / 2]}, tensors.back(),
                    i % 2 == 0 ? Splits{4, 1} : Splits{1, 4});
  }
  LxOptions options;
  options.solver = "greedy";
  const Expected<FlipResult> flipped = flipDims(maker.program, options, 4, kBytes, true);
  ASSERT_TRUE(flipped.ok());
  EXPECT_EQ(flipped->flippable, 40);
  EXPECT_FALSE(flipped->isComplete);
  EXPECT_LE(flipped->leaves, 4'096);
  EXPECT_LE(flipped->nodes, (1 << 20) + 100);
  EXPECT_LT(flipped->bytesAfter, flipped->bytesBefore);
}

TEST(DimFlips, SixVariantsAtMost) {
  OpSpec op;
  op.op = "exp";
  TensorArg arg;
  for (int d = 0; d < 8; ++d) {
    const std::string symbol = fmt::format("d{}", d);
    op.iterationSpace.push_back({symbol, 4, d == 2 ? 4 : 1});
    arg.deviceSize.push_back(4);
    arg.deviceCoordinates.push_back(Coordinate::var(symbol));
  }
  arg.deviceSize.push_back(64);
  arg.deviceCoordinates.push_back(Coordinate::constant(0));
  op.args.assign(2, arg);
  const std::vector<CoreSplits> variants = flipVariants(op);
  ASSERT_EQ(variants.size(), 6u);
  for (size_t i = 0; i < variants.size(); ++i) {
    // Its own, then the factor on the first others.
    const size_t moved = i == 0 ? 2 : i <= 2 ? i - 1 : i;
    for (size_t d = 0; d < 8; ++d) {
      EXPECT_EQ(variants[i][d], d == moved ? 4 : 1) << i << " " << d;
    }
  }
  // Two splits are left as they are.
  op.iterationSpace[0].cores = 2;
  EXPECT_EQ(flipVariants(op).size(), 1u);
}

TEST(ResidentCheck, TakesWhatHolds) {
  const Chain chain;
  EXPECT_TRUE(chain.verify({{chain.a, 0}, {chain.b, 0}}).ok()) << "in place";
  EXPECT_TRUE(chain.verify({{chain.a, 0}, {chain.b, kBytes / 4}}).ok());
}

TEST(ResidentCheck, RefusesOverlapsAndEdges) {
  const Chain chain;
  expectRefused(chain.verify({{chain.a, 0}, {chain.b, 128}}), "share LX");
  expectRefused(chain.verify({{chain.a, 64}}), "not at a stick");
  expectRefused(chain.verify({{chain.a, kCapacity}}), "beyond");
  expectRefused(chain.verify({{chain.y, 0}}), "inputs and outputs lie in memory");
}

// Wrong code of its kind, made on purpose.
TEST(ResidentCheck, LoopsReorderedAfterPlanning) {
  Chain chain;
  std::swap(chain.maker.program.steps[0], chain.maker.program.steps[1]);
  expectRefused(chain.verify({{chain.a, 0}}), "before anything wrote it");
  std::swap(chain.maker.program.steps[0], chain.maker.program.steps[1]);
  chain.maker.specs[1].iterationSpace[0].cores = 2;
  expectRefused(chain.verify({{chain.a, 0}}), "divide it differently");
}

TEST(ResidentCheck, AnotherProgramRunsInBetween) {
  Chain chain;
  auto &steps = chain.maker.program.steps;
  steps.insert(steps.begin() + 1, SpecStep{nullptr, "aten.sort.default", {chain.x}, false});
  expectRefused(chain.verify({{chain.a, 0}}), "may use any address");
}

TEST(ResidentCheck, APartialSumIsReadByAll) {
  ProgramMaker maker;
  const int x = maker.tensor("x", kBytes, true), s = maker.tensor("s", kColumns * 2),
            y = maker.tensor("y", kColumns * 2, false, true);
  maker.sum(x, s, {4, 1}); // rows on four cores: each has a part of the sum
  OpSpec read;
  read.op = "neg";
  read.iterationSpace = {{"c1", kColumns, 1}};
  read.args.assign(2, columnsOf(kColumns));
  maker.add(read, {s}, y);
  const Status status = verifyResidents(maker.list(), {{s, 0}}, kCapacity, 4);
  expectRefused(status, "partial sums");
  Expected<LxPlan> plan = planLx(maker.list(), {}, 4, kCapacity);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->plan.offsets[0], std::nullopt);
}

// Each core has the largest of its part; taken for the largest of all by who reads it whole.
TEST(ResidentCheck, PartialTopKIsReadAsIfComplete) {
  ProgramMaker maker;
  const int x = maker.tensor("x", kBytes, true), top = maker.tensor("top", kColumns * 2),
            y = maker.tensor("y", kColumns * 2, false, true);
  OpSpec topk;
  topk.op = "topkvalue";
  topk.isReduction = true;
  topk.iterationSpace = {{"c1", kColumns, 1}, {"k", 1, 1}, {"c0", kRows, 4}};
  topk.args = {matrix(kRows, kColumns), columnsOf(kColumns)};
  maker.add(topk, {x}, top);
  OpSpec read;
  read.op = "neg";
  read.iterationSpace = {{"c1", kColumns, 1}};
  read.args.assign(2, columnsOf(kColumns));
  maker.add(read, {top}, y);
  expectRefused(verifyResidents(maker.list(), {{top, 0}}, kCapacity, 4), "partial sums");
}

TEST(ResidentCheck, AViewWithAnOffsetIsNotIgnored) {
  ProgramMaker maker;
  const int x = maker.tensor("x", kBytes, true), a = maker.tensor("a"),
            y = maker.tensor("y", kBytes / 2, false, true);
  maker.pointwise("exp", {x}, a, {});
  OpSpec half;
  half.op = "neg";
  half.iterationSpace = {{"c0", kRows / 2, 1}, {"c1", kColumns, 1}};
  half.args = {matrix(kRows / 2, kColumns, kRows / 2), matrix(kRows / 2, kColumns)};
  maker.add(half, {a}, y);
  expectRefused(verifyResidents(maker.list(), {{a, 0}}, kCapacity, 1), "partial/offset");
}

// Four cores each need all of s, which lies in four parts.
TEST(ResidentCheck, ABroadcastReadsWhatOtherCoresHold) {
  ProgramMaker maker;
  const int x = maker.tensor("x", kBytes, true), s = maker.tensor("s", kColumns * 2),
            y = maker.tensor("y", kBytes, false, true);
  maker.sum(x, s, {1, 4});
  OpSpec read;
  read.op = "sub";
  read.iterationSpace = {{"c0", kRows, 4}, {"c1", kColumns, 1}};
  read.args = {matrix(kRows, kColumns), columnsOf(kColumns), matrix(kRows, kColumns)};
  maker.add(read, {x, s}, y);
  expectRefused(verifyResidents(maker.list(), {{s, 0}}, kCapacity, 4), "slices are there");
}

} // namespace spyre::solver::placement
