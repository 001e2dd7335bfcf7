//===- MemoryHistory.h - events of the allocator for torch's memory viewer ------------------===//
//
// Off until torch.spyre.memory._record_memory_history(). Then the last events are kept, each with
// the Python lines that led to it. The lines are taken before any lock of the allocator is held:
// taking them needs the interpreter.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace torch {
struct CapturedTraceback;
}

namespace spyre::plugin {

struct MemoryEvent {
  const char *action; // "alloc", "free_requested", "free_completed"
  int device;
  uintptr_t token;
  uint64_t bytes;
  int64_t timeUs;
  std::shared_ptr<torch::CapturedTraceback> frames;
};

/// Keeps the last \p count events from now on; 0 stops and forgets.
void recordMemoryHistory(size_t count);
/// Null when history is off. Call it without locks.
std::shared_ptr<torch::CapturedTraceback> currentFrames();
void addMemoryEvent(const char *action, int device, uintptr_t token, uint64_t bytes,
                    const std::shared_ptr<torch::CapturedTraceback> &frames);
/// Oldest first.
std::vector<MemoryEvent> memoryEvents();

} // namespace spyre::plugin
