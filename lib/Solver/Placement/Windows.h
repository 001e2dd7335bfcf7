//===- Windows.h - a better plan, one stretch of time after the other -------------------------===//
//
// A problem too large to search as a whole is improved in windows: the buffers that begin in a
// stretch of time are chosen and placed anew, exactly, while all others stay where they are. No
// window makes the plan worse.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Solver/Placement/MemoryPlanSolver.h"

#include "Overlaps.h"

#include <functional>

namespace spyre::solver::placement {

/// Solves one window.
using WindowSolver = std::function<Expected<Plan>(const Problem &window)>;

/// Improves \p offsets; at most \p maxWindows windows of \p width buffers are solved.
void improveInWindows(const Problem &problem, const Overlaps &overlaps, int width, int maxWindows,
                      const WindowSolver &solve, Offsets &offsets);

} // namespace spyre::solver::placement
