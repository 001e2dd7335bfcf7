//===- VerifyTest.cpp - the verifier finds what planners can get wrong ----------------------===//
#include "spyre/Solver/Division/Verify.h"

#include "Support.h"

namespace spyre::solver::division {
namespace {

using namespace test;

Plan planFor(const Op &op, const Splits &splits) {
  return makePlan(op, splits, CoreOrder::FirstFastest);
}

int faultOf(const Op &op, const Plan &plan, const arch::DeviceDesc &device = machine(),
            int64_t cores = 32) {
  return verifyPlan(op, device, cores, plan).code();
}

TEST(DivisionVerify, SpansAreDifferencesOfAddresses) {
  const Op op = pointwise({128, 256});
  // Device [4, 128, 64]: four planes of 128 sticks.
  EXPECT_EQ(trueSpans(op, planFor(op, {1, 1}))[0], 512 * 128);
  EXPECT_EQ(trueSpans(op, planFor(op, {1, 4}))[0], 128 * 128);
  // Rows split: from row 0 of the first plane to row 63 of the last.
  EXPECT_EQ(trueSpans(op, planFor(op, {2, 1}))[0], (3 * 128 + 64) * 128);
  EXPECT_EQ(trueSpans(op, planFor(op, {2, 4}))[0], 64 * 128);
}

TEST(DivisionVerify, PartialSticksCountWithAllTheirRows) {
  // K = 257 in five sticks, split five ways: a core owns 64 rows of the second operand, not 51.
  const Op op = makeMatmul(0, 64, 64, 257);
  const Splits splits = {1, 1, 5};
  EXPECT_EQ(documentedSpan(op, unitsOf(op), op.tensors[1], splits), 51 * 128);
  EXPECT_EQ(trueSpans(op, planFor(op, splits))[1], 64 * 128);
}

TEST(DivisionVerify, SpanLimitIsLegalAtEquality) {
  const Op op = pointwise({1024, 64});
  arch::DeviceDesc device = machine();
  device.spanLimitBytes = 1024 * 128;
  EXPECT_EQ(faultOf(op, planFor(op, {1, 1}), device), 0);
  device.spanLimitBytes -= 1;
  EXPECT_EQ(faultOf(op, planFor(op, {1, 1}), device), 3064);
}

TEST(DivisionVerify, OwnersMustCoverEverySliceOnce) {
  const Op op = pointwise({128, 256});
  Plan plan = planFor(op, {4, 2});
  EXPECT_EQ(faultOf(op, plan), 0);
  Plan twice = plan;
  twice.owner[3] = twice.owner[2];
  EXPECT_EQ(faultOf(op, twice), 3072);
  Plan outside = plan;
  outside.owner[3][0] = 4;
  EXPECT_EQ(faultOf(op, outside), 3072);
  Plan missing = plan;
  missing.owner.pop_back();
  EXPECT_EQ(faultOf(op, missing), 3072);
  missing.cores = 7;
  EXPECT_EQ(faultOf(op, missing), 3072);
  Plan shortRow = plan;
  shortRow.owner[0].pop_back();
  EXPECT_EQ(faultOf(op, shortRow), 3072);
}

TEST(DivisionVerify, AnyPermutationOfCoresIsAPlan) {
  const Op op = pointwise({128, 256});
  Plan plan = planFor(op, {4, 2});
  std::reverse(plan.owner.begin(), plan.owner.end());
  EXPECT_EQ(faultOf(op, plan), 0);
}

TEST(DivisionVerify, SlicesAreEqualAndWholeSticks) {
  const Op op = pointwise({100, 200});
  EXPECT_EQ(faultOf(op, planFor(op, {3, 1})), 3072);
  EXPECT_EQ(faultOf(op, planFor(op, {1, 8})), 3072) << "four sticks";
  EXPECT_EQ(faultOf(op, planFor(op, {1, 4})), 0) << "the last one is partial";
}

TEST(DivisionVerify, CoresOfOneResultMustBePartnersOfAReduction) {
  Op op = makeMatmul(0, 64, 256, 256);
  EXPECT_EQ(faultOf(op, planFor(op, {1, 1, 4})), 0);
  op.dims[2].reduced = false;
  EXPECT_EQ(faultOf(op, planFor(op, {1, 1, 4})), 3072);
}

TEST(DivisionVerify, OverlappingResultsAreFound) {
  // Coordinate c0 + c1: (1, 0) and (0, 1) are the same stick.
  Op op = pointwise({8, 8});
  for (Tensor &tensor : op.tensors) {
    tensor.deviceSize = {15, 64};
    tensor.coordinates = {{{{.dim = 0}, {.dim = 1}}}, {}};
  }
  EXPECT_EQ(faultOf(op, planFor(op, {2, 1})), 3072);
  // Coordinate 8*c0 + c1 tells them apart.
  for (Tensor &tensor : op.tensors) {
    tensor.deviceSize = {64, 64};
    tensor.coordinates[0].terms[0].step = 8;
  }
  EXPECT_EQ(faultOf(op, planFor(op, {2, 4})), 0);
}

TEST(DivisionVerify, WrappedCoordinatesAreFollowed) {
  // One variable in two device dimensions: v / 10 and v % 10.
  Op op{.name = "wrapped"};
  op.dims = {{.name = "v", .extent = 60}};
  for (bool output : {false, true}) {
    Tensor tensor{.name = output ? "out" : "in"};
    tensor.output = output;
    tensor.deviceSize = {6, 10, 64};
    tensor.coordinates = {{{{.dim = 0, .divisor = 10}}}, {{{.dim = 0, .wrap = 10}}}, {}};
    op.tensors.push_back(tensor);
  }
  EXPECT_EQ(trueSpans(op, planFor(op, {6}))[0], 10 * 128);
  EXPECT_EQ(trueSpans(op, planFor(op, {4}))[0], 15 * 128);
  EXPECT_EQ(faultOf(op, planFor(op, {4})), 0);
  // Backwards planes: the largest address is inside the range, not at its end.
  for (Tensor &tensor : op.tensors) {
    tensor.coordinates = {
        {{{.dim = 0, .wrap = 10, .divisor = 2}}}, {{{.dim = 0, .divisor = 20}}}, {}};
    tensor.deviceSize = {5, 3, 64};
  }
  // Values 10..19: planes 0..4 of three rows, row 0: 4 * 3.
  EXPECT_EQ(trueSpans(op, planFor(op, {6}))[0], 13 * 128);
}

TEST(DivisionVerify, LoopsCountTo65535) {
  const Op op = pointwise({65536, 64});
  EXPECT_EQ(faultOf(op, planFor(op, {1, 1})), 3070);
  EXPECT_EQ(faultOf(op, planFor(op, {2, 1})), 0);
  const Op most = pointwise({65535, 64});
  EXPECT_EQ(faultOf(most, planFor(most, {1, 1})), 0);
  arch::DeviceDesc device = machine();
  device.division.maxTripCount = 0;
  EXPECT_EQ(faultOf(op, planFor(op, {1, 1}), device), 0);
}

TEST(DivisionVerify, BudgetsOfCores) {
  const Op op = pointwise({128, 256});
  EXPECT_EQ(faultOf(op, planFor(op, {32, 1}), machine(), 16), 3061);
  EXPECT_EQ(faultOf(op, planFor(op, {32, 1}), machine("tiny"), 32), 3061);
}

TEST(DivisionVerify, IndirectTablesAreExemptByCapability) {
  // 1.05 GB: 131,072 rows of 4,096 elements, 64 planes.
  const Op op = makeGather(1024, std::vector<int64_t>{131072, 4096});
  EXPECT_GT(131072ll * 4096 * 2, int64_t(1.05e9));
  const Outcome outcome = divided(op, {});
  EXPECT_TRUE(outcome.verdict.ok()) << outcome.verdict.message();
  EXPECT_EQ(outcome.plan.splits, (Splits{32, 1}));
  arch::DeviceDesc strict = machine();
  strict.division.indirectTablesExceedSpan = false;
  EXPECT_EQ(faultOf(op, outcome.plan, strict), 3064);
  // With all rows counted only tiles of the row keep the limit.
  EXPECT_TRUE(divided(op, {}, strict).tiling.has_value());
}

TEST(DivisionVerify, IndicesMayBeCutInsideAStick) {
  Op op = makeGather(64, std::vector<int64_t>{128, 64});
  // Two sticks of 32 indices; planners count them whole.
  EXPECT_EQ(faultOf(op, planFor(op, {2, 1})), 0);
}

} // namespace
} // namespace spyre::solver::division
