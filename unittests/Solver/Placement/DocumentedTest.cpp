//===- DocumentedTest.cpp - the documented solvers against the documents' vectors -------------===//
#include "spyre/Solver/Placement/MemoryPlanSolver.h"

#include "gtest/gtest.h"

namespace spyre::solver::placement {
namespace {

constexpr int64_t kOut = -1;

struct Spec {
  int64_t size;
  std::vector<int64_t> uses;
  std::vector<int> parents = {};
  bool firstUseIsRead = false;
};

Problem makeProblem(int64_t limit, int64_t alignment, const std::vector<Spec> &specs) {
  Problem problem;
  problem.capacityBytes = limit;
  problem.alignment = alignment;
  for (const Spec &spec : specs) {
    Buffer buffer;
    buffer.name = "b" + std::to_string(problem.buffers.size());
    buffer.sizeBytes = spec.size;
    buffer.uses = spec.uses;
    buffer.lower = spec.uses.front();
    buffer.upper = spec.uses.back() + 1;
    buffer.parents = spec.parents;
    buffer.firstUseIsRead = spec.firstUseIsRead;
    problem.buffers.push_back(buffer);
  }
  return problem;
}

std::vector<int64_t> place(const std::string &solver, const Problem &problem,
                           const SolverOptions &options = {}) {
  auto made = createSolver(solver, options);
  EXPECT_TRUE(made.ok()) << made.status().message();
  auto plan = (*made)->plan(problem, Variant::Pick);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  std::vector<int64_t> addresses;
  if (plan.ok()) {
    const Status verdict = verifyPlan(problem, plan->offsets, Variant::Pick);
    EXPECT_TRUE(verdict.ok()) << solver << ": " << verdict.message();
    for (const auto &offset : plan->offsets) {
      addresses.push_back(offset.value_or(kOut));
    }
  }
  return addresses;
}

using Addresses = std::vector<int64_t>;

struct Vector {
  const char *name;
  int64_t limit, alignment;
  std::vector<Spec> buffers;
  Addresses greedy, fit;
};

const std::vector<Vector> &vectors() {
  static const std::vector<Vector> all = {
      {"sequential", 10, 1, {{3, {0, 1}}, {3, {0, 1}}, {4, {0, 1}}}, {0, 3, 6}, {0, 3, 6}},
      {"below alignment",
       10,
       128,
       {{3, {0, 1}}, {3, {0, 1}}, {4, {0, 1}}},
       {0, kOut, kOut},
       {0, kOut, kOut}},
      {"aligned", 512, 128, {{3, {0, 1}}, {3, {0, 1}}, {4, {0, 1}}}, {0, 128, 256}, {0, 128, 256}},
      {"simple spill", 10, 1, {{7, {0, 1}}, {4, {0, 1}}, {3, {0, 1}}}, {0, kOut, 7}, {0, kOut, 7}},
      {"reuse", 10, 1, {{10, {0, 1}}, {3, {2}}}, {0, 0}, {0, 0}},
      {"reuse between",
       10,
       1,
       {{3, {0, 3}}, {3, {1, 2}}, {3, {2, 3}}, {3, {3}}},
       {0, 3, 6, 3},
       {6, 0, 3, 0}},
      {"reuse between, aligned",
       512,
       128,
       {{200, {0, 3}}, {100, {1, 2}}, {100, {2, 3}}, {100, {3}}},
       {0, 256, 384, 256},
       {256, 0, 128, 0}},
      {"in place", 513, 128, {{512, {0, 3}}, {512, {3}, {0}}}, {0, 0}, {0, 0}},
      {"not in place", 512, 128, {{512, {0, 3}}, {512, {3}}}, {0, kOut}, {kOut, 0}},
      {"many spills",
       10,
       1,
       {{10, {0, 1}}, {10, {0, 1}}, {10, {0, 1}}, {10, {2}}},
       {0, kOut, kOut, 0},
       {0, kOut, kOut, 0}},
      {"too big", 10, 1, {{11, {0, 1}}}, {kOut}, {kOut}},
      {"touching lifetimes", 512, 1, {{20, {0, 4}}, {20, {5, 9}}}, {0, 0}, {0, 0}},
      {"equal lifetimes",
       60,
       1,
       {{10, {0, 3}}, {20, {0, 3}}, {30, {0, 3}}},
       {0, 10, 30},
       {0, 10, 30}},
      {"full", 50, 1, {{10, {0, 3}}, {20, {0, 3}}, {30, {0, 3}}}, {0, 10, kOut}, {0, 10, kOut}},
      {"padding", 512, 128, {{10, {0, 3}}, {10, {0, 3}}}, {0, 128}, {0, 128}},
      {"alignment causes a spill", 30, 10, {{13, {0, 4}}, {12, {0, 4}}}, {0, kOut}, {0, kOut}},
      {"smaller child", 512, 1, {{20, {0, 4}}, {15, {4, 8}, {0}}}, {0, 0}, {0, 0}},
      {"parent spilled", 100, 1, {{200, {0, 4}}, {15, {4, 8}, {0}}}, {kOut, 0}, {kOut, 0}},
      {"more uses win", 10, 1, {{10, {0, 4}}, {10, {0, 1, 2, 3, 4}}}, {0, kOut}, {kOut, 0}},
      {"in-place discount",
       10,
       1,
       {{10, {0, 4}}, {10, {0, 4}}, {10, {4, 8}, {1}}},
       {0, kOut, kOut},
       {kOut, 0, 0}},
      {"write first wins", 10, 1, {{10, {0, 4}, {}, true}, {10, {0, 4}}}, {0, kOut}, {kOut, 0}},
  };
  return all;
}

TEST(DocumentedSolvers, ReproduceTheVectors) {
  for (const Vector &vector : vectors()) {
    SCOPED_TRACE(vector.name);
    const Problem problem = makeProblem(vector.limit, vector.alignment, vector.buffers);
    EXPECT_EQ(place("greedy", problem), vector.greedy);
    EXPECT_EQ(place("firstfit", problem), vector.fit);
    EXPECT_EQ(place("bestfit", problem), vector.fit);
  }
}

TEST(DocumentedSolvers, ExactPlacesNoLessOnTheVectors) {
  for (const Vector &vector : vectors()) {
    SCOPED_TRACE(vector.name);
    const Problem problem = makeProblem(vector.limit, vector.alignment, vector.buffers);
    auto plan = (*createSolver("exact"))->plan(problem, Variant::Pick);
    ASSERT_TRUE(plan.ok());
    EXPECT_EQ(plan->certificate.gap(), 0);
    for (const char *name : {"greedy", "firstfit", "bestfit", "simulated_annealing"}) {
      auto other = (*createSolver(name))->plan(problem, Variant::Pick);
      ASSERT_TRUE(other.ok());
      EXPECT_GE(plan->certificate.value, other->certificate.value) << name;
    }
  }
}

TEST(DocumentedSolvers, BadPairsAreErrors) {
  for (const char *name : {"greedy", "firstfit", "bestfit", "simulated_annealing", "exact"}) {
    auto solver = createSolver(name);
    auto late =
        (*solver)->plan(makeProblem(100, 1, {{20, {0, 4}}, {15, {3, 8}, {0}}}), Variant::Pick);
    EXPECT_EQ(late.status().code(), 3043);
    auto large =
        (*solver)->plan(makeProblem(100, 1, {{10, {0, 4}}, {15, {4, 8}, {0}}}), Variant::Pick);
    EXPECT_EQ(large.status().code(), 3043);
  }
}

/// First-fit takes the first gap, best-fit the tightest [spec: scratchpad 6.3].
TEST(DocumentedSolvers, TwoGaps) {
  const Problem problem =
      makeProblem(120, 1, {{40, {2, 3}}, {30, {1, 4}}, {30, {3, 7}}, {10, {4, 8}}});
  EXPECT_EQ(place("firstfit", problem), (Addresses{0, 40, 70, 0}));
  EXPECT_EQ(place("bestfit", problem), (Addresses{0, 40, 70, 100}));
}

/// A child that does not fit at its parent's place keeps clear of the parent.
TEST(DocumentedSolvers, ALiveParentIsNotOverlapped) {
  const Problem problem = makeProblem(1024, 1, {{128, {5, 6}}, {256, {0, 4}}, {256, {4, 8}, {1}}});
  EXPECT_EQ(place("firstfit", problem), (Addresses{0, 0, 256}));
  EXPECT_EQ(place("bestfit", problem), (Addresses{0, 0, 256}));
}

/// A smaller child does not free the rest of its parent before the parent's end.
TEST(DocumentedSolvers, AParentKeepsItsUpperBytes) {
  const Problem problem = makeProblem(512, 1, {{512, {0, 3}}, {128, {3, 5}, {0}}, {384, {3, 5}}});
  EXPECT_EQ(place("greedy", problem), (Addresses{0, 0, kOut}));
}

TEST(DocumentedSolvers, ParentsAreAskedInTheOrderGiven) {
  EXPECT_EQ(
      place("firstfit", makeProblem(100, 1, {{10, {0, 4}}, {10, {1, 4}}, {10, {4, 6}, {1, 0}}})),
      (Addresses{10, 0, 0}));
  EXPECT_EQ(
      place("firstfit", makeProblem(100, 1, {{10, {0, 4}}, {10, {1, 4}}, {10, {4, 6}, {0, 1}}})),
      (Addresses{10, 0, 10}));
}

/// The design page's order: shortest lives first, whatever they are used for.
TEST(DocumentedSolvers, LifetimeOrder) {
  const Problem problem = makeProblem(10, 1, {{10, {0, 3}}, {10, {0, 1, 2, 3, 4}}});
  SolverOptions options;
  EXPECT_EQ(place("firstfit", problem, options), (Addresses{kOut, 0}));
  options.order = FitOrder::Lifetime;
  EXPECT_EQ(place("firstfit", problem, options), (Addresses{0, kOut}));
}

TEST(DocumentedSolvers, BothOrdersHaveNames) {
  const Problem problem = makeProblem(10, 1, {{10, {0, 3}}, {10, {0, 1, 2, 3, 4}}});
  for (const std::string fit : {"firstfit", "bestfit"}) {
    for (const FitOrder order : {FitOrder::Score, FitOrder::Lifetime}) {
      SolverOptions options;
      options.order = order;
      EXPECT_EQ(place(fit + "-score", problem, options), (Addresses{kOut, 0}));
      EXPECT_EQ(place(fit + "-lifetime", problem, options), (Addresses{0, kOut}));
    }
  }
}

TEST(DocumentedSolvers, AnnealingIsSeededAndNoWorseThanItsStart) {
  std::vector<Spec> specs;
  for (int i = 0; i < 24; ++i) {
    specs.push_back({128 * (1 + i * 7 % 5), {i % 9, i % 9 + 1 + i % 4}});
  }
  const Problem problem = makeProblem(1280, 128, specs);
  SolverOptions options;
  options.seed = 3;
  const Addresses first = place("simulated_annealing", problem, options);
  EXPECT_EQ(first, place("simulated_annealing", problem, options));
  auto value = [&](const std::string &name) {
    return (*createSolver(name))->plan(problem, Variant::Pick)->certificate.value;
  };
  EXPECT_GE(value("simulated_annealing"), value("firstfit"));
}

TEST(SolverRegistry, UnknownNamesAreErrors) {
  EXPECT_EQ(createSolver("best").status().code(), 3045);
  EXPECT_NE(createSolver("best").status().message().find("firstfit"), std::string::npos);
  EXPECT_TRUE(createSolver("cpsat").ok());
}

/// Places nothing: the smallest solver somebody could add.
class NothingSolver : public MemoryPlanSolver {
public:
  std::string_view name() const override { return "nothing"; }
  Expected<Plan> plan(const Problem &problem, Variant) const override {
    Plan plan;
    plan.offsets.assign(problem.buffers.size(), std::nullopt);
    return plan;
  }
};

TEST(SolverRegistry, TakesOthers) {
  const auto make = [](const SolverOptions &) { return std::make_unique<NothingSolver>(); };
  ASSERT_TRUE(registerSolver("nothing", make).ok());
  EXPECT_EQ(registerSolver("nothing", make).code(), 3045);
  EXPECT_EQ(place("nothing", makeProblem(10, 1, {{3, {0, 1}}})), (Addresses{kOut}));
}

} // namespace
} // namespace spyre::solver::placement
