//===- Plan.cpp - owner maps ----------------------------------------------------------------===//
#include "spyre/Solver/Division/Plan.h"

#include <algorithm>

namespace spyre::solver::division {

CoreOrder documentedOrder(const Op &op, const Splits &splits) {
  const bool partners =
      op.kind == Kind::Matmul && op.dims.size() >= 3 && op.dims.back().reduced && splits.back() > 1;
  return partners ? CoreOrder::ReductionFastest : CoreOrder::FirstFastest;
}

static Plan planOf(const Op &op, const Splits &splits, CoreOrder order, int uneven) {
  Plan plan;
  plan.splits = splits;
  plan.cores = productOf(splits);
  plan.uneven = uneven;
  for (size_t d = 0; d < splits.size(); ++d) {
    plan.order.push_back(int(d));
  }
  if (order == CoreOrder::ReductionFastest) {
    std::stable_partition(plan.order.begin(), plan.order.end(), [&](int dim) {
      return op.dims[size_t(dim)].reduced && splits[size_t(dim)] > 1;
    });
  }
  std::stable_partition(plan.order.begin(), plan.order.end(),
                        [&](int dim) { return dim != uneven; });
  plan.owner.assign(size_t(plan.cores), Splits(splits.size(), 0));
  int64_t period = 1;
  for (int dim : plan.order) {
    const int64_t split = std::max<int64_t>(splits[size_t(dim)], 1);
    for (int64_t core = 0; core < plan.cores; ++core) {
      plan.owner[size_t(core)][size_t(dim)] = core / period % split;
    }
    period *= split;
  }
  return plan;
}

Plan makePlan(const Op &op, const Splits &splits, CoreOrder order) {
  return planOf(op, splits, order, -1);
}

Plan makeUnevenPlan(const Op &op, const Splits &splits, int uneven) {
  return planOf(op, splits, documentedOrder(op, splits), uneven);
}

} // namespace spyre::solver::division
