//===- Allocator.cpp - tokens, and figures in torch's own structures ------------------------===//
#include "Allocator.h"

#include "spyre/Base/Log.h"
#include "spyre/Base/Math.h"

#include "Errors.h"
#include "Guard.h"
#include "Programs.h"
#include "RuntimeState.h"
#include "c10/core/Allocator.h"
#include "torch/csrc/profiler/combined_traceback.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

namespace spyre::plugin {

namespace {

using c10::CachingAllocator::Stat;
using c10::CachingAllocator::StatArray;
using c10::CachingDeviceAllocator::DeviceStats;

/// Above every address a user program of a 64-bit host can map.
constexpr uintptr_t kFirstToken = uintptr_t(1) << 56;
constexpr size_t kTokenAlignment = 128;

std::atomic<size_t> historyLimit{0};
/// By device: the part of its memory that the process may use.
std::array<std::atomic<double>, runtime::kMaxCards> &memoryFractions() {
  static auto *fractions = [] {
    auto *made = new std::array<std::atomic<double>, runtime::kMaxCards>();
    std::fill(made->begin(), made->end(), 1.0);
    return made;
  }();
  return *fractions;
}
/// By device; 0: none.
thread_local std::array<uint64_t, runtime::kMaxCards> privatePools = {};

struct RawAllocations {
  std::mutex mutex;
  std::map<uintptr_t, c10::DataPtr> held;
};

/// Never released: memory may be freed while the interpreter ends.
RawAllocations &rawAllocations() {
  static auto *instance = new RawAllocations();
  return *instance;
}

/// Null when history is off. Needs the interpreter, so no lock may be held.
std::shared_ptr<const void> currentFrames() {
  return historyLimit == 0 ? nullptr
                           : torch::CapturedTraceback::gather(/*python=*/true, /*script=*/false,
                                                              /*cpp=*/false);
}

Stat torchStat(const runtime::MemoryStat &stat) {
  Stat result;
  result.current = stat.current;
  result.peak = stat.peak;
  result.allocated = stat.allocated;
  result.freed = stat.freed;
  return result;
}

StatArray torchStats(const runtime::MemoryStatArray &stats) {
  StatArray result;
  for (size_t i = 0; i < stats.size(); ++i) {
    result[i] = torchStat(stats[i]);
  }
  return result;
}

/// A row of torch.profiler with profile_memory=True.
void reportToProfiler(const Allocation &allocation, int64_t bytes) {
  if (c10::memoryProfilingEnabled()) {
    const runtime::MemoryStats stats = device(allocation.deviceIndex)->dataMemoryStats();
    c10::reportMemoryUsageToProfiler(
        reinterpret_cast<void *>(allocation.token), bytes, size_t(stats.allocatedNow()),
        size_t(stats.reservedBytes[runtime::kAllPools].current),
        c10::Device(c10::DeviceType::PrivateUse1, allocation.deviceIndex));
  }
}

c10::DataPtr dataPtrOf(std::unique_ptr<Allocation> allocation) {
  void *pointer = reinterpret_cast<void *>(allocation->token);
  c10::Device where(c10::DeviceType::PrivateUse1, allocation->deviceIndex);
  return {pointer, allocation.release(), &deleteAllocation, where};
}

template <typename Action>
void forEachStarted(Action action) {
  for (int i = 0; i < deviceCount(); ++i) {
    if (deviceStarted(c10::DeviceIndex(i))) {
      action(*device(c10::DeviceIndex(i)));
    }
  }
}

} // namespace

SpyreAllocator::SpyreAllocator() : nextToken(kFirstToken) {}

c10::DataPtr SpyreAllocator::allocate(size_t bytes) { return allocateOn(currentDevice(), bytes); }

c10::DataPtr SpyreAllocator::allocateOn(c10::DeviceIndex index, size_t bytes) {
  return allocateOn(index, bytes, currentStream(index));
}

c10::DataPtr SpyreAllocator::allocateOn(c10::DeviceIndex index, size_t bytes,
                                        runtime::StreamId stream) {
  auto allocation = std::make_unique<Allocation>();
  allocation->bytes = bytes;
  allocation->deviceIndex = index;
  if (bytes > 0) {
    obtain(*allocation, stream);
  }
  return dataPtrOf(std::move(allocation));
}

void SpyreAllocator::obtain(Allocation &allocation, runtime::StreamId stream) {
  const c10::DeviceIndex index = allocation.deviceIndex;
  allocation.buffer =
      check(device(index)->allocate(allocation.bytes, runtime::MemoryKind::Tensor, stream,
                                    currentFrames(), privatePools[size_t(index)]));
  {
    std::lock_guard<std::mutex> lock(mutex);
    giveToken(allocation, allocation.bytes);
  }
  reportToProfiler(allocation, int64_t(allocation.buffer->bytes()));
  log(LogLevel::Debug, "device", "alloc token={:#x} bytes={}", allocation.token,
      allocation.buffer->bytes());
}

c10::DataPtr SpyreAllocator::reserve(std::unique_ptr<Allocation> allocation, size_t mostBytes) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    giveToken(*allocation, mostBytes);
  }
  return dataPtrOf(std::move(allocation));
}

