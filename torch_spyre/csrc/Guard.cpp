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

#include <atomic>

namespace spyre::plugin {

namespace {

constexpr c10::DeviceType kType = c10::DeviceType::PrivateUse1;
constexpr uint32_t kStreamsPerPriority = 32;

thread_local c10::DeviceIndex currentIndex = 0;
thread_local c10::StreamId currentStreamId = 0;

uint64_t simulatedNs() { return deviceStarted() ? device()->counters().nanoseconds : 0; }

c10::Stream makeStream(c10::DeviceIndex index, c10::StreamId id) {
  return c10::Stream(c10::Stream::UNSAFE, c10::Device(kType, index < 0 ? 0 : index), id);
}

c10::Stream nextStream(c10::Device where, bool highPriority) {
  static std::atomic<uint32_t> next[2] = {0, 0};
  uint32_t slot = next[highPriority ? 1 : 0]++ % kStreamsPerPriority;
  return makeStream(where.index(), 1 + slot + (highPriority ? kStreamsPerPriority : 0));
}

struct GuardImpl final : public c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return kType; }
  c10::Device exchangeDevice(c10::Device next) const override {
    c10::Device previous = getDevice();
    setDevice(next);
    return previous;
  }
  c10::Device getDevice() const override { return {kType, currentIndex}; }
  void setDevice(c10::Device next) const override {
    if (next.has_index()) {
      setCurrentDevice(next.index());
    }
  }
  void uncheckedSetDevice(c10::Device next) const noexcept override {
    if (next.has_index()) {
      currentIndex = next.index();
    }
  }
  c10::DeviceIndex deviceCount() const noexcept override { return kDeviceCount; }
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
    return makeStream(where.index(), currentStreamId);
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
    currentStreamId = stream.id();
    return previous;
  }
  bool queryStream(const c10::Stream &) const override { return true; }
  void synchronizeStream(const c10::Stream &) const override {}
  void synchronizeDevice(const c10::DeviceIndex) const override {}

  void record(void **event, const c10::Stream &, const c10::DeviceIndex,
              const c10::EventFlag) const override {
    if (*event == nullptr) {
      *event = new uint64_t(0);
    }
    *static_cast<uint64_t *>(*event) = simulatedNs();
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

c10::DeviceIndex currentDevice() { return currentIndex; }

void setCurrentDevice(c10::DeviceIndex index) {
  checkDeviceIndex(index);
  currentIndex = index;
}

C10_REGISTER_GUARD_IMPL(PrivateUse1, GuardImpl)

} // namespace spyre::plugin
