//===- Overlaps.cpp - a sweep over begins and ends -------------------------------------------===//
#include "Overlaps.h"

#include <algorithm>
#include <numeric>

namespace spyre::solver::placement {

std::vector<int> byBegin(const Problem &problem) {
  std::vector<int> order(problem.buffers.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return problem.buffers[a].lower < problem.buffers[b].lower;
  });
  return order;
}

Expected<Overlaps> Overlaps::of(const Problem &problem) {
  const std::vector<int> order = byBegin(problem);
  std::vector<std::pair<int, int>> pairs;
  std::vector<int> alive;
  for (int buffer : order) {
    const int64_t now = problem.buffers[buffer].lower;
    std::erase_if(alive, [&](int other) { return problem.buffers[other].upper <= now; });
    if (int64_t(pairs.size() + alive.size()) > kMaxOverlaps) {
      return error<3046>("more than {} pairs of buffers live at the same time; cut the problem "
                         "into parts or use a documented solver",
                         kMaxOverlaps);
    }
    for (int other : alive) {
      pairs.push_back({other, buffer});
    }
    alive.push_back(buffer);
  }
  Overlaps result;
  result.first.assign(problem.buffers.size() + 1, 0);
  for (const auto &[a, b] : pairs) {
    ++result.first[a + 1];
    ++result.first[b + 1];
  }
  std::partial_sum(result.first.begin(), result.first.end(), result.first.begin());
  result.all.resize(2 * pairs.size());
  std::vector<int64_t> next(result.first.begin(), result.first.end() - 1);
  for (const auto &[a, b] : pairs) {
    result.all[next[a]++] = b;
    result.all[next[b]++] = a;
  }
  return result;
}

} // namespace spyre::solver::placement
