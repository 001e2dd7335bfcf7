//===- SuitesTest.cpp - the documents' random suites, all optimal -----------------------------===//
//
// [spec: scratchpad 6.6] Nine buffers of 1 to 39 sticks, lives of up to 7 of 12 ticks, seven tenths
// of the largest load; and ten buffers with exactly the largest load. The oracle tries all sets by
// value and all orders of stacking: an order in which each buffer stands on the highest earlier one
// it meets reaches every packing that matters.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Random.h"
#include "spyre/Solver/Placement/MemoryPlanSolver.h"

#include "gtest/gtest.h"

#include <algorithm>

namespace spyre::solver::placement {
namespace {

constexpr int64_t kStick = 128;

Problem randomProblem(Random &random, int count, int64_t tenths) {
  Problem problem;
  problem.alignment = kStick;
  std::vector<int64_t> load(12, 0);
  for (int i = 0; i < count; ++i) {
    Buffer buffer;
    buffer.name = "b" + std::to_string(i);
    const int64_t life = random.between(1, 7);
    buffer.lower = random.between(0, 12 - life);
    buffer.upper = buffer.lower + life;
    buffer.sizeBytes = kStick * random.between(1, 39);
    buffer.uses = {buffer.lower};
    for (int64_t t = buffer.lower + 1; t < buffer.upper; ++t) {
      if (t == buffer.upper - 1 || random.below(2) == 0) {
        buffer.uses.push_back(t);
      }
    }
    buffer.value = buffer.sizeBytes * int64_t(buffer.uses.size());
    for (int64_t t = buffer.lower; t < buffer.upper; ++t) {
      load[size_t(t)] += buffer.sizeBytes;
    }
    problem.buffers.push_back(std::move(buffer));
  }
  const int64_t most = *std::max_element(load.begin(), load.end());
  problem.capacityBytes = std::max(kStick, most * tenths / 10 / kStick * kStick);
  return problem;
}

class Oracle {
public:
  explicit Oracle(const Problem &problem) : problem(problem) {}

  bool fits(int mask) {
    offsets.assign(problem.buffers.size(), -1);
    return loadFits(mask) && stack(mask, 0);
  }

  int64_t best() {
    std::vector<std::pair<int64_t, int>> sets;
    for (int mask = 0; mask < (1 << problem.buffers.size()); ++mask) {
      int64_t value = 0;
      for (size_t i = 0; i < problem.buffers.size(); ++i) {
        value += mask >> i & 1 ? problem.buffers[i].worth() : 0;
      }
      sets.push_back({-value, mask});
    }
    std::sort(sets.begin(), sets.end());
    for (const auto &[negative, mask] : sets) {
      if (fits(mask)) {
        return -negative;
      }
    }
    return 0;
  }

private:
  bool loadFits(int mask) const {
    for (int64_t t = 0; t < 12; ++t) {
      int64_t load = 0;
      for (size_t i = 0; i < problem.buffers.size(); ++i) {
        const Buffer &buffer = problem.buffers[i];
        load += mask >> i & 1 && buffer.lower <= t && t < buffer.upper ? buffer.sizeBytes : 0;
      }
      if (load > problem.capacityBytes) {
        return false;
      }
    }
    return true;
  }

  /// Places the rest of \p mask, none below \p lowest.
  bool stack(int mask, int64_t lowest) {
    if (mask == 0) {
      return true;
    }
    for (size_t i = 0; i < problem.buffers.size(); ++i) {
      if (!(mask >> i & 1)) {
        continue;
      }
      int64_t at = 0;
      for (size_t j = 0; j < problem.buffers.size(); ++j) {
        if (offsets[j] >= 0 && overlapInTime(problem.buffers[i], problem.buffers[j])) {
          at = std::max(at, offsets[j] + problem.buffers[j].sizeBytes);
        }
      }
      if (at < lowest || at + problem.buffers[i].sizeBytes > problem.capacityBytes) {
        continue;
      }
      offsets[i] = at;
      if (stack(mask & ~(1 << i), at)) {
        return true;
      }
      offsets[i] = -1;
    }
    return false;
  }

