//===- Transpose.h - 64 x 64 elements of two bytes, and 64 x 64 bits ------------------------===//
//
// A restickify is made of such blocks: 64 sticks of 64 lanes whose rows become columns. Element by
// element it is the slowest thing a device does on a host; as a block it runs from registers.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace spyre::sim {

constexpr int64_t kTransposeLanes = 64;

/// to[column][row] <- from[row][column], both 64 sticks in a row; they must not overlap.
void transposeSticks(const uint8_t *from, uint8_t *to);
/// Bit row of to[column] <- bit column of from[row].
void transposeBits(const uint64_t *from, uint64_t *to);

} // namespace spyre::sim
