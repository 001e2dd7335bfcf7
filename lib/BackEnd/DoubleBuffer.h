//===- DoubleBuffer.h - second copies of staging tiles --------------------------------------===//
//
// A tile begins a new life with each write that follows a read of the old contents. With two copies
// lives take turns: odd ones in the tile, even ones in its copy, in program order. At the end of a
// loop's body every tile must be where it was at its start, so a body with an odd number of lives
// is repeated, and the last one of an odd number of iterations stands behind the loop:
//
//     Loop 5 { load T; use T }   ->   Loop 2 { load T'; use T'; load T; use T }  load T'; use T'
//
// A life must not see anything of the one before it: what it reads it has written. Tiles for which
// that cannot be shown from the ranges alone are left as they are.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Arch/DeviceDesc.h"

#include "PhaseTree.h"

namespace spyre::backend {

/// By phase: the first byte behind everything that is in LX during it.
std::vector<int64_t> lxEnds(const std::vector<program::Buffer> &buffers, size_t phases,
                            const arch::DeviceDesc &device);

/// Gives tiles of phase \p index second copies from \p lxEnd on, the most useful ones first, as
/// long as LX has room and the program stays short.
std::vector<Node> doubleBuffers(const std::vector<Node> &tree, int32_t index, int64_t lxEnd,
                                std::vector<program::Buffer> &buffers,
                                const arch::DeviceDesc &device);

} // namespace spyre::backend
