//===- LxPlan.h - what the scratchpad pass is asked for, and its answer without IR ------------===//
//
// Two ways to plan. `compat` is the documented one: inputs that are read more than once are copied
// in front of everything, then a one-pass solver places what it meets. Otherwise the exact solver
// chooses what stays, copies of inputs and outputs included, by the bytes of memory traffic that
// saves.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Arch/LxBudget.h"
#include "spyre/Solver/Placement/MemoryPlanSolver.h"
#include "spyre/Solver/Placement/OpList.h"

#include <map>

namespace spyre::solver::placement {

/// Whatever is added here must also change the key of compiled models (lib/CAPI/Cache.cpp).
struct LxOptions {
  bool enabled = true;
  bool compat = false;
  /// A name createSolver() knows; empty: greedy for compat, else exact.
  std::string solver;
  /// Bytes of each core's LX to plan; 0: the machine's part for planners.
  int64_t budgetBytes = 0;
  /// Share of LX the back end keeps for itself.
  double backEndShare = arch::kBackEndLxShare;
  /// Operations whose results may stay; empty: all, or for compat the documented ones.
  std::vector<std::string> allowedOps;
  /// Compat without its list of operations.
  bool allOps = false;
  /// Results may take the place of operands that die: those of the listed operations, or of all
  /// element-wise ones if the list is empty.
  bool inPlace = true;
  std::vector<std::string> inPlaceOps;
  bool inputClones = true, outputClones = true;
  /// What-if: buffers with a fixed address, and those that must not stay.
  std::map<std::string, int64_t> pins;
  std::vector<std::string> forbidden;
  /// Also try other divisions: an operation's split moved to another output dimension.
  bool coOptimize = false;
  /// Neighbours are divided alike where that is cheaper by the priced time of all operations; only
  /// divisions that the compiler chose by price are changed.
  bool divideTogether = true;
  /// Registered passes (registerScratchpadPass) that run before and after planning.
  std::vector<std::string> passes;
  /// A solver that has no name; it comes before \p solver.
  std::shared_ptr<const MemoryPlanSolver> ownSolver = nullptr;
  /// Passes that have no name; they run behind the registered ones.
  std::vector<std::shared_ptr<const ScratchpadOptimizationPass>> ownPasses;
  /// Results may stay over the end of a bundle, which is then marked (non_terminal).
  bool acrossBundles = false;
  /// Also return the problem, for spyre-plan.
  bool keepProblem = false;

  bool operator==(const LxOptions &) const = default;
};

/// Operations whose results the documented planner keeps [spec: scratchpad 4.1].
const std::vector<std::string> &documentedLxOps();

/// Makes a pass known by its name, so that LxOptions::passes can ask for it. In a compilation it
/// may bar tensors, say what operations need for themselves and insert copies; other operations are
/// the compiler's. Error: E3103 (the name is taken).
Status registerScratchpadPass(std::shared_ptr<const ScratchpadOptimizationPass> pass);
/// What the passes of \p options do before planning. Errors: E3103 (no such pass), theirs.
Status runPassesBefore(const LxOptions &options, int64_t capacityBytes, OpList &list);
/// What they do after it. Errors: theirs, and those of verifyOpListPlan() about what they left.
Status runPassesAfter(const LxOptions &options, const OpList &list, const PlacementRules &rules,
                      const OpListProblem &made, Plan &plan);

/// A copy that a pass put into a list: an operation "clone" with a new tensor.
struct InsertedCopy {
  int source = 0, copy = 0;
  /// Of the copy in the changed list.
  size_t position = 0;
  /// (operation of the list as it was, number of the read).
  std::vector<std::pair<size_t, size_t>> readers;
};
/// The copies that make \p after of \p before. Error: E3103 (something else changed, too).
Expected<std::vector<InsertedCopy>> insertedCopies(const OpList &before, const OpList &after);

struct LxPlan {
  OpListProblem made;
  Plan plan;
  /// Bytes between memory and cores with nothing in LX, and with the plan.
  int64_t trafficBefore = 0, trafficAfter = 0;
  /// The name of the solver.
  std::string solver;
};

/// Rules of \p options for a machine with \p cores at work.
PlacementRules rulesOf(const LxOptions &options, int cores);

/// The list's plan, verified, after the passes' work behind it. Errors: E3045 (no such solver),
/// E3100 (a pin or a forbidden buffer that is none), E3120, E3049, those of passes and solver.
Expected<LxPlan> planList(const OpList &list, const LxOptions &options, int cores,
                          int64_t capacityBytes);
/// Gives operations the numbers \p numbers, ascending, in the problem of \p plan and in its
/// reasons.
/// \p list is the one that was planned.
Status renumber(LxPlan &plan, const OpList &list, const std::vector<int64_t> &numbers,
                const LxOptions &options, int cores, int64_t capacityBytes);
/// planList() after the passes' work before it.
Expected<LxPlan> planLx(const OpList &list, const LxOptions &options, int cores,
                        int64_t capacityBytes);

/// What a program says of itself: each resident tensor's address.
using Residents = std::map<int, int64_t>;
/// Is what \p list does right if \p residents stay where they are said to? Looks at the list alone,
/// not at a plan: the last check before code. Errors: E3101 (names tensors, operations, addresses).
Status verifyResidents(const OpList &list, const Residents &residents, int64_t capacityBytes,
                       int cores);

} // namespace spyre::solver::placement
