//===- UnevenTest.cpp - slices that differ by a unit, where that pays -----------------------===//
#include "spyre/Solver/Division/Rules.h"
#include "spyre/Solver/Division/Verify.h"

#include "Support.h"

namespace spyre::solver::division {
namespace {

using namespace test;

Expected<Outcome> divideUneven(const Op &op, const CostModel &costs,
                               const arch::DeviceDesc &device = machine()) {
  return divide(op, device, {.cores = 32, .padding = false, .uneven = true}, costs);
}

Outcome unevenOf(const Op &op) {
  Expected<Outcome> outcome = divideUneven(op, DeviceRates(machine()));
  EXPECT_TRUE(outcome.ok()) << outcome.status().message();
  return outcome.ok() ? *outcome : Outcome();
}

TEST(DivisionUneven, PrimeRowsUseAllCores) {
  for (int64_t rows : {37, 97, 8193}) {
    const Op op = pointwise({rows, 97 * 64}); // 97 sticks: neither dim has a divisor
    Options even{.cores = 32, .padding = false};
    Expected<Outcome> without = divide(op, machine(), even, DeviceRates(machine()));
    ASSERT_TRUE(without.ok());
    EXPECT_EQ(without->plan.uneven, -1);
    EXPECT_LE(without->plan.cores, 3) << rows;
    const Outcome with = unevenOf(op);
    EXPECT_GE(with.plan.uneven, 0);
    EXPECT_EQ(with.plan.cores, 32) << rows;
    EXPECT_LT(with.nanoseconds, without->nanoseconds);
    EXPECT_EQ(verifyPlan(op, machine(), 32, with.plan).message(), "");
    EXPECT_EQ(with.decisions.back().reason(), "uneven");
  }
}

TEST(DivisionUneven, EqualPricesKeepEqualSlices) {
  /// Whatever the division: two parts of an uneven one cost twice a half.
  struct Flat : CostModel {
    void price(const Op &op, const Units &units, const Candidates &candidates,
               std::span<double> ns) const override {
      for (size_t i = 0; i < candidates.size(); ++i) {
        ns[i] = double(units.count[0]);
      }
      (void)op;
    }
    const char *name() const override { return "flat"; }
  };
  Expected<Outcome> outcome = divideUneven(pointwise({37, 640}), Flat());
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->plan.uneven, -1);
  EXPECT_EQ(outcome->decisions.back().reason(), "even");
}

TEST(DivisionUneven, OffUnlessAskedFor) {
  EXPECT_EQ(divided(pointwise({37, 64}), {}).plan.uneven, -1);
  for (Mode mode : {Mode::Compat, Mode::CompatS1}) {
    Expected<Outcome> outcome =
        divide(pointwise({37, 64}), machine(), {.mode = mode, .cores = 32, .uneven = true},
               DeviceRates(machine()));
    ASSERT_TRUE(outcome.ok());
    EXPECT_EQ(outcome->plan.uneven, -1);
  }
}

TEST(DivisionUneven, FirstCoresHaveMore) {
  const Op op = pointwise({37, 128});
  const Plan plan = makeUnevenPlan(op, {8, 2}, 0);
  ASSERT_EQ(plan.cores, 16);
  // 37 = 5 * 5 + 3 * 4: slices 0 to 4 are on cores 0 to 9.
  for (int64_t core = 0; core < 16; ++core) {
    EXPECT_EQ(plan.owner[size_t(core)][0], core / 2);
  }
  EXPECT_EQ(verifyPlan(op, machine(), 32, plan).message(), "");
}

TEST(DivisionUneven, VerifierWantsWhatThePlanSays) {
  const Op op = pointwise({37, 128});
  Plan silent = makeUnevenPlan(op, {8, 2}, 0);
  silent.uneven = -1;
  EXPECT_EQ(verifyPlan(op, machine(), 32, silent).code(), 3072);
  Plan wrong = makeUnevenPlan(op, {8, 2}, 0);
  wrong.uneven = 1;
  EXPECT_EQ(verifyPlan(op, machine(), 32, wrong).code(), 3072);
  // Partners of a sum have equal slices.
  const Op sum = reduction({4, 37, 64}, 1);
  ASSERT_TRUE(sum.dims.back().reduced);
  EXPECT_EQ(verifyPlan(sum, machine(), 32, makeUnevenPlan(sum, {1, 1, 8}, 2)).code(), 3072);
}

TEST(DivisionUneven, SpansAreThoseOfTheLargestSlice) {
  const Op op = pointwise({64, 37, 64}); // device [37, 1, 64, 64]
  const Plan plan = makeUnevenPlan(op, {1, 32, 1}, 1);
  EXPECT_EQ(trueSpans(op, plan)[0], 2 * 64 * 128);
}

// 8193 = 3 x 2731: no divisor brings a core below the limit, slices of 257 and 256 rows do.
TEST(DivisionUneven, RowsOfThreeFitTheSpanWithoutTiles) {
  const Op op = pointwise({32, 8193, 1740});
  const Plan plan = makeUnevenPlan(op, {1, 32, 1}, 1);
  EXPECT_EQ(verifyPlan(op, machine(), 32, plan).message(), "");
  const Outcome tiled = divided(op, {}), outcome = unevenOf(op);
  ASSERT_TRUE(tiled.tiling.has_value());
  EXPECT_LE(outcome.nanoseconds, tiled.nanoseconds);
  if (!outcome.tiling) {
    EXPECT_TRUE(outcome.verdict.ok()) << outcome.verdict.message();
    EXPECT_EQ(verifyPlan(op, machine(), 32, outcome.plan).message(), "");
  }
}

TEST(DivisionUneven, RandomOnesPassTheVerifier) {
  const arch::DeviceDesc device = machine();
  const DeviceRates costs(device);
  int64_t uneven = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    const Op op = randomOp(seed, 600);
    Options options{.cores = int64_t(1 + seed % 32), .uneven = true};
    Expected<Outcome> outcome = divide(op, device, options, costs);
    if (!outcome.ok() || outcome->tiling) {
      continue;
    }
    ASSERT_EQ(verifyPlan(outcome->op, device, options.cores, outcome->plan).message(), "");
    if (outcome->plan.uneven < 0) {
      continue;
    }
    ++uneven;
    // What the back end can run, and cheaper than what it could do otherwise.
    const size_t d = size_t(outcome->plan.uneven);
    EXPECT_FALSE(op.dims[d].reduced);
    EXPECT_EQ(outcome->plan.order.back(), int(d));
    options.uneven = false;
    Expected<Outcome> even = divide(op, device, options, costs);
    ASSERT_TRUE(even.ok());
    EXPECT_LT(outcome->nanoseconds, even->nanoseconds);
  }
  EXPECT_GT(uneven, 0);
}

} // namespace
} // namespace spyre::solver::division
