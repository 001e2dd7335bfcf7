//===- PickSearch.cpp - branch and bound over sets of buffers --------------------------------===//
#include "PickSearch.h"

#include "Incumbent.h"
#include "Merges.h"
#include "PickBound.h"
#include "Windows.h"

#include <algorithm>
#include <numeric>
#include <queue>

namespace spyre::solver::placement {
namespace {

/// A group of buffers that no other buffer meets in time.
struct PartResult {
  /// Of the members, where they are.
  Offsets offsets;
  int64_t value = 0, bound = 0;
  bool allPlaced = false;
  /// Did the bound of the root already meet the value?
  bool rootBound = false;
};

/// Parts of fewer buffers are searched as a whole.
constexpr size_t kLargePart = 64;
constexpr int kWindowWidth = 24;

class PickSearch {
public:
  PickSearch(const Problem &problem, const Overlaps &overlaps, const SearchLimits &limits,
             NodeBudget &budget, int64_t &statesLeft)
      : problem(problem), overlaps(overlaps), members(problem.buffers.size()), limits(limits),
        budget(budget), statesLeft(statesLeft) {
    std::iota(members.begin(), members.end(), 0);
  }

  PartResult run() {
    if (SetResult all = packSet(problem, members, problem.capacityBytes, budget);
        all.answer == PackAnswer::Packed) {
      PartResult result;
      result.offsets = std::move(all.offsets);
      result.value = result.bound = valueOf(problem, result.offsets);
      result.allPlaced = result.rootBound = true;
      return result;
    }
    best.offsets = bestOnePassPlan(problem, overlaps, members);
    best.value = valueOf(problem, best.offsets);
    if (members.size() >= kLargePart && limits.windows > 0) {
      improve();
    }
    search();
    return best;
  }

private:
  struct Node {
    int64_t bound;
    int64_t number;
    Fixing fixing;
    bool operator<(const Node &other) const {
      return bound != other.bound ? bound < other.bound : number > other.number;
    }
  };

  /// Too large to search as a whole: better plans by windows.
  void improve() {
    SearchLimits small;
    small.packNodes = 400;
    small.totalNodes = 4'000;
    small.pickNodes = 60;
    small.statesPerTick = 256;
    small.totalStates = 60'000;
    small.windows = 0;
    improveInWindows(
        problem, overlaps, kWindowWidth, limits.windows,
        [&](const Problem &window) { return pickBuffers(window, small); }, best.offsets);
    best.value = valueOf(problem, best.offsets);
  }

  void consider(Offsets offsets) {
    if (const int64_t value = valueOf(problem, offsets); value > best.value) {
      best.value = value;
      best.offsets = std::move(offsets);
    }
  }

  void search() {
    std::vector<int64_t> values;
    for (const Buffer &buffer : problem.buffers) {
      values.push_back(buffer.worth());
    }
    PickBound bounds(relaxedItems(problem, members, problem.capacityBytes), values);
    bounds.price(best.value);
    std::priority_queue<Node> queue;
    int64_t made = 0, open = 0;
    queue.push({INT64_MAX, made++, Fixing(members.size(), -1)});
    bool root = true;
    for (int64_t step = 0; !queue.empty(); ++step) {
      if (queue.top().bound <= best.value) {
        break;
      }
      if (!root && (step >= limits.pickNodes || budget.left <= 0 || statesLeft <= 0)) {
        open = std::max(open, queue.top().bound);
        break;
      }
      const Node node = queue.top();
      queue.pop();
      ++budget.spent;
      const Choice choice =
          bounds.choose(node.fixing, best.value, limits.statesPerTick, statesLeft);
      const int64_t bound = std::min(node.bound, choice.bound);
      if (bound > best.value) {
        open = std::max(open, expand(node, choice, bound, queue, made));
      }
      if (root) {
        best.rootBound = bound <= best.value;
        root = false;
      }
    }
    best.bound = std::max(best.value, open);
  }

  /// Returns the bound of what stays undecided here, or 0.
  int64_t expand(const Node &node, const Choice &choice, int64_t bound,
                 std::priority_queue<Node> &queue, int64_t &made) {
    if (!choice.found) {
      return bound;
    }
    SetResult answer = packSet(problem, choice.members, problem.capacityBytes, budget);
    if (answer.answer == PackAnswer::Packed) {
      consider(std::move(answer.offsets));
      return bound > choice.value ? bound : 0;
    }
    consider(bestOnePassPlan(problem, overlaps, members, choice.members));
    if (answer.answer == PackAnswer::Undecided || members.size() > 5'000) {
      return bound;
    }
    std::vector<int> conflict =
        irreducibleConflict(problem, answer.culprits, problem.capacityBytes, budget);
    branch(node, conflict, bound, queue, made);
    return 0;
  }

