//===- ExactTest.cpp - the exact solver against brute force -----------------------------------===//
#include "spyre/Solver/Placement/MemoryPlanSolver.h"

#include "BruteForce.h"
#include "gtest/gtest.h"

namespace spyre::solver::placement {
namespace {

using test::BruteForce;
using test::Features;
using test::randomProblem;

Plan solve(const Problem &problem, Variant variant) {
  auto solver = createSolver("exact");
  EXPECT_TRUE(solver.ok());
  auto plan = (*solver)->plan(problem, variant);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  if (!plan.ok()) {
    return {};
  }
  if (plan->complete) {
    const Status verdict = verifyPlan(problem, plan->offsets, variant);
    EXPECT_TRUE(verdict.ok()) << verdict.message();
  }
  return *plan;
}

Buffer box(std::string name, int64_t size, int64_t lower, int64_t upper) {
  Buffer buffer;
  buffer.name = std::move(name);
  buffer.sizeBytes = size;
  buffer.lower = lower;
  buffer.upper = upper;
  return buffer;
}

/// Eight buffers whose load is 10 and whose least height is 11 [spec: scratchpad 14.3].
Problem loadIsNotEnough(int64_t capacity) {
  Problem problem;
  problem.capacityBytes = capacity;
  problem.buffers = {box("b0", 4, 6, 9), box("b1", 1, 4, 8), box("b2", 4, 0, 2),
                     box("b3", 4, 4, 8), box("b4", 3, 2, 4), box("b5", 3, 2, 6),
                     box("b6", 4, 1, 3), box("b7", 2, 3, 6)};
  return problem;
}

TEST(ExactPlacement, RefusesTenAndPacksEleven) {
  const Plan ten = solve(loadIsNotEnough(10), Variant::Fit);
  EXPECT_FALSE(ten.complete);
  EXPECT_TRUE(ten.impossible);
  EXPECT_EQ(ten.certificate.loadBytes, 10);
  EXPECT_GE(ten.conflict.size(), 2u);
  const Plan eleven = solve(loadIsNotEnough(11), Variant::Fit);
  EXPECT_TRUE(eleven.complete);
  const Plan least = solve(loadIsNotEnough(100), Variant::Min);
  EXPECT_EQ(least.certificate.value, 11);
  EXPECT_EQ(least.certificate.bound, 11);
  EXPECT_EQ(least.certificate.proof, Proof::SearchExhausted);
}

TEST(ExactPlacement, ConflictIsIrreducible) {
  const Problem problem = loadIsNotEnough(10);
  const Plan plan = solve(problem, Variant::Fit);
  BruteForce judge(problem);
  EXPECT_FALSE(judge.fits(plan.conflict, 10));
  for (size_t i = 0; i < plan.conflict.size(); ++i) {
    std::vector<int> rest = plan.conflict;
    rest.erase(rest.begin() + std::ptrdiff_t(i));
    EXPECT_TRUE(judge.fits(rest, 10)) << "without " << plan.conflict[i];
  }
}

/// Seeds are fixed: a failure is found again.
void compareWithBruteForce(const Features &features, uint64_t seed, int count) {
  Random random(seed);
  int partial = 0;
  for (int i = 0; i < count; ++i) {
    const Problem problem = randomProblem(random, features);
    const Plan plan = solve(problem, Variant::Pick);
    const int64_t best = BruteForce(problem).bestValue();
    ASSERT_EQ(plan.certificate.value, best) << "instance " << i;
    ASSERT_EQ(plan.certificate.bound, best) << "instance " << i;
    partial += plan.certificate.proof != Proof::AllPlaced;
  }
  // Not trivial ones only.
  EXPECT_GT(partial, count / 10);
}

TEST(ExactPlacement, PlainProblemsAreOptimal) { compareWithBruteForce({}, 1, 400); }

TEST(ExactPlacement, InPlaceEdgesAreOptimal) {
  compareWithBruteForce({.buffers = 8, .ticks = 7, .maxLife = 4, .parents = true}, 2, 400);
}

/// What the instances of the suite above are made of, and which pairs are joined.
TEST(ExactPlacement, InPlaceSuiteHasEveryKindOfPair) {
  Random random(2);
  int equal = 0, smaller = 0, twoParents = 0, joined = 0, apart = 0;
  for (int i = 0; i < 400; ++i) {
    const Problem problem =
        randomProblem(random, {.buffers = 8, .ticks = 7, .maxLife = 4, .parents = true});
    const Plan plan = solve(problem, Variant::Pick);
    for (size_t child = 0; child < problem.buffers.size(); ++child) {
      const Buffer &entry = problem.buffers[child];
      twoParents += entry.parents.size() == 2;
      for (int parent : entry.parents) {
        const bool isEqual = problem.buffers[size_t(parent)].sizeBytes == entry.sizeBytes;
        (isEqual ? equal : smaller) += 1;
        if (plan.offsets[child] && plan.offsets[size_t(parent)]) {
          (plan.offsets[child] == plan.offsets[size_t(parent)] ? joined : apart) += 1;
        }
      }
    }
  }
  for (int count : {equal, smaller, twoParents, joined, apart}) {
    EXPECT_GT(count, 20);
  }
}

TEST(ExactPlacement, PinsAreOptimal) { compareWithBruteForce({.pins = true}, 3, 400); }

TEST(ExactPlacement, ForbiddenBuffersAreOptimal) {
  compareWithBruteForce({.buffers = 9, .forbidden = true}, 4, 400);
}

TEST(ExactPlacement, GapsAreOptimal) { compareWithBruteForce({.gaps = true}, 5, 400); }

TEST(ExactPlacement, WindowsAreOptimal) {
  compareWithBruteForce({.buffers = 6, .windows = true}, 6, 400);
}

TEST(ExactPlacement, TransientsAreOptimal) { compareWithBruteForce({.transients = true}, 7, 400); }

TEST(ExactPlacement, AlignmentsAreOptimal) { compareWithBruteForce({.alignment = true}, 8, 400); }

/// What the suites above are about is in their instances, and matters: without it the best value is
/// another in many of them.
TEST(ExactPlacement, SuitesHaveWhatTheyAreAbout) {
  struct Suite {
    const char *name;
    Features features;
    uint64_t seed;
    /// Takes it out of a problem and counts it.
    int (*strip)(Problem &problem);
  };
  static const auto eachBuffer = [](Problem &problem, auto strip) {
    int count = 0;
    for (Buffer &buffer : problem.buffers) {
      count += strip(buffer) ? 1 : 0;
    }
    return count;
  };
  const Suite suites[] = {
      {"in place",
       {.buffers = 8, .ticks = 7, .maxLife = 4, .parents = true},
       2,
       [](Problem &problem) {
         return eachBuffer(problem,
                           [](Buffer &b) { return !std::exchange(b.parents, {}).empty(); });
       }},
      {"pins",
       {.pins = true},
       3,
       [](Problem &problem) {
         return eachBuffer(
             problem, [](Buffer &b) { return std::exchange(b.pinned, std::nullopt).has_value(); });
       }},
      {"forbidden",
       {.buffers = 9, .forbidden = true},
       4,
       [](Problem &problem) {
         return eachBuffer(problem, [](Buffer &b) { return std::exchange(b.forbidden, false); });
       }},
      {"gaps",
       {.gaps = true},
       5,
       [](Problem &problem) {
         return eachBuffer(problem, [](Buffer &b) { return !std::exchange(b.gaps, {}).empty(); });
       }},
      {"windows",
       {.buffers = 6, .windows = true},
       6,
       [](Problem &problem) {
         return eachBuffer(problem, [](Buffer &b) { return !std::exchange(b.gaps, {}).empty(); });
       }},
      {"transients",
       {.transients = true},
       7,
       [](Problem &problem) { return int(std::exchange(problem.transients, {}).size()); }},
  };
  for (const Suite &suite : suites) {
    Random random(suite.seed);
    int instances = 0, decisive = 0;
    for (int i = 0; i < 400; ++i) {
      const Problem problem = randomProblem(random, suite.features);
      Problem without = problem;
      instances += suite.strip(without) > 0 ? 1 : 0;
      decisive += solve(problem, Variant::Pick).certificate.value !=
                          solve(without, Variant::Pick).certificate.value
                      ? 1
                      : 0;
    }
    EXPECT_GT(instances, 250) << suite.name;
    EXPECT_GT(decisive, 25) << suite.name;
  }
}

TEST(ExactPlacement, EverythingTogetherIsOptimal) {
  compareWithBruteForce({.buffers = 7,
                         .ticks = 7,
                         .maxLife = 5,
                         .parents = true,
                         .pins = true,
                         .forbidden = true,
                         .gaps = true,
                         .transients = true,
                         .alignment = true},
                        9, 400);
}

void compareLeastHeights(Features features, uint64_t seed) {
  Random random(seed);
  features.capacity = 1000;
  for (int i = 0; i < 200; ++i) {
    const Problem problem = randomProblem(random, features);
    const Plan plan = solve(problem, Variant::Min);
    ASSERT_EQ(plan.certificate.value, BruteForce(problem).leastHeight()) << "instance " << i;
    ASSERT_EQ(plan.certificate.gap(), 0) << "instance " << i;
  }
}

TEST(ExactPlacement, LeastHeightsAgree) {
  compareLeastHeights({.buffers = 7, .parents = true}, 10);
}

TEST(ExactPlacement, LeastHeightsWithGapsAgree) {
  compareLeastHeights({.buffers = 7, .gaps = true}, 12);
}

TEST(ExactPlacement, LeastHeightsWithWindowsAgree) {
  compareLeastHeights({.buffers = 6, .windows = true}, 13);
}

/// Tall stacks of small boxes: proofs that there is no packing at all.
TEST(ExactPlacement, ImpossibleIsNeverSaidWrongly) {
  Random random(11);
  // Free buffers nearly always fit where their load does; pins and alignment make it hard.
  Features features{
      .buffers = 8, .ticks = 9, .maxLife = 6, .maxSize = 5, .pins = true, .alignment = true};
  int impossible = 0;
  for (int i = 0; i < 1500; ++i) {
    Problem problem = randomProblem(random, features);
    std::map<int64_t, int64_t> load;
    int64_t most = 0;
    for (const Buffer &buffer : problem.buffers) {
      for (int64_t t = buffer.lower; t < buffer.upper; ++t) {
        most = std::max(most, load[t] += buffer.sizeBytes);
      }
    }
    problem.capacityBytes = most;
    const Plan plan = solve(problem, Variant::Fit);
    ASSERT_TRUE(plan.complete || plan.impossible);
    if (plan.impossible) {
      ++impossible;
      std::vector<int> all(problem.buffers.size());
      for (size_t j = 0; j < all.size(); ++j) {
        all[j] = int(j);
      }
      ASSERT_FALSE(BruteForce(problem).fits(all, most)) << "instance " << i;
    }
  }
  EXPECT_GT(impossible, 100);
  EXPECT_LT(impossible, 1400);
}

} // namespace
} // namespace spyre::solver::placement
