//===- OnePass.h - what can be said without searching ----------------------------------------===//
//
// Most real problems are packed by placing the items once, each at the lowest address that is
// free, in one of a few orders; and most impossible ones have a moment at which too much is alive.
// Both are looked for before any search.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "Sections.h"

namespace spyre::solver::placement {

/// Offsets in units, or nothing if none of the orders packs everything.
std::vector<int64_t> packInOnePass(const SectionedProblem &part);

/// Items alive at a moment at which more is alive than fits; empty if there is no such moment.
std::vector<int> overfullSection(const SectionedProblem &part);

} // namespace spyre::solver::placement