void SpyreAllocator::giveToken(Allocation &allocation, size_t bytes) {
  if (allocation.token == 0) {
    allocation.token = nextToken;
    nextToken += size_t(roundUp(int64_t(bytes), kTokenAlignment)) + kTokenAlignment;
    live.emplace(allocation.token, &allocation);
  }
}

void SpyreAllocator::release(Allocation *allocation) {
  std::unique_ptr<Allocation> owned(allocation);
  if (owned->token != 0) {
    std::lock_guard<std::mutex> lock(mutex);
    live.erase(owned->token);
  }
  if (owned->buffer && !inBadFork()) {
    owned->buffer->abandon();
    reportToProfiler(*owned, -int64_t(owned->buffer->bytes()));
    log(LogLevel::Debug, "device", "free token={:#x} bytes={}", owned->token,
        owned->buffer->bytes());
  }
}

const Allocation *SpyreAllocator::find(uintptr_t address) {
  std::lock_guard<std::mutex> lock(mutex);
  auto next = live.upper_bound(address);
  if (next == live.begin()) {
    return nullptr;
  }
  const Allocation *candidate = std::prev(next)->second;
  return address < candidate->token + candidate->bytes ? candidate : nullptr;
}

bool SpyreAllocator::initialized() { return deviceStarted(); }

void SpyreAllocator::emptyCache(c10::MempoolId_t) {
  releaseTemporaries();
  forEachStarted([](runtime::Device &each) { each.emptyCache(); });
}

void SpyreAllocator::recordStream(const c10::DataPtr &data, c10::Stream stream) {
  if (data.get_deleter() != &deleteAllocation) {
    return;
  }
  const auto &allocation = *static_cast<const Allocation *>(data.get_context());
  if (allocation.buffer) {
    check(device(stream.device_index())
              ->recordStream(allocation.buffer, runtime::StreamId(stream.id())));
  }
}

DeviceStats SpyreAllocator::getDeviceStats(c10::DeviceIndex index) {
  checkDeviceIndex(index);
  DeviceStats result;
  if (!deviceStarted(index)) {
    return result;
  }
  // Programs themselves are left out; memory_stats() tells their size apart.
  const runtime::MemoryStats stats = device(index)->dataMemoryStats();
  result.allocation = torchStats(stats.allocation);
  result.segment = torchStats(stats.segment);
  result.active = torchStats(stats.active);
  result.inactive_split = torchStats(stats.inactiveSplit);
  result.allocated_bytes = torchStats(stats.allocatedBytes);
  result.reserved_bytes = torchStats(stats.reservedBytes);
  result.active_bytes = torchStats(stats.activeBytes);
  result.inactive_split_bytes = torchStats(stats.inactiveSplitBytes);
  result.requested_bytes = torchStats(stats.requestedBytes);
  result.oversize_allocations = torchStat(stats.oversizeAllocations);
  result.oversize_segments = torchStat(stats.oversizeSegments);
  result.num_alloc_retries = stats.numAllocRetries;
  result.num_ooms = stats.numOoms;
  result.num_sync_all_streams = stats.numSyncAllStreams;
  result.num_device_alloc = stats.numDeviceAlloc;
  result.num_device_free = stats.numDeviceFree;
  result.max_split_size = stats.maxSplitSizeBytes;
  return result;
}

