//===- Hooks.cpp - what torch asks any accelerator ------------------------------------------===//
#include "ATen/detail/PrivateUse1HooksInterface.h"
#include "Errors.h"
#include "Generator.h"
#include "Guard.h"
#include "Memory.h"
#include "Pinned.h"
#include "RuntimeState.h"

namespace spyre::plugin {

namespace {

struct Hooks final : public at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return plugin::deviceCount() > 0; }
  bool hasPrimaryContext(c10::DeviceIndex index) const override {
    return deviceStarted(index < 0 ? currentDevice() : index);
  }
  void init() const override { initialise(); }

  c10::DeviceIndex deviceCount() const override { return c10::DeviceIndex(plugin::deviceCount()); }
  c10::DeviceIndex getCurrentDevice() const override { return currentDevice(); }
  void setCurrentDevice(c10::DeviceIndex index) const override { plugin::setCurrentDevice(index); }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex index) const override {
    c10::DeviceIndex previous = currentDevice();
    plugin::setCurrentDevice(index);
    return previous;
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex index) const override {
    return index < 0 ? currentDevice() : exchangeDevice(index);
  }

  const at::Generator &getDefaultGenerator(c10::DeviceIndex index) const override {
    return defaultGenerator(index);
  }
  at::Generator getNewGenerator(c10::DeviceIndex index) const override {
    return newGenerator(index);
  }

  at::Allocator *getPinnedMemoryAllocator() const override { return &pinnedAllocator(); }
  bool isPinnedPtr(const void *pointer) const override { return isPinned(pointer); }

  at::Device getDeviceFromPtr(void *pointer) const override {
    const Allocation *allocation = findAllocation(pointer);
    if (allocation == nullptr) {
      raise(
          error<6512>("the pointer does not belong to a Spyre storage; pass tensor.data_ptr() of a "
                      "live tensor"));
    }
    return {c10::DeviceType::PrivateUse1, allocation->deviceIndex};
  }
  void resizePrivateUse1Bytes(const c10::Storage &storage, size_t bytes) const override {
    resizeStorageBytes(storage, bytes);
  }
};

} // namespace

void registerHooks() {
  static Hooks *hooks = new Hooks();
  at::RegisterPrivateUse1HooksInterface(hooks);
  // torch.accelerator.empty_host_cache() takes the host allocator from torch's own table.
  pinnedAllocator();
}

} // namespace spyre::plugin
