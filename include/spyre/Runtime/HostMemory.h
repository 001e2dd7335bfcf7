//===- HostMemory.h - page-aligned host buffers for copies, kept for reuse ------------------===//
//
// What PyTorch calls pinned memory: page aligned and locked, so that a copy engine could read it
// while the program goes on. When the system refuses to lock, one warning is written and the buffer
// is used as it is. Buffers come in size classes and go back to a cache.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"

#include <cstdint>
#include <memory>

namespace spyre::runtime {

class HostBufferCache;

/// Goes back to its cache with the last handle.
class HostBuffer {
public:
  ~HostBuffer();
  HostBuffer(const HostBuffer &) = delete;
  HostBuffer &operator=(const HostBuffer &) = delete;
  void *data() const { return memory; }
  /// At least what was asked for: the size of its class.
  uint64_t bytes() const { return sizeBytes; }
  bool isLocked() const { return locked; }

private:
  friend class HostBufferCache;
  struct Shared;
  HostBuffer(std::shared_ptr<Shared> shared, void *memory, uint64_t sizeBytes, bool locked)
      : shared(std::move(shared)), memory(memory), sizeBytes(sizeBytes), locked(locked) {}
  std::shared_ptr<Shared> shared;
  void *memory;
  uint64_t sizeBytes;
  bool locked;
};
using HostBufferRef = std::shared_ptr<HostBuffer>;

struct HostMemoryStats {
  uint64_t buffers = 0, bytes = 0;
  uint64_t cachedBuffers = 0, cachedBytes = 0;
  uint64_t lockedBytes = 0;
  /// Requests served, and those that needed new memory.
  uint64_t requests = 0, misses = 0;
};

/// Thread safe. Buffers may outlive it.
class HostBufferCache {
public:
  HostBufferCache();
  ~HostBufferCache();
  HostBufferCache(const HostBufferCache &) = delete;
  HostBufferCache &operator=(const HostBufferCache &) = delete;

  /// At least one byte; contents are what a former user left. Error: E6118 (no host memory).
  Expected<HostBufferRef> allocate(uint64_t bytes);
  /// True for every byte of a buffer that is in use.
  bool isPinned(const void *pointer) const;
  /// Frees the buffers nobody uses.
  void emptyCache();
  HostMemoryStats stats() const;

private:
  std::shared_ptr<HostBuffer::Shared> shared;
};

/// The one all devices of the process use; never destroyed.
HostBufferCache &hostBuffers();

} // namespace spyre::runtime
