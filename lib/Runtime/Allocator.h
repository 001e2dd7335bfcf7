//===- Allocator.h - which part of device memory is free ------------------------------------===//
//
// First fit over one address range with a free list ordered by address; neighbours join when they
// are given back. First fit keeps addresses low and is the same on every host. It knows addresses
// only: contents, locking and statistics are the Device's.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace spyre::runtime {

/// Every address handed out is a multiple of this, and so is every size.
constexpr uint64_t kAllocationAlignmentBytes = 128;

class FirstFitAllocator {
public:
  /// Manages [begin, end), cut down to the alignment. An empty range is allowed.
  FirstFitAllocator(uint64_t begin, uint64_t end);

  /// \p bytes is a positive multiple of the alignment. Nothing when no free block is large enough.
  std::optional<uint64_t> allocate(uint64_t bytes);
  /// Gives back exactly what allocate returned.
  void release(uint64_t address, uint64_t bytes);

  uint64_t freeBytes() const { return freeTotalBytes; }
  uint64_t largestFreeBytes() const;
  size_t freeBlocks() const { return blocks.size(); }

private:
  /// Address -> bytes; no two blocks overlap or touch.
  std::map<uint64_t, uint64_t> blocks;
  uint64_t freeTotalBytes = 0;
};

} // namespace spyre::runtime
