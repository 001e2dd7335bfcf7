//===- Verify.cpp - addresses and owners of a division, recomputed --------------------------===//
//
// A plan says which slice of each dim a core has. From that follow the elements, from the elements
// the addresses. No function of the planners is called, so that a mistake of theirs cannot hide.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Solver/Division/Verify.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <span>

namespace spyre::solver::division {

namespace {

/// Wraps of one variable that are looked at one by one; beyond that bounds are taken.
constexpr int64_t kMostWraps = 1 << 16;
/// Sticks of a result that are written down one by one where no structure shows their owners.
constexpr int64_t kMostListed = 1 << 20;

struct Range {
  int64_t low = 0, high = 0; ///< both included
};

/// The elements of one tile and the size of an undividable piece of them.
struct Cut {
  int64_t elements = 1;
  int64_t piece = 1;

  int64_t pieces() const { return (elements + piece - 1) / piece; }
  /// What is left over makes the first slices larger by one piece; of equal slices nothing is.
  Range slice(int64_t index, int64_t of) const {
    return {begin(index, of), std::min(elements, begin(index + 1, of)) - 1};
  }

private:
  int64_t begin(int64_t index, int64_t of) const {
    return (index * (pieces() / of) + std::min(index, pieces() % of)) * piece;
  }
};

std::vector<Cut> cutsOf(const Op &op) {
  std::vector<Cut> cuts;
  for (const Dim &dim : op.dims) {
    cuts.push_back({dim.walked > 0 ? dim.walked : dim.extent / dim.tiles, 1});
  }
  for (const Tensor &tensor : op.tensors) {
    for (const Term &term : tensor.coordinates.back().terms) {
      if (tensor.sharesSticks) {
        continue;
      }
      Cut &cut = cuts[size_t(term.dim)];
      cut.piece = std::max(cut.piece, tensor.deviceSize.back());
    }
  }
  return cuts;
}

/// A tensor's address in sticks as a sum of functions of one dim each.
class Address {
public:
  Address(const Tensor &tensor, size_t dims) : begins(dims + 1) {
    int64_t stride = 1;
    for (size_t d = tensor.deviceSize.size() - 1; d-- > 0;) {
      for (const Term &term : tensor.coordinates[d].terms) {
        parts.push_back({term, stride});
      }
      if (tensor.access == Access::Table && tensor.coordinates[d].terms.empty()) {
        anyRow += (tensor.deviceSize[d] - 1) * stride;
      }
      stride *= tensor.deviceSize[d];
    }
    std::stable_sort(parts.begin(), parts.end(),
                     [](const Part &a, const Part &b) { return a.term.dim < b.term.dim; });
    for (const Part &part : parts) {
      ++begins[size_t(part.term.dim) + 1];
    }
    std::partial_sum(begins.begin(), begins.end(), begins.begin());
  }

  /// What an index may add.
  int64_t anyRow = 0;

  bool has(size_t dim) const { return begins[dim] < begins[dim + 1]; }

  int64_t at(size_t dim, int64_t value) const {
    int64_t address = 0;
    for (const Part &part : partsOf(dim)) {
      address += part.term.at(value) * part.stride;
    }
    return address;
  }

  /// Smallest and largest address for values of \p range. Between two wraps every term grows.
  Range reach(size_t dim, Range range) const {
    Range found{INT64_MAX, INT64_MIN};
    auto look = [&](int64_t value) {
      if (value >= range.low && value <= range.high) {
        const int64_t address = at(dim, value);
        found.low = std::min(found.low, address);
        found.high = std::max(found.high, address);
      }
    };
    look(range.low);
    look(range.high);
    for (const Part &part : partsOf(dim)) {
      const Term &term = part.term;
      if (term.wrap == 0) {
        continue;
      }
      const int64_t first = range.low * term.step / term.wrap + 1;
      const int64_t last = range.high * term.step / term.wrap;
      if (last - first >= kMostWraps) {
        return bounds(dim, range);
      }
      for (int64_t wrap = first; wrap <= last; ++wrap) {
        const int64_t behind = (wrap * term.wrap + term.step - 1) / term.step;
        look(behind - 1);
        look(behind);
      }
    }
    return found;
  }

private:
  struct Part {
    Term term;
    int64_t stride;
  };

