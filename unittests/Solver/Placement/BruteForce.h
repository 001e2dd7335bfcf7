//===- BruteForce.h - placement by trying everything, and random problems --------------------===//
//
// The oracle of the exact solver. It shares no idea with it: time is a list of ticks, a buffer
// occupies addresses in each, sets are tried in the order of their values, and offsets are tried
// one by one. Fit for sizes of a few units only; addresses are units.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Random.h"
#include "spyre/Solver/Placement/Problem.h"

#include <algorithm>
#include <map>
#include <set>

namespace spyre::solver::placement::test {

class BruteForce {
public:
  explicit BruteForce(const Problem &problem) : problem(problem) {}

  /// Can all of \p members be placed below \p capacity?
  bool fits(const std::vector<int> &members, int64_t capacity) {
    limit = capacity;
    order = members;
    // Long lives first: wrong offsets are seen early.
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      return problem.buffers[a].upper - problem.buffers[a].lower >
             problem.buffers[b].upper - problem.buffers[b].lower;
    });
    offsets.assign(problem.buffers.size(), -1);
    return descend(0);
  }

  int64_t bestValue() {
    int64_t best = 0;
    const int n = int(problem.buffers.size());
    std::vector<std::pair<int64_t, int>> sets;
    for (int mask = 0; mask < (1 << n); ++mask) {
      int64_t value = 0;
      bool allowed = true;
      for (int i = 0; i < n; ++i) {
        if (mask >> i & 1) {
          value += problem.buffers[i].worth();
          allowed &= !problem.buffers[i].forbidden && problem.buffers[i].worth() > 0;
        }
      }
      if (allowed) {
        sets.push_back({-value, mask});
      }
    }
    std::sort(sets.begin(), sets.end());
    for (const auto &[negative, mask] : sets) {
      std::vector<int> members;
      for (int i = 0; i < n; ++i) {
        if (mask >> i & 1) {
          members.push_back(i);
        }
      }
      if (loadFits(members, problem.capacityBytes) && fits(members, problem.capacityBytes)) {
        best = -negative;
        break;
      }
    }
    return best;
  }

  int64_t leastHeight() {
    std::vector<int> all(problem.buffers.size());
    for (size_t i = 0; i < all.size(); ++i) {
      all[i] = int(i);
    }
    for (int64_t height = 1;; ++height) {
      if (loadFits(all, height) && fits(all, height)) {
        return height;
      }
    }
  }

private:
  int64_t need(int64_t tick) const {
    int64_t most = 0;
    for (const Transient &t : problem.transients) {
      most = std::max(most, t.tick == tick ? t.bytes : 0);
    }
    return most;
  }

  /// [low, high) of the buffer's bytes that it uses at a tick.
  std::pair<int64_t, int64_t> window(int buffer, int64_t tick) const {
    const Buffer &entry = problem.buffers[buffer];
    for (const Gap &gap : entry.gaps) {
      if (gap.lower <= tick && tick < gap.upper) {
        return {gap.low, gap.high};
      }
    }
    return {0, entry.sizeBytes};
  }

  /// Necessary: bytes alive at each tick, children with a parent in the set not counted at birth.
  bool loadFits(const std::vector<int> &members, int64_t capacity) const {
    std::map<int64_t, int64_t> load;
    for (int member : members) {
      const Buffer &buffer = problem.buffers[member];
      const bool joined = std::any_of(buffer.parents.begin(), buffer.parents.end(), [&](int p) {
        return std::find(members.begin(), members.end(), p) != members.end();
      });
      for (int64_t t = buffer.lower + (joined ? 1 : 0); t < buffer.upper; ++t) {
        const auto [low, high] = window(member, t);
        load[t] += high - low;
      }
    }
    return std::all_of(load.begin(), load.end(), [&](const auto &entry) {
      return entry.second + need(entry.first) <= capacity;
    });
  }

  bool joined(int parent, int child) const {
    const auto &parents = problem.buffers[child].parents;
    return offsets[parent] == offsets[child] &&
           std::find(parents.begin(), parents.end(), parent) != parents.end();
  }

  bool apart(int a, int b) const {
    const Buffer &first = problem.buffers[a], &second = problem.buffers[b];
    for (int64_t t = std::max(first.lower, second.lower); t < std::min(first.upper, second.upper);
         ++t) {
      const auto [lowA, highA] = window(a, t);
      const auto [lowB, highB] = window(b, t);
      if (lowA < highA && lowB < highB && offsets[a] + lowA < offsets[b] + highB &&
          offsets[b] + lowB < offsets[a] + highA) {
        return false;
      }
    }
    return true;
  }

  bool holds(size_t count) const {
    const int last = order[count - 1];
    const Buffer &buffer = problem.buffers[last];
    for (int64_t t = buffer.lower; t < buffer.upper; ++t) {
      const auto [low, high] = window(last, t);
      if (low < high && offsets[last] + high > limit - need(t)) {
        return false;
      }
    }
    std::map<int, int> heirs;
    for (size_t i = 0; i < count; ++i) {
      const int other = order[i];
      if (other != last && !apart(last, other) && !joined(last, other) && !joined(other, last)) {
        return false;
      }
    }
    // A place is handed over once.
    for (size_t i = 0; i < count; ++i) {
      for (size_t j = 0; j < count; ++j) {
        if (i != j && joined(order[i], order[j]) && !apart(order[i], order[j]) &&
            ++heirs[order[i]] > 1) {
          return false;
        }
      }
    }
    return true;
  }

  bool descend(size_t index) {
    if (index == order.size()) {
      return true;
    }
    const int buffer = order[index];
    const Buffer &entry = problem.buffers[buffer];
    const int64_t step = problem.alignmentOf(entry);
    for (int64_t offset = entry.pinned.value_or(0);
         offset <= (entry.pinned ? *entry.pinned : limit) && offset + entry.sizeBytes <= limit;
         offset += step) {
      offsets[buffer] = offset;
      if (holds(index + 1) && descend(index + 1)) {
        return true;
      }
    }
    offsets[buffer] = -1;
    return false;
  }

  const Problem &problem;
  int64_t limit = 0;
  std::vector<int> order;
  std::vector<int64_t> offsets;
};