  const Problem &problem;
  std::vector<int64_t> offsets;
};

Plan planned(const char *solver, const Problem &problem, Variant variant) {
  auto plan = (*createSolver(solver))->plan(problem, variant);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  if (plan->complete || variant == Variant::Pick) {
    const Status verdict = verifyPlan(problem, plan->offsets, variant);
    EXPECT_TRUE(verdict.ok()) << verdict.message();
  }
  return *plan;
}

TEST(RandomSuites, SevenTenthsOfTheLoadAreAllOptimal) {
  Random random(66);
  int greedyOptimal = 0;
  for (int i = 0; i < 400; ++i) {
    const Problem problem = randomProblem(random, 9, 7);
    const Plan plan = planned("exact", problem, Variant::Pick);
    const int64_t best = Oracle(problem).best();
    ASSERT_EQ(plan.certificate.value, best) << "instance " << i;
    ASSERT_EQ(plan.certificate.gap(), 0) << "instance " << i;
    ASSERT_NE(plan.certificate.proof, Proof::BudgetExhausted) << "instance " << i;
    for (const char *name : {"greedy", "firstfit", "bestfit"}) {
      ASSERT_LE(planned(name, problem, Variant::Pick).certificate.value, best);
    }
    greedyOptimal += planned("greedy", problem, Variant::Pick).certificate.value == best;
  }
  // The suite is not one that anything solves.
  EXPECT_LT(greedyOptimal, 200);
}

TEST(RandomSuites, ExactlyTheLoadIsDecided) {
  Random random(67);
  int complete = 0;
  for (int i = 0; i < 400; ++i) {
    const Problem problem = randomProblem(random, 10, 10);
    const Plan plan = planned("exact", problem, Variant::Fit);
    ASSERT_TRUE(plan.complete || plan.impossible) << "instance " << i;
    if (plan.impossible) {
      ASSERT_FALSE(Oracle(problem).fits((1 << 10) - 1)) << "instance " << i;
    }
    complete += plan.complete;
  }
  EXPECT_GE(complete, 390);
}

/// The same problem, the same plan: whatever was solved before.
TEST(RandomSuites, PlansAreTheSameEveryTime) {
  Random random(68);
  const Problem problem = randomProblem(random, 40, 6);
  const Plan first = planned("exact", problem, Variant::Pick);
  planned("exact", randomProblem(random, 30, 5), Variant::Pick);
  const Plan second = planned("exact", problem, Variant::Pick);
  EXPECT_EQ(first.offsets, second.offsets);
  EXPECT_EQ(first.certificate.nodes, second.certificate.nodes);
}

/// Long problems are improved in windows: the plan is verified and close to its bound.
TEST(RandomSuites, LongProblemsEndNearTheBound) {
  Random random(69);
  Problem problem;
  problem.alignment = kStick;
  problem.capacityBytes = 60 * kStick;
  for (int i = 0; i < 400; ++i) {
    Buffer buffer;
    buffer.name = "b" + std::to_string(i);
    buffer.lower = i;
    buffer.upper = i + random.between(2, 9);
    buffer.sizeBytes = kStick * random.between(1, 30);
    problem.buffers.push_back(std::move(buffer));
  }
  const Plan plan = planned("exact", problem, Variant::Pick);
  EXPECT_LE(plan.certificate.value, plan.certificate.bound);
  EXPECT_LE(100 * plan.certificate.gap(), 3 * plan.certificate.bound);
  for (const char *name : {"greedy", "firstfit", "bestfit"}) {
    EXPECT_GE(plan.certificate.value, planned(name, problem, Variant::Pick).certificate.value);
  }
}

} // namespace
} // namespace spyre::solver::placement
