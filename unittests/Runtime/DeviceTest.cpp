//===- DeviceTest.cpp - what Device adds to a driver ----------------------------------------===//
//
// Behaviour every driver must show is in conformance/; here a driver made for the test records what
// it is asked and fails on command.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Runtime/Device.h"

#include "gtest/gtest.h"

#include <cstring>

using namespace spyre;
using namespace spyre::runtime;

namespace {

constexpr uint64_t kMemoryBytes = 8 << 20;

/// Memory in a vector, shared with the test.
struct FakeState {
  std::vector<char> memory = std::vector<char>(kMemoryBytes);
  std::vector<std::vector<SegmentBinding>> launches;
  std::vector<uint32_t> launchFlags;
  std::vector<uint64_t> programAddresses;
  uint64_t largestTransferBytes = 0;
  bool failDiscard = false;
  bool destroyed = false;
};

class FakeDriver final : public Driver {
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
    return Status::success();
  }
  Status launch(uint64_t address, uint64_t, const std::vector<SegmentBinding> &segments,
                uint32_t flags) override {
    state.programAddresses.push_back(address);
    state.launchFlags.push_back(flags);
    state.launches.push_back(segments);
    return Status::success();
  }
  DeviceCounters counters() const override {
    DeviceCounters counters;
    counters.launches = state.launches.size();
    return counters;
  }
  void resetCounters() override { state.launches.clear(); }

private:
  FakeState &state;
  arch::DeviceDesc deviceDesc;
};

std::shared_ptr<Device> makeDevice(FakeState &state) {
  return Device::create(std::make_unique<FakeDriver>(state));
}

TEST(Device, BuffersKeepTheDeviceAlive) {
  FakeState state;
  auto device = makeDevice(state);
  BufferRef buffer = *device->allocate(256);
  device.reset();
  EXPECT_FALSE(state.destroyed);
  EXPECT_EQ(buffer->device().memoryStats().allocationsNow(), 1u);
  buffer.reset();
  EXPECT_TRUE(state.destroyed);
}

TEST(Device, StatisticsFollowAllocations) {
  FakeState state;
  auto device = makeDevice(state);
  BufferRef first = *device->allocate(1);
  BufferRef second = *device->allocate(129);
  EXPECT_EQ(device->memoryStats().allocatedNow(), 128u + 256u);
  first.reset();
  const MemoryStats stats = device->memoryStats();
  EXPECT_EQ(stats.allocatedNow(), 256u);
  EXPECT_EQ(stats.allocatedBytes[kAllPools].peak, 384);
  EXPECT_EQ(stats.allocationsNow(), 1u);
  EXPECT_EQ(stats.allocation[kAllPools].allocated, 2);
}

TEST(Device, OutOfMemoryNamesRequestedFreeAndLargest) {
  FakeState state;
  auto device = makeDevice(state);
  constexpr uint64_t kUsable = kMemoryBytes - 128;
  BufferRef low = *device->allocate(1024);
  BufferRef middle = *device->allocate(128);
  BufferRef high = *device->allocate(kUsable - 1024 - 128);
  low.reset();
  Expected<BufferRef> refused = device->allocate(2048);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), 6102);
  EXPECT_NE(
      refused.status().text().find("2048 bytes requested, 1024 free, largest free block 1024"),
      std::string::npos)
      << refused.status().text();
}

TEST(Device, LaunchMapsBuffersToSegmentsAndTheProgramToTheLast) {
  FakeState state;
  auto device = makeDevice(state);
  BufferRef program = *device->allocate(512), tensor = *device->allocate(256);
  ASSERT_TRUE(device->launch(program, 128, 256, {nullptr, tensor}, kNonTerminalLaunch).ok());
  ASSERT_EQ(state.launches.size(), 1u);
  EXPECT_EQ(state.launchFlags, std::vector<uint32_t>{kNonTerminalLaunch});
  const std::vector<SegmentBinding> &segments = state.launches[0];
  ASSERT_EQ(segments.size(), 8u);
  EXPECT_EQ(segments[0].bytes, 0u);
  EXPECT_EQ(segments[1].physicalBase, tensor->physicalAddress());
  EXPECT_EQ(segments[1].bytes, 256u);
  EXPECT_EQ(segments[7].physicalBase, program->physicalAddress());
  EXPECT_EQ(state.programAddresses[0], 0x1C00000000u + 128);
}

TEST(Device, RefusesBuffersOfAnotherDevice) {
  FakeState firstState, secondState;
  auto first = makeDevice(firstState), second = makeDevice(secondState);
  BufferRef mine = *first->allocate(128), other = *second->allocate(128);
  char byte = 0;
  EXPECT_EQ(first->copyToDevice(other, 0, &byte, 1).code(), 6105);
  EXPECT_EQ(first->copyToHost(other, 0, &byte, 1).code(), 6105);
  EXPECT_EQ(first->copyOnDevice(mine, other, 1).code(), 6105);
  EXPECT_EQ(first->launch(other, 0, 128, {}).code(), 6105);
  EXPECT_EQ(first->launch(mine, 0, 128, {other}).code(), 6105);
}

TEST(Device, CopiesOnDeviceThroughASmallBounceBuffer) {
  FakeState state;
  auto device = makeDevice(state);
  constexpr uint64_t kBytes = (3 << 20) + 640;
  std::vector<char> data(kBytes), back(kBytes);
  for (size_t i = 0; i < data.size(); ++i) {
    data[i] = char(i * 7 + i / 1000);
  }
  BufferRef from = *device->allocate(kBytes), to = *device->allocate(kBytes);
  std::memcpy(state.memory.data() + from->physicalAddress(), data.data(), kBytes);
  ASSERT_TRUE(device->copyOnDevice(from, to, kBytes).ok());
  ASSERT_TRUE(device->copyToHost(to, 0, back.data(), kBytes).ok());
  EXPECT_EQ(back, data);
  EXPECT_LE(state.largestTransferBytes, uint64_t(1) << 20);
}

TEST(Device, ABlockThatCannotBeDiscardedIsNotUsedAgain) {
  FakeState state;
  auto device = makeDevice(state);
  BufferRef buffer = *device->allocate(128);
  const uint64_t address = buffer->physicalAddress();
  state.failDiscard = true;
  buffer.reset();
  state.failDiscard = false;
  EXPECT_EQ(device->memoryStats().allocationsNow(), 0u);
  EXPECT_NE((*device->allocate(128))->physicalAddress(), address);
}

TEST(Device, UnknownDriversAreListed) {
  Expected<std::unique_ptr<Driver>> driver = createDriver("pcie", arch::DeviceDesc());
  ASSERT_FALSE(driver.ok());
  EXPECT_EQ(driver.status().code(), 6101);
  EXPECT_NE(driver.status().text().find("sim, null"), std::string::npos);
}

// The simulator's own codes reach the caller unchanged.
TEST(Device, ASimulatorFaultKeepsItsCode) {
  Expected<arch::DeviceDesc> desc = arch::DeviceDesc::preset("tiny");
  ASSERT_TRUE(desc.ok());
  Expected<std::unique_ptr<Driver>> driver = createDriver("sim", *desc, {1, true});
  ASSERT_TRUE(driver.ok()) << driver.status().message();
  char byte = 0;
  const Status status = (*driver)->read(uint64_t(desc->ddrBytes), &byte, 1);
  EXPECT_EQ(status.code() / 1000, 7) << status.message();
  EXPECT_EQ(status.text().find("SPYRE-"), std::string::npos) << status.text();
}

} // namespace
