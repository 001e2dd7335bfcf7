//===- Explain.cpp - why a buffer is where it is ----------------------------------------------===//
#include "spyre/Solver/Placement/Explain.h"

#include "Documented.h"
#include "Merges.h"

#include <algorithm>
#include <map>

namespace spyre::solver::placement {
namespace {

/// Names of at most a handful of buffers.
std::string names(const Problem &problem, const std::vector<int> &buffers) {
  constexpr size_t kShown = 8;
  std::string text;
  for (size_t i = 0; i < buffers.size() && i < kShown; ++i) {
    text += (i > 0 ? ", '" : "'") + problem.buffers[buffers[i]].name + "'";
  }
  return buffers.size() > kShown ? text + fmt::format(" and {} more", buffers.size() - kShown)
                                 : text;
}

struct Peak {
  int64_t tick = 0, bytes = 0;
};

/// The tick at which the buffers need most, pairs that may share a place counted once.
Peak peakOf(const Problem &problem, const std::vector<int> &buffers) {
  const PackProblem items = relaxedItems(problem, buffers, problem.capacityBytes);
  std::map<int64_t, int64_t> change;
  for (const PackItem &item : items.items) {
    for (const PackPiece &piece : item.pieces) {
      change[piece.lower] += piece.height;
      change[piece.upper] -= piece.height;
    }
  }
  for (const PackReserve &reserve : items.reserves) {
    change[reserve.lower] += reserve.bytes;
    change[reserve.upper] -= reserve.bytes;
  }
  Peak peak;
  int64_t now = 0;
  for (const auto &[tick, bytes] : change) {
    now += bytes;
    if (now > peak.bytes) {
      peak = {tick, now};
    }
  }
  return peak;
}

class Explainer {
public:
  Explainer(const Problem &problem, const Plan &plan, const SearchLimits &limits)
      : problem(problem), plan(plan), limits(limits), ceiling(ceilings(problem)) {}

  Explanation explain(int index) {
    Explanation result;
    result.buffer = index;
    if (plan.offsets[index]) {
      explainPlaced(index, result);
    } else {
      explainAbsent(index, result);
    }
    return result;
  }

private:
  void explainPlaced(int index, Explanation &result) const {
    const Buffer &buffer = problem.buffers[index];
    result.placed = true;
    result.reason = "placed";
    result.text =
        fmt::format("'{}' is at {}, {} bytes, ticks {} to {}", buffer.name, *plan.offsets[index],
                    buffer.sizeBytes, buffer.lower, buffer.upper - 1);
    for (int parent : buffer.parents) {
      if (plan.offsets[parent] == plan.offsets[index]) {
        result.reason = "in-place";
        result.text += fmt::format(", in the place of '{}'", problem.buffers[parent].name);
        return;
      }
    }
  }

  void explainAbsent(int index, Explanation &result) {
    const Buffer &buffer = problem.buffers[index];
    if (buffer.forbidden) {
      result.reason = "forbidden";
      result.text = fmt::format("'{}' may not be placed: {}", buffer.name,
                                buffer.forbiddenReason.empty() ? "forbidden; allow it"
                                                               : buffer.forbiddenReason);
    } else if (buffer.pinned.value_or(0) + buffer.sizeBytes > ceiling[index]) {
      result.reason = "too-large";
      result.text =
          fmt::format("'{}' needs {} bytes{}, {} are there; {} bytes more{} would do", buffer.name,
                      buffer.sizeBytes, buffer.pinned ? fmt::format(" at {}", *buffer.pinned) : "",
                      ceiling[index], buffer.pinned.value_or(0) + buffer.sizeBytes - ceiling[index],
                      buffer.pinned ? ", or a lower address," : "");
    } else if (buffer.worth() == 0) {
      result.reason = "no-value";
      result.text =
          fmt::format("'{}' is worth nothing: no traffic would be saved; only a further reader "
                      "would change that",
                      buffer.name);
    } else {
      explainCompetition(index, result);
    }
  }

