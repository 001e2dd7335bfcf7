//===- MemoryPlanSolver.h - the interface behind which placement solvers plug in -------------===//
//
// A solver is a pure function of a problem; it is made by name. The documented ones are greedy,
// firstfit, bestfit [spec: scratchpad 6], simulated_annealing [spec: scratchpad 11.1] and exact
// (also called cpsat). Others are added with registerSolver() and can then be named wherever these
// can.
//
//   SPYRE_ASSIGN_OR_RETURN(auto solver, createSolver("exact"));
//   SPYRE_ASSIGN_OR_RETURN(Plan plan, solver->plan(problem, Variant::Pick));
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Solver/Placement/Problem.h"

#include <functional>
#include <memory>
#include <string_view>

namespace spyre::solver::placement {

/// Why the value of a plan is as good as its bound, or that it is not known to be.
enum class Proof {
  /// Everything that may be placed is.
  AllPlaced,
  /// The value (or height) equals a bound that does not depend on the search.
  BoundMet,
  /// All other plans were excluded.
  SearchExhausted,
  /// A limit was reached: the truth lies between value and bound.
  BudgetExhausted,
  /// The solver proves nothing; the bound is a general one.
  None,
};

/// "all-placed", "bound-met", ...
std::string_view nameOf(Proof proof);

struct Certificate {
  /// Fit and Pick: sum of the placed values. Min: the height.
  int64_t value = 0;
  /// No plan is better: at least the value (Pick), at most the height (Min).
  int64_t bound = 0;
  Proof proof = Proof::None;
  /// The largest sum of sizes alive at one tick, in-place pairs counted once.
  int64_t loadBytes = 0;
  /// Decisions of the search.
  int64_t nodes = 0;

  int64_t gap() const { return value > bound ? value - bound : bound - value; }
};

struct Plan {
  /// One per buffer. Fit without a plan: all empty.
  Offsets offsets;
  /// All that had to be placed is.
  bool complete = false;
  /// Fit: proven that there is no plan, with the smallest set of buffers that shows it.
  bool impossible = false;
  std::vector<int> conflict;
  Certificate certificate;
};

/// In units of work, never in seconds: the same plan on every host.
struct SearchLimits {
  /// Decisions of one packing question, and of all questions of one plan.
  int64_t packNodes = 20'000;
  int64_t totalNodes = 400'000;
  /// Choices of sets of buffers (Pick).
  int64_t pickNodes = 4'000;
  /// Partial choices kept per tick, and made in one plan.
  int64_t statesPerTick = 2'048;
  int64_t totalStates = 6'000'000;
  /// Stretches of time that are improved one by one in large problems.
  int windows = 5'000;
};

/// Order in which first-fit and best-fit take the buffers that have no parent left to wait for.
/// "firstfit-score" and its three neighbours have theirs in the name.
enum class FitOrder {
  /// Ticks of life per use, the least first [spec: scratchpad 6.2]. It keeps what is used often and
  /// places more of the value (ADR 0088).
  Score,
  /// Ascending lifetime [spec: scratchpad L12]: planner compat.
  Lifetime,
};

struct SolverOptions {
  FitOrder order = FitOrder::Score;
  /// Of simulated annealing.
  uint64_t seed = 0;
  SearchLimits limits;
};

class MemoryPlanSolver {
public:
  virtual ~MemoryPlanSolver() = default;
  virtual std::string_view name() const = 0;
  /// Errors: those of validate() and checkPins(); E3046 (the solver cannot answer this variant or
  /// size).
  virtual Expected<Plan> plan(const Problem &problem, Variant variant) const = 0;
};

using SolverFactory =
    std::function<std::unique_ptr<MemoryPlanSolver>(const SolverOptions &options)>;

/// Makes \p name known; error E3045 if it is known already.
Status registerSolver(const std::string &name, SolverFactory factory);
/// Error: E3045, which lists the known names.
Expected<std::unique_ptr<MemoryPlanSolver>> createSolver(const std::string &name,
                                                         const SolverOptions &options = {});
/// All names, sorted.
std::vector<std::string> solverNames();

} // namespace spyre::solver::placement
