//===- HostMemory.cpp - size classes, locking, look-up by address ---------------------------===//
#include "spyre/Runtime/HostMemory.h"

#include "spyre/Base/Log.h"

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <vector>

namespace spyre::runtime {

namespace {

constexpr uint64_t kPageBytes = 4096;
/// Sizes are powers of two up to here and multiples of it above, so that little is wasted.
constexpr uint64_t kLargestPowerBytes = uint64_t(1) << 20;
/// Beyond any host; keeps the arithmetic of classes from wrapping.
constexpr uint64_t kMaxBytes = uint64_t(1) << 50;

uint64_t classBytes(uint64_t bytes) {
  if (bytes <= kLargestPowerBytes) {
    return std::bit_ceil(std::max(bytes, kPageBytes));
  }
  return (bytes + kLargestPowerBytes - 1) / kLargestPowerBytes * kLargestPowerBytes;
}

void *mapPages(uint64_t bytes) {
  void *pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? nullptr : pages;
}

} // namespace

struct HostBuffer::Shared {
  struct Memory {
    void *data;
    bool locked;
  };

  ~Shared() { freeAll(); }
  void freeAll() {
    for (auto &[bytes, memories] : free) {
      for (const Memory &memory : memories) {
        release(memory, bytes);
      }
    }
    free.clear();
    stats.cachedBuffers = stats.cachedBytes = 0;
  }
  void release(const Memory &memory, uint64_t bytes) {
    if (memory.locked) {
      munlock(memory.data, bytes);
      stats.lockedBytes -= bytes;
    }
    munmap(memory.data, bytes);
  }
  bool lock(void *data, uint64_t bytes) {
    if (mlock(data, bytes) == 0) {
      stats.lockedBytes += bytes;
      return true;
    }
    if (!isWarned) {
      isWarned = true;
      log(LogLevel::Warning, "runtime",
          "{} bytes of host memory cannot be locked; copies use them unlocked. Raise the limit of "
          "locked memory (ulimit -l)",
          bytes);
    }
    return false;
  }

  std::mutex mutex;
  /// By size of class; the one given back last is used first, while it is in the host's caches.
  std::map<uint64_t, std::vector<Memory>> free;
  /// In use: address -> bytes.
  std::map<uintptr_t, uint64_t> used;
  HostMemoryStats stats;
  bool isWarned = false;
};

HostBuffer::~HostBuffer() {
  std::lock_guard guard(shared->mutex);
  shared->used.erase(reinterpret_cast<uintptr_t>(memory));
  shared->free[sizeBytes].push_back({memory, locked});
  --shared->stats.buffers;
  shared->stats.bytes -= sizeBytes;
  ++shared->stats.cachedBuffers;
  shared->stats.cachedBytes += sizeBytes;
}

HostBufferCache::HostBufferCache() : shared(std::make_shared<HostBuffer::Shared>()) {}
HostBufferCache::~HostBufferCache() { emptyCache(); }

Expected<HostBufferRef> HostBufferCache::allocate(uint64_t bytes) {
  const auto refused = [&] {
    return error<6118>("the host has no {} bytes for a pinned buffer; free host memory or copy in "
                       "smaller pieces",
                       bytes);
  };
  if (bytes > kMaxBytes) {
    return refused();
  }
  const uint64_t rounded = classBytes(bytes);
  std::lock_guard guard(shared->mutex);
  ++shared->stats.requests;
  HostBuffer::Shared::Memory memory{nullptr, false};
  auto cached = shared->free.find(rounded);
  if (cached != shared->free.end() && !cached->second.empty()) {
    memory = cached->second.back();
    cached->second.pop_back();
    --shared->stats.cachedBuffers;
    shared->stats.cachedBytes -= rounded;
  } else {
    ++shared->stats.misses;
    memory.data = mapPages(rounded);
    if (!memory.data) {
      shared->freeAll();
      memory.data = mapPages(rounded);
    }
    if (!memory.data) {
      return refused();
    }
    memory.locked = shared->lock(memory.data, rounded);
  }
  shared->used.emplace(reinterpret_cast<uintptr_t>(memory.data), rounded);
  ++shared->stats.buffers;
  shared->stats.bytes += rounded;
  return HostBufferRef(new HostBuffer(shared, memory.data, rounded, memory.locked));
}

bool HostBufferCache::isPinned(const void *pointer) const {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  std::lock_guard guard(shared->mutex);
  auto next = shared->used.upper_bound(address);
  if (next == shared->used.begin()) {
    return false;
  }
  --next;
  return address - next->first < next->second;
}

void HostBufferCache::emptyCache() {
  std::lock_guard guard(shared->mutex);
  shared->freeAll();
}

HostMemoryStats HostBufferCache::stats() const {
  std::lock_guard guard(shared->mutex);
  return shared->stats;
}

HostBufferCache &hostBuffers() {
  static auto *cache = new HostBufferCache;
  return *cache;
}

} // namespace spyre::runtime
