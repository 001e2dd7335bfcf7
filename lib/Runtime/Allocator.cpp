//===- Allocator.cpp - first fit with joining of free neighbours ----------------------------===//
#include "Allocator.h"

#include "spyre/Base/Status.h"

#include <algorithm>
#include <iterator>

namespace spyre::runtime {

FirstFitAllocator::FirstFitAllocator(uint64_t begin, uint64_t end) {
  const uint64_t mask = kAllocationAlignmentBytes - 1;
  begin = (begin + mask) & ~mask;
  end &= ~mask;
  if (begin < end) {
    blocks.emplace(begin, end - begin);
    freeTotalBytes = end - begin;
  }
}

std::optional<uint64_t> FirstFitAllocator::allocate(uint64_t bytes) {
  SPYRE_CHECK(bytes > 0 && bytes % kAllocationAlignmentBytes == 0, "sizes are whole sticks");
  for (auto block = blocks.begin(); block != blocks.end(); ++block) {
    auto [address, blockBytes] = *block;
    if (blockBytes < bytes) {
      continue;
    }
    auto next = blocks.erase(block);
    if (blockBytes > bytes) {
      blocks.emplace_hint(next, address + bytes, blockBytes - bytes);
    }
    freeTotalBytes -= bytes;
    return address;
  }
  return std::nullopt;
}

void FirstFitAllocator::release(uint64_t address, uint64_t bytes) {
  freeTotalBytes += bytes;
  auto next = blocks.lower_bound(address);
  SPYRE_CHECK(next == blocks.end() || address + bytes <= next->first, "a block is freed once");
  if (next != blocks.end() && address + bytes == next->first) {
    bytes += next->second;
    next = blocks.erase(next);
  }
  if (next != blocks.begin()) {
    auto previous = std::prev(next);
    SPYRE_CHECK(previous->first + previous->second <= address, "a block is freed once");
    if (previous->first + previous->second == address) {
      previous->second += bytes;
      return;
    }
  }
  blocks.emplace_hint(next, address, bytes);
}

uint64_t FirstFitAllocator::largestFreeBytes() const {
  uint64_t largest = 0;
  for (const auto &[address, bytes] : blocks) {
    largest = std::max(largest, bytes);
  }
  return largest;
}

} // namespace spyre::runtime
