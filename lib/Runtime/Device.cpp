//===- Device.cpp - a driver with an allocator around it ------------------------------------===//
//
// Two locks, never held together: one for the driver (one operation at a time on the card, but for
// copies, which share it) and one for the allocator, so that allocating does not wait for a running
// launch.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Runtime/Device.h"

#include "spyre/Base/Log.h"
#include "spyre/Base/ThreadPool.h"

#include "Allocator.h"

#include <algorithm>
#include <mutex>
#include <shared_mutex>

namespace spyre::runtime {

namespace {

/// Address 0 is never handed out, so that it can mean "nothing" in a dump.
constexpr uint64_t kFirstAddress = kAllocationAlignmentBytes;

uint64_t memoryEnd(const arch::DeviceDesc &desc) {
  return desc.ddrBytes > 0 ? uint64_t(desc.ddrBytes) : 0;
}

Status checkBuffer(const Device &device, const BufferRef &buffer, const char *what) {
  if (!buffer) {
    return error<6105>("{}: the buffer handle is empty; allocate it first", what);
  }
  if (&buffer->device() != &device) {
    return error<6105>("{}: the buffer belongs to another device; copy it through the host", what);
  }
  return Status::success();
}

Status checkRange(const char *what, const Buffer &buffer, uint64_t offset, uint64_t bytes) {
  if (offset > buffer.bytes() || bytes > buffer.bytes() - offset) {
    return error<6103>("{}: {} bytes at offset {} leave the buffer of {} bytes; check the size of "
                       "the tensor",
                       what, bytes, offset, buffer.bytes());
  }
  return Status::success();
}

Status checkHostPointer(const char *what, const void *data, uint64_t bytes) {
  if (!data && bytes > 0) {
    return error<6105>("{}: the host pointer is null but {} bytes are asked for; pass the memory",
                       what, bytes);
  }
  return Status::success();
}

Status checkCopy(const Device &device, const char *what, const BufferRef &buffer, uint64_t offset,
                 const void *data, uint64_t bytes) {
  SPYRE_RETURN_IF_ERROR(checkBuffer(device, buffer, what));
  SPYRE_RETURN_IF_ERROR(checkRange(what, *buffer, offset, bytes));
  return checkHostPointer(what, data, bytes);
}

} // namespace

struct Device::State {
  State(std::unique_ptr<Driver> newDriver, uint32_t newThreads)
      : driver(std::move(newDriver)), allocator(kFirstAddress, memoryEnd(driver->desc())),
        threads(newThreads) {}

  std::unique_ptr<Driver> driver;
  mutable std::shared_mutex driverMutex;

  FirstFitAllocator allocator;
  MemoryStats stats;
  mutable std::mutex memoryMutex;

