//===- Exact.cpp - Fit and Min; the shared parts of the exact solver -------------------------===//
#include "Exact.h"

#include "Incumbent.h"
#include "Merges.h"
#include "PickSearch.h"

#include <algorithm>
#include <numeric>

namespace spyre::solver::placement {
namespace {

std::vector<int> allBuffers(const Problem &problem) {
  std::vector<int> all(problem.buffers.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

Status refuseForbidden(const Problem &problem) {
  for (const Buffer &buffer : problem.buffers) {
    if (buffer.forbidden) {
      return error<3046>("buffer '{}' is forbidden, so not all buffers can be placed; ask for "
                         "variant pick or leave it out",
                         buffer.name);
    }
  }
  return Status::success();
}

int64_t totalValue(const Problem &problem) {
  int64_t sum = 0;
  for (const Buffer &buffer : problem.buffers) {
    sum += buffer.worth();
  }
  return sum;
}

/// Moves buffers to their hints where nothing stands in the way; in-place pairs stay together.
void followHints(const Problem &problem, Offsets &offsets, const Overlaps &overlaps) {
  std::vector<char> paired(problem.buffers.size(), 0);
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    for (int parent : problem.buffers[i].parents) {
      paired[i] = paired[parent] = 1;
    }
  }
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer &buffer = problem.buffers[i];
    if (!buffer.hint || !offsets[i] || buffer.pinned || paired[i] ||
        *buffer.hint % problem.alignmentOf(buffer) != 0) {
      continue;
    }
    const int64_t low = *buffer.hint, high = low + buffer.sizeBytes;
    int64_t ceiling = problem.capacityBytes;
    for (const Transient &need : problem.transients) {
      if (need.tick >= buffer.lower && need.tick < buffer.upper) {
        ceiling = std::min(ceiling, problem.capacityBytes - need.bytes);
      }
    }
    const bool free = std::none_of(overlaps.begin(int(i)), overlaps.end(int(i)), [&](int other) {
      return offsets[other] && *offsets[other] < high &&
             low < *offsets[other] + problem.buffers[other].sizeBytes;
    });
    if (free && high <= ceiling) {
      offsets[i] = low;
    }
  }
}

} // namespace

Expected<Plan> ExactSolver::plan(const Problem &problem, Variant variant) const {
  SPYRE_RETURN_IF_ERROR(validate(problem));
  SPYRE_RETURN_IF_ERROR(checkPins(problem));
  SPYRE_ASSIGN_OR_RETURN(Overlaps overlaps, Overlaps::of(problem));
  if (variant != Variant::Pick) {
    SPYRE_RETURN_IF_ERROR(refuseForbidden(problem));
  }
  Expected<Plan> plan = variant == Variant::Fit   ? fit(problem)
                        : variant == Variant::Min ? minimise(problem)
                                                  : pickBuffers(problem, options.limits);
  if (plan.ok() && variant != Variant::Min) {
    followHints(problem, plan->offsets, overlaps);
  }
  return plan;
}

Expected<Plan> ExactSolver::fit(const Problem &problem) const {
  Plan plan;
  const std::vector<int> all = allBuffers(problem);
  NodeBudget budget{options.limits.totalNodes, options.limits.totalNodes};
  SetResult answer = packSet(problem, all, problem.capacityBytes, budget);
  plan.certificate.loadBytes = loadOf(relaxedItems(problem, all, problem.capacityBytes));
  plan.certificate.bound = totalValue(problem);
  if (answer.answer == PackAnswer::Packed) {
    plan.offsets = std::move(answer.offsets);
    plan.complete = true;
    plan.certificate.value = plan.certificate.bound;
    plan.certificate.proof = Proof::AllPlaced;
  } else {
    plan.offsets.assign(problem.buffers.size(), std::nullopt);
    plan.impossible = answer.answer == PackAnswer::Impossible;
    plan.certificate.proof = plan.impossible ? Proof::SearchExhausted : Proof::BudgetExhausted;
    if (plan.impossible) {
      NodeBudget rest{options.limits.packNodes, options.limits.totalNodes};
      plan.conflict = irreducibleConflict(problem, answer.culprits, problem.capacityBytes, rest);
      budget.spent += rest.spent;
    }
  }
  plan.certificate.nodes = budget.spent;
  return plan;
}

Expected<Plan> ExactSolver::minimise(const Problem &problem) const {
  Plan plan;
  const std::vector<int> all = allBuffers(problem);
  plan.offsets.assign(problem.buffers.size(), std::nullopt);
  if (all.empty()) {
    plan.complete = true;
    plan.certificate.proof = Proof::BoundMet;
    return plan;
  }
  const PackProblem relaxed = relaxedItems(problem, all, problem.capacityBytes);
  int64_t low = loadOf(relaxed), unit = 0;
  plan.certificate.loadBytes = low;
  for (const Buffer &buffer : problem.buffers) {
    low = std::max(low, buffer.sizeBytes + buffer.pinned.value_or(0));
    unit = std::gcd(unit, std::gcd(buffer.sizeBytes, buffer.pinned.value_or(0)));
    unit = std::gcd(unit, problem.alignmentOf(buffer) > 1 ? problem.alignmentOf(buffer) : 0);
    for (const Gap &gap : buffer.gaps) {
      unit = std::gcd(unit, std::gcd(gap.low, gap.high));
    }
  }
  for (const Transient &need : problem.transients) {
    unit = std::gcd(unit, need.bytes);
  }
  // Heights are sums of sizes. [proven, ...] is open below, best is reached.
  NodeBudget budget{options.limits.packNodes, options.limits.totalNodes};
  int64_t proven = (low + unit - 1) / unit * unit, best = -1, high = problem.capacityBytes;
  // Without a useful capacity twice the bound, thrice it is enough for one-pass orders mostly.
  std::vector<int64_t> attempts = {proven};
  for (int64_t factor : {5, 6, 8, 12, 16, 32}) {
    attempts.push_back(std::min(high, (proven * factor / 4 + unit - 1) / unit * unit));
  }
  attempts.push_back(high);
  for (int64_t height : attempts) {
    if (height > high) {
      break;
    }
    SetResult answer = packSet(problem, all, height, budget);
    if (answer.answer == PackAnswer::Packed) {
      plan.offsets = std::move(answer.offsets);
      best = heightOf(problem, plan.offsets);
      break;
    }
    if (answer.answer == PackAnswer::Impossible) {
      proven = std::max(proven, height + unit);
    }
  }
  const int64_t highestNeed =
      std::accumulate(problem.transients.begin(), problem.transients.end(), int64_t(0),
                      [](int64_t most, const Transient &t) { return std::max(most, t.bytes); });
  best = best < 0 ? -1 : std::max(best, highestNeed);
  // Halve what is open; an undecided height counts as too low for the search, not for the proof.
  for (int64_t from = proven; best > from && budget.left > 0;) {
    const int64_t middle = (from + (best - from) / 2) / unit * unit;
    SetResult answer = packSet(problem, all, middle, budget);
    if (answer.answer == PackAnswer::Packed) {
      plan.offsets = std::move(answer.offsets);
      best = middle;
    } else {
      from = middle + unit;
      if (answer.answer == PackAnswer::Impossible) {
        proven = from;
      }
    }
  }
  plan.complete = best >= 0;
  plan.impossible = best < 0 && proven > high;
  plan.certificate.value = best < 0 ? 0 : best;
  plan.certificate.bound = best < 0 ? proven : std::min(proven, best);
  plan.certificate.nodes = budget.spent;
  plan.certificate.proof = best != proven                       ? Proof::BudgetExhausted
                           : best == plan.certificate.loadBytes ? Proof::BoundMet
                                                                : Proof::SearchExhausted;
  return plan;
}

} // namespace spyre::solver::placement