/// What a random problem may contain.
struct Features {
  int buffers = 7;
  int ticks = 9, maxLife = 6, maxSize = 5;
  int64_t capacity = 10;
  bool parents = false, pins = false, forbidden = false, gaps = false, windows = false,
       transients = false, alignment = false;
};

/// Pins that no two buffers can have at once are faults of the input: later ones are taken back.
inline void dropClashingPins(Problem &problem) {
  std::vector<std::optional<int64_t>> pins;
  for (Buffer &buffer : problem.buffers) {
    pins.push_back(std::exchange(buffer.pinned, std::nullopt));
  }
  for (size_t i = 0; i < pins.size(); ++i) {
    problem.buffers[i].pinned = pins[i];
    if (!checkPins(problem).ok()) {
      problem.buffers[i].pinned = std::nullopt;
    }
  }
}

inline Problem randomProblem(Random &random, const Features &features) {
  Problem problem;
  problem.capacityBytes = features.capacity;
  for (int i = 0; i < features.buffers; ++i) {
    Buffer buffer;
    buffer.name = "b" + std::to_string(i);
    buffer.lower = random.between(0, features.ticks - 2);
    buffer.upper =
        std::min<int64_t>(features.ticks, buffer.lower + random.between(1, features.maxLife));
    buffer.sizeBytes = random.between(1, features.maxSize);
    buffer.value = random.between(1, 4) * buffer.sizeBytes;
    if (features.alignment && random.below(3) == 0) {
      buffer.alignment = 2;
    }
    if (features.forbidden && random.below(4) == 0) {
      buffer.forbidden = true;
    }
    if (features.pins && random.below(3) == 0) {
      const int64_t step = problem.alignmentOf(buffer);
      buffer.pinned = random.between(0, features.capacity - 1) / step * step;
    }
    if ((features.gaps || features.windows) && buffer.upper - buffer.lower >= 3 &&
        random.below(2) == 0) {
      Gap gap{buffer.lower + 1, buffer.upper - 1, 0, 0};
      if (features.windows && buffer.sizeBytes > 1) {
        gap.low = random.between(0, buffer.sizeBytes - 1);
        gap.high = random.between(gap.low + 1, buffer.sizeBytes);
      }
      buffer.gaps.push_back(gap);
    }
    problem.buffers.push_back(buffer);
  }
  if (features.parents) {
    for (int child = 0; child < features.buffers; ++child) {
      Buffer &entry = problem.buffers[child];
      for (int parent = 0; parent < features.buffers && entry.parents.size() < 2; ++parent) {
        const Buffer &from = problem.buffers[parent];
        if (parent != child && from.upper == entry.lower + 1 && from.lower < entry.lower &&
            from.sizeBytes >= entry.sizeBytes &&
            (from.gaps.empty() || from.gaps.back().upper < from.upper)) {
          entry.parents.push_back(parent);
        }
      }
    }
  }
  if (features.transients) {
    for (int64_t t = 0; t < features.ticks; ++t) {
      if (random.below(3) == 0) {
        problem.transients.push_back({t, random.between(1, features.capacity / 2)});
      }
    }
  }
  dropClashingPins(problem);
  return problem;
}

} // namespace spyre::solver::placement::test