  void branch(const Node &node, const std::vector<int> &conflict, int64_t bound,
              std::priority_queue<Node> &queue, int64_t &made) {
    std::vector<int> free;
    for (size_t i = 0; i < members.size(); ++i) {
      if (node.fixing[i] < 0 &&
          std::find(conflict.begin(), conflict.end(), int(i)) != conflict.end()) {
        free.push_back(int(i));
      }
    }
    std::stable_sort(free.begin(), free.end(), [&](int a, int b) {
      return problem.buffers[a].worth() < problem.buffers[b].worth();
    });
    Fixing fixing = node.fixing;
    for (int index : free) {
      fixing[index] = 0;
      queue.push({bound, made++, fixing});
      fixing[index] = 1;
    }
  }

  const Problem &problem;
  const Overlaps &overlaps;
  std::vector<int> members;
  const SearchLimits &limits;
  NodeBudget &budget;
  int64_t &statesLeft;
  PartResult best;
};

/// Ticks at which operations need bytes of their own, ascending.
std::vector<Transient> sortedNeeds(const Problem &problem) {
  std::vector<Transient> needs = problem.transients;
  std::stable_sort(needs.begin(), needs.end(),
                   [](const Transient &a, const Transient &b) { return a.tick < b.tick; });
  return needs;
}

/// Could it be placed if it were alone?
bool fitsAlone(const Problem &problem, const std::vector<Transient> &needs, int index) {
  const Buffer &buffer = problem.buffers[index];
  const int64_t base = buffer.pinned.value_or(0);
  if (buffer.forbidden || buffer.worth() == 0 || base + buffer.sizeBytes > problem.capacityBytes) {
    return false;
  }
  auto need = std::lower_bound(needs.begin(), needs.end(), buffer.lower,
                               [](const Transient &a, int64_t tick) { return a.tick < tick; });
  for (; need != needs.end() && need->tick < buffer.upper; ++need) {
    int64_t high = buffer.sizeBytes;
    for (const Gap &gap : buffer.gaps) {
      if (gap.lower <= need->tick && need->tick < gap.upper) {
        high = gap.low == gap.high ? -base : gap.high;
      }
    }
    if (base + high > problem.capacityBytes - need->bytes) {
      return false;
    }
  }
  return true;
}

/// The part of the problem that \p members are; parents outside are left out.
Problem subProblem(const Problem &problem, const std::vector<Transient> &needs,
                   const std::vector<int> &members, std::vector<int> &localOf) {
  Problem part;
  part.capacityBytes = problem.capacityBytes;
  part.alignment = problem.alignment;
  int64_t begin = INT64_MAX, end = INT64_MIN;
  for (size_t i = 0; i < members.size(); ++i) {
    localOf[members[i]] = int(i);
  }
  for (int member : members) {
    Buffer buffer = problem.buffers[member];
    begin = std::min(begin, buffer.lower);
    end = std::max(end, buffer.upper);
    std::vector<int> parents;
    for (int parent : buffer.parents) {
      if (localOf[parent] >= 0) {
        parents.push_back(localOf[parent]);
      }
    }
    buffer.parents = std::move(parents);
    part.buffers.push_back(std::move(buffer));
  }
  for (int member : members) {
    localOf[member] = -1;
  }
  auto need = std::lower_bound(needs.begin(), needs.end(), begin,
                               [](const Transient &a, int64_t tick) { return a.tick < tick; });
  for (; need != needs.end() && need->tick < end; ++need) {
    part.transients.push_back(*need);
  }
  return part;
}

} // namespace

Expected<Plan> pickBuffers(const Problem &problem, const SearchLimits &limits) {
  Plan plan;
  plan.complete = true;
  plan.offsets.assign(problem.buffers.size(), std::nullopt);
  const std::vector<Transient> needs = sortedNeeds(problem);
  std::vector<int> candidates;
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    if (fitsAlone(problem, needs, int(i))) {
      candidates.push_back(int(i));
    }
  }
  plan.certificate.loadBytes = loadOf(relaxedItems(problem, candidates, problem.capacityBytes));
  NodeBudget budget{limits.packNodes, limits.totalNodes};
  int64_t statesLeft = limits.totalStates;
  bool allPlaced = true, rootBound = true;
  std::vector<int> localOf(problem.buffers.size(), -1);
  for (const std::vector<int> &members : timeParts(problem, candidates)) {
    const Problem part = subProblem(problem, needs, members, localOf);
    SPYRE_ASSIGN_OR_RETURN(Overlaps overlaps, Overlaps::of(part));
    PickSearch search(part, overlaps, limits, budget, statesLeft);
    const PartResult result = search.run();
    plan.certificate.value += result.value;
    plan.certificate.bound += result.bound;
    for (size_t i = 0; i < members.size(); ++i) {
      plan.offsets[members[i]] = result.offsets[i];
    }
    allPlaced &= result.allPlaced;
    rootBound &= result.rootBound;
  }
  plan.certificate.nodes = budget.spent;
  plan.certificate.proof = allPlaced                     ? Proof::AllPlaced
                           : plan.certificate.gap() != 0 ? Proof::BudgetExhausted
                           : rootBound                   ? Proof::BoundMet
                                                         : Proof::SearchExhausted;
  return plan;
}

} // namespace spyre::solver::placement
