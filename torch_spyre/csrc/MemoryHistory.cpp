//===- MemoryHistory.cpp - a ring of allocator events ---------------------------------------===//
#include "MemoryHistory.h"

#include "torch/csrc/profiler/combined_traceback.h"

#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>

namespace spyre::plugin {

namespace {

struct History {
  std::atomic<size_t> limit{0};
  std::mutex mutex;
  std::deque<MemoryEvent> events;
};

/// Never destroyed: tensors may be freed while static objects go away.
History &history() {
  static History *instance = new History();
  return *instance;
}

} // namespace

void recordMemoryHistory(size_t count) {
  std::lock_guard<std::mutex> lock(history().mutex);
  history().limit = count;
  history().events.clear();
}

std::shared_ptr<torch::CapturedTraceback> currentFrames() {
  return history().limit == 0 ? nullptr
                              : torch::CapturedTraceback::gather(/*python=*/true, /*script=*/false,
                                                                 /*cpp=*/false);
}

void addMemoryEvent(const char *action, int device, uintptr_t token, uint64_t bytes,
                    const std::shared_ptr<torch::CapturedTraceback> &frames) {
  using namespace std::chrono;
  History &kept = history();
  if (kept.limit == 0) {
    return;
  }
  const int64_t now = duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
  std::lock_guard<std::mutex> lock(kept.mutex);
  kept.events.push_back({action, device, token, bytes, now, frames});
  while (kept.events.size() > kept.limit) {
    kept.events.pop_front();
  }
}

std::vector<MemoryEvent> memoryEvents() {
  std::lock_guard<std::mutex> lock(history().mutex);
  return {history().events.begin(), history().events.end()};
}

} // namespace spyre::plugin
