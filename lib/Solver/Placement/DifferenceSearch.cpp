//===- DifferenceSearch.cpp - allowed distances and shortest paths ---------------------------===//
#include "DifferenceSearch.h"

#include <algorithm>
#include <map>

namespace spyre::solver::placement {
namespace {

/// Larger than any distance of offsets, and safe to add twice.
constexpr int64_t kFar = int64_t(1) << 60;
constexpr size_t kMaxItems = 64;

struct Rectangle {
  int64_t lower, upper, low, high;
};

struct Range {
  int64_t low, high;
};

std::vector<Rectangle> rectanglesOf(const Problem &problem, const std::vector<int> &chain) {
  std::vector<Rectangle> out;
  for (size_t i = 0; i < chain.size(); ++i) {
    const Buffer &buffer = problem.buffers[chain[i]];
    int64_t at = buffer.lower + (i > 0 ? 1 : 0);
    auto add = [&](int64_t upper, int64_t low, int64_t high) {
      if (at < upper && low < high) {
        out.push_back({at, upper, low, high});
      }
      at = std::max(at, upper);
    };
    for (const Gap &gap : buffer.gaps) {
      add(gap.lower, 0, buffer.sizeBytes);
      add(gap.upper, gap.low, gap.high);
    }
    add(buffer.upper, 0, buffer.sizeBytes);
  }
  return out;
}

int64_t floorDivide(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }
int64_t ceilDivide(int64_t a, int64_t b) { return -floorDivide(-a, b); }

/// Distances second - first that keep the two apart, in units of \p unit.
std::vector<Range> allowedDistances(const std::vector<Rectangle> &first,
                                    const std::vector<Rectangle> &second, int64_t unit) {
  std::vector<Range> forbidden;
  for (const Rectangle &a : first) {
    for (const Rectangle &b : second) {
      if (a.lower < b.upper && b.lower < a.upper) {
        forbidden.push_back({a.low - b.high + 1, a.high - b.low - 1});
      }
    }
  }
  std::sort(forbidden.begin(), forbidden.end(),
            [](const Range &a, const Range &b) { return a.low < b.low; });
  std::vector<Range> allowed;
  int64_t from = -kFar;
  for (const Range &range : forbidden) {
    if (range.low > from) {
      const int64_t low = from == -kFar ? -kFar : ceilDivide(from, unit);
      const int64_t high = floorDivide(range.low - 1, unit);
      if (low <= high) {
        allowed.push_back({low, high});
      }
    }
    from = std::max(from, range.high + 1);
  }
  allowed.push_back({from == -kFar ? -kFar : ceilDivide(from, unit), kFar});
  return allowed;
}

class DifferenceSearch {
public:
  DifferenceSearch(size_t count, int64_t nodeLimit) : size(count + 1), nodeLimit(nodeLimit) {
    most.assign(size * size, kFar);
    for (size_t i = 0; i < size; ++i) {
      at(most, i, i) = 0;
    }
  }

  struct Pair {
    size_t first, second;
    std::vector<Range> allowed;
  };
  std::vector<Pair> pairs;
  int64_t nodes = 0;
  std::vector<int64_t> solution;

  /// x of item (or 0 for the origin) differ by at most: x[b] - x[a] <= bound. False: contradiction.
  bool limit(std::vector<int64_t> &bounds, size_t a, size_t b, int64_t bound) {
    if (bound >= at(bounds, a, b)) {
      return true;
    }
    if (at(bounds, b, a) + bound < 0) {
      return false;
    }
    at(bounds, a, b) = bound;
    for (size_t i = 0; i < size; ++i) {
      const int64_t toA = at(bounds, i, a);
      if (toA >= kFar) {
        continue;
      }
      for (size_t j = 0; j < size; ++j) {
        const int64_t fromB = at(bounds, b, j);
        if (fromB < kFar && toA + bound + fromB < at(bounds, i, j)) {
          at(bounds, i, j) = toA + bound + fromB;
        }
      }
    }
    return true;
  }