  const uint32_t threads;
  std::once_flag poolMade;
  std::unique_ptr<ThreadPool> pool;
  /// Last, so that no operation runs when the rest goes.
  std::unique_ptr<Streams> streams;
};

Buffer::~Buffer() { owner->release(address, sizeBytes); }

Device::Device(std::unique_ptr<Driver> driver, uint32_t threads, const StreamOptions &options)
    : state(std::make_unique<State>(std::move(driver), threads)) {
  state->streams = std::make_unique<Streams>(*this, options);
}
// Operations on the way still use the state, so they end while it is whole.
Device::~Device() { state->streams->shutdown(); }

std::shared_ptr<Device> Device::create(std::unique_ptr<Driver> driver, uint32_t threads,
                                       const StreamOptions &options) {
  SPYRE_CHECK(driver != nullptr, "a device has a driver");
  return std::shared_ptr<Device>(new Device(std::move(driver), threads, options));
}

const arch::DeviceDesc &Device::desc() const { return state->driver->desc(); }
const char *Device::driverName() const { return state->driver->name(); }

Expected<BufferRef> Device::allocate(uint64_t bytes) {
  const uint64_t mask = kAllocationAlignmentBytes - 1;
  const uint64_t limit = memoryEnd(desc());
  std::lock_guard lock(state->memoryMutex);
  std::optional<uint64_t> address;
  uint64_t rounded = 0;
  // Compared before rounding: rounding the largest numbers up would wrap.
  if (bytes <= limit) {
    rounded = (std::max<uint64_t>(bytes, 1) + mask) & ~mask;
    address = state->allocator.allocate(rounded);
  }
  MemoryStats &stats = state->stats;
  if (!address) {
    return error<6102>("out of device memory: {} bytes requested, {} free, largest free block {}, "
                       "{} in use by {} buffers; free tensors or use a smaller batch",
                       bytes, state->allocator.freeBytes(), state->allocator.largestFreeBytes(),
                       stats.allocatedBytes, stats.allocations);
  }
  stats.allocatedBytes += rounded;
  stats.peakAllocatedBytes = std::max(stats.peakAllocatedBytes, stats.allocatedBytes);
  ++stats.allocations;
  ++stats.totalAllocations;
  return BufferRef(new Buffer(shared_from_this(), *address, rounded));
}

void Device::release(uint64_t address, uint64_t bytes) {
  Status discarded = Status::success();
  {
    std::lock_guard lock(state->driverMutex);
    discarded = state->driver->discard(address, bytes);
  }
  std::lock_guard lock(state->memoryMutex);
  state->stats.allocatedBytes -= bytes;
  --state->stats.allocations;
  if (!discarded.ok()) {
    // Its old contents would show in the next buffer, so the block is not used again.
    log(LogLevel::Error, "runtime", "discard address={:#x} bytes={} failed: {}", address, bytes,
        discarded.message());
    return;
  }
  state->allocator.release(address, bytes);
}

Status Device::copyToDevice(const BufferRef &buffer, uint64_t offset, const void *data,
                            uint64_t bytes) {
  SPYRE_RETURN_IF_ERROR(checkCopy(*this, "copy to device", buffer, offset, data, bytes));
  if (bytes == 0) {
    return Status::success();
  }
  std::shared_lock lock(state->driverMutex);
  return state->driver->write(buffer->physicalAddress() + offset, data, bytes);
}

Status Device::copyToHost(const BufferRef &buffer, uint64_t offset, void *data, uint64_t bytes) {
  SPYRE_RETURN_IF_ERROR(checkCopy(*this, "copy to host", buffer, offset, data, bytes));
  if (bytes == 0) {
    return Status::success();
  }
  std::shared_lock lock(state->driverMutex);
  return state->driver->read(buffer->physicalAddress() + offset, data, bytes);
}

bool Device::wantsPadding() const { return state->driver->wantsPadding(); }

Status Device::copySticksToDevice(const BufferRef &buffer, uint64_t offset, const void *data,
                                  uint64_t bytes, const uint64_t *padding) {
  SPYRE_RETURN_IF_ERROR(checkCopy(*this, "copy to device", buffer, offset, data, bytes));
  if (bytes == 0) {
    return Status::success();
  }
  std::shared_lock lock(state->driverMutex);
  return state->driver->writeSticks(buffer->physicalAddress() + offset, data, bytes, padding);
}

Status Device::copySticksToHost(const BufferRef &buffer, uint64_t offset, void *data,
                                uint64_t bytes, const uint64_t *padding) {
  SPYRE_RETURN_IF_ERROR(checkCopy(*this, "copy to host", buffer, offset, data, bytes));
  if (bytes == 0) {
    return Status::success();
  }
  std::shared_lock lock(state->driverMutex);
  return state->driver->readSticks(buffer->physicalAddress() + offset, data, bytes, padding);
}

Status Device::copyOnDevice(const BufferRef &from, const BufferRef &to, uint64_t bytes) {
  SPYRE_RETURN_IF_ERROR(checkBuffer(*this, from, "copy on device"));
  SPYRE_RETURN_IF_ERROR(checkBuffer(*this, to, "copy on device"));
  SPYRE_RETURN_IF_ERROR(checkRange("copy on device (source)", *from, 0, bytes));
  SPYRE_RETURN_IF_ERROR(checkRange("copy on device (target)", *to, 0, bytes));
  if (from == to || bytes == 0) {
    return Status::success();
  }
  std::lock_guard lock(state->driverMutex);
  return state->driver->copy(from->physicalAddress(), to->physicalAddress(), bytes);
}

Status Device::launch(const BufferRef &program, uint64_t jobOffset, uint64_t jobBytes,
                      const std::vector<BufferRef> &segments, uint32_t flags) {
  std::vector<SegmentBinding> bindings(segments.size());
  for (size_t i = 0; i < segments.size(); ++i) {
    if (segments[i]) {
      SPYRE_RETURN_IF_ERROR(checkBuffer(*this, segments[i], "launch"));
      bindings[i] = {segments[i]->physicalAddress(), segments[i]->bytes()};
    }
  }
  return launchBound(program, jobOffset, jobBytes, std::move(bindings), flags);
}

Status Device::launchBound(const BufferRef &program, uint64_t jobOffset, uint64_t jobBytes,
                           std::vector<SegmentBinding> bindings, uint32_t flags) {
  if (!program || jobBytes == 0) {
    return error<6104>("a launch needs a program: {}; load the program first",
                       program ? "its size is 0" : "the program segment is not bound");
  }
  SPYRE_RETURN_IF_ERROR(checkBuffer(*this, program, "launch (program)"));
  SPYRE_RETURN_IF_ERROR(checkRange("launch (program)", *program, jobOffset, jobBytes));
  const size_t programSegment = size_t(desc().programSegment());
  if (bindings.size() > programSegment) {
    return error<6105>("a launch binds {} data segments but the machine has {}; use fewer tensors "
                       "per kernel",
                       bindings.size(), programSegment);
  }
  bindings.resize(programSegment + 1);
  bindings[programSegment] = {program->physicalAddress(), program->bytes()};
  for (size_t i = 0; i < bindings.size(); ++i) {
    if (bindings[i].bytes > uint64_t(desc().segmentBytes)) {
      return error<6105>("the buffer for segment {} has {} bytes but a segment holds {}; split the "
                         "tensor",
                         i, bindings[i].bytes, desc().segmentBytes);
    }
  }
  const uint64_t address = uint64_t(desc().segmentBase(int64_t(programSegment))) + jobOffset;
  std::lock_guard lock(state->driverMutex);
  return state->driver->launch(address, jobBytes, bindings, flags);
}

DeviceCounters Device::counters() const {
  std::lock_guard lock(state->driverMutex);
  return state->driver->counters();
}

void Device::resetCounters() {
  std::lock_guard lock(state->driverMutex);
  state->driver->resetCounters();
}

MemoryStats Device::memoryStats() const {
  std::lock_guard lock(state->memoryMutex);
  return state->stats;
}

Streams &Device::streams() { return *state->streams; }

ThreadPool &Device::threadPool() {
  std::call_once(state->poolMade,
                 [&] { state->pool = std::make_unique<ThreadPool>(state->threads); });
  return *state->pool;
}

} // namespace spyre::runtime
