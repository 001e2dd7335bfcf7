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

class AddsATensor : public ScratchpadOptimizationPass {
public:
  std::string_view name() const override { return "adds-a-tensor"; }
  Status run(OpList &list, int64_t /*capacityBytes*/) const override {
    list.tensors.push_back(list.tensors.front());
    return Status::success();
  }
};

} // namespace

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
  ASSERT_TRUE(registerScratchpadPass(std::make_shared<AddsATensor>()).ok());
  options.passes = {"adds-a-tensor"};
  EXPECT_EQ(planLx(chain.maker.list(), options, 4, kCapacity).status().code(), 3103);
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
  EXPECT_LE(flipped->bytesAfter, flipped->bytesBefore);
}

TEST(LxPlans, PlannedBytesAreTheDocumentedOnes) {
  EXPECT_EQ(plannedLxBytes(2 << 20, 128, 0.0), 2'031'616);
  EXPECT_EQ(plannedLxBytes(2 << 20, 128, 0.1), 1'828'480);
  EXPECT_EQ(plannedLxBytes(2 << 20, 128, 0.2), 1'625'344);
  EXPECT_EQ(plannedLxBytes(2 << 20, 128, 0.5), 1'015'808);
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
