//===- Distribution.cpp - the documented second pass ----------------------------------------===//
#include "spyre/Solver/Division/Compat.h"

#include <algorithm>

namespace spyre::solver::division {

Priorities prioritize(const Units &units, const Splits &committed) {
  Priorities order;
  for (size_t d = 0; d < units.count.size(); ++d) {
    if (committed[d] <= 1 && units.extent[d] > 1) {
      (units.output[d] ? order.output : order.reduction).push_back(int(d));
    }
  }
  auto larger = [&](int a, int b) { return units.count[size_t(a)] > units.count[size_t(b)]; };
  std::stable_sort(order.output.begin(), order.output.end(), larger);
  std::stable_sort(order.reduction.begin(), order.reduction.end(), larger);
  return order;
}

std::optional<Split> mostSplittable(const Units &units, const std::vector<int> &dims,
                                    int64_t cores) {
  std::optional<Split> best;
  for (int dim : dims) {
    const int64_t split = coreSplit(units.basis[size_t(dim)], cores);
    if (split > 1 && (!best || split > best->split)) {
      best = Split{dim, split};
    }
  }
  return best;
}

Splits greedySplits(const Units &units, const Priorities &priorities, const Splits &committed,
                    int64_t cores) {
  Splits splits(units.count.size(), 1);
  int64_t left = cores;
  for (size_t d = 0; d < committed.size(); ++d) {
    if (committed[d] > 1 && left / committed[d] > 0) {
      splits[d] = committed[d];
      left /= committed[d];
    }
  }
  for (int dim : priorities.output) {
    const int64_t split = left > 1 ? coreSplit(units.basis[size_t(dim)], left) : 1;
    splits[size_t(dim)] = split;
    left /= split;
  }
  if (left > 1) {
    if (std::optional<Split> most = mostSplittable(units, priorities.reduction, left)) {
      splits[size_t(most->dim)] = most->split;
    }
  }
  return splits;
}

Splits distributeWork(const Op &op, const StoredSplits &stored, int64_t cores) {
  const Units units = unitsOf(op);
  const Splits committed = decodeSplits(stored, writeIndex(op), readIndex(op), units.extent);
  Priorities priorities = prioritize(units, committed);
  for (size_t d = 0; d < committed.size(); ++d) {
    if (committed[d] > 1 && !units.output[d]) {
      // At most one reduced variable is split, and the span took it.
      priorities.reduction.clear();
    }
  }
  return greedySplits(units, priorities, committed, cores);
}

} // namespace spyre::solver::division
