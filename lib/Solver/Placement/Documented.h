//===- Documented.h - the solvers of the documents --------------------------------------------===//
//
// Greedy, first-fit, best-fit and simulated annealing [spec: scratchpad 6, 11.1], with the repairs
// of 6.5: a parent keeps its bytes until its own end, hands its place over once, and parents are
// asked in the order given. They answer Pick, and Fit in the sense that their plan may be complete;
// they prove nothing. Gaps are ignored: a buffer holds all of its bytes all of its life. Pinned
// buffers are placed before the others.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Solver/Placement/MemoryPlanSolver.h"

namespace spyre::solver::placement {

/// In time order, never looking ahead [spec: scratchpad 6.1].
class GreedySolver : public MemoryPlanSolver {
public:
  explicit GreedySolver(const SolverOptions &) {}
  std::string_view name() const override { return "greedy"; }
  Expected<Plan> plan(const Problem &problem, Variant variant) const override;
};

/// In the order of a score, into the first or the tightest gap [spec: scratchpad 6.2].
class FitSolver : public MemoryPlanSolver {
public:
  FitSolver(const SolverOptions &options, bool tightest) : options(options), tightest(tightest) {}
  std::string_view name() const override { return tightest ? "bestfit" : "firstfit"; }
  Expected<Plan> plan(const Problem &problem, Variant variant) const override;

private:
  SolverOptions options;
  bool tightest;
};

/// Orders of stacking, changed at random with a fixed seed [spec: scratchpad 11.1].
class AnnealingSolver : public MemoryPlanSolver {
public:
  explicit AnnealingSolver(const SolverOptions &options) : options(options) {}
  std::string_view name() const override { return "simulated_annealing"; }
  Expected<Plan> plan(const Problem &problem, Variant variant) const override;

private:
  SolverOptions options;
};

/// Number of uses; two (first and last tick) where none are listed, or one.
inline int64_t useCount(const Buffer &buffer) {
  if (!buffer.uses.empty()) {
    return int64_t(buffer.uses.size());
  }
  return buffer.upper - buffer.lower > 1 ? 2 : 1;
}

inline int64_t alignUp(int64_t value, int64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

/// Per buffer the lowest address that operations of its ticks need for themselves.
std::vector<int64_t> ceilings(const Problem &problem);

/// What all of them do first: E3046 for Min, and the pins, which may not overlap each other.
Expected<Offsets> startDocumented(const Problem &problem, Variant variant);
/// Value, general bound and completeness of a finished plan.
Plan finishDocumented(const Problem &problem, Offsets offsets);

} // namespace spyre::solver::placement
