//===- Overlaps.h - who lives at the same time as whom ---------------------------------------===//
#pragma once

#include "spyre/Solver/Placement/Problem.h"

namespace spyre::solver::placement {

/// More pairs than this are not listed: a problem that dense is refused (E3046).
constexpr int64_t kMaxOverlaps = 10'000'000;

/// For each buffer those that overlap its lifetime, in one array.
class Overlaps {
public:
  /// Error: E3046.
  static Expected<Overlaps> of(const Problem &problem);

  const int *begin(int buffer) const { return all.data() + first[buffer]; }
  const int *end(int buffer) const { return all.data() + first[buffer + 1]; }

private:
  std::vector<int64_t> first;
  std::vector<int> all;
};

/// Buffers by begin of life; ties in the order of the problem.
std::vector<int> byBegin(const Problem &problem);

} // namespace spyre::solver::placement
