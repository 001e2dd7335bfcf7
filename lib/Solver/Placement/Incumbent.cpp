//===- Incumbent.cpp - one-pass plans in several orders --------------------------------------===//
#include "Incumbent.h"

#include "Documented.h"

#include <algorithm>
#include <functional>

namespace spyre::solver::placement {
namespace {

class Pass {
public:
  Pass(const Problem &problem, const Overlaps &overlaps)
      : offsets(problem.buffers.size()), problem(problem), overlaps(overlaps),
        taken(problem.buffers.size(), 0), ceiling(ceilings(problem)) {}

  void run(const std::vector<int> &order) {
    std::fill(offsets.begin(), offsets.end(), std::nullopt);
    std::fill(taken.begin(), taken.end(), 0);
    value = 0;
    for (int buffer : order) {
      if (!offsets[buffer] && place(buffer)) {
        value += problem.buffers[buffer].worth();
      }
    }
  }

  Offsets offsets;
  int64_t value = 0;

private:
  /// Addresses in use while \p buffer lives, without \p partner, whose place it takes (or gives).
  void collect(int buffer, int partner) {
    blocked.clear();
    for (const int *other = overlaps.begin(buffer); other != overlaps.end(buffer); ++other) {
      if (*other != partner && offsets[*other]) {
        blocked.push_back({*offsets[*other], *offsets[*other] + problem.buffers[*other].sizeBytes});
      }
    }
  }

  bool freeAt(int buffer, int64_t offset, int partner) {
    const int64_t end = offset + problem.buffers[buffer].sizeBytes;
    if (end > ceiling[buffer] || offset % problem.alignmentOf(problem.buffers[buffer]) != 0) {
      return false;
    }
    collect(buffer, partner);
    return std::none_of(blocked.begin(), blocked.end(), [&](const auto &range) {
      return range.first < end && offset < range.second;
    });
  }

  bool settle(int buffer, int64_t offset) {
    offsets[buffer] = offset;
    return true;
  }

  bool place(int buffer) {
    const Buffer &entry = problem.buffers[buffer];
    if (entry.forbidden) {
      return false;
    }
    for (int parent : entry.parents) {
      if (offsets[parent] && !taken[parent] && (!entry.pinned || entry.pinned == offsets[parent]) &&
          freeAt(buffer, *offsets[parent], parent)) {
        taken[parent] = 1;
        return settle(buffer, *offsets[parent]);
      }
    }
    if (entry.pinned) {
      return freeAt(buffer, *entry.pinned, -1) && settle(buffer, *entry.pinned);
    }
    collect(buffer, -1);
    std::sort(blocked.begin(), blocked.end());
    const int64_t alignment = problem.alignmentOf(entry);
    int64_t at = 0;
    for (const auto &[low, high] : blocked) {
      if (at + entry.sizeBytes <= low) {
        break;
      }
      at = std::max(at, (high + alignment - 1) / alignment * alignment);
    }
    return at + entry.sizeBytes <= ceiling[buffer] && settle(buffer, at);
  }

  const Problem &problem;
  const Overlaps &overlaps;
  std::vector<char> taken;
  std::vector<int64_t> ceiling;
  std::vector<std::pair<int64_t, int64_t>> blocked;
};

} // namespace

Offsets bestOnePassPlan(const Problem &problem, const Overlaps &overlaps,
                        const std::vector<int> &members, const std::vector<int> &first) {
  auto life = [&](int i) { return problem.buffers[i].upper - problem.buffers[i].lower; };
  auto size = [&](int i) { return problem.buffers[i].sizeBytes; };
  auto worth = [&](int i) { return problem.buffers[i].worth(); };
  using Less = std::function<bool(int, int)>;
  // a's value per byte and tick is larger, without a division.
  auto denser = [&](int a, int b) {
    return __int128(worth(a)) * size(b) * life(b) > __int128(worth(b)) * size(a) * life(a);
  };
  const std::vector<Less> orders = {
      denser,
      [&](int a, int b) { return worth(a) > worth(b); },
      [&](int a, int b) { return life(a) > life(b); },
      [&](int a, int b) { return problem.buffers[a].lower < problem.buffers[b].lower; },
  };
  std::vector<char> isFirst(problem.buffers.size(), 0);
  for (int buffer : first) {
    isFirst[buffer] = 1;
  }
  Pass pass(problem, overlaps);
  Offsets best(problem.buffers.size());
  int64_t bestValue = -1;
  for (const Less &less : orders) {
    std::vector<int> order = members;
    std::stable_sort(order.begin(), order.end(), less);
    // Pins cannot give way; then those asked for.
    std::stable_partition(order.begin(), order.end(), [&](int i) { return isFirst[i] != 0; });
    std::stable_partition(order.begin(), order.end(),
                          [&](int i) { return problem.buffers[i].pinned.has_value(); });
    pass.run(order);
    if (pass.value > bestValue) {
      bestValue = pass.value;
      best = pass.offsets;
    }
  }
  return best;
}

} // namespace spyre::solver::placement