  Range bounds(size_t dim, Range range) const {
    Range found;
    for (const Part &part : partsOf(dim)) {
      const Term &term = part.term;
      const bool wraps = term.wrap > 0;
      found.low += (wraps ? 0 : term.at(range.low)) * part.stride;
      found.high += (wraps ? (term.wrap - 1) / term.divisor : term.at(range.high)) * part.stride;
    }
    return found;
  }

  std::span<const Part> partsOf(size_t dim) const {
    return std::span(parts).subspan(begins[dim], begins[dim + 1] - begins[dim]);
  }

  /// By dim: those of dim d are parts[begins[d]] up to parts[begins[d + 1]].
  std::vector<Part> parts;
  std::vector<size_t> begins;
};

class Verifier {
public:
  Verifier(const Op &op, const Plan &plan) : op(op), plan(plan), cuts(cutsOf(op)) {}

  Status checkOwners() const {
    if (plan.splits.size() != op.dims.size() || plan.cores < 1 ||
        plan.owner.size() != size_t(plan.cores)) {
      return error<3072>("'{}': a plan of {} splits and {} owners for {} dims and {} cores",
                         op.name, plan.splits.size(), plan.owner.size(), op.dims.size(),
                         plan.cores);
    }
    int64_t slices = 1;
    for (size_t d = 0; d < op.dims.size(); ++d) {
      const int64_t split = plan.splits[d];
      const bool mayDiffer = plan.uneven == int(d) && !op.dims[d].reduced;
      if (split < 1 || split > cuts[d].pieces() || (cuts[d].pieces() % split != 0) != mayDiffer) {
        return error<3072>("'{}': {} slices of {} are not equal: it has {} pieces", op.name, split,
                           op.dims[d].name, cuts[d].pieces());
      }
      if (op.dims[d].granularity > 0 && op.dims[d].granularity % split != 0) {
        return error<3072>("'{}': {} slices of {} do not divide its granularity {}", op.name, split,
                           op.dims[d].name, op.dims[d].granularity);
      }
      slices *= split;
      if (slices > plan.cores) {
        return error<3072>("'{}': splits {} on {} cores", op.name, describe(op, plan.splits),
                           plan.cores);
      }
    }
    std::vector<bool> seen(static_cast<size_t>(slices));
    for (const std::vector<int64_t> &owned : plan.owner) {
      if (owned.size() != op.dims.size()) {
        return error<3072>("'{}': a core has {} slices for {} dims", op.name, owned.size(),
                           op.dims.size());
      }
      int64_t slice = 0;
      for (size_t d = 0; d < owned.size(); ++d) {
        if (owned[d] < 0 || owned[d] >= plan.splits[d]) {
          return error<3072>("'{}': slice {} of {} exists only up to {}", op.name, owned[d],
                             op.dims[d].name, plan.splits[d] - 1);
        }
        slice = slice * plan.splits[d] + owned[d];
      }
      if (seen[size_t(slice)]) {
        return error<3072>("'{}': two cores have the slice [{}]", op.name, fmt::join(owned, ", "));
      }
      seen[size_t(slice)] = true;
    }
    // All different, as many as there are slices: every point has one core.
    return slices == plan.cores
               ? Status::success()
               : error<3072>("'{}': {} slices on {} cores", op.name, slices, plan.cores);
  }

  Status checkSticks() const {
    for (const Tensor &tensor : op.tensors) {
      const std::vector<Term> &lanes = tensor.coordinates.back().terms;
      const int64_t width = tensor.deviceSize.back();
      if (lanes.empty()) {
        continue;
      }
      const size_t d = size_t(lanes.front().dim);
      for (int64_t s = 0; s < plan.splits[d]; ++s) {
        const Range range = cuts[d].slice(s, plan.splits[d]);
        const bool insideOne = range.low / width == range.high / width;
        const bool whole = range.low % width == 0 &&
                           ((range.high + 1) % width == 0 || range.high + 1 == cuts[d].elements);
        const bool isPart = tensor.sharesSticks && range.high - range.low < width;
        if (!whole && !isPart && !(tensor.access == Access::Index && insideOne)) {
          return error<3072>("'{}': slice {} of {} is elements {} to {}, which cuts a stick of {} "
                             "({} elements)",
                             op.name, s, op.dims[d].name, range.low, range.high, tensor.name,
                             width);
        }
      }
    }
    return Status::success();
  }

