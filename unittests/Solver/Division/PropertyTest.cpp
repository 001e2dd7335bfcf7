//===- PropertyTest.cpp - what every division keeps, on random operations -------------------===//
#include "spyre/Base/Math.h"
#include "spyre/Solver/Division/Rules.h"
#include "spyre/Solver/Division/Verify.h"

#include "Support.h"

#include <map>

namespace spyre::solver::division {
namespace {

using namespace test;

constexpr uint64_t kCases = 10000;

/// The elements of one slice, as the owner map means them.
std::pair<int64_t, int64_t> sliceOf(const Op &op, size_t d, int64_t slice, int64_t splits) {
  const Units units = unitsOf(op);
  const int64_t each = units.count[d] / splits * units.elems[d];
  return {slice * each, std::min(units.extent[d], (slice + 1) * each)};
}

/// Point by point: one core each; stick by stick: one final writer each.
void checkPointByPoint(const Op &op, const Plan &plan) {
  std::map<std::vector<int64_t>, int> owners;
  std::map<int64_t, std::vector<int64_t>> writers;
  const Tensor &out = op.output();
  for (const std::vector<int64_t> &owned : plan.owner) {
    std::vector<int64_t> low, high, point;
    for (size_t d = 0; d < op.dims.size(); ++d) {
      auto [from, to] = sliceOf(op, d, owned[d], plan.splits[d]);
      ASSERT_LT(from, to) << "every core has work";
      low.push_back(from);
      high.push_back(to);
    }
    std::vector<int64_t> resultSlice = owned;
    for (size_t d = 0; d < op.dims.size(); ++d) {
      resultSlice[d] = op.dims[d].reduced ? 0 : owned[d];
    }
    point = low;
    for (bool more = true; more;) {
      ++owners[point];
      int64_t stick = 0;
      for (size_t c = 0; c + 1 < out.deviceSize.size(); ++c) {
        int64_t value = out.coordinates[c].offset;
        for (const Term &term : out.coordinates[c].terms) {
          value += term.at(point[size_t(term.dim)]);
        }
        stick = stick * out.deviceSize[c] + value;
      }
      auto [known, isNew] = writers.try_emplace(stick, resultSlice);
      ASSERT_TRUE(isNew || known->second == resultSlice) << "stick " << stick;
      more = false;
      for (size_t d = point.size(); d-- > 0 && !more;) {
        if (++point[d] < high[d]) {
          more = true;
        } else {
          point[d] = low[d];
        }
      }
    }
  }
  int64_t points = 1;
  for (const Dim &dim : op.dims) {
    points *= dim.extent;
  }
  EXPECT_EQ(int64_t(owners.size()), points);
  for (const auto &[point, count] : owners) {
    ASSERT_EQ(count, 1);
  }
}

TEST(DivisionProperties, EveryPlanOfTenThousandPassesTheVerifier) {
  arch::DeviceDesc device = machine();
  const DeviceRates costs(device);
  int64_t tiled = 0, refused = 0;
  for (uint64_t seed = 0; seed < kCases; ++seed) {
    const Op op = randomOp(seed, 8192);
    device.spanLimitBytes = seed % 16 == 0 ? 1 << 20 : 256 << 20;
    Options options{.cores = int64_t(1 + seed % 32)};
    Expected<Outcome> outcome = divide(op, device, options, costs);
    if (!outcome.ok()) {
      ASSERT_EQ(outcome.status().code(), 3065) << outcome.status().message();
      ++refused;
    } else if (outcome->tiling) {
      ASSERT_EQ(outcome->verdict.code(), 3065);
      ++tiled;
      for (const TiledPart &part : outcome->tiling->parts) {
        const Op tile = tileOf(op, part.tileExtent);
        ASSERT_EQ(verifyPlan(tile, device, options.cores, part.plan).message(), "");
      }
    } else {
      ASSERT_EQ(verifyPlan(outcome->op, device, options.cores, outcome->plan).message(), "");
      ASSERT_EQ(checkRules(outcome->op, device, options.cores, outcome->plan.splits).message(), "");
      for (int64_t span : trueSpans(outcome->op, outcome->plan)) {
        ASSERT_LE(span, device.spanLimitBytes);
      }
    }
  }
  // Both ways out occur, and neither is the rule.
  EXPECT_GT(tiled, 0);
  EXPECT_LT(tiled + refused, int64_t(kCases) / 2);
}

TEST(DivisionProperties, SmallOnesPointByPoint) {
  const arch::DeviceDesc device = machine();
  for (uint64_t seed = 0; seed < 400; ++seed) {
    // Small extents in all dims, and one or two that are longer than a stick.
    const Op op = randomOp(seed, seed % 2 == 0 ? 12 : 200);
    int64_t points = 1;
    for (const Dim &dim : op.dims) {
      points *= dim.extent;
    }
    if (points > 20000) {
      continue;
    }
    for (Mode mode : {Mode::Compat, Mode::CompatS1, Mode::Best}) {
      Expected<Outcome> outcome = tryDivide(op, {.mode = mode});
      if (outcome.ok() && outcome->verdict.ok()) {
        checkPointByPoint(op, outcome->plan);
      }
    }
  }
}

TEST(DivisionProperties, DocumentedPlansAreCheckedNotTrusted) {
  int64_t refused = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const Op op = randomOp(seed, 8192);
    Expected<Outcome> outcome = tryDivide(
        op, {.mode = seed % 2 == 0 ? Mode::Compat : Mode::CompatS1, .spanLimitBytes = 1 << 20});
    if (!outcome.ok()) {
      ASSERT_TRUE(outcome.status().code() == 3062 || outcome.status().code() == 3063);
      continue;
    }
    arch::DeviceDesc device = machine();
    device.spanLimitBytes = 1 << 20;
    const bool fits = verifyPlan(op, device, 32, outcome->plan).ok() &&
                      checkRules(op, device, 32, outcome->plan.splits).ok();
    ASSERT_EQ(outcome->verdict.ok(), fits);
    refused += fits ? 0 : 1;
    ASSERT_LE(outcome->plan.cores, 32);
  }
  EXPECT_GT(refused, 0);
}

TEST(DivisionProperties, SameQuestionSameAnswer) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Op op = randomOp(seed, 4096);
    Expected<Outcome> a = tryDivide(op, {}), b = tryDivide(op, {});
    ASSERT_EQ(a.ok(), b.ok());
    if (a.ok()) {
      EXPECT_EQ(a->plan, b->plan);
      EXPECT_EQ(a->nanoseconds, b->nanoseconds);
    }
  }
}

} // namespace
} // namespace spyre::solver::division
