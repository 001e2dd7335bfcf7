//===- MatmulDivision.cpp - the later pass for matrix products ------------------------------===//
#include "spyre/Solver/Division/Compat.h"

#include <algorithm>
#include <cmath>

namespace spyre::solver::division {

/// Rows of the matrix unit, and passes over it below which it is used badly.
static constexpr double kPtRows = 8, kTargetPasses = 8;
static constexpr double kMacsPerUs = 1.536e6;
static constexpr double kHbmBytesPerUs = 204800, kBytesPerItem = 2;
static constexpr double kPsumUsPerElement = 1.4e-4;
/// Cores one operand can be broadcast to without loss.
static constexpr double kCohort = 8;
static constexpr double kBatchExponent = 1.4, kPassPenaltyUs = 50;

MatmulCost matmulCost(const int64_t (&sizes)[4], const int64_t (&splits)[4], int64_t cores) {
  MatmulCost cost;
  const int64_t used = splits[0] * splits[1] * splits[2] * splits[3];
  if (used <= 0 || used > cores) {
    cost.totalUs = HUGE_VAL;
    return cost;
  }
  const double b = double(sizes[0]), m = double(sizes[1]), n = double(sizes[2]);
  const double k = double(sizes[3]);
  const double passes = std::max(1.0, double(sizes[1] / splits[1]) / kPtRows);
  const double efficiency = std::min(1.0, std::sqrt(passes / kTargetPasses));
  cost.computeUs = b * m * n * k / double(used) / (kMacsPerUs * efficiency);
  const double fan = double(std::max(splits[1], splits[2]));
  cost.hbmUs = kBytesPerItem * (b * m * k + b * k * n + b * m * n) / kHbmBytesPerUs *
               std::max(1.0, fan / kCohort);
  cost.psumUs = double(splits[3] - 1) * b * m * n * kPsumUsPerElement;
  cost.tieUs = passes >= kTargetPasses ? 0 : kPassPenaltyUs * std::log2(kTargetPasses / passes);
  cost.totalUs = (cost.computeUs + cost.hbmUs + cost.psumUs + cost.tieUs) *
                 std::pow(double(splits[0]), kBatchExponent);
  return cost;
}

static std::optional<MatmulShape> declined(std::vector<Decision> *decisions, const char *reason,
                                           const Op &op) {
  if (decisions) {
    decisions->push_back(Decision::no(reason, "matmul '{}' over {}", op.name, describe(op)));
  }
  return std::nullopt;
}

static int inputsWith(const Op &op, int dim) {
  int count = 0;
  for (const Tensor &tensor : op.tensors) {
    count += !tensor.output && occursIn(tensor, dim) ? 1 : 0;
  }
  return count;
}

std::optional<MatmulShape> matmulShape(const Op &op, const StoredSplits &stored,
                                       std::vector<Decision> *decisions) {
  if (op.kind != Kind::Matmul) {
    return std::nullopt;
  }
  if (!stored.empty()) {
    return declined(decisions, "span-committed", op);
  }
  const Units units = unitsOf(op);
  MatmulShape shape;
  std::vector<int> rows;
  for (size_t d = 0; d < op.dims.size(); ++d) {
    if (units.extent[d] <= 1) {
      continue;
    }
    const bool stick = units.stick[d];
    if (units.output[d] && stick) {
      if (shape.n >= 0) {
        return declined(decisions, "two-stick-columns", op);
      }
      shape.n = int(d);
    } else if (units.output[d]) {
      rows.push_back(int(d));
    } else if (shape.k >= 0) {
      return declined(decisions, "column-of-one-stick", op);
    } else {
      shape.k = int(d);
    }
  }
  if (shape.n < 0 || rows.empty() || shape.k < 0) {
    return declined(decisions, "no-rows-or-columns", op);
  }
  for (int row : rows) {
    if (inputsWith(op, row) != 1) {
      shape.batch.push_back(row);
    } else if (shape.m >= 0) {
      return declined(decisions, "two-kinds-of-rows", op);
    } else {
      shape.m = row;
    }
  }
  return shape.m < 0 ? declined(decisions, "rows-in-both-operands", op)
                     : std::optional<MatmulShape>(shape);
}

namespace {

class MatmulSearch {
public:
  MatmulSearch(const Op &op, const Units &units, const MatmulShape &shape, int64_t cores)
      : units(units), shape(shape), cores(cores), best(op.dims.size(), 1) {
    for (int dim : shape.batch) {
      sizes[0] *= units.extent[size_t(dim)];
    }
    const int64_t lanes = op.output().elemsPerStick();
    sizes[1] = units.extent[size_t(shape.m)];
    sizes[2] = roundedUp(units.extent[size_t(shape.n)], lanes);
    sizes[3] = roundedUp(units.extent[size_t(shape.k)], lanes);
    order = shape.batch;
    order.insert(order.end(), {shape.m, shape.n, shape.k});
    Splits trial(op.dims.size(), 1);
    search(trial, 0, 1);
  }

  Splits cheapest() const { return best; }
  double cheapestUs() const { return bestUs; }

private:
  static int64_t roundedUp(int64_t value, int64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
  }

  void search(Splits &trial, size_t next, int64_t used) {
    if (next == order.size()) {
      int64_t splits[4] = {1, trial[size_t(shape.m)], trial[size_t(shape.n)],
                           trial[size_t(shape.k)]};
      for (int dim : shape.batch) {
        splits[0] *= trial[size_t(dim)];
      }
      const double us = matmulCost(sizes, splits, cores).totalUs;
      // The first of equals is kept: fewest slices of the batch, then of m, then of n.
      if (us < bestUs) {
        best = trial;
        bestUs = us;
      }
      return;
    }
    const size_t dim = size_t(order[next]);
    for (int64_t split : divisorsUpTo(units.count[dim], cores / used)) {
      trial[dim] = split;
      search(trial, next + 1, used * split);
    }
    trial[dim] = 1;
  }

  const Units &units;
  const MatmulShape &shape;
  int64_t cores;
  int64_t sizes[4] = {1, 1, 1, 1};
  std::vector<int> order;
  Splits best;
  double bestUs = HUGE_VAL;
};

} // namespace

std::optional<MatmulDivision> divideMatmul(const Op &op, const StoredSplits &stored,
                                           int64_t cores) {
  MatmulDivision found;
  std::optional<MatmulShape> shape = matmulShape(op, stored, &found.decisions);
  if (!shape) {
    return std::nullopt;
  }
  const Units units = unitsOf(op);
  MatmulSearch search(op, units, *shape, cores);
  found.cheapest = search.cheapest();
  found.cheapestUs = search.cheapestUs();
  const Splits usual = distributeWork(op, stored, cores);
  const bool fewer = productOf(found.cheapest) < productOf(usual);
  found.splits = fewer ? usual : found.cheapest;
  found.decisions.push_back(
      fewer ? Decision::no("fewer-cores", "{} at {:.3f} us uses fewer cores than {}",
                           describe(op, found.cheapest), found.cheapestUs, describe(op, usual))
            : Decision::yes("matmul-cost", "{} at {:.3f} us", describe(op, found.cheapest),
                            found.cheapestUs));
  return found;
}

} // namespace spyre::solver::division
