//===- LayoutChoiceTest.cpp - exact on small problems, never worse than the documents' beam -===//
#include "spyre/Solver/LayoutChoice.h"

#include "spyre/Base/Random.h"

#include "gtest/gtest.h"

#include <limits>

namespace spyre::solver {
namespace {

using Choice = LayoutProblem::Choice;
using Need = LayoutProblem::Need;

constexpr int64_t kImpossible = std::numeric_limits<int64_t>::max();

/// Tries everything: all choices, all copies, all private copies.
class BruteForce {
public:
  explicit BruteForce(const LayoutProblem &problem) : problem(problem) {
    for (const auto &tensor : problem.tensors) {
      there.push_back(tensor.given);
    }
  }

  int64_t cost(size_t index = 0) {
    if (index == problem.operations.size()) {
      return 0;
    }
    const auto &operation = problem.operations[index];
    int64_t best = kImpossible;
    for (const Choice &choice : operation.choices) {
      int64_t rest = input(index, choice, 0);
      best = rest == kImpossible ? best : std::min(best, choice.cost + rest);
    }
    return best;
  }

private:
  int64_t input(size_t index, const Choice &choice, size_t i) {
    const auto &operation = problem.operations[index];
    if (i == operation.inputs.size()) {
      return written(index, choice);
    }
    const auto tensor = size_t(operation.inputs[i]);
    const Need &need = choice.needs[i];
    if (need.inPlace) { // into what it was given as; a result has no copies
      const OptionSet given = problem.tensors[tensor].given;
      for (size_t option = 0; option < need.readCost.size(); ++option) {
        const OptionSet own = given != 0 ? given : there[tensor];
        if (own == OptionSet(1) << option && need.readCost[option] >= 0) {
          const int64_t rest = input(index, choice, i + 1);
          return rest == kImpossible ? rest : need.readCost[option] + rest;
        }
      }
      return kImpossible;
    }
    int64_t best = kImpossible;
    auto consider = [&](int64_t price) {
      int64_t rest = input(index, choice, i + 1);
      best = rest == kImpossible ? best : std::min(best, price + rest);
    };
    if (need.privateCost >= 0) {
      consider(need.privateCost);
    }
    const auto &source = problem.tensors[tensor];
    for (size_t option = 0; option < need.readCost.size(); ++option) {
      if (need.readCost[option] < 0) {
        continue;
      }
      if ((there[tensor] >> option & 1) != 0) {
        consider(need.readCost[option]);
      }
      for (size_t from = 0; from < source.copyFrom.size(); ++from) {
        if ((there[tensor] >> from & 1) != 0 && source.copyFrom[from] >= 0 &&
            source.copyTo[option] >= 0) {
          OptionSet before = there[tensor];
          there[tensor] |= OptionSet(1) << option;
          consider(source.copyFrom[from] + source.copyTo[option] + need.readCost[option]);
          there[tensor] = before;
        }
      }
    }
    return best;
  }

  int64_t written(size_t index, const Choice &choice) {
    const auto &operation = problem.operations[index];
    const std::vector<OptionSet> before = there;
    for (size_t i = 0; i < operation.inputs.size(); ++i) {
      const auto tensor = size_t(operation.inputs[i]);
      const OptionSet given = problem.tensors[tensor].given;
      if (choice.needs[i].inPlace && given != 0) {
        there[tensor] = given; // copies are out of date
      }
    }
    if (operation.result >= 0) {
      there[size_t(operation.result)] = OptionSet(1) << choice.resultOption;
    }
    int64_t rest = cost(index + 1);
    there = before;
    return rest;
  }

