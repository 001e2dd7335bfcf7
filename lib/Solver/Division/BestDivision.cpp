//===- BestDivision.cpp - prices, ties and padding ------------------------------------------===//
#include "BestDivision.h"

#include "spyre/Base/Math.h"

#include "Search.h"

#include <algorithm>

namespace spyre::solver::division {

/// Prices closer than this are equal: rounding must not choose a plan.
static constexpr double kEqualPrice = 1e-12;

static Splits splitsOf(std::span<const int32_t> candidate) {
  return Splits(candidate.begin(), candidate.end());
}

static int64_t coresOf(std::span<const int32_t> candidate) {
  int64_t product = 1;
  for (int32_t split : candidate) {
    product *= split;
  }
  return product;
}

static bool isSame(std::span<const int32_t> candidate, const Splits &splits) {
  return std::equal(candidate.begin(), candidate.end(), splits.begin(), splits.end());
}

/// SIZE_MAX where \p splits is no candidate.
static size_t indexOf(const Candidates &candidates, const Splits &splits) {
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (isSame(candidates[i], splits)) {
      return i;
    }
  }
  return SIZE_MAX;
}

/// Of equals the documented plan, then the one with more cores, then the first.
static size_t chooseCheapest(const Candidates &candidates, const std::vector<double> &ns,
                             const Splits &preferred) {
  size_t best = 0;
  const double least = *std::min_element(ns.begin(), ns.end());
  bool any = false;
  for (size_t i = 0; i < ns.size(); ++i) {
    if (ns[i] > least * (1 + kEqualPrice)) {
      continue;
    }
    if (isSame(candidates[i], preferred)) {
      return i;
    }
    if (!any || coresOf(candidates[i]) > coresOf(candidates[best])) {
      best = i;
      any = true;
    }
  }
  return best;
}

static std::vector<PricedSplits> sortedByPrice(const Candidates &candidates,
                                               const std::vector<double> &ns) {
  std::vector<PricedSplits> all;
  for (size_t i = 0; i < ns.size(); ++i) {
    all.push_back({splitsOf(candidates[i]), ns[i]});
  }
  std::stable_sort(all.begin(), all.end(), [](const PricedSplits &a, const PricedSplits &b) {
    return a.nanoseconds < b.nanoseconds;
  });
  return all;
}

Expected<std::optional<BestDivision>> cheapestDivision(const Op &op, const arch::DeviceDesc &device,
                                                       int64_t cores, const CostModel &costs,
                                                       const Splits &preferred, bool keepAll,
                                                       double slack) {
  using Found = std::optional<BestDivision>;
  const Units units = unitsOf(op);
  SPYRE_ASSIGN_OR_RETURN(Domains domains, domainsOf(op, units, device, cores));
  SearchResult search = searchDivisions(op, units, device, domains, cores);
  const Candidates &candidates = search.candidates;
  if (candidates.size() == 0) {
    return Found();
  }
  BestDivision found;
  found.tried = int64_t(candidates.size());
  found.cut = search.cut;
  // The choice does not depend on how much is told of it.
  std::optional<CheapestCandidate> cheapest;
  if (slack > 0) {
    cheapest = costs.cheapest(op, units, candidates, slack, indexOf(candidates, preferred));
  }
  std::vector<double> ns(cheapest && !keepAll ? 0 : candidates.size());
  if (!ns.empty()) {
    costs.price(op, units, candidates, ns);
  }
  const size_t best = cheapest ? cheapest->candidate : chooseCheapest(candidates, ns, preferred);
  found.best = {splitsOf(candidates[best]), cheapest ? cheapest->nanoseconds : ns[best]};
  found.priced = cheapest ? int64_t(cheapest->priced) : found.tried;
  found.leastNanoseconds = cheapest ? cheapest->leastNanoseconds : found.best.nanoseconds;
  found.documented = found.best.splits == preferred;
  if (keepAll) {
    found.all = sortedByPrice(candidates, ns);
  }
  return Found(std::move(found));
}

/// Room for \p extent elements of \p dim in one tensor; grows it where it may.
static bool makeRoom(const Op &op, Tensor &tensor, size_t dim, int64_t extent) {
  for (size_t c = 0; c < tensor.coordinates.size(); ++c) {
    int64_t most = tensor.coordinates[c].offset;
    bool concerned = false;
    for (const Term &term : tensor.coordinates[c].terms) {
      const size_t v = size_t(term.dim);
      concerned = concerned || v == dim;
      const int64_t last = (v == dim ? extent : op.dims[v].extent) - 1;
      most +=
          term.wrap > 0 ? std::min(term.wrap - 1, last * term.step) / term.divisor : term.at(last);
    }
    if (!concerned || most < tensor.deviceSize[c]) {
      continue;
    }
    if (!tensor.growable || c + 1 == tensor.coordinates.size()) {
      return false;
    }
    tensor.deviceSize[c] = most + 1;
  }
  return true;
}

std::optional<Op> paddedOp(const Op &op, const Units &units, size_t dim, int64_t count) {
  const Dim &from = op.dims[dim];
  if (from.reduced || from.granularity > 0 || from.tiles > 1 || !from.segments.empty()) {
    return std::nullopt;
  }
  const int64_t extent = count * units.elems[dim];
  Op padded = op;
  for (Tensor &tensor : padded.tensors) {
    if (!makeRoom(op, tensor, dim, extent)) {
      return std::nullopt;
    }
  }
  padded.dims[dim].extent = extent;
  return checkOp(padded).ok() ? std::optional<Op>(std::move(padded)) : std::nullopt;
}

} // namespace spyre::solver::division
