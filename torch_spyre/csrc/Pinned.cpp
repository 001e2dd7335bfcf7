//===- Pinned.cpp - page-locked host memory with a cache ------------------------------------===//
#include "Pinned.h"

#include "spyre/Base/Math.h"

#include "ATen/core/CachingHostAllocator.h"
#include "Errors.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>

namespace spyre::plugin {

namespace {

void releasePinned(void *pointer);

class PinnedAllocator final : public at::HostAllocator {
public:
  c10::DataPtr allocate(size_t bytes) override {
    const c10::Device cpu(c10::DeviceType::CPU);
    if (bytes == 0) {
      return {nullptr, nullptr, &releasePinned, cpu};
    }
    const size_t size = size_t(roundUp(int64_t(bytes), sysconf(_SC_PAGESIZE)));
    std::lock_guard<std::mutex> lock(mutex);
    auto [pointer, capacity] = takeCached(size);
    if (pointer == nullptr) {
      pointer = makeBuffer(size);
      capacity = size;
    }
    live.emplace(uintptr_t(pointer), capacity);
    stats.active_requests.increase(1);
    stats.active_bytes.increase(capacity);
    return {pointer, pointer, &releasePinned, cpu};
  }

  void release(void *pointer) {
    std::lock_guard<std::mutex> lock(mutex);
    auto found = live.find(uintptr_t(pointer));
    if (found != live.end()) {
      stats.active_requests.decrease(1);
      stats.active_bytes.decrease(found->second);
      cached.emplace(found->second, pointer);
      live.erase(found);
    }
  }

  bool contains(uintptr_t address) {
    std::lock_guard<std::mutex> lock(mutex);
    auto next = live.upper_bound(address);
    return next != live.begin() && address < std::prev(next)->first + std::prev(next)->second;
  }

  c10::DeleterFnPtr raw_deleter() const override { return &releasePinned; }
  void copy_data(void *to, const void *from, std::size_t count) const override {
    std::memcpy(to, from, count);
  }
  /// Every transfer that reads the buffer holds its storage.
  bool record_event(void *, void *, c10::Stream) override { return false; }
  void empty_cache() override {
    std::lock_guard<std::mutex> lock(mutex);
    for (const auto &[size, pointer] : cached) {
      munlock(pointer, size);
      std::free(pointer);
      stats.allocations.decrease(1);
      stats.allocated_bytes.decrease(size);
      ++stats.num_host_free;
    }
    cached.clear();
  }
  at::HostStats get_stats() override {
    std::lock_guard<std::mutex> lock(mutex);
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

  /// The smallest cached buffer that holds \p size without wasting half of itself, and its bytes.
  std::pair<void *, size_t> takeCached(size_t size) {
    auto found = cached.lower_bound(size);
    if (found == cached.end() || found->first > 2 * size) {
      return {nullptr, 0};
    }
    const auto [capacity, pointer] = *found;
    cached.erase(found);
    return {pointer, capacity};
  }

  void *makeBuffer(size_t size) {
    void *pointer = nullptr;
    if (posix_memalign(&pointer, size_t(sysconf(_SC_PAGESIZE)), size) != 0) {
      raise(error<6553>("the host has no {} bytes for pinned memory; use a smaller tensor, or one "
                        "without pin_memory",
                        size));
    }
    if (mlock(pointer, size) != 0) {
      TORCH_WARN_ONCE("Pinned memory cannot be locked: raise the limit of locked memory "
                      "(ulimit -l). Transfers work, from pages that may move.");
    }
    stats.allocations.increase(1);
    stats.allocated_bytes.increase(size);
    ++stats.num_host_alloc;
    return pointer;
  }

  std::mutex mutex;
  std::map<uintptr_t, size_t> live;
  std::multimap<size_t, void *> cached;
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

void releasePinned(void *pointer) { allocator().release(pointer); }

} // namespace

c10::Allocator &pinnedAllocator() { return allocator(); }

bool isPinned(const void *pointer) { return allocator().contains(uintptr_t(pointer)); }

} // namespace spyre::plugin