void SpyreAllocator::resetAccumulatedStats(c10::DeviceIndex index) {
  checkDeviceIndex(index);
  if (deviceStarted(index)) {
    device(index)->resetAccumulatedMemoryStats();
  }
}

void SpyreAllocator::resetPeakStats(c10::DeviceIndex index) {
  checkDeviceIndex(index);
  if (deviceStarted(index)) {
    device(index)->resetPeakMemoryStats();
  }
}

std::pair<size_t, size_t> SpyreAllocator::getMemoryInfo(c10::DeviceIndex index) {
  checkDeviceIndex(index);
  if (!deviceStarted(index)) {
    return {size_t(deviceDesc().ddrBytes), size_t(deviceDesc().ddrBytes)};
  }
  const runtime::MemoryInfo info = device(index)->memoryInfo();
  return {size_t(info.freeBytes), size_t(info.totalBytes)};
}

void SpyreAllocator::copy_data(void *, const void *, std::size_t) const {
  raise(error<6512>("the bytes of a Spyre storage are device formats and cannot be copied as host "
                    "bytes; copy tensors instead (tensor.clone(), tensor.cpu())"));
}

SpyreAllocator &spyreAllocator() {
  static SpyreAllocator *instance = new SpyreAllocator();
  return *instance;
}

void deleteAllocation(void *context) {
  spyreAllocator().release(static_cast<Allocation *>(context));
}

void recordMemoryHistory(size_t count) {
  historyLimit = count;
  forEachStarted([](runtime::Device &each) { each.setMemoryHistory(historyLimit); });
}

static void applyMemoryFraction(c10::DeviceIndex index, runtime::Device &device) {
  const double fraction = memoryFraction(index);
  device.setMemoryLimit(uint64_t(fraction * double(device.memoryInfo().totalBytes)));
}

void setMemoryFraction(c10::DeviceIndex index, double fraction) {
  checkDeviceIndex(index);
  memoryFractions()[size_t(index)] = fraction;
  if (deviceStarted(index)) {
    applyMemoryFraction(index, *device(index));
  }
}

double memoryFraction(c10::DeviceIndex index) {
  checkDeviceIndex(index);
  return memoryFractions()[size_t(index)];
}

void applyMemorySettings(c10::DeviceIndex index, runtime::Device &device) {
  device.setMemoryHistory(historyLimit);
  applyMemoryFraction(index, device);
}

uint64_t exchangePrivatePool(c10::DeviceIndex index, uint64_t privatePool) {
  checkDeviceIndex(index);
  return std::exchange(privatePools[size_t(index)], privatePool);
}

uintptr_t allocateRaw(c10::DeviceIndex index, size_t bytes, runtime::StreamId stream) {
  checkDeviceIndex(index);
  // Nobody asks for no memory in order to get nothing that can be freed.
  c10::DataPtr data = spyreAllocator().allocateOn(index, std::max<size_t>(bytes, 1), stream);
  const auto token = reinterpret_cast<uintptr_t>(data.get());
  std::lock_guard<std::mutex> lock(rawAllocations().mutex);
  rawAllocations().held.emplace(token, std::move(data));
  return token;
}

void freeRaw(uintptr_t token) {
  c10::DataPtr freed;
  {
    std::lock_guard<std::mutex> lock(rawAllocations().mutex);
    const auto found = rawAllocations().held.find(token);
    if (found != rawAllocations().held.end()) {
      freed = std::move(found->second);
      rawAllocations().held.erase(found);
    }
  }
  if (!freed) {
    raise(error<6560>("no memory has the number {:#x}; give what caching_allocator_alloc() "
                      "returned, once",
                      token));
  }
}

} // namespace spyre::plugin
