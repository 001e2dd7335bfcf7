//===- PropertyTest.cpp - what every division keeps, on random operations -------------------===//
#include "spyre/Base/Math.h"
#include "spyre/Solver/Division/Rules.h"
#include "spyre/Solver/Division/Verify.h"

#include "Support.h"

namespace spyre::solver::division {
namespace {

using namespace test;

constexpr uint64_t kCases = 10000;

/// Elements from first to last, exclusive, along each dim: a core's part as the owner map means it.
struct Box {
  std::vector<int64_t> first, last;

  Box(const Op &op, const Units &units, const Plan &plan, const std::vector<int64_t> &owned) {
    for (size_t d = 0; d < op.dims.size(); ++d) {
      const int64_t each = units.count[d] / plan.splits[d] * units.elems[d];
      first.push_back(owned[d] * each);
      last.push_back(std::min(units.extent[d], (owned[d] + 1) * each));
    }
  }
  bool isEmpty() const {
    for (size_t d = 0; d < first.size(); ++d) {
      if (first[d] >= last[d]) {
        return true;
      }
    }
    return false;
  }
  /// The next point, the last dim fastest; false behind the last one.
  bool next(std::vector<int64_t> &point) const {
    for (size_t d = point.size(); d-- > 0;) {
      if (++point[d] < last[d]) {
        return true;
      }
      point[d] = first[d];
    }
    return false;
  }
};

int64_t pointsOf(const Op &op) {
  int64_t points = 1;
  for (const Dim &dim : op.dims) {
    points *= dim.extent;
  }
  return points;
}

int64_t stickOf(const Tensor &tensor, const std::vector<int64_t> &point) {
  int64_t stick = 0;
  for (size_t c = 0; c + 1 < tensor.deviceSize.size(); ++c) {
    int64_t value = tensor.coordinates[c].offset;
    for (const Term &term : tensor.coordinates[c].terms) {
      value += term.at(point[size_t(term.dim)]);
    }
    stick = stick * tensor.deviceSize[c] + value;
  }
  return stick;
}

int64_t sticksOf(const Tensor &tensor) {
  int64_t sticks = 1;
  for (size_t c = 0; c + 1 < tensor.deviceSize.size(); ++c) {
    sticks *= tensor.deviceSize[c];
  }
  return sticks;
}

/// The slice of results a core has: partners of a split reduction have the same, and one of them
/// writes it.
int64_t resultSlice(const Op &op, const Plan &plan, const std::vector<int64_t> &owned) {
  int64_t slice = 0;
  for (size_t d = 0; d < op.dims.size(); ++d) {
    slice = slice * plan.splits[d] + (op.dims[d].reduced ? 0 : owned[d]);
  }
  return slice;
}

/// Point by point: one core each; stick by stick of the result: one final writer each.
void checkPointByPoint(const Op &op, const Plan &plan) {
  constexpr int64_t kNobody = -1;
  const Units units = unitsOf(op);
  std::vector<bool> isOwned(size_t(pointsOf(op)), false);
  std::vector<int64_t> writer(size_t(sticksOf(op.output())), kNobody);
  int64_t owned = 0;
  for (const std::vector<int64_t> &slices : plan.owner) {
    const Box box(op, units, plan, slices);
    ASSERT_FALSE(box.isEmpty()) << "every core has work";
    const int64_t slice = resultSlice(op, plan, slices);
    std::vector<int64_t> point = box.first;
    do {
      size_t number = 0;
      for (size_t d = 0; d < point.size(); ++d) {
        number = number * size_t(op.dims[d].extent) + size_t(point[d]);
      }
      ASSERT_FALSE(isOwned[number]) << "two cores have point " << number;
      isOwned[number] = true;
      ++owned;
      int64_t &known = writer[size_t(stickOf(op.output(), point))];
      ASSERT_TRUE(known == kNobody || known == slice) << "two writers of a stick";
      known = slice;
    } while (box.next(point));
  }
  EXPECT_EQ(owned, pointsOf(op));
}

/// Operation number \p seed with few enough points to visit all of them.
Op smallOp(uint64_t seed) {
  constexpr int64_t kMostPoints = 10000;
  // Half of them have dims that are longer than a stick.
  for (int64_t largest = seed % 2 == 0 ? 12 : 200;; largest = largest * 2 / 3) {
    Op op = randomOp(seed, largest);
    if (pointsOf(op) <= kMostPoints) {
      return op;
    }
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

TEST(DivisionProperties, TenThousandPointByPoint) {
  uint64_t checked = 0, several = 0;
  for (uint64_t seed = 0; seed < kCases; ++seed) {
    const Op op = smallOp(seed);
    for (Mode mode : {Mode::Compat, Mode::CompatS1, Mode::Best}) {
      Expected<Outcome> outcome = tryDivide(op, {.mode = mode});
      if (outcome.ok() && outcome->verdict.ok()) {
        ASSERT_NO_FATAL_FAILURE(checkPointByPoint(op, outcome->plan)) << describe(op);
        checked += mode == Mode::Best ? 1 : 0;
        several += outcome->plan.cores > 1 ? 1 : 0;
      }
    }
  }
  EXPECT_EQ(checked, kCases) << "each has a plan of the best mode";
  EXPECT_GT(several, kCases);
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
