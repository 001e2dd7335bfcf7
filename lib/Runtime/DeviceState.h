//===- DeviceState.h - what the files of Device share ---------------------------------------===//
//
// Two locks: one for the driver (one launch at a time on the card; copies share it) and one for the
// allocator, so that allocating and freeing do not wait for a running launch. Whoever needs both
// takes the driver's first. A third, taken before both, is the turn of launches that belong
// together.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/ThreadPool.h"
#include "spyre/Runtime/Device.h"

#include "CachingAllocator.h"
#include "FairSharedMutex.h"
#include "TurnMutex.h"

#include <atomic>
#include <map>
#include <mutex>

namespace spyre::runtime {

struct Device::State {
  State(std::unique_ptr<Driver> newDriver, uint32_t newThreads);

  /// Freed memory whose contents are still on the card; discarded before anybody uses it again.
  /// Failures stay. The caller holds the driver's lock alone.
  void discardPending();
  bool isPending(uint64_t address, uint64_t bytes);
  /// For copies, before they share the driver's lock: E6119 when old contents cannot be removed.
  Status prepare(const Buffer &buffer);
  /// E6119 when a range still has old contents after discardPending.
  Status checkDiscarded(uint64_t address, uint64_t bytes);

  struct Allocated {
    /// Valid while the generation lasts; a reset may end it at any time.
    MemoryBlock *block = nullptr;
    uint64_t address = 0, generation = 0;
  };
  bool tryAllocate(const MemoryRequest &request, bool reclaims, Allocated &result);
  bool allocateUnderPressure(const MemoryRequest &request, Allocated &result);
  /// False when there are none, or inside an operation.
  bool waitForPendingFrees(MemoryKind kind);
  Status outOfMemory(const MemoryRequest &request);

  std::unique_ptr<Driver> driver;
  mutable FairSharedMutex driverMutex;
  /// Held for launches that follow each other at once; taken before the one above.
  TurnMutex launchMutex;

  mutable std::mutex memoryMutex;
  CachingAllocator allocator;
  /// Bytes that live buffers may have together.
  uint64_t limitBytes = UINT64_MAX;
  /// Address -> bytes, joined where they touch.
  std::map<uint64_t, uint64_t> pendingDiscards;
  /// Of those, what the driver refused the last time.
  std::map<uint64_t, uint64_t> failedDiscards;
  std::atomic<size_t> pendingCount{0};
  uint64_t nextHandler = 1;
  std::map<uint64_t, std::function<void()>> pressureHandlers;
  std::map<uint64_t, OutOfMemoryObserver> oomObservers;
  /// Counts resets; changed under both locks.
  std::atomic<uint64_t> generation{1};

  const uint32_t threads;
  std::once_flag poolMade;
  std::unique_ptr<ThreadPool> pool;
  /// Last, so that no operation runs when the rest goes.
  std::unique_ptr<Streams> streams;
};

} // namespace spyre::runtime