  /// Slices of dims that are not reduced must not meet in the result.
  Status checkWriters() const {
    const Tensor &out = op.tensors.back();
    const Address address(out, op.dims.size());
    if (out.access == Access::Table) {
      // Where it is written is known at run time only; the rules say who may write.
      return Status::success();
    }
    for (size_t d = 0; d < op.dims.size(); ++d) {
      if (plan.splits[d] > 1 && !op.dims[d].reduced && !address.has(d)) {
        return error<3072>("'{}': {} cores with different {} write the same results", op.name,
                           plan.splits[d], op.dims[d].name);
      }
    }
    return slicesAreApart(out) ? Status::success() : listWriters(address);
  }

  std::vector<int64_t> spans() const {
    std::vector<int64_t> found;
    std::vector<Range> reach; // of all slices of one dim behind those of the other
    std::vector<size_t> begins(op.dims.size());
    for (const Tensor &tensor : op.tensors) {
      const Address address(tensor, op.dims.size());
      // The address is a sum over dims, so each slice's part can be looked at by itself.
      reach.clear();
      for (size_t d = 0; d < op.dims.size(); ++d) {
        begins[d] = reach.size();
        for (int64_t s = 0; address.has(d) && s < plan.splits[d]; ++s) {
          reach.push_back(address.reach(d, cuts[d].slice(s, plan.splits[d])));
        }
      }
      int64_t largest = 0;
      for (const std::vector<int64_t> &owned : plan.owner) {
        int64_t low = 0, high = 0;
        for (size_t d = 0; d < op.dims.size(); ++d) {
          if (address.has(d)) {
            const Range &slice = reach[begins[d] + size_t(owned[d])];
            low += slice.low;
            high += slice.high;
          }
        }
        largest = std::max(largest, (high - low + 1 + address.anyRow) * kStickBytes);
      }
      found.push_back(largest);
    }
    return found;
  }

  Status checkSpans(const arch::DeviceDesc &device) const {
    const std::vector<int64_t> found = spans();
    for (size_t i = 0; i < found.size(); ++i) {
      const bool exempt =
          op.tensors[i].access == Access::Table && device.division.indirectTablesExceedSpan;
      if (found[i] > device.spanLimitBytes && !exempt) {
        return error<3064>("'{}' over {}: with splits {} a core spans {} bytes of {}, the limit is "
                           "{}; use more cores, another division, or tiles",
                           op.name, describe(op), describe(op, plan.splits), found[i],
                           op.tensors[i].name, device.spanLimitBytes);
      }
    }
    return Status::success();
  }

  Status checkTrips(const arch::DeviceDesc &device) const {
    const int64_t most = device.division.maxTripCount;
    for (size_t d = 0; d < op.dims.size(); ++d) {
      const int64_t trips = (cuts[d].pieces() + plan.splits[d] - 1) / plan.splits[d];
      const int64_t counted = std::max(trips, op.dims[d].tiles);
      if (most > 0 && counted > most) {
        return error<3070>("'{}': a core counts {} of {}, loops count to {}; split {} further or "
                           "run it in tiles",
                           op.name, counted, op.dims[d].name, most, op.dims[d].name);
      }
    }
    return Status::success();
  }

private:
  /// True when each coordinate is a number system of its terms (no two values of them give the same
  /// sum) and every split dim has a coordinate in which its slices lie apart.
  bool slicesAreApart(const Tensor &out) const {
    std::vector<bool> apart(op.dims.size(), false);
    for (size_t c = 0; c + 1 < out.coordinates.size(); ++c) {
      if (!isNumberSystem(out.coordinates[c])) {
        return false;
      }
      for (const Term &term : out.coordinates[c].terms) {
        const size_t d = size_t(term.dim);
        apart[d] = apart[d] || slicesOf(term, d);
      }
    }
    for (size_t d = 0; d < op.dims.size(); ++d) {
      if (plan.splits[d] > 1 && !op.dims[d].reduced && !apart[d]) {
        return false;
      }
    }
    return true;
  }

