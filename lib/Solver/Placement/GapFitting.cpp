//===- GapFitting.cpp - first-fit and best-fit over a global order ---------------------------===//
#include "Documented.h"

#include <algorithm>
#include <numeric>
#include <queue>

namespace spyre::solver::placement {
namespace {

/// Four times (span - discount) over twice (uses + weight): integers, so that ties are ties.
struct Score {
  int64_t numerator, denominator, span;

  bool operator<(const Score &other) const {
    const __int128 left = __int128(numerator) * other.denominator;
    const __int128 right = __int128(other.numerator) * denominator;
    return left != right ? left < right : span < other.span;
  }
};

std::vector<Score> scores(const Problem &problem, FitOrder order) {
  std::vector<char> isParent(problem.buffers.size(), 0);
  for (const Buffer &buffer : problem.buffers) {
    for (int parent : buffer.parents) {
      isParent[parent] = 1;
    }
  }
  std::vector<Score> result;
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer &buffer = problem.buffers[i];
    const int64_t span = buffer.upper - buffer.lower;
    if (order == FitOrder::Lifetime) {
      result.push_back({span, 1, span});
      continue;
    }
    const int64_t quarters = 4 * span - (buffer.parents.empty() ? 0 : 1) - (isParent[i] ? 1 : 0);
    result.push_back({quarters, 2 * useCount(buffer) + (buffer.firstUseIsRead ? 0 : 1), span});
  }
  return result;
}

/// Parents before children, else by score.
std::vector<int> placementOrder(const Problem &problem, FitOrder order) {
  const std::vector<Score> score = scores(problem, order);
  std::vector<int> sorted(problem.buffers.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  std::stable_sort(sorted.begin(), sorted.end(), [&](int a, int b) { return score[a] < score[b]; });
  std::vector<int> position(sorted.size());
  for (size_t i = 0; i < sorted.size(); ++i) {
    position[sorted[i]] = int(i);
  }
  std::vector<std::vector<int>> children(sorted.size());
  std::vector<int> waiting(sorted.size(), 0);
  for (size_t i = 0; i < sorted.size(); ++i) {
    for (int parent : problem.buffers[i].parents) {
      children[parent].push_back(int(i));
      ++waiting[i];
    }
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (waiting[i] == 0) {
      ready.push(position[i]);
    }
  }
  // No cycles: validate() has checked that a parent begins before its child.
  std::vector<int> result;
  while (!ready.empty()) {
    const int next = sorted[ready.top()];
    ready.pop();
    result.push_back(next);
    for (int child : children[next]) {
      if (--waiting[child] == 0) {
        ready.push(position[child]);
      }
    }
  }
  return result;
}

struct FreeRange {
  int64_t start, end;
  /// First parent, in the order given, that lies inside; -1: none.
  int parent = -1;
};

class GapFitting {
public:
  GapFitting(const Problem &problem, Offsets start, bool tightest)
      : offsets(std::move(start)), problem(problem), ceiling(ceilings(problem)),
        handedOver(problem.buffers.size(), 0), tightest(tightest) {
    for (size_t i = 0; i < offsets.size(); ++i) {
      if (offsets[i]) {
        placed.push_back(int(i));
      }
    }
  }

  void run(FitOrder order) {
    for (int buffer : placementOrder(problem, order)) {
      if (offsets[buffer] || problem.buffers[buffer].forbidden || problem.buffers[buffer].pinned) {
        continue;
      }
      if (auto found = place(buffer)) {
        offsets[buffer] = *found;
        placed.push_back(buffer);
      }
    }
  }

  Offsets offsets;

private:
  bool offers(int parent) const { return offsets[parent] && !handedOver[parent]; }

  std::vector<FreeRange> freeRanges(int buffer, bool exceptParents) const {
    const Buffer &entry = problem.buffers[buffer];
    std::vector<std::pair<int64_t, int64_t>> used;
    for (int other : placed) {
      const Buffer &there = problem.buffers[other];
      const bool isParent =
          exceptParents && offers(other) &&
          std::find(entry.parents.begin(), entry.parents.end(), other) != entry.parents.end();
      if (!isParent && overlapInTime(entry, there)) {
        used.push_back({*offsets[other], *offsets[other] + there.sizeBytes});
      }
    }
    std::sort(used.begin(), used.end());
    std::vector<FreeRange> free;
    int64_t at = 0;
    auto add = [&](int64_t end) {
      if (end - at >= entry.sizeBytes) {
        free.push_back({at, end});
      }
    };
    for (const auto &[low, high] : used) {
      add(std::min(low, ceiling[buffer]));
      at = std::max(at, high);
    }
    add(ceiling[buffer]);
    return free;
  }

  const FreeRange *choose(const std::vector<FreeRange> &free, int buffer, bool withParent) const {
    const Buffer &entry = problem.buffers[buffer];
    const FreeRange *best = nullptr;
    int64_t bestRest = 0;
    for (const FreeRange &range : free) {
      const int64_t start = alignUp(range.start, problem.alignmentOf(entry));
      const int64_t rest = range.end - start - entry.sizeBytes;
      if ((withParent && range.parent < 0) || rest < 0) {
        continue;
      }
      if (!best || (tightest && rest < bestRest)) {
        best = &range;
        bestRest = rest;
      }
    }
    return best;
  }

  std::optional<int64_t> place(int buffer) {
    const Buffer &entry = problem.buffers[buffer];
    std::vector<FreeRange> free = freeRanges(buffer, true);
    for (FreeRange &range : free) {
      for (int parent : entry.parents) {
        if (range.parent < 0 && offers(parent) && range.start <= *offsets[parent] &&
            *offsets[parent] + problem.buffers[parent].sizeBytes <= range.end &&
            *offsets[parent] % problem.alignmentOf(entry) == 0 && nothingElseAt(buffer, parent)) {
          range.parent = parent;
        }
      }
    }
    if (const FreeRange *range = choose(free, buffer, true)) {
      handedOver[range->parent] = 1;
      return *offsets[range->parent];
    }
    free = freeRanges(buffer, false);
    if (const FreeRange *range = choose(free, buffer, false)) {
      return alignUp(range->start, problem.alignmentOf(entry));
    }
    return std::nullopt;
  }

  /// The place of one parent may hold bytes of another that is alive for the same tick.
  bool nothingElseAt(int buffer, int parent) const {
    const Buffer &entry = problem.buffers[buffer];
    for (int other : entry.parents) {
      if (other != parent && offsets[other] &&
          *offsets[other] < *offsets[parent] + entry.sizeBytes &&
          *offsets[parent] < *offsets[other] + problem.buffers[other].sizeBytes) {
        return false;
      }
    }
    return true;
  }

  const Problem &problem;
  std::vector<int64_t> ceiling;
  std::vector<char> handedOver;
  std::vector<int> placed;
  bool tightest;
};

} // namespace

Expected<Plan> FitSolver::plan(const Problem &problem, Variant variant) const {
  SPYRE_ASSIGN_OR_RETURN(Offsets start, startDocumented(problem, variant));
  GapFitting fitting(problem, std::move(start), tightest);
  fitting.run(options.order);
  return finishDocumented(problem, std::move(fitting.offsets));
}

} // namespace spyre::solver::placement
