//===- Incumbent.h - good plans without proof -------------------------------------------------===//
//
// A plan to start from and to fall back on: the buffers are taken in several orders, each put at
// its parent's place or at the lowest address that is free, or left out.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "Overlaps.h"

namespace spyre::solver::placement {

/// The most valuable of several one-pass plans of \p members. Those in \p first are taken before
/// all others.
Offsets bestOnePassPlan(const Problem &problem, const Overlaps &overlaps,
                        const std::vector<int> &members, const std::vector<int> &first = {});

} // namespace spyre::solver::placement
