//===- DivideTogetherTest.cpp - neighbours that divide alike because that is cheaper ----------===//
#include "spyre/Solver/Placement/DivideTogether.h"

#include "spyre/Base/Random.h"

#include "SpecPrograms.h"
#include "gtest/gtest.h"

namespace spyre::solver::placement {
namespace {

/// Of a test program's operations on [kRows, kColumns] matrices: the kind of each.
division::Op problemOf(const OpSpec &spec) {
  division::Op op;
  op.name = spec.op;
  op.kind = spec.isReduction ? division::Kind::Reduction : division::Kind::Pointwise;
  int rows = 0, columns = 0;
  for (size_t d = 0; d < spec.iterationSpace.size(); ++d) {
    const auto &dim = spec.iterationSpace[d];
    (dim.symbol == "c0" ? rows : columns) = int(d);
    op.dims.push_back({.name = dim.symbol,
                       .extent = dim.range,
                       .reduced = spec.isReduction && dim.symbol == "c0"});
  }
  for (const TensorArg &arg : spec.args) {
    division::Tensor tensor;
    tensor.deviceSize = arg.deviceSize;
    const bool hasRows = arg.deviceSize[1] > 1;
    tensor.coordinates = {{{{columns, 1, 0, 64}}}, {}, {{{columns, 1, 64, 1}}}};
    if (hasRows) {
      tensor.coordinates[1].terms.push_back({rows, 1, 0, 1});
    }
    tensor.index = std::vector<int64_t>(spec.iterationSpace.size(), 1);
    tensor.output = &arg == &spec.args.back();
    op.tensors.push_back(std::move(tensor));
  }
  return op;
}

DivisionKinds kindsOf(const ProgramMaker &maker) {
  DivisionKinds kinds;
  for (const SpecStep &step : maker.program.steps) {
    kinds.kindOf.push_back(step.op ? int(kinds.kinds.size()) : -1);
    if (step.op) {
      division::Op op = problemOf(*step.op);
      kinds.kinds.push_back({op, division::traitsOf(op)});
    }
  }
  return kinds;
}

TogetherResult together(const ProgramMaker &maker, const TogetherLimits &limits = {}) {
  static const arch::DeviceDesc device = *arch::DeviceDesc::preset("openspyre");
  auto result =
      divideTogether(maker.program, kindsOf(maker), device, {}, 32, kCapacity, true, limits);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return *result;
}

/// x -> a -> b -> y, each divided as said.
struct Chain {
  ProgramMaker maker;
  explicit Chain(const std::vector<Splits> &splits) {
    const int x = maker.tensor("x", kBytes, true), a = maker.tensor("a"), b = maker.tensor("b"),
              y = maker.tensor("y", kBytes, false, true);
    maker.pointwise("exp", {x}, a, splits[0]);
    maker.pointwise("abs", {a}, b, splits[1]);
    maker.pointwise("neg", {b}, y, splits[2]);
  }
};

} // namespace

TEST(DivideTogether, NeighboursMeetWhereThatIsCheaper) {
  const Chain chain({{32, 1}, {8, 4}, {32, 1}});
  const TogetherResult result = together(chain.maker);
  std::vector<CoreSplits> splits = {{32, 1}, {8, 4}, {32, 1}};
  ASSERT_FALSE(result.changes.empty());
  for (const TogetherResult::Change &change : result.changes) {
    splits[change.step] = change.splits;
  }
  EXPECT_EQ(splits[0], splits[1]);
  EXPECT_EQ(splits[1], splits[2]);
  EXPECT_LT(result.nsAfter, 0.7 * result.nsBefore);
  EXPECT_TRUE(result.isComplete);
}

TEST(DivideTogether, WhatMeetsAlreadyIsLeftAlone) {
  const TogetherResult result = together(Chain({{32, 1}, {32, 1}, {32, 1}}).maker);
  EXPECT_TRUE(result.changes.empty());
  EXPECT_EQ(result.nsAfter, result.nsBefore);
}

// One core for all would leave everything in LX, and take longer.
TEST(DivideTogether, FewerCoresAreNoPriceForTheScratchpad) {
  const Chain chain({{1, 1}, {32, 1}, {32, 1}});
  const TogetherResult result = together(chain.maker);
  ASSERT_EQ(result.changes.size(), 1u);
  EXPECT_EQ(result.changes[0].step, 0u);
  EXPECT_EQ(result.changes[0].splits, CoreSplits({32, 1}));
}

// What somebody asked for stays, and the neighbours come to it.
TEST(DivideTogether, OperationsWithoutAKindKeepTheirDivision) {
  const Chain chain({{32, 1}, {8, 4}, {32, 1}});
  DivisionKinds kinds = kindsOf(chain.maker);
  kinds.kindOf[1] = -1;
  const arch::DeviceDesc device = *arch::DeviceDesc::preset("openspyre");
  auto result = divideTogether(chain.maker.program, kinds, device, {}, 32, kCapacity, true);
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result->changes.size(), 2u);
  for (const TogetherResult::Change &change : result->changes) {
    EXPECT_NE(change.step, 1u);
    EXPECT_EQ(change.splits, CoreSplits({8, 4}));
  }
}

