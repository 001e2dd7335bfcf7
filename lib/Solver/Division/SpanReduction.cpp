//===- SpanReduction.cpp - the documented first pass ----------------------------------------===//
#include "spyre/Solver/Division/Compat.h"

#include <algorithm>

namespace spyre::solver::division {

namespace {

/// The search of one operation; `least` is carried from tensor to tensor.
class SpanSearch {
public:
  SpanSearch(const Op &op, const arch::DeviceDesc &device, int64_t cores, SpanBytes how)
      : op(op), units(unitsOf(op)), limit(device.spanLimitBytes), cores(cores), how(how),
        least(op.dims.size(), 0) {}

  Status run() {
    for (const Tensor &tensor : op.tensors) {
      if (tensor.access != Access::Table) {
        SPYRE_RETURN_IF_ERROR(reduce(tensor));
      }
    }
    return checkReductions();
  }

  SpanReduction result() {
    SpanReduction found;
    found.least = least;
    found.stored = encodeSplits(least, writeIndex(op), readIndex(op));
    found.decisions = std::move(decisions);
    return found;
  }

private:
  struct Choice {
    Splits splits;
    int64_t span = 0;
    int64_t slices = 0;
  };

  int64_t spanOf(const Tensor &tensor, const Splits &splits) const {
    return documentedSpan(op, units, tensor, splits, how);
  }

  std::vector<int> variablesOf(const Coordinate &coordinate) const {
    std::vector<int> found;
    for (const Term &term : coordinate.terms) {
      if (units.extent[size_t(term.dim)] > 1) {
        found.push_back(term.dim);
      }
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  Status reduce(const Tensor &tensor) {
    if (spanOf(tensor, least) <= limit) {
      return Status::success();
    }
    for (size_t d = 0; d + 1 < tensor.coordinates.size(); ++d) {
      const std::vector<int> variables = variablesOf(tensor.coordinates[d]);
      if (variables.empty()) {
        continue;
      }
      within = above = {};
      tryAll(tensor, variables, 0, least);
      if (within.splits.empty() && above.splits.empty()) {
        decisions.push_back(Decision::no("no-cores-left",
                                         "{}: no combination for dimension {} fits "
                                         "{} cores",
                                         tensor.name, d, cores));
        return Status::success();
      }
      const Choice &taken = within.splits.empty() ? above : within;
      least = taken.splits;
      decisions.push_back(
          Decision::yes(within.splits.empty() ? "smallest-span" : "largest-span-within-limit",
                        "{}: {} for dimension {}, span {} of {} bytes", tensor.name,
                        describe(op, least), d, taken.span, limit));
      if (taken.span <= limit) {
        return Status::success();
      }
      if (valuesPerCore(tensor.coordinates[d]) > 1) {
        SPYRE_RETURN_IF_ERROR(checkStickConflict(tensor, d, variables));
        decisions.push_back(Decision::no("span-limit",
                                         "{}: dimension {} still varies, span {} of {} bytes",
                                         tensor.name, d, taken.span, limit));
        return Status::success();
      }
    }
    return Status::success();
  }

  /// All combinations of the divisors of \p variables from the \p next one on.
  void tryAll(const Tensor &tensor, const std::vector<int> &variables, size_t next,
              const Splits &partial) {
    if (next == variables.size()) {
      offer(tensor, partial);
      return;
    }
    const size_t v = size_t(variables[next]);
    const int64_t floor = std::max<int64_t>(least[v], 1);
    Splits trial = partial;
    trial[v] = 1;
    const int64_t others = productOf(trial);
    for (int64_t split : divisorsUpTo(units.basis[v], cores / others)) {
      if (split >= floor) {
        trial[v] = split;
        tryAll(tensor, variables, next + 1, trial);
      }
    }
  }

  void offer(const Tensor &tensor, const Splits &trial) {
    Choice choice{trial, spanOf(tensor, trial), productOf(trial)};
    const bool fits = choice.span <= limit;
    Choice &best = fits ? within : above;
    const bool better = best.splits.empty() ||
                        (fits ? choice.span > best.span : choice.span < best.span) ||
                        (choice.span == best.span && choice.slices < best.slices);
    if (better) {
      best = std::move(choice);
    }
  }

  int64_t valuesPerCore(const Coordinate &coordinate) const {
    int64_t size = 1;
    for (const Term &term : coordinate.terms) {
      const size_t v = size_t(term.dim);
      const int64_t part = units.extent[v] / std::max<int64_t>(least[v], 1);
      size += term.at(std::max<int64_t>(part, 1) - 1) - term.at(0);
    }
    return size;
  }

  /// A variable whose slices must be whole sticks of another tensor and which, with all cores to
  /// itself, still cannot bring this tensor below the limit. [spec: work-division W7]
  Status checkStickConflict(const Tensor &tensor, size_t d, const std::vector<int> &variables) {
    if (variables.size() != 1 || laneDim(tensor) == variables[0]) {
      return Status::success();
    }
    const size_t v = size_t(variables[0]);
    if (!units.stick[v]) {
      return Status::success();
    }
    Splits alone(op.dims.size(), 1);
    int64_t smallest = INT64_MAX;
    const std::vector<int64_t> allowed = divisorsUpTo(units.basis[v], cores);
    for (int64_t split : allowed) {
      alone[v] = split;
      smallest = std::min(smallest, spanOf(tensor, alone));
    }
    if (smallest <= limit) {
      return Status::success();
    }
    return error<3062>(
        "'{}': {} is along the sticks of one tensor and along dimension {} of {}: its {} sticks "
        "can be cut in {{{}}} slices on {} cores, the smallest span is {} of {} bytes; pad {} to a "
        "number of sticks with more divisors, or use smaller tensors",
        op.name, op.dims[v].name, d, tensor.name, units.count[v], fmt::join(allowed, ", "), cores,
        smallest, limit, op.dims[v].name);
  }

  Status checkReductions() const {
    std::vector<std::string> split;
    for (size_t d = 0; d < least.size(); ++d) {
      if (least[d] > 1 && !units.output[d]) {
        split.push_back(fmt::format("{} {}", op.dims[d].name, least[d]));
      }
    }
    if (split.size() <= 1) {
      return Status::success();
    }
    return error<3063>("'{}': the span limit of {} bytes needs {} reduction dimensions split ({}), "
                       "at most 1 can be; reduce one dimension after the other",
                       op.name, limit, split.size(), fmt::join(split, ", "));
  }

  const Op &op;
  Units units;
  int64_t limit, cores;
  SpanBytes how;
  Splits least;
  Choice within, above;
  std::vector<Decision> decisions;
};

} // namespace

bool isDivided(Kind kind) { return kind != Kind::Other; }

Expected<SpanReduction> reduceSpan(const Op &op, const arch::DeviceDesc &device, int64_t cores,
                                   SpanBytes how) {
  SpanSearch search(op, device, cores, how);
  SPYRE_RETURN_IF_ERROR(search.run());
  return search.result();
}

} // namespace spyre::solver::division
