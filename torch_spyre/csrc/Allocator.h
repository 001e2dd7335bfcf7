//===- Allocator.h - torch's allocator over that of the runtime -----------------------------===//
//
// A thin bridge: memory, caching, statistics and history are the runtime's; what is added is the
// token that stands for the memory in torch. When the last tensor lets go the memory no longer
// counts as allocated; it is free when the operations that still use it have retired.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "Guard.h"
#include "Memory.h"

#include <map>
#include <memory>
#include <mutex>

namespace spyre::plugin {

class SpyreAllocator final : public c10::DeviceAllocator {
public:
  c10::DataPtr allocate(size_t bytes) override;
  c10::DataPtr allocateOn(c10::DeviceIndex index, size_t bytes);
  c10::DataPtr allocateOn(c10::DeviceIndex index, size_t bytes, runtime::StreamId stream);
  /// Memory of allocation.bytes, and a token unless it has one.
  void obtain(Allocation &allocation) { obtain(allocation, currentStream(allocation.deviceIndex)); }
  void obtain(Allocation &allocation, runtime::StreamId stream);
  /// A token and no memory yet; \p mostBytes is what it may grow to.
  c10::DataPtr reserve(std::unique_ptr<Allocation> allocation, size_t mostBytes);
  void release(Allocation *allocation);
  /// The allocation a pointer lies in, or null.
  const Allocation *find(uintptr_t address);

  bool initialized() override;
  void emptyCache(c10::MempoolId_t pool) override;
  void recordStream(const c10::DataPtr &data, c10::Stream stream) override;
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex index) override;
  void resetAccumulatedStats(c10::DeviceIndex index) override;
  void resetPeakStats(c10::DeviceIndex index) override;
  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex index) override;
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void *to, const void *from, std::size_t count) const override;

private:
  void giveToken(Allocation &allocation, size_t bytes);

  std::mutex mutex;
  uintptr_t nextToken;
  std::map<uintptr_t, Allocation *> live;

public:
  SpyreAllocator();
};

/// Lives as long as the process.
SpyreAllocator &spyreAllocator();
/// The deleter of our data pointers: how they are told from others.
void deleteAllocation(void *context);

/// Keeps the last \p count events of every device from now on, with the Python lines that led to
/// them; 0 stops and forgets.
void recordMemoryHistory(size_t count);
/// Part of the device's memory that this process may use, 0 to 1; opens nothing.
void setMemoryFraction(c10::DeviceIndex index, double fraction);
double memoryFraction(c10::DeviceIndex index);
/// Settings of the two kinds above, for a device that was just opened.
void applyMemorySettings(c10::DeviceIndex index, runtime::Device &device);

/// Makes a private pool current for this thread: memory it allocates on the device lies there. 0 is
/// no pool. Returns the pool that was current.
uint64_t exchangePrivatePool(c10::DeviceIndex index, uint64_t privatePool);

/// Device memory without a tensor, known by the number that is returned until it is freed.
uintptr_t allocateRaw(c10::DeviceIndex index, size_t bytes, runtime::StreamId stream);
/// Error: E6560 for any other number.
void freeRaw(uintptr_t token);

} // namespace spyre::plugin
