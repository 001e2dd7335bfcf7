//===- Memory.cpp - counting, and names as PyTorch has them ---------------------------------===//
#include "spyre/Runtime/Memory.h"

#include <algorithm>

namespace spyre::runtime {

void MemoryStat::increase(uint64_t amount) {
  current += int64_t(amount);
  peak = std::max(peak, current);
  allocated += int64_t(amount);
}

void MemoryStat::decrease(uint64_t amount) {
  current -= int64_t(amount);
  freed += int64_t(amount);
}

std::array<MemoryStatArray *, 9> MemoryStats::arrays() {
  return {&allocation,     &segment,       &active,      &inactiveSplit,
          &allocatedBytes, &reservedBytes, &activeBytes, &inactiveSplitBytes,
          &requestedBytes};
}

const char *blockStateName(BlockState state) {
  switch (state) {
  case BlockState::ActiveAllocated:
    return "active_allocated";
  case BlockState::ActivePendingFree:
    return "active_pending_free";
  case BlockState::Inactive:
    return "inactive";
  }
  return "unknown";
}

const char *memoryActionName(MemoryAction action) {
  switch (action) {
  case MemoryAction::Alloc:
    return "alloc";
  case MemoryAction::FreeRequested:
    return "free_requested";
  case MemoryAction::FreeCompleted:
    return "free_completed";
  case MemoryAction::SegmentAlloc:
    return "segment_alloc";
  case MemoryAction::SegmentFree:
    return "segment_free";
  case MemoryAction::Oom:
    return "oom";
  }
  return "unknown";
}

} // namespace spyre::runtime
