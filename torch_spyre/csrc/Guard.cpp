//===- Guard.cpp - current device, streams and events for torch -----------------------------===//
//
// Streams and events are those of the runtime; torch knows them by number and by pointer. A device
// that was never used has no work, so asking about its streams does not open it.
//===--------------------------------------------------------------------------------------------===//
#include "Guard.h"

#include "Errors.h"
#include "Memory.h"
#include "RuntimeState.h"
#include "Types.h"
#include "Waits.h"
#include "c10/core/impl/DeviceGuardImplInterface.h"
#include "c10/util/Exception.h"

#include <algorithm>
#include <array>

namespace spyre::plugin {

namespace {

constexpr c10::DeviceType kType = c10::DeviceType::PrivateUse1;

/// -1 until the thread chooses: the process's default then.
thread_local c10::DeviceIndex currentIndex = -1;
thread_local std::array<c10::StreamId, runtime::kMaxCards> currentStreamIds = {};

/// The current device for -1. Throws E6509 when there is no such device.
c10::DeviceIndex checkedIndex(c10::DeviceIndex index) {
  if (index < 0) {
    return currentDevice();
  }
  checkDeviceIndex(index);
  return index;
}

c10::Stream makeStream(c10::DeviceIndex index, c10::StreamId id) {
  return c10::Stream(c10::Stream::UNSAFE, c10::Device(kType, checkedIndex(index)), id);
}

c10::Stream nextStream(c10::Device where, bool highPriority) {
  const c10::DeviceIndex index = checkedIndex(where.index());
  return makeStream(index, c10::StreamId(device(index)->streams().fromPool(highPriority)));
}

runtime::Streams &streamsOf(const c10::Stream &stream) {
  return device(stream.device_index())->streams();
}

runtime::StreamId idOf(const c10::Stream &stream) { return runtime::StreamId(stream.id()); }

/// What torch keeps as an event's pointer.
runtime::EventRef &eventOf(void *event) { return *static_cast<runtime::EventRef *>(event); }

struct GuardImpl final : public c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return kType; }
  /// What comes back has no index when the thread had not chosen: the guard restores that, and
  /// needs no default device to exist.
  c10::Device exchangeDevice(c10::Device next) const override {
    const c10::Device previous(kType, currentIndex);
    setDevice(next);
    return previous;
  }
  c10::Device getDevice() const override { return currentSpyre(); }
  void setDevice(c10::Device next) const override {
    if (next.has_index()) {
      setCurrentDevice(next.index());
    }
  }
  void uncheckedSetDevice(c10::Device next) const noexcept override { currentIndex = next.index(); }
  c10::DeviceIndex deviceCount() const noexcept override {
    return c10::DeviceIndex(plugin::deviceCount());
  }
  c10::DeviceCapability getDeviceCapability(c10::Device) const override {
    c10::DeviceCapability capability;
    capability.capability_data.capability_bits = 0;
    for (int i = 0; i < int(c10::NUMBER_OF_DEVICE_CAPABILITIES); ++i) {
      if (hostTypeOf(c10::ScalarType(i))) {
        capability.capability_data.capability_bits |= uint64_t(1) << i;
      }
    }
    return capability;
  }

  c10::Stream getStream(c10::Device where) const override {
    const c10::DeviceIndex index = checkedIndex(where.index());
    return makeStream(index, currentStreamIds[size_t(index)]);
  }
  c10::Stream getDefaultStream(c10::Device where) const override {
    return makeStream(where.index(), 0);
  }
  c10::Stream getStreamFromGlobalPool(c10::Device where, bool highPriority) const override {
    return nextStream(where, highPriority);
  }
  c10::Stream getNewStream(c10::Device where, int priority) const override {
    return nextStream(where, priority != 0);
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    c10::Stream previous = getStream(stream.device());
    // Numbers that a stream cannot have stay out of range when they become shorter.
    const auto number = std::min<uint64_t>(uint64_t(stream.id()), UINT32_MAX);
    check(runtime::checkStreamId(runtime::StreamId(number)));
    currentStreamIds[size_t(previous.device_index())] = stream.id();
    return previous;
  }
  bool queryStream(const c10::Stream &stream) const override {
    return !deviceStarted(stream.device_index()) || check(streamsOf(stream).query(idOf(stream)));
  }
  void synchronizeStream(const c10::Stream &stream) const override {
    if (deviceStarted(stream.device_index())) {
      noteWait("Stream.synchronize()");
      check(streamsOf(stream).synchronize(idOf(stream)));
    }
  }
  void synchronizeDevice(const c10::DeviceIndex index) const override {
    noteWait("synchronize()");
    plugin::synchronizeDevice(checkedIndex(index));
  }
  void recordDataPtrOnStream(const c10::DataPtr &data, const c10::Stream &stream) const override {
    deviceAllocator().recordStream(data, stream);
  }

  void record(void **event, const c10::Stream &stream, const c10::DeviceIndex,
              const c10::EventFlag flag) const override {
    if (*event == nullptr) {
      const bool timing = flag == c10::EventFlag::BACKEND_DEFAULT;
      *event = new runtime::EventRef(std::make_shared<runtime::Event>(timing));
    }
    check(streamsOf(stream).recordEvent(eventOf(*event), idOf(stream)));
  }
  void destroyEvent(void *event, const c10::DeviceIndex) const noexcept override {
    delete static_cast<runtime::EventRef *>(event);
  }
  void block(void *event, const c10::Stream &stream) const override {
    if (event != nullptr) {
      check(streamsOf(stream).waitEvent(idOf(stream), eventOf(event)));
    }
  }
  bool queryEvent(void *event) const override {
    return event == nullptr || check(eventOf(event)->query());
  }
  void synchronizeEvent(void *event) const override {
    if (event != nullptr) {
      noteWait("Event.synchronize()");
      check(eventOf(event)->synchronize());
    }
  }
  double elapsedTime(void *first, void *second, const c10::DeviceIndex) const override {
    TORCH_CHECK(first != nullptr && second != nullptr,
                "Both events must be recorded before calculating elapsed time.");
    return check(runtime::Event::elapsedMilliseconds(*eventOf(first), *eventOf(second)));
  }
};

} // namespace

c10::DeviceIndex currentDevice() {
  return currentIndex >= 0 ? currentIndex : c10::DeviceIndex(defaultDevice());
}

c10::Device withIndex(std::optional<c10::Device> device) {
  return {kType, checkedIndex(device ? device->index() : c10::DeviceIndex(-1))};
}

void setCurrentDevice(c10::DeviceIndex index) {
  checkDeviceIndex(index);
  currentIndex = index;
}

runtime::StreamId currentStream(c10::DeviceIndex index) {
  return runtime::StreamId(currentStreamIds[size_t(index)]);
}

void synchronizeDevice(c10::DeviceIndex index) {
  if (index >= 0) {
    checkDeviceIndex(index);
  }
  for (int i = 0; i < deviceCount(); ++i) {
    const auto each = c10::DeviceIndex(i);
    if ((index < 0 || index == each) && deviceStarted(each)) {
      check(device(each)->streams().synchronizeAll());
    }
  }
  publishUse(/*isIdle=*/true);
}

C10_REGISTER_GUARD_IMPL(PrivateUse1, GuardImpl)

} // namespace spyre::plugin
