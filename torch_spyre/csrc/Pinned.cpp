//===- Pinned.cpp - torch's pinned memory over the runtime's host buffers -------------------===//
#include "Pinned.h"

#include "spyre/Runtime/HostMemory.h"

#include "ATen/core/CachingHostAllocator.h"
#include "Errors.h"

#include <array>
#include <cstring>
#include <mutex>

namespace spyre::plugin {

namespace {

void releasePinned(void *context);

class PinnedAllocator final : public at::HostAllocator {
public:
  c10::DataPtr allocate(size_t bytes) override {
    const c10::Device cpu(c10::DeviceType::CPU);
    if (bytes == 0) {
      return {nullptr, nullptr, &releasePinned, cpu};
    }
    auto buffer =
        std::make_unique<runtime::HostBufferRef>(check(runtime::hostBuffers().allocate(bytes)));
    std::lock_guard<std::mutex> lock(mutex);
    stats.active_requests.increase(1);
    stats.active_bytes.increase((*buffer)->bytes());
    void *memory = (*buffer)->data();
    return {memory, buffer.release(), &releasePinned, cpu};
  }

  void release(runtime::HostBufferRef *buffer) {
    std::unique_ptr<runtime::HostBufferRef> owned(buffer);
    std::lock_guard<std::mutex> lock(mutex);
    stats.active_requests.decrease(1);
    stats.active_bytes.decrease((*owned)->bytes());
  }

  // The context is not the pointer, so torch cannot free by pointer alone.
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void *to, const void *from, std::size_t count) const override {
    std::memcpy(to, from, count);
  }
  /// Every transfer that reads the buffer holds its storage.
  bool record_event(void *, void *, c10::Stream) override { return false; }
  void empty_cache() override { runtime::hostBuffers().emptyCache(); }

  at::HostStats get_stats() override {
    const runtime::HostMemoryStats now = runtime::hostBuffers().stats();
    std::lock_guard<std::mutex> lock(mutex);
    follow(stats.allocations, int64_t(now.buffers));
    follow(stats.allocated_bytes, int64_t(now.bytes));
    stats.num_host_alloc = int64_t(now.misses);
    stats.num_host_free = int64_t(now.misses) - int64_t(now.buffers);
    return stats;
  }
  void reset_accumulated_stats() override {
    std::lock_guard<std::mutex> lock(mutex);
    for (auto *stat : everyStat()) {
      stat->reset_accumulated();
    }
  }
  void reset_peak_stats() override {
    std::lock_guard<std::mutex> lock(mutex);
    for (auto *stat : everyStat()) {
      stat->reset_peak();
    }
  }

private:
  std::array<c10::CachingAllocator::Stat *, 4> everyStat() {
    return {&stats.active_requests, &stats.active_bytes, &stats.allocations,
            &stats.allocated_bytes};
  }
  static void follow(c10::CachingAllocator::Stat &stat, int64_t now) {
    now >= stat.current ? stat.increase(size_t(now - stat.current))
                        : stat.decrease(size_t(stat.current - now));
  }

  std::mutex mutex;
  at::HostStats stats;
};

PinnedAllocator &allocator() {
  static PinnedAllocator *instance = [] {
    auto *made = new PinnedAllocator();
    at::setHostAllocator(c10::DeviceType::PrivateUse1, made);
    return made;
  }();
  return *instance;
}

void releasePinned(void *context) {
  if (context != nullptr) {
    allocator().release(static_cast<runtime::HostBufferRef *>(context));
  }
}

} // namespace

c10::Allocator &pinnedAllocator() { return allocator(); }

bool isPinned(const void *pointer) { return runtime::hostBuffers().isPinned(pointer); }

} // namespace spyre::plugin
