//===- Compat.h - division as the documents describe it -------------------------------------===//
//
// Two passes over all operations: span reduction finds the fewest slices that bring every tensor
// below the span limit, work distribution spends the cores that are left. The second knows of the
// first only what is stored (StoredSplits.h). Plans are computed exactly as described, weaknesses
// included; whether one may be used is for the verifier to say. [spec: work-division 5-8]
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Arch/DeviceDesc.h"
#include "spyre/Base/Decision.h"
#include "spyre/Solver/Division/StoredSplits.h"

#include <optional>

namespace spyre::solver::division {

/// Neither pass divides anything else.
bool isDivided(Kind kind);

struct SpanReduction {
  /// 0 where the search did not come to the variable.
  Splits least;
  StoredSplits stored;
  std::vector<Decision> decisions;
};

/// Pass 1. Errors: E3062 (a stick count without a divisor that meets the span), E3063 (more than
/// one reduced variable would have to be split).
Expected<SpanReduction> reduceSpan(const Op &op, const arch::DeviceDesc &device, int64_t cores,
                                   SpanBytes how = SpanBytes::Sticks);

/// Uncommitted variables by decreasing units: those of the output, and the rest.
struct Priorities {
  std::vector<int> output, reduction;
};
Priorities prioritize(const Units &units, const Splits &committed);

/// The variable that gives the most cores, the first of equals; nothing when none gives two.
struct Split {
  int dim;
  int64_t split;
};
std::optional<Split> mostSplittable(const Units &units, const std::vector<int> &dims,
                                    int64_t cores);

/// The greedy choice for given priorities. [spec: work-division 7.3]
Splits greedySplits(const Units &units, const Priorities &priorities, const Splits &committed,
                    int64_t cores);

/// Pass 2, from what pass 1 stored.
Splits distributeWork(const Op &op, const StoredSplits &stored, int64_t cores);

//===- The later pass for matrix products [spec: work-division 8] ---------------------------===//

struct MatmulShape {
  /// Variables; rows that both operands have are batches.
  std::vector<int> batch;
  int m = -1, n = -1, k = -1;
};
/// Nothing when the documented identification declines; the reason is in the decision.
std::optional<MatmulShape> matmulShape(const Op &op, const StoredSplits &stored,
                                       std::vector<Decision> *decisions = nullptr);

struct MatmulCost {
  double computeUs = 0, hbmUs = 0, psumUs = 0, tieUs = 0, totalUs = 0;
};
/// b, m, n, k of \p sizes and \p splits in this order.
MatmulCost matmulCost(const int64_t (&sizes)[4], const int64_t (&splits)[4], int64_t cores);

struct MatmulDivision {
  Splits splits;
  /// The cheapest by the formula, also where it is not taken.
  Splits cheapest;
  double cheapestUs = 0;
  std::vector<Decision> decisions;
};
/// Nothing when it leaves the operation to work distribution.
std::optional<MatmulDivision> divideMatmul(const Op &op, const StoredSplits &stored, int64_t cores);

} // namespace spyre::solver::division
