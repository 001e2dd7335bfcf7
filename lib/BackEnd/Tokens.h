//===- Tokens.h - order between the units of a phase that overlaps --------------------------===//
//
// Each buffer in LX has a token, and a signalled token says: the buffer is free. A unit waits for
// the token before it touches the buffer and signals it afterwards:
//
//     signal T                    free from the start
//     Loop 4 {
//       wait load T;   load tile;     signal load T
//       wait vector T; vector tile;   signal vector T
//     }
//     wait load T                 nobody is left over
//
// So there is one outstanding signal at every point of the program, whatever the loops are, and
// touches of a buffer happen in program order. What one unit does in a row, or in a whole loop, is
// one turn. A buffer that only one unit touches needs no token; buffers that change hands at the
// same places share one.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "PhaseTree.h"

namespace spyre::backend {

/// Adds signals and waits to \p tree. False, and no change, when the machine has too few tokens.
bool addTokens(std::vector<Node> &tree, const std::vector<program::Buffer> &buffers);

} // namespace spyre::backend
