//===- Device.cpp - copies and launches on a driver -----------------------------------------===//
#include "Containment.h"
#include "DeviceState.h"

namespace spyre::runtime {

namespace {

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

/// What the operation this thread executes has copied, for the simulated clock.
void countCopy(const Device &device, uint64_t bytes) {
  if (OperationContext *operation = currentOperation(device)) {
    operation->copiedBytes += bytes;
  }
}

} // namespace

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

Status Device::check(const BufferRef &buffer, const char *what) const {
  if (!buffer) {
    return error<6105>("{}: the buffer handle is empty; allocate it first", what);
  }
  if (&buffer->device() != this) {
    return error<6105>("{}: the buffer belongs to another device; copy it through the host", what);
  }
  if (buffer->generation != state->generation) {
    return error<6117>("{}: the buffer was made before the device was reset and its contents are "
                       "lost; make it again",
                       what);
  }
  return Status::success();
}

template <typename Access>
Status Device::copy(const char *what, const BufferRef &buffer, uint64_t offset, const void *data,
                    uint64_t bytes, Access &&access) {
  SPYRE_RETURN_IF_ERROR(check(buffer, what));
  SPYRE_RETURN_IF_ERROR(checkRange(what, *buffer, offset, bytes));
  SPYRE_RETURN_IF_ERROR(checkHostPointer(what, data, bytes));
  if (bytes == 0) {
    return Status::success();
  }
  SPYRE_RETURN_IF_ERROR(state->prepare(*buffer));
  std::shared_lock lock(state->driverMutex);
  // Again, now that no reset can come between.
  SPYRE_RETURN_IF_ERROR(check(buffer, what));
  return access(buffer->physicalAddress() + offset);
}

Status Device::copyToDevice(const BufferRef &buffer, uint64_t offset, const void *data,
                            uint64_t bytes) {
  countCopy(*this, bytes);
  SPYRE_RETURN_IF_ERROR(copy("copy to device", buffer, offset, data, bytes, [&](uint64_t address) {
    return state->driver->write(address, data, bytes);
  }));
  buffer->noteData();
  if (offset == 0 && bytes == buffer->bytes()) {
    buffer->heal();
  }
  return Status::success();
}

Status Device::checkReadable(const BufferRef &buffer) const {
  if (buffer && buffer->isPoisoned()) {
    if (const FaultRef fault = buffer->fault()) {
      return failWith(*this, fault);
    }
  }
  return Status::success();
}

Status Device::copyToHost(const BufferRef &buffer, uint64_t offset, void *data, uint64_t bytes) {
  countCopy(*this, bytes);
  SPYRE_RETURN_IF_ERROR(checkReadable(buffer));
  return copy("copy to host", buffer, offset, data, bytes,
              [&](uint64_t address) { return state->driver->read(address, data, bytes); });
}

bool Device::wantsPadding() const { return state->driver->wantsPadding(); }

Status Device::copySticksToDevice(const BufferRef &buffer, uint64_t offset, const void *data,
                                  uint64_t bytes, const uint64_t *padding) {
  return copy("copy to device", buffer, offset, data, bytes, [&](uint64_t address) {
    return state->driver->writeSticks(address, data, bytes, padding);
  });
}

Status Device::copySticksToHost(const BufferRef &buffer, uint64_t offset, void *data,
                                uint64_t bytes, const uint64_t *padding) {
  return copy("copy to host", buffer, offset, data, bytes, [&](uint64_t address) {
    return state->driver->readSticks(address, data, bytes, padding);
  });
}

Status Device::fillSticks(const BufferRef &buffer, uint64_t offset, uint64_t sticks,
                          const StickFill &fill, const uint64_t *padding) {
  constexpr uint64_t kStickBytes = sizeof(fill.value);
  return copy(
      "fill", buffer, offset, fill.value.data(), sticks * kStickBytes,
      [&](uint64_t address) { return state->driver->fillSticks(address, sticks, fill, padding); });
}

Status Device::copyOnDevice(const BufferRef &from, const BufferRef &to, uint64_t bytes) {
  SPYRE_RETURN_IF_ERROR(check(from, "copy on device"));
  SPYRE_RETURN_IF_ERROR(check(to, "copy on device"));
  SPYRE_RETURN_IF_ERROR(checkRange("copy on device (source)", *from, 0, bytes));
  SPYRE_RETURN_IF_ERROR(checkRange("copy on device (target)", *to, 0, bytes));
  if (from == to || bytes == 0) {
    return Status::success();
  }
  if (const FaultRef fault = from->fault()) {
    to->poison(fault, /*isDamaged=*/false);
    return failWith(*this, fault);
  }
  SPYRE_RETURN_IF_ERROR(state->prepare(*from));
  SPYRE_RETURN_IF_ERROR(state->prepare(*to));
  countCopy(*this, bytes);
  std::lock_guard lock(state->driverMutex);
  SPYRE_RETURN_IF_ERROR(check(from, "copy on device"));
  SPYRE_RETURN_IF_ERROR(check(to, "copy on device"));
  SPYRE_RETURN_IF_ERROR(state->driver->copy(from->physicalAddress(), to->physicalAddress(), bytes));
  to->heal();
  return Status::success();
}

Status Device::launch(const BufferRef &program, uint64_t jobOffset, uint64_t jobBytes,
                      const std::vector<BufferRef> &segments, uint32_t flags) {
  std::vector<SegmentBinding> bindings(segments.size());
  for (size_t i = 0; i < segments.size(); ++i) {
    if (segments[i]) {
      SPYRE_RETURN_IF_ERROR(check(segments[i], "launch"));
      bindings[i] = {segments[i]->physicalAddress(), segments[i]->bytes()};
    }
  }
  if (!program || jobBytes == 0) {
    return launchBound(program, jobOffset, jobBytes, std::move(bindings), flags);
  }
  SPYRE_RETURN_IF_ERROR(check(program, "launch (program)"));
  const ProgramJob job = {jobOffset, jobBytes};
  const ProgramBinding binding = {program, {&job, 1}, bindings, segments, nullptr, 0};
  return runContained(binding, nullptr, [flags](const ProgramJob &) { return flags; });
}

Status Device::launchBound(const BufferRef &program, uint64_t jobOffset, uint64_t jobBytes,
                           std::vector<SegmentBinding> bindings, uint32_t flags,
                           std::optional<uint32_t> *containedPhase) {
  if (!program || jobBytes == 0) {
    return error<6104>("a launch needs a program: {}; load the program first",
                       program ? "its size is 0" : "the program segment is not bound");
  }
  SPYRE_RETURN_IF_ERROR(check(program, "launch (program)"));
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
  const LaunchTurn turn(*this);
  std::lock_guard lock(state->driverMutex);
  SPYRE_RETURN_IF_ERROR(check(program, "launch (program)"));
  if (state->pendingCount.load(std::memory_order_acquire) > 0) {
    state->discardPending();
    for (const SegmentBinding &binding : bindings) {
      SPYRE_RETURN_IF_ERROR(state->checkDiscarded(binding.physicalBase, binding.bytes));
    }
  }
  OperationContext *operation = currentOperation(*this);
  const uint64_t before = operation ? state->driver->counters().nanoseconds : 0;
  Status launched = state->driver->launch(address, jobBytes, bindings, flags);
  if (operation && launched.ok()) {
    operation->launchNanoseconds += state->driver->counters().nanoseconds - before;
  }
  if (containedPhase && !launched.ok()) {
    *containedPhase = state->driver->containedPhase();
  }
  return launched;
}

Device::LaunchTurn::LaunchTurn(Device &device) : device(device) {
  device.state->launchMutex.lock();
}
Device::LaunchTurn::~LaunchTurn() { device.state->launchMutex.unlock(); }

DeviceCounters Device::counters() const {
  std::lock_guard lock(state->driverMutex);
  return state->driver->counters();
}

void Device::resetCounters() {
  std::lock_guard lock(state->driverMutex);
  state->driver->resetCounters();
}

Streams &Device::streams() { return *state->streams; }

ThreadPool &Device::threadPool() {
  std::call_once(state->poolMade,
                 [&] { state->pool = std::make_unique<ThreadPool>(state->threads); });
  return *state->pool;
}

} // namespace spyre::runtime