// A sum over all rows cannot be divided as rows are: its operand is divided as the columns are.
TEST(DivideTogether, ASumDrawsItsOperandToTheColumns) {
  ProgramMaker maker;
  const int x = maker.tensor("x", kBytes, true), a = maker.tensor("a"),
            s = maker.tensor("s", 512, false, true), y = maker.tensor("y", 512, false, true);
  maker.pointwise("exp", {x}, a, {4, 1});
  maker.sum(a, s, {1, 4});
  maker.sum(a, y, {1, 4});
  const TogetherResult result = together(maker);
  ASSERT_EQ(result.changes.size(), 1u);
  EXPECT_EQ(result.changes[0].step, 0u);
  EXPECT_EQ(result.changes[0].splits, CoreSplits({1, 4}));
}

/// The price of a step that nobody prices, whose first \p inLx operands are in LX, of \p operands.
double priceOfWide(int operands, int inLx) {
  ProgramMaker maker;
  const int x = maker.tensor("x", kBytes, true), y = maker.tensor("y", kBytes, false, true);
  std::vector<int> read;
  for (int i = 0; i < operands; ++i) {
    read.push_back(i < inLx ? maker.tensor(fmt::format("t{}", i))
                            : maker.tensor(fmt::format("x{}", i), kBytes, true));
    if (i < inLx) {
      maker.pointwise("exp", {x}, read.back(), {32, 1});
    }
  }
  maker.pointwise("x_many", read, y, {32, 1});
  const arch::DeviceDesc device = *arch::DeviceDesc::preset("openspyre");
  const DivisionKinds none{{}, std::vector<int>(maker.program.steps.size(), -1)};
  auto result = divideTogether(maker.program, none, device, {}, 32, kCapacity, true);
  EXPECT_TRUE(result.ok());
  return result->nsBefore;
}

// Operand 32 + i lies in memory though operand i does not.
TEST(DivideTogether, OperandsBeyondThirtyTwoArePricedApart) {
  constexpr int kInLx = 8;
  const double tensorNs = priceOfWide(2, 0) - priceOfWide(1, 0);
  EXPECT_NEAR(priceOfWide(40, kInLx) - priceOfWide(32, kInLx), kInLx * tensorNs, 1e-6);
  EXPECT_NEAR(priceOfWide(63, kInLx) - priceOfWide(32, kInLx), 31 * tensorNs, 1e-6);
}

TEST(DivideTogether, MoreArgumentsThanAnOpSpecHasAreRefused) {
  ProgramMaker maker;
  const int y = maker.tensor("y", kBytes, false, true);
  maker.pointwise("x_many", std::vector<int>(64, maker.tensor("x", kBytes, true)), y, {32, 1});
  const arch::DeviceDesc device = *arch::DeviceDesc::preset("openspyre");
  auto result = divideTogether(maker.program, {{}, {-1}}, device, {}, 32, kCapacity, true);
  EXPECT_EQ(result.status().code(), 1302);
}

TEST(DivideTogether, NoRoomNoReason) {
  const Chain chain({{32, 1}, {8, 4}, {32, 1}});
  const arch::DeviceDesc device = *arch::DeviceDesc::preset("openspyre");
  auto result =
      divideTogether(chain.maker.program, kindsOf(chain.maker), device, {}, 32, 128, true);
  ASSERT_TRUE(result.ok());
  for (const TogetherResult::Change &change : result->changes) {
    EXPECT_LT(change.nsAfter, change.nsBefore) << "nothing can stay: only for its own sake";
  }
  EXPECT_GT(result->nsAfter, together(chain.maker).nsAfter);
}

// The same choice with any number of states that suffices; with one it is said that there was more.
TEST(DivideTogether, LimitsAreTold) {
  const Chain chain({{32, 1}, {8, 4}, {32, 1}});
  const TogetherResult few = together(chain.maker, {8, 1});
  EXPECT_FALSE(few.isComplete);
  const TogetherResult many = together(chain.maker, {8, 1000}), usual = together(chain.maker);
  EXPECT_EQ(many.nsAfter, usual.nsAfter);
  EXPECT_LE(usual.nsAfter, few.nsAfter);
}

TEST(DivideTogether, SplitsLikeAViewHaveThatView) {
  Random random(3);
  for (int i = 0; i < 200; ++i) {
    ProgramMaker maker;
    const int x = maker.tensor("x"), y = maker.tensor("y");
    const Splits splits{int64_t(1) << random.below(4), int64_t(1) << random.below(3)};
    maker.pointwise("exp", {x}, y, splits);
    const CoreView view = viewOf(maker.specs[0], 0, kBytes, true);
    const auto found = splitsLike(maker.specs[0], 1, view, kBytes);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(*found, CoreSplits({splits.rows, splits.columns}));
  }
}

} // namespace spyre::solver::placement
