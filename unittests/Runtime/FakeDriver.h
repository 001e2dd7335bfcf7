//===- FakeDriver.h - a card in a vector, that fails and waits on command -------------------===//
#pragma once

#include "spyre/Runtime/Device.h"

#include <cstring>

namespace spyre::test {

constexpr uint64_t kMemoryBytes = 8 << 20;

/// Memory in a vector, shared with the test.
struct FakeState {
  std::vector<char> memory = std::vector<char>(kMemoryBytes);
  std::vector<std::vector<runtime::SegmentBinding>> launches;
  std::vector<uint32_t> launchFlags;
  std::vector<uint64_t> programAddresses;
  uint64_t largestTransferBytes = 0;
  bool failDiscard = false;
  bool destroyed = false;
  /// Called by each launch, before it returns.
  std::function<void()> onLaunch;
  /// Called by each discard, after it.
  std::function<void()> onDiscard;
  uint64_t nanosecondsPerLaunch = 0;
  int resets = 0;
};

class FakeDriver final : public runtime::Driver {
public:
  explicit FakeDriver(FakeState &state) : state(state) {
    deviceDesc.name = "fake";
    deviceDesc.ddrBytes = kMemoryBytes;
  }
  ~FakeDriver() override { state.destroyed = true; }
  const char *name() const override { return "fake"; }
  const arch::DeviceDesc &desc() const override { return deviceDesc; }
  Status write(uint64_t address, const void *data, uint64_t bytes) override {
    state.largestTransferBytes = std::max(state.largestTransferBytes, bytes);
    std::memcpy(state.memory.data() + address, data, bytes);
    return Status::success();
  }
  Status read(uint64_t address, void *data, uint64_t bytes) override {
    std::memcpy(data, state.memory.data() + address, bytes);
    return Status::success();
  }
  Status discard(uint64_t address, uint64_t bytes) override {
    if (state.failDiscard) {
      return Status(6106, "told to fail");
    }
    std::memset(state.memory.data() + address, 0, bytes);
    if (state.onDiscard) {
      state.onDiscard();
    }
    return Status::success();
  }
  Status launch(uint64_t address, uint64_t, const std::vector<runtime::SegmentBinding> &segments,
                uint32_t flags) override {
    state.programAddresses.push_back(address);
    state.launchFlags.push_back(flags);
    state.launches.push_back(segments);
    if (state.onLaunch) {
      state.onLaunch();
    }
    return Status::success();
  }
  runtime::DeviceCounters counters() const override {
    runtime::DeviceCounters counters;
    counters.launches = state.launches.size();
    counters.nanoseconds = counters.launches * state.nanosecondsPerLaunch;
    return counters;
  }
  void resetCounters() override { state.launches.clear(); }
  Status reset() override {
    ++state.resets;
    return Status::success();
  }

private:
  FakeState &state;
  arch::DeviceDesc deviceDesc;
};

inline std::shared_ptr<runtime::Device> makeDevice(FakeState &state) {
  return runtime::Device::create(std::make_unique<FakeDriver>(state));
}

} // namespace spyre::test
