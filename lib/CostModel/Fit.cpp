//===- Fit.cpp - pattern search and figures -------------------------------------------------===//
#include "spyre/CostModel/Fit.h"

#include "spyre/Base/Random.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace spyre::costmodel {

namespace {

class PatternSearch {
public:
  PatternSearch(const std::vector<FitParameter> &parameters, const FitCost &cost,
                const FitOptions &options)
      : parameters(parameters), cost(cost), options(options), random(options.seed) {}

  Expected<FitResult> run();

private:
  /// Accepts the point when it is better; a move is -1, 0 or 1 times the factor.
  Expected<bool> attempt(const std::vector<int64_t> &moves);
  Expected<bool> alongParameters();
  Expected<bool> alongRandom();

  const std::vector<FitParameter> &parameters;
  const FitCost &cost;
  const FitOptions &options;
  Random random;
  /// Square roots only, so that it is the same on every host.
  double factor = 1.6487212707001282;
  FitResult best;
};

} // namespace

Expected<bool> PatternSearch::attempt(const std::vector<int64_t> &moves) {
  std::vector<double> values = best.values;
  for (size_t i = 0; i < values.size(); ++i) {
    double moved = moves[i] > 0   ? values[i] * factor
                   : moves[i] < 0 ? values[i] / factor
                                  : values[i];
    values[i] = std::clamp(moved, parameters[i].low, parameters[i].high);
  }
  if (values == best.values) {
    return false;
  }
  ++best.evaluations;
  SPYRE_ASSIGN_OR_RETURN(double found, cost(values));
  if (!(found < best.cost)) {
    return false;
  }
  best.cost = found;
  best.values = std::move(values);
  return true;
}

Expected<bool> PatternSearch::alongParameters() {
  bool better = false;
  for (size_t i = 0; i < parameters.size(); ++i) {
    for (int64_t sign : {1, -1}) {
      std::vector<int64_t> moves(parameters.size(), 0);
      moves[i] = sign;
      SPYRE_ASSIGN_OR_RETURN(bool accepted, attempt(moves));
      better |= accepted;
    }
  }
  return better;
}

/// Parameters that pull against each other move together.
Expected<bool> PatternSearch::alongRandom() {
  bool better = false;
  for (size_t round = 0; round < parameters.size(); ++round) {
    std::vector<int64_t> moves;
    for (size_t i = 0; i < parameters.size(); ++i) {
      moves.push_back(random.between(-1, 1));
    }
    SPYRE_ASSIGN_OR_RETURN(bool accepted, attempt(moves));
    better |= accepted;
  }
  return better;
}

Expected<FitResult> PatternSearch::run() {
  for (const FitParameter &parameter : parameters) {
    best.values.push_back(parameter.value);
  }
  SPYRE_ASSIGN_OR_RETURN(best.cost, cost(best.values));
  best.evaluations = 1;
  while (factor - 1 >= options.smallestStep && best.evaluations < options.maxEvaluations) {
    SPYRE_ASSIGN_OR_RETURN(bool along, alongParameters());
    SPYRE_ASSIGN_OR_RETURN(bool across, alongRandom());
    factor = along || across ? factor : std::sqrt(factor);
  }
  return best;
}

Expected<FitResult> fitParameters(const std::vector<FitParameter> &parameters, const FitCost &cost,
                                  const FitOptions &options) {
  if (parameters.empty() || parameters.size() > kMaxFreeParameters) {
    return error<7037>("{} parameters to fit; give 1 to {}", parameters.size(), kMaxFreeParameters);
  }
  for (const FitParameter &parameter : parameters) {
    if (!(parameter.low > 0) || parameter.value < parameter.low ||
        parameter.value > parameter.high) {
      return error<7037>("parameter {}: {} is not within {} to {}, which must be above 0",
                         parameter.name, parameter.value, parameter.low, parameter.high);
    }
  }
  return PatternSearch(parameters, cost, options).run();
}

//===- Figures ------------------------------------------------------------------------------===//

double fitCost(const std::vector<TimingRow> &rows, std::span<const double> predicted) {
  // The published figures have error bars of 5 to 30 %: a miss below this hardly counts.
  constexpr double kSoft = 0.1;
  std::map<std::string, double> familyRows;
  for (const TimingRow &row : rows) {
    familyRows[row.family] += row.set == RowSet::Fit;
  }
  double sum = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].set == RowSet::Fit) {
      double miss = std::log(predicted[i] / rows[i].value);
      sum +=
          (std::sqrt(miss * miss + kSoft * kSoft) - kSoft) / std::sqrt(familyRows[rows[i].family]);
    }
  }
  return sum;
}

double medianAbsolute(std::vector<double> errors) {
  if (errors.empty()) {
    return 0;
  }
  for (double &error : errors) {
    error = std::abs(error);
  }
  std::sort(errors.begin(), errors.end());
  size_t middle = errors.size() / 2;
  return errors.size() % 2 == 1 ? errors[middle] : (errors[middle - 1] + errors[middle]) / 2;
}

/// Place of each value, equal ones share the mean of theirs.
static std::vector<double> ranksOf(std::span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin;
    while (end < order.size() && values[order[end]] == values[order[begin]]) {
      ++end;
    }
    for (size_t i = begin; i < end; ++i) {
      ranks[order[i]] = double(begin + end - 1) / 2;
    }
    begin = end;
  }
  return ranks;
}

double rankCorrelation(std::span<const double> a, std::span<const double> b) {
  if (a.size() < 2 || a.size() != b.size()) {
    return 1;
  }
  std::vector<double> x = ranksOf(a), y = ranksOf(b);
  double mean = double(a.size() - 1) / 2, xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

} // namespace spyre::costmodel
