//===- Overlap.h - loads, arithmetic and stores at the same time ----------------------------===//
//
// A lowering writes a phase as if one instruction ran after the other: loop { load; compute; store
// }. This pass keeps that order of instructions and makes the units independent:
//
//   1. Double buffers (DoubleBuffer.h). A staging tile that is written anew again and again gets a
//      second copy, and the loop around it two bodies:
//
//          Loop 8 { load T; compute T }   ->   Loop 4 { load T; compute T; load T'; compute T' }
//
//   2. Tokens (Tokens.h). Units hand buffers over to each other, so the next load begins when its
//      tile is free and not when the store before it in the program is done.
//   3. Multicast (Multicast.h). Cores that load the same sticks read DDR once.
//
// Results do not change: units do the same work in the same order. No phase becomes slower either:
// an instruction waits for earlier instructions only, so it begins no later than it would have.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Arch/DeviceDesc.h"
#include "spyre/Program/Program.h"

#include <vector>

namespace spyre::backend {

/// The same phase, number \p index of the program, overlapped where that is possible. Second copies
/// of tiles are added to \p buffers, behind everything else the phase has in LX, which ends at
/// \p lxEnd (lxEnds() of the buffers).
program::Phase overlapPhase(program::Phase phase, int32_t index, int64_t lxEnd,
                            std::vector<program::Buffer> &buffers, const arch::DeviceDesc &device);

} // namespace spyre::backend
