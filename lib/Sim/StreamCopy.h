//===- StreamCopy.h - copies past the host's caches -----------------------------------------===//
//
// A write to memory that is not in a cache first reads it. For data too large to stay in the caches
// that is a third more traffic for nothing; streaming stores go around it.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace spyre::sim {

/// memcpy with streaming stores where the host has them. Call endStream() on the same thread before
/// others may read.
void streamCopy(uint8_t *to, const uint8_t *from, uint64_t bytes);
void endStream();

} // namespace spyre::sim
