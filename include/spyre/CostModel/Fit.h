//===- Fit.h - parameters that explain a set of times ---------------------------------------===//
//
// A deterministic search on the logarithms of positive parameters, and the figures a fit is judged
// by. Knows no machine: the caller turns parameters into times.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/CostModel/TimingRows.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace spyre::costmodel {

/// More would describe the rows instead of the machine.
constexpr size_t kMaxFreeParameters = 20;

struct FitParameter {
  std::string name;
  double value = 1;
  /// Bounds; 0 < low <= value <= high.
  double low = 0, high = 0;
};

struct FitOptions {
  /// The search ends when its steps are this small (a part of the value), or after so many
  /// evaluations.
  double smallestStep = 0.002;
  size_t maxEvaluations = 20'000;
  uint64_t seed = 1;
};

struct FitResult {
  std::vector<double> values;
  double cost = 0;
  size_t evaluations = 0;
};

using FitCost = std::function<Expected<double>(std::span<const double>)>;

/// Steps along each parameter and along seeded random directions, halved when none helps. The same
/// input gives the same result. Errors: E7037 (no or too many parameters, or one
/// outside its bounds), and those of \p cost.
Expected<FitResult> fitParameters(const std::vector<FitParameter> &parameters, const FitCost &cost,
                                  const FitOptions &options = {});

/// Logarithmic misses of the `fit` rows; each family counts with the root of its rows, and
/// a single bad row counts by its size and not by its square.
double fitCost(const std::vector<TimingRow> &rows, std::span<const double> predicted);

/// predicted / published - 1.
inline double relativeError(const TimingRow &row, double predicted) {
  return predicted / row.value - 1;
}
/// Of absolute values; 0 without any.
double medianAbsolute(std::vector<double> errors);
/// Spearman's, with the mean rank for equal values; 1 for fewer than two pairs.
double rankCorrelation(std::span<const double> a, std::span<const double> b);

} // namespace spyre::costmodel
