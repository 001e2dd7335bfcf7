//===- UnevenDivision.cpp - slices of two sizes, priced as two operations -------------------===//
#include "UnevenDivision.h"

#include "spyre/Base/Math.h"
#include "spyre/Solver/Division/Rules.h"
#include "spyre/Solver/Division/Verify.h"

#include <algorithm>
#include <cmath>

namespace spyre::solver::division {

/// Combinations of the other dims that are priced with each number of uneven slices.
static constexpr size_t kMostCombinations = 512;

namespace {

struct Candidate {
  Splits splits;
  size_t dim = 0;
  double nanoseconds = 0;
};

class UnevenSearch {
public:
  UnevenSearch(const Op &op, const arch::DeviceDesc &device, int64_t cores, const CostModel &costs)
      : op(op), device(device), cores(cores), costs(costs), units(unitsOf(op)) {}

  Expected<std::optional<UnevenDivision>> run() {
    SPYRE_ASSIGN_OR_RETURN(domains, domainsOf(op, units, device, cores));
    for (size_t d = 0; d < op.dims.size() && !domains.oneCore; ++d) {
      if (mayBeUneven(d)) {
        collect(d);
      }
    }
    std::stable_sort(found.begin(), found.end(), [](const Candidate &a, const Candidate &b) {
      return a.nanoseconds < b.nanoseconds;
    });
    for (const Candidate &candidate : found) {
      Plan plan = makeUnevenPlan(op, candidate.splits, int(candidate.dim));
      if (verifyPlan(op, device, cores, plan).ok()) {
        return std::optional(
            UnevenDivision{std::move(plan), candidate.nanoseconds, int64_t(found.size())});
      }
    }
    return std::optional<UnevenDivision>();
  }

private:
  /// Slices along it need nothing of each other, and nothing but its size forbids a split.
  bool mayBeUneven(size_t d) const {
    const Dim &dim = op.dims[d];
    const bool isKnown = op.kind == Kind::Pointwise || op.kind == Kind::Reduction ||
                         op.kind == Kind::Matmul || op.kind == Kind::Restickify ||
                         op.kind == Kind::TopK;
    const bool isDirect =
        std::all_of(op.tensors.begin(), op.tensors.end(),
                    [](const Tensor &tensor) { return tensor.access == Access::Direct; });
    return isKnown && isDirect && !dim.reduced && dim.granularity == 0 && dim.tiles == 1 &&
           dim.segments.empty() && dim.role == Role::Plain && occursIn(op.output(), int(d)) &&
           *domains.dims[d].rule == '\0' && !isUncutTail(d);
  }

  /// The rule says so of equal slices only where there are some.
  bool isUncutTail(size_t d) const {
    return device.division.restickifyPadding && op.kind == Kind::Restickify &&
           units.extent[d] % units.elems[d] != 0;
  }

  void collect(size_t d) {
    const int64_t count = units.count[d];
    int64_t most = 0; // Units of the largest slice of the last number that was tried.
    for (int64_t slices = std::min(cores, count - 1); slices >= 2; --slices) {
      // With the same largest slice, more slices are as quick or quicker.
      if (count % slices != 0 && ceilDiv(count, slices) != most) {
        most = ceilDiv(count, slices);
        priceAll(d, slices);
      }
    }
  }

  void priceAll(size_t d, int64_t slices) {
    Candidates all{.dims = op.dims.size()}, rest{.dims = op.dims.size()};
    Splits splits(op.dims.size(), 1);
    splits[d] = slices;
    extend(splits, 0, d, slices, 0, all);
    if (all.size() == 0) {
      return;
    }
    const int64_t larger = units.count[d] % slices;
    rest.splits = all.splits;
    for (size_t i = 0; i < all.size(); ++i) {
      rest.splits[i * all.dims + d] = int32_t(larger);
    }
    std::vector<double> allNs(all.size()), restNs(all.size());
    price(d, units.count[d] - larger, all, allNs);
    price(d, larger, rest, restNs);
    for (size_t i = 0; i < all.size(); ++i) {
      // Two phases of one launch; those the back end refuses cost infinity.
      const double ns = allNs[i] + restNs[i] - costs.launchNanoseconds();
      if (std::isfinite(ns)) {
        found.push_back({Splits(all[i].begin(), all[i].end()), d, ns});
      }
    }
  }

  void price(size_t d, int64_t count, const Candidates &candidates, std::span<double> ns) const {
    Op part = op;
    part.dims[d].extent = count * units.elems[d];
    part.dims[d].walked = 0; // whole sticks
    costs.price(part, unitsOf(part), candidates, ns);
  }

  /// All combinations of the other dims that leave \p used cores within the machine.
  void extend(Splits &splits, size_t d, size_t uneven, int64_t used, int64_t reductions,
              Candidates &out) const {
    if (d == splits.size()) {
      out.splits.insert(out.splits.end(), splits.begin(), splits.end());
      return;
    }
    if (d == uneven) {
      extend(splits, d + 1, uneven, used, reductions, out);
      return;
    }
    for (int64_t split : domains.dims[d].splits) {
      const int64_t reduced = reductions + (op.dims[d].reduced && split > 1 ? 1 : 0);
      if (used * split > cores || reduced > device.division.splitReductions ||
          out.size() >= kMostCombinations) {
        continue;
      }
      splits[d] = split;
      extend(splits, d + 1, uneven, used * split, reduced, out);
    }
    splits[d] = 1;
  }

  const Op &op;
  const arch::DeviceDesc &device;
  const int64_t cores;
  const CostModel &costs;
  const Units units;
  Domains domains;
  std::vector<Candidate> found;
};

} // namespace

Expected<std::optional<UnevenDivision>> cheapestUneven(const Op &op, const arch::DeviceDesc &device,
                                                       int64_t cores, const CostModel &costs) {
  return UnevenSearch(op, device, cores, costs).run();
}

} // namespace spyre::solver::division
