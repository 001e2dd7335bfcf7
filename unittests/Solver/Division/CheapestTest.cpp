//===- CheapestTest.cpp - calibrated prices: the chosen division against all legal ones -----===//
//
// The compiler prices few candidates and rules the others out by lower bounds. Here all of them are
// priced: the answer is as near to the least as it says, and never further than the slack.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Solver/Division/Kernels.h"

#include "Support.h"

#include <cmath>

namespace spyre::solver::division {
namespace {

using namespace test;

/// As the compiler asks.
constexpr double kSlack = 0.02;

Candidates allLegal(const Op &op, const arch::DeviceDesc &device, int64_t cores) {
  Candidates all{.dims = op.dims.size()};
  forEachSplit(op, cores, [&](const Splits &splits) {
    if (isLegal(op, device, cores, splits)) {
      all.splits.insert(all.splits.end(), splits.begin(), splits.end());
    }
  });
  return all;
}

struct Compared {
  double worst = 0;
  int64_t ops = 0, legal = 0;
};

void compareWithAllPrices(const Op &op, const arch::DeviceDesc &device, int64_t cores,
                          Compared &compared) {
  const KernelCosts costs(device);
  Options options{.cores = cores, .padding = false, .compare = false, .slack = kSlack};
  Expected<Outcome> outcome = divide(op, device, options, costs);
  if (!outcome.ok() || outcome->tiling || op.dims.empty()) {
    return;
  }
  const Candidates all = allLegal(op, device, cores);
  std::vector<double> ns(all.size());
  costs.price(op, unitsOf(op), all, ns);
  const double least = *std::min_element(ns.begin(), ns.end());
  if (std::isinf(least)) {
    return; // no program for any of them: another's matter
  }
  const std::string what = fmt::format("{} {} on {} cores", op.name, describe(op), cores);
  EXPECT_EQ(outcome->candidatesTried, int64_t(all.size())) << what;
  EXPECT_GE(outcome->nanoseconds, least) << what;
  EXPECT_LE(outcome->nanoseconds * (1 - kSlack), least * (1 + 1e-12)) << what;
  EXPECT_LE(outcome->leastNanoseconds, least * (1 + 1e-12)) << what << ": the bound is none";
  EXPECT_GE(outcome->leastNanoseconds, outcome->nanoseconds * (1 - kSlack - 1e-12)) << what;
  compared.worst = std::max(compared.worst, 1 - least / outcome->nanoseconds);
  ++compared.ops;
  compared.legal += int64_t(all.size());
}

TEST(DivisionCheapest, NoLegalDivisionIsCheaperByMoreThanTheSlack) {
  Compared compared;
  const arch::DeviceDesc device = machine("openspyre");
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    compareWithAllPrices(randomOp(seed, seed % 2 == 0 ? 300 : 8192), device,
                         seed % 3 == 0 ? 12 : 32, compared);
  }
  EXPECT_GT(compared.ops, 1500);
  RecordProperty("worst", fmt::format("{:.4f}", compared.worst));
  RecordProperty("priced", fmt::format("{}", compared.legal));
}

// Products of models: many divisions keep the arrays of all cores busy and differ by their tiles.
TEST(DivisionCheapest, NorOfTheProductsOfModels) {
  Compared compared;
  const arch::DeviceDesc device = machine("openspyre");
  for (int64_t m : {1, 2, 4, 16, 100, 128, 512, 1000, 2048, 4096}) {
    for (int64_t n : {1024, 4096, 12800}) {
      compareWithAllPrices(makeMatmul(0, m, n, 4096), device, 32, compared);
    }
    compareWithAllPrices(makeMatmul(32, m, 512, 128), device, 32, compared);
    compareWithAllPrices(makeMatmul(8, m, 128, 512, true), device, 32, compared);
  }
  EXPECT_EQ(compared.ops, 50);
}

TEST(DivisionCheapest, DecisionsSayHowNear) {
  const arch::DeviceDesc device = machine("openspyre");
  Options options{.padding = false, .slack = kSlack};
  Expected<Outcome> outcome =
      divide(makeMatmul(0, 512, 4096, 4096), device, options, KernelCosts(device));
  ASSERT_TRUE(outcome.ok());
  const double gap = 1 - outcome->leastNanoseconds / outcome->nanoseconds;
  EXPECT_NE(outcome->decisions.back().detail().find(
                gap > 0 ? fmt::format("none cheaper by more than {:.2f} %", 100 * gap)
                        : std::string("none cheaper")),
            std::string::npos)
      << outcome->decisions.back().detail();
}

} // namespace
} // namespace spyre::solver::division
