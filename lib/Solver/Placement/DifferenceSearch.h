//===- DifferenceSearch.h - packing of buffers whose windows float ---------------------------===//
//
// A window that does not begin at its buffer's start can leave room inside the buffer's range, so
// "above or below" is not the whole truth about a pair. Here each pair has a list of allowed
// distances; the search picks one entry per pair and keeps all distances consistent (shortest
// paths between offsets). It is complete but slow, and asked only when such windows exist and the
// fast search, which takes them as if they began at the start, found nothing.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Solver/Placement/Problem.h"

#include "PackSearch.h"

namespace spyre::solver::placement {

/// \p chains: buffers that share an offset, first to last.
PackResult packWithWindows(const Problem &problem, const std::vector<std::vector<int>> &chains,
                           int64_t capacityBytes, int64_t nodeLimit);

} // namespace spyre::solver::placement