  const LayoutProblem &problem;
  std::vector<OptionSet> there;
};

LayoutProblem randomProblem(Random &random, int operations) {
  LayoutProblem problem;
  auto addTensor = [&](bool isInput) {
    LayoutProblem::Tensor tensor;
    const int options = int(random.between(1, 3));
    for (int i = 0; i < options; ++i) {
      tensor.copyFrom.push_back(random.below(6) == 0 ? -1 : random.between(1, 10));
      tensor.copyTo.push_back(random.below(6) == 0 ? -1 : random.between(1, 10));
    }
    tensor.given = isInput ? OptionSet(1) << random.below(uint64_t(options)) : 0;
    problem.tensors.push_back(tensor);
  };
  for (int64_t i = random.between(1, 3); i > 0; --i) {
    addTensor(true);
  }
  for (int i = 0; i < operations; ++i) {
    LayoutProblem::Operation operation;
    for (int64_t inputs = random.between(1, 3); inputs > 0; --inputs) {
      operation.inputs.push_back(int(random.below(problem.tensors.size())));
    }
    const bool inPlace = random.below(8) == 0;
    addTensor(inPlace);
    operation.result = inPlace ? -1 : int(problem.tensors.size()) - 1;
    const auto options = problem.tensors.back().copyTo.size();
    for (int64_t choices = random.between(1, 3); choices > 0; --choices) {
      Choice choice;
      choice.cost = random.below(3) == 0 ? random.between(0, 5) : 0;
      choice.resultOption = inPlace ? -1 : int(random.below(options));
      for (int input : operation.inputs) {
        Need need;
        for (size_t option = 0; option < problem.tensors[size_t(input)].copyTo.size(); ++option) {
          need.readCost.push_back(random.below(2) == 0 ? -1 : random.between(0, 6));
        }
        need.privateCost = random.below(3) == 0 ? -1 : random.between(1, 30);
        choice.needs.push_back(need);
      }
      choice.needs.back().inPlace = random.below(40) == 0; // what is written into is the last input
      operation.choices.push_back(choice);
    }
    problem.operations.push_back(operation);
  }
  return problem;
}

} // namespace

TEST(LayoutChoice, IsExactOnSmallProblems) {
  int possible = 0;
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    Random random(seed);
    LayoutProblem problem = randomProblem(random, int(random.between(1, 5)));
    const int64_t best = BruteForce(problem).cost();
    Expected<LayoutPlan> plan = chooseLayouts(problem);
    ASSERT_EQ(plan.ok(), best != kImpossible) << seed;
    if (!plan.ok()) {
      EXPECT_EQ(plan.status().code(), 3202);
      continue;
    }
    ++possible;
    ASSERT_TRUE(plan->exact) << seed;
    ASSERT_EQ(plan->cost, best) << seed;
    Expected<int64_t> cost = costOfPlan(problem, *plan);
    ASSERT_TRUE(cost.ok()) << cost.status().message();
    ASSERT_EQ(*cost, best) << seed;
  }
  EXPECT_GT(possible, 400);
}

TEST(LayoutChoice, ANarrowSearchIsStillSoundAndNeverBetterThanTheBest) {
  int narrower = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Random random(seed + 77);
    LayoutProblem problem = randomProblem(random, 30);
    Expected<LayoutPlan> wide = chooseLayouts(problem, {1 << 14}),
                         narrow = chooseLayouts(problem, {1});
    if (!wide.ok() || !narrow.ok()) {
      continue;
    }
    EXPECT_EQ(*costOfPlan(problem, *narrow), narrow->cost);
    EXPECT_LE(wide->cost, narrow->cost);
    narrower += !narrow->exact;
  }
  EXPECT_GT(narrower, 10);
}

TEST(LayoutChoice, SharesACopyAndPrefersTheFirstChoice) {
  // One input in option 0, read twice in option 1.
  LayoutProblem problem;
  problem.tensors = {{{3, 3}, {5, 4}, 1}, {{1}, {1}, 0}, {{1}, {1}, 0}};
  const Choice asOne{0, 0, {{{-1, 0}, 100}}};
  problem.operations = {{1, {0}, {asOne, asOne}}, {2, {0}, {asOne}}};
  Expected<LayoutPlan> plan = chooseLayouts(problem);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->cost, 7);
  EXPECT_EQ(plan->steps[0].choice, 0);
  EXPECT_EQ(plan->steps[0].copies, (std::vector<LayoutPlan::Step::Copy>{{0, 1}}));
  EXPECT_TRUE(plan->steps[1].copies.empty());
}

TEST(LayoutChoice, RefusesMalformedProblems) {
  LayoutProblem good;
  good.tensors = {{{3, 3}, {5, 7}, 1}, {{1}, {1}, 0}};
  good.operations = {{1, {0}, {{0, 0, {{{-1, 0}, 100}}}}}};
  ASSERT_TRUE(chooseLayouts(good).ok());
  auto refused = [&](auto spoil) {
    LayoutProblem bad = good;
    spoil(bad);
    Expected<LayoutPlan> plan = chooseLayouts(bad);
    return !plan.ok() && plan.status().code() == 3201;
  };
  EXPECT_TRUE(refused([](LayoutProblem &p) { p.operations[0].inputs = {5}; }));
  EXPECT_TRUE(refused([](LayoutProblem &p) { p.operations[0].inputs = {1}; }));
  EXPECT_TRUE(refused([](LayoutProblem &p) { p.operations[0].result = 0; }));
  EXPECT_TRUE(refused([](LayoutProblem &p) { p.operations[0].choices.clear(); }));
  EXPECT_TRUE(refused([](LayoutProblem &p) { p.operations[0].choices[0].resultOption = 3; }));
  EXPECT_TRUE(
      refused([](LayoutProblem &p) { p.operations[0].choices[0].needs[0].readCost = {1}; }));
  EXPECT_TRUE(refused([](LayoutProblem &p) { p.tensors[0].copyTo.clear(); }));
  EXPECT_TRUE(refused([](LayoutProblem &p) { p.tensors[0].given = 4; }));
}

} // namespace spyre::solver
