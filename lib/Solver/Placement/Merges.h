//===- Merges.h - from buffers to items of a packing -----------------------------------------===//
//
// A set of buffers with a choice of in-place pairs becomes a packing problem: a chain of buffers
// that hand their place on is one item, whose height follows the chain's sizes over time. Which
// pairs to join is a choice of its own, since a joined pair must have one offset. Joining as many
// as possible is tried first; it needs the least room at every tick.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Solver/Placement/MemoryPlanSolver.h"

#include "PackSearch.h"

namespace spyre::solver::placement {

/// What is spent and what is left of a plan's limits.
struct NodeBudget {
  int64_t perQuestion = 0;
  int64_t left = 0;
  int64_t spent = 0;
};

struct SetResult {
  PackAnswer answer = PackAnswer::Undecided;
  /// One per buffer of the problem; set for members when packed.
  Offsets offsets;
  /// Members without which the question is the same; when impossible.
  std::vector<int> culprits;
};

/// Groups of \p members that meet in time, in time order.
std::vector<std::vector<int>> timeParts(const Problem &problem, const std::vector<int> &members);

/// Can exactly the buffers \p members be placed below \p capacityBytes?
SetResult packSet(const Problem &problem, const std::vector<int> &members, int64_t capacityBytes,
                  NodeBudget &budget);

/// The relaxed problem: a child that could take a parent's place is free of charge at its first
/// tick. What does not fit here does not fit at all. Items are in the order of \p members; those
/// that need no room at all have no pieces.
PackProblem relaxedItems(const Problem &problem, const std::vector<int> &members,
                         int64_t capacityBytes);

/// A smallest set of \p members that cannot be packed: without any one of them the rest can (as
/// far as the budget allows to say). \p keep is never dropped.
std::vector<int> irreducibleConflict(const Problem &problem, std::vector<int> members,
                                     int64_t capacityBytes, NodeBudget &budget, int keep = -1);

} // namespace spyre::solver::placement
