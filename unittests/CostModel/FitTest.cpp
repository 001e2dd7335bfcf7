//===- FitTest.cpp - the search and its figures ---------------------------------------------===//
#include "spyre/CostModel/Fit.h"

#include "gtest/gtest.h"

#include <cmath>

namespace spyre::costmodel {
namespace {

/// A valley that is bent: no parameter can move far alone.
Expected<double> valley(std::span<const double> x) {
  double a = std::log(x[0] / 7), b = std::log(x[0] * x[1] / 2), c = std::log(x[2] / 0.01);
  return 20 * b * b + a * a + c * c;
}

const std::vector<FitParameter> kStart = {
    {"a", 1, 0.1, 100}, {"b", 1, 0.01, 100}, {"c", 1, 1e-4, 1}};

TEST(Fit, FindsTheBottom) {
  Expected<FitResult> result = fitParameters(kStart, valley);
  ASSERT_TRUE(result.ok()) << result.status().text();
  EXPECT_NEAR(result->values[0], 7, 0.3);
  EXPECT_NEAR(result->values[0] * result->values[1], 2, 0.05);
  EXPECT_NEAR(result->values[2], 0.01, 0.0005);
  EXPECT_LT(result->cost, 0.01);
}

TEST(Fit, IsDeterministic) {
  FitResult first = *fitParameters(kStart, valley), second = *fitParameters(kStart, valley);
  EXPECT_EQ(first.values, second.values);
  EXPECT_EQ(first.evaluations, second.evaluations);
  FitOptions other;
  other.seed = 2;
  // Another seed goes another way to the same place.
  EXPECT_NEAR(fitParameters(kStart, valley, other)->values[0], first.values[0], 0.5);
}

TEST(Fit, StaysInsideItsBounds) {
  std::vector<FitParameter> bounded = kStart;
  bounded[0].high = 3;
  FitResult result = *fitParameters(bounded, valley);
  EXPECT_EQ(result.values[0], 3);
  FitOptions few;
  few.maxEvaluations = 10;
  EXPECT_LE(fitParameters(kStart, valley, few)->evaluations, 10u + 4 * kStart.size());
}

TEST(Fit, RefusesBadParametersAndPassesErrorsOn) {
  EXPECT_EQ(fitParameters({}, valley).status().code(), 7037);
  std::vector<FitParameter> many(kMaxFreeParameters + 1, {"p", 1, 0.5, 2});
  EXPECT_EQ(fitParameters(many, valley).status().code(), 7037);
  EXPECT_EQ(fitParameters({{"p", 3, 1, 2}}, valley).status().code(), 7037);
  EXPECT_EQ(fitParameters({{"p", 1, 0, 2}}, valley).status().code(), 7037);
  auto broken = [](std::span<const double>) -> Expected<double> {
    return Status(7035, "no programs");
  };
  EXPECT_EQ(fitParameters(kStart, broken).status().code(), 7035);
}

TEST(Figures, MediansAndRanks) {
  EXPECT_EQ(medianAbsolute({}), 0);
  EXPECT_EQ(medianAbsolute({-3, 1, 2}), 2);
  EXPECT_EQ(medianAbsolute({-4, 1, 2, 3}), 2.5);
  std::vector<double> up{1, 2, 3, 4}, down{9, 7, 5, 3}, swapped{1, 3, 2, 4}, flat{5, 5, 5, 5};
  EXPECT_DOUBLE_EQ(rankCorrelation(up, up), 1);
  EXPECT_DOUBLE_EQ(rankCorrelation(up, down), -1);
  EXPECT_DOUBLE_EQ(rankCorrelation(up, swapped), 0.8);
  EXPECT_DOUBLE_EQ(rankCorrelation(up, flat), 0);
}

// Only rows of set fit count, and a family does not count more for having many rows.
TEST(Figures, TheCostIsOfFitRows) {
  auto row = [](const char *family, RowSet set) {
    TimingRow made;
    made.family = family;
    made.set = set;
    made.value = 10;
    return made;
  };
  std::vector<TimingRow> rows{row("a", RowSet::Fit), row("b", RowSet::Holdout),
                              row("c", RowSet::Fit), row("c", RowSet::Fit)};
  EXPECT_EQ(fitCost(rows, std::vector<double>{10, 99, 10, 10}), 0);
  double one = fitCost(rows, std::vector<double>{20, 10, 10, 10});
  double two = fitCost(rows, std::vector<double>{10, 10, 20, 20});
  EXPECT_NEAR(two, std::sqrt(2.0) * one, 1e-9);
}

} // namespace
} // namespace spyre::costmodel
