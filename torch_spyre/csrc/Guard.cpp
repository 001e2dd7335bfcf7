//===- Guard.cpp - current device, streams and events for torch -----------------------------===//
//
// Every operation has finished when its call returns, so a stream is a number and an event a time
// stamp of the simulated clock; the pool has the documented shape (0 default, 1-32 low priority,
// 33-64 high) so that programs written for it run unchanged.
//===--------------------------------------------------------------------------------------------===//
#include "Guard.h"

#include "RuntimeState.h"
#include "Types.h"
#include "c10/core/impl/DeviceGuardImplInterface.h"

#include <array>
#include <atomic>

namespace spyre::plugin {

namespace {

constexpr c10::DeviceType kType = c10::DeviceType::PrivateUse1;
constexpr uint32_t kStreamsPerPriority = 32;

/// -1 until the thread chooses: the process's default then.
thread_local c10::DeviceIndex currentIndex = -1;
thread_local std::array<c10::StreamId, runtime::kMaxCards> currentStreamIds = {};

uint64_t simulatedNs(c10::DeviceIndex index) {
  return deviceStarted(index) ? device(index)->counters().nanoseconds : 0;
}

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
  static std::atomic<uint32_t> next[runtime::kMaxCards][2] = {};
  const c10::DeviceIndex index = checkedIndex(where.index());
  uint32_t slot = next[size_t(index)][highPriority ? 1 : 0]++ % kStreamsPerPriority;
  return makeStream(index, 1 + slot + (highPriority ? kStreamsPerPriority : 0));
}

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
    currentStreamIds[size_t(previous.device_index())] = stream.id();
    return previous;
  }
  bool queryStream(const c10::Stream &) const override { return true; }
  void synchronizeStream(const c10::Stream &) const override {}
  void synchronizeDevice(const c10::DeviceIndex) const override {}

  void record(void **event, const c10::Stream &stream, const c10::DeviceIndex,
              const c10::EventFlag) const override {
    if (*event == nullptr) {
      *event = new uint64_t(0);
    }
    *static_cast<uint64_t *>(*event) = simulatedNs(stream.device_index());
  }
  void destroyEvent(void *event, const c10::DeviceIndex) const noexcept override {
    delete static_cast<uint64_t *>(event);
  }
  void block(void *, const c10::Stream &) const override {}
  bool queryEvent(void *) const override { return true; }
  void synchronizeEvent(void *) const override {}
  double elapsedTime(void *first, void *second, const c10::DeviceIndex) const override {
    TORCH_CHECK(first != nullptr && second != nullptr,
                "Both events must be recorded before calculating elapsed time.");
    constexpr double kNsPerMs = 1e6;
    return (double(*static_cast<uint64_t *>(second)) - double(*static_cast<uint64_t *>(first))) /
           kNsPerMs;
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

C10_REGISTER_GUARD_IMPL(PrivateUse1, GuardImpl)

} // namespace spyre::plugin