  bool isNumberSystem(const Coordinate &coordinate) const {
    std::vector<Term> terms = coordinate.terms;
    if (terms.size() < 2) {
      return true;
    }
    std::sort(terms.begin(), terms.end(),
              [](const Term &a, const Term &b) { return a.step / a.divisor < b.step / b.divisor; });
    int64_t below = 0;
    for (const Term &term : terms) {
      if (term.wrap > 0 || term.step % term.divisor != 0 || term.step / term.divisor <= below) {
        return false;
      }
      below += term.at(cuts[size_t(term.dim)].elements - 1);
    }
    return true;
  }

  bool slicesOf(const Term &term, size_t d) const {
    if (term.wrap > 0) {
      return false;
    }
    for (int64_t s = 1; s < plan.splits[d]; ++s) {
      if (term.at(cuts[d].slice(s - 1, plan.splits[d]).high) >=
          term.at(cuts[d].slice(s, plan.splits[d]).low)) {
        return false;
      }
    }
    return true;
  }

  Status listWriters(const Address &address) const {
    std::vector<std::pair<int64_t, int64_t>> written; // stick, slice of the dims not reduced
    std::set<int64_t> slices;
    for (const std::vector<int64_t> &owned : plan.owner) {
      int64_t slice = 0;
      for (size_t d = 0; d < op.dims.size(); ++d) {
        slice = slice * plan.splits[d] + (op.dims[d].reduced ? 0 : owned[d]);
      }
      if (!slices.insert(slice).second) {
        continue;
      }
      std::vector<int64_t> sticks = {0};
      for (size_t d = 0; d < op.dims.size(); ++d) {
        if (!address.has(d)) {
          continue;
        }
        const Range range = cuts[d].slice(owned[d], plan.splits[d]);
        std::vector<int64_t> longer;
        const int64_t count = range.high - range.low + 1;
        if (count * int64_t(sticks.size()) > kMostListed) {
          return error<3072>("'{}': results of {} lie so that their writers cannot be told apart",
                             op.name, op.tensors.back().name);
        }
        for (int64_t value = range.low; value <= range.high; ++value) {
          for (int64_t stick : sticks) {
            longer.push_back(stick + address.at(d, value));
          }
        }
        std::sort(longer.begin(), longer.end());
        longer.erase(std::unique(longer.begin(), longer.end()), longer.end());
        sticks = std::move(longer);
      }
      for (int64_t stick : sticks) {
        written.push_back({stick, slice});
      }
    }
    std::sort(written.begin(), written.end());
    for (size_t i = 1; i < written.size(); ++i) {
      if (written[i].first == written[i - 1].first) {
        return error<3072>("'{}': two cores write stick {} of {}", op.name, written[i].first,
                           op.tensors.back().name);
      }
    }
    return Status::success();
  }

  const Op &op;
  const Plan &plan;
  std::vector<Cut> cuts;
};

} // namespace

std::vector<int64_t> trueSpans(const Op &op, const Plan &plan) {
  return Verifier(op, plan).spans();
}

Status verifyPlan(const Op &op, const arch::DeviceDesc &device, int64_t cores, const Plan &plan) {
  Verifier verifier(op, plan);
  if (plan.cores > cores || plan.cores > device.cores) {
    return error<3061>("'{}': the plan uses {} cores, {} of {} are allowed", op.name, plan.cores,
                       cores, device.cores);
  }
  SPYRE_RETURN_IF_ERROR(verifier.checkOwners());
  SPYRE_RETURN_IF_ERROR(verifier.checkSticks());
  SPYRE_RETURN_IF_ERROR(verifier.checkWriters());
  SPYRE_RETURN_IF_ERROR(verifier.checkSpans(device));
  return verifier.checkTrips(device);
}

} // namespace spyre::solver::division
