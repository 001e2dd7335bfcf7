//===- Windows.cpp - a better plan, one stretch of time after the other -----------------------===//
#include "Windows.h"

#include <algorithm>

namespace spyre::solver::placement {
namespace {

class WindowStep {
public:
  WindowStep(const Problem &problem, const Overlaps &overlaps, const WindowSolver &solve,
             Offsets &offsets)
      : problem(problem), overlaps(overlaps), solve(solve), offsets(offsets),
        localOf(problem.buffers.size(), -1) {}

  /// True if the plan became better.
  bool improve(const std::vector<int> &movable) {
    if (std::all_of(movable.begin(), movable.end(),
                    [&](int buffer) { return offsets[buffer].has_value(); })) {
      return false;
    }
    collect(movable);
    if (members.size() > kMaxMembers) {
      // As large as the whole: nothing would be gained.
      for (int member : members) {
        localOf[member] = -1;
      }
      return false;
    }
    const Problem window = makeWindow(movable.size());
    for (int member : members) {
      localOf[member] = -1;
    }
    const auto plan = solve(window);
    return plan.ok() && take(*plan, movable);
  }

private:
  static constexpr size_t kMaxMembers = 400;

  /// The movable ones first, then what stays and lives beside them.
  void collect(const std::vector<int> &movable) {
    members = movable;
    for (size_t i = 0; i < movable.size(); ++i) {
      localOf[movable[i]] = int(i);
    }
    for (int buffer : movable) {
      for (const int *other = overlaps.begin(buffer); other != overlaps.end(buffer); ++other) {
        if (offsets[*other] && localOf[*other] < 0) {
          localOf[*other] = int(members.size());
          members.push_back(*other);
        }
      }
    }
  }

  Problem makeWindow(size_t movableCount) const {
    Problem window;
    window.capacityBytes = problem.capacityBytes;
    window.alignment = problem.alignment;
    int64_t begin = INT64_MAX, end = INT64_MIN, worth = 1;
    for (size_t i = 0; i < movableCount; ++i) {
      worth += problem.buffers[members[i]].worth();
    }
    for (size_t i = 0; i < members.size(); ++i) {
      Buffer buffer = problem.buffers[members[i]];
      begin = std::min(begin, buffer.lower);
      end = std::max(end, buffer.upper);
      if (i >= movableCount) {
        buffer.pinned = offsets[members[i]];
        // Never worth giving up for all that can move.
        buffer.value = std::min(worth, kMaxValue);
      }
      std::vector<int> parents;
      for (int parent : buffer.parents) {
        if (localOf[parent] >= 0) {
          parents.push_back(localOf[parent]);
        }
      }
      buffer.parents = std::move(parents);
      window.buffers.push_back(std::move(buffer));
    }
    for (const Transient &need : problem.transients) {
      if (need.tick >= begin && need.tick < end) {
        window.transients.push_back(need);
      }
    }
    return window;
  }

  bool take(const Plan &plan, const std::vector<int> &movable) {
    int64_t before = 0, after = 0;
    for (size_t i = 0; i < members.size(); ++i) {
      if (i >= movable.size()) {
        if (!plan.offsets[i]) {
          return false;
        }
        continue;
      }
      before += offsets[members[i]] ? problem.buffers[members[i]].worth() : 0;
      after += plan.offsets[i] ? problem.buffers[members[i]].worth() : 0;
    }
    if (after <= before) {
      return false;
    }
    for (size_t i = 0; i < movable.size(); ++i) {
      offsets[movable[i]] = plan.offsets[i];
    }
    return true;
  }

  const Problem &problem;
  const Overlaps &overlaps;
  const WindowSolver &solve;
  Offsets &offsets;
  std::vector<int> localOf, members;
};

} // namespace

void improveInWindows(const Problem &problem, const Overlaps &overlaps, int width, int maxWindows,
                      const WindowSolver &solve, Offsets &offsets) {
  const std::vector<int> order = byBegin(problem);
  WindowStep step(problem, overlaps, solve, offsets);
  int windows = 0;
  // One pass reaches the end, whatever the number of windows.
  const size_t stride = std::max(size_t(width) / 2, order.size() / size_t(maxWindows) + 1);
  for (bool better = true; better && windows < maxWindows;) {
    better = false;
    for (size_t from = 0; from < order.size() && windows < maxWindows; from += stride) {
      const size_t end = std::min(order.size(), from + size_t(width));
      std::vector<int> movable(order.begin() + std::ptrdiff_t(from),
                               order.begin() + std::ptrdiff_t(end));
      better |= step.improve(movable);
      ++windows;
    }
  }
}

} // namespace spyre::solver::placement
