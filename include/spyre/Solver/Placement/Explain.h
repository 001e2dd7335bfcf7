//===- Explain.h - a plan in words and as a picture -------------------------------------------===//
#pragma once

#include "spyre/Solver/Placement/MemoryPlanSolver.h"

namespace spyre::solver::placement {

/// Why one buffer is where it is.
struct Explanation {
  int buffer = 0;
  bool placed = false;
  /// Short: "placed", "in-place", "forbidden", "too-large", "no-value", "no-room", "no-order".
  std::string reason;
  /// A sentence with the numbers.
  std::string text;
  /// Buffers without one of which it would fit: the smallest set that excludes it.
  std::vector<int> competitors;
};

/// One per buffer. Competitors are looked for within \p limits.
std::vector<Explanation> explainPlan(const Problem &problem, const Plan &plan,
                                     const SearchLimits &limits = {});

/// Why not all of \p conflict can be placed: the tick at which too much is alive, or that no order
/// of addresses works.
std::string explainConflict(const Problem &problem, const std::vector<int> &conflict);

/// Address over time as an SVG picture: green is on the core, yellow took another's place, blue is
/// a copy of a graph input, red (beside the map) stays in memory [spec: scratchpad L23].
std::string drawSvg(const Problem &problem, const Plan &plan);
/// The same inside a page of its own, with a list of the buffers.
std::string drawHtml(const Problem &problem, const Plan &plan);

} // namespace spyre::solver::placement