  bool limitItem(size_t item, int64_t low, int64_t high) {
    return limit(most, 0, item + 1, high) && limit(most, item + 1, 0, -low);
  }

  PackAnswer run() { return descend(most); }

private:
  int64_t &at(std::vector<int64_t> &bounds, size_t a, size_t b) { return bounds[a * size + b]; }

  PackAnswer descend(std::vector<int64_t> &bounds) {
    if (++nodes > nodeLimit) {
      return PackAnswer::Undecided;
    }
    const Pair *best = nullptr;
    std::vector<Range> bestChoices;
    for (const Pair &pair : pairs) {
      const int64_t high = at(bounds, pair.first, pair.second);
      const int64_t low = -at(bounds, pair.second, pair.first);
      std::vector<Range> choices;
      bool decided = false;
      for (const Range &range : pair.allowed) {
        if (range.low <= high && low <= range.high) {
          choices.push_back(range);
          decided |= range.low <= low && high <= range.high;
        }
      }
      if (decided) {
        continue;
      }
      if (choices.empty()) {
        return PackAnswer::Impossible;
      }
      if (!best || choices.size() < bestChoices.size()) {
        best = &pair;
        bestChoices = std::move(choices);
      }
    }
    if (!best) {
      for (size_t i = 1; i < size; ++i) {
        solution.push_back(-at(bounds, i, 0));
      }
      return PackAnswer::Packed;
    }
    for (const Range &range : bestChoices) {
      std::vector<int64_t> next = bounds;
      if (!limit(next, best->first, best->second, range.high) ||
          !limit(next, best->second, best->first, -range.low)) {
        continue;
      }
      if (const PackAnswer answer = descend(next); answer != PackAnswer::Impossible) {
        return answer;
      }
    }
    return PackAnswer::Impossible;
  }

  size_t size;
  int64_t nodeLimit;
  std::vector<int64_t> most;
};

} // namespace

PackResult packWithWindows(const Problem &problem, const std::vector<std::vector<int>> &chains,
                           int64_t capacityBytes, int64_t nodeLimit) {
  PackResult result;
  if (chains.size() > kMaxItems || nodeLimit <= 0) {
    return result;
  }
  const int64_t unit = problem.alignmentOf(problem.buffers[chains.front().front()]);
  std::map<int64_t, int64_t> needs;
  for (const Transient &need : problem.transients) {
    needs[need.tick] = std::max(needs[need.tick], need.bytes);
  }
  DifferenceSearch search(chains.size(), nodeLimit);
  std::vector<std::vector<Rectangle>> rectangles;
  bool sound = true;
  for (size_t i = 0; i < chains.size(); ++i) {
    rectangles.push_back(rectanglesOf(problem, chains[i]));
    int64_t low = 0, high = capacityBytes;
    for (int member : chains[i]) {
      const Buffer &buffer = problem.buffers[member];
      if (problem.alignmentOf(buffer) != unit) {
        return result;
      }
      high = std::min(high, capacityBytes - buffer.sizeBytes);
      if (buffer.pinned) {
        low = std::max(low, *buffer.pinned);
        high = std::min(high, *buffer.pinned);
      }
    }
    for (const Rectangle &rectangle : rectangles.back()) {
      for (auto it = needs.lower_bound(rectangle.lower);
           it != needs.end() && it->first < rectangle.upper; ++it) {
        high = std::min(high, capacityBytes - it->second - rectangle.high);
      }
    }
    sound &= low <= high && search.limitItem(i, ceilDivide(low, unit), floorDivide(high, unit));
    for (size_t j = 0; j < i; ++j) {
      search.pairs.push_back({j + 1, i + 1, allowedDistances(rectangles[j], rectangles[i], unit)});
    }
  }
  result.answer = sound ? search.run() : PackAnswer::Impossible;
  result.nodes = search.nodes;
  for (int64_t offset : search.solution) {
    result.offsets.push_back(offset * unit);
  }
  return result;
}

} // namespace spyre::solver::placement
