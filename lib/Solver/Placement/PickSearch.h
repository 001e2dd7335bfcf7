//===- PickSearch.h - which buffers are worth most together ----------------------------------===//
//
// Branch and bound over sets of buffers. A node asks PickBound for the most valuable set under
// what the node has fixed; if the packing search can place it, the node is done. If not, the
// smallest unplaceable part of the set splits the node: without its first buffer; with its first
// but without its second; and so on. Nodes with the best bound come first.
// [spec: scratchpad 18.3]
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Solver/Placement/MemoryPlanSolver.h"

#include "Overlaps.h"

namespace spyre::solver::placement {

Expected<Plan> pickBuffers(const Problem &problem, const SearchLimits &limits);

} // namespace spyre::solver::placement