  /// The smallest set of placed buffers that keeps it out.
  void explainCompetition(int index, Explanation &result) {
    const Buffer &buffer = problem.buffers[index];
    std::vector<int> members;
    for (size_t i = 0; i < plan.offsets.size(); ++i) {
      if (int(i) == index || (plan.offsets[i] && overlapInTime(buffer, problem.buffers[i]))) {
        members.push_back(int(i));
      }
    }
    NodeBudget budget{limits.packNodes, limits.packNodes};
    SetResult answer = packSet(problem, members, problem.capacityBytes, budget);
    if (answer.answer != PackAnswer::Impossible) {
      // Those that live beside it leave room; further ones force their offsets.
      members.clear();
      for (size_t i = 0; i < plan.offsets.size(); ++i) {
        if (int(i) == index || plan.offsets[i]) {
          members.push_back(int(i));
        }
      }
      answer = packSet(problem, members, problem.capacityBytes, budget);
    }
    if (answer.answer != PackAnswer::Impossible) {
      explainOversight(index, answer.answer == PackAnswer::Packed, result);
      return;
    }
    if (std::find(answer.culprits.begin(), answer.culprits.end(), index) != answer.culprits.end()) {
      members = answer.culprits;
    }
    result.competitors =
        irreducibleConflict(problem, members, problem.capacityBytes, budget, index);
    std::erase(result.competitors, index);
    std::vector<int> all = result.competitors;
    all.push_back(index);
    const Peak peak = peakOf(problem, all);
    int64_t others = 0;
    for (int other : result.competitors) {
      others += problem.buffers[other].worth();
    }
    if (peak.bytes > problem.capacityBytes) {
      result.reason = "no-room";
      result.text = fmt::format(
          "'{}' ({} bytes, worth {}) does not fit beside {} (worth {}): at tick {} they need {} of "
          "{} bytes; {} bytes more, or one of them left out, would do",
          buffer.name, buffer.sizeBytes, buffer.worth(), names(problem, result.competitors), others,
          peak.tick, peak.bytes, problem.capacityBytes, peak.bytes - problem.capacityBytes);
    } else {
      result.reason = "no-order";
      result.text = fmt::format(
          "'{}' ({} bytes, worth {}) and {} (worth {}) never need more than {} of {} bytes, but no "
          "choice of addresses keeps each in one piece; one of them left out would do",
          buffer.name, buffer.sizeBytes, buffer.worth(), names(problem, result.competitors), others,
          peak.bytes, problem.capacityBytes);
    }
  }

  /// Nothing is known to keep it out: the solver did not look ahead, or the limits are too narrow.
  void explainOversight(int index, bool hasRoom, Explanation &result) const {
    const Buffer &buffer = problem.buffers[index];
    for (size_t i = 0; i < plan.offsets.size(); ++i) {
      if (plan.offsets[i] && overlapInTime(buffer, problem.buffers[i])) {
        result.competitors.push_back(int(i));
      }
    }
    result.reason = "no-room";
    result.text = fmt::format(
        "'{}' ({} bytes, worth {}) found no place beside {}; {}", buffer.name, buffer.sizeBytes,
        buffer.worth(), names(problem, result.competitors),
        hasRoom ? "at other addresses all of them fit: the exact solver finds these"
                : "whether all of them fit at other addresses is not known within the limits; "
                  "without one of them there would be room");
  }

  const Problem &problem;
  const Plan &plan;
  const SearchLimits &limits;
  std::vector<int64_t> ceiling;
};

} // namespace

std::vector<Explanation> explainPlan(const Problem &problem, const Plan &plan,
                                     const SearchLimits &limits) {
  Explainer explainer(problem, plan, limits);
  std::vector<Explanation> result;
  for (size_t i = 0; i < plan.offsets.size(); ++i) {
    result.push_back(explainer.explain(int(i)));
  }
  return result;
}

std::string explainConflict(const Problem &problem, const std::vector<int> &conflict) {
  if (conflict.empty()) {
    return "nothing conflicts";
  }
  const Peak peak = peakOf(problem, conflict);
  if (peak.bytes > problem.capacityBytes) {
    return fmt::format("{} cannot be placed together: at tick {} they need {} of {} bytes",
                       names(problem, conflict), peak.tick, peak.bytes, problem.capacityBytes);
  }
  return fmt::format("{} cannot be placed together: they never need more than {} of {} bytes, but "
                     "no choice of addresses keeps each in one piece; without any one of them the "
                     "others fit",
                     names(problem, conflict), peak.bytes, problem.capacityBytes);
}

} // namespace spyre::solver::placement
