//===- FillTest.cpp - fills, and who gets the driver when everybody wants it ----------------===//
#include "spyre/Runtime/ControlBlocks.h"
#include "spyre/Runtime/TensorTransfer.h"

#include "gtest/gtest.h"

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <thread>

using namespace spyre;
using namespace spyre::runtime;

namespace {

arch::DeviceDesc tinyDesc() { return *arch::DeviceDesc::preset("tiny"); }

std::shared_ptr<Device> simulatedDevice(const std::shared_ptr<ControlBlockLog> &log) {
  return Device::create(recordControlBlocks(*createDriver("sim", tinyDesc()), log));
}

StickFill halves(uint16_t value, size_t first, size_t count) {
  StickFill fill;
  for (size_t lane = 0; lane < 64; ++lane) {
    std::memcpy(fill.value.data() + 2 * lane, &value, sizeof(value));
    const bool isIn = lane >= first && lane < first + count;
    std::memset(fill.mask.data() + 2 * lane, isIn ? 0xFF : 0, 2);
  }
  return fill;
}

} // namespace

TEST(Fill, LanesLeaveTheirNeighboursAlone) {
  auto log = std::make_shared<ControlBlockLog>();
  auto device = simulatedDevice(log);
  const std::vector<int64_t> size = {3, 70}, stride = {70, 1};
  const auto layout = *layout::DeviceLayout::makeDefault(size, numerics::HostType::Int16);
  BufferRef buffer = *device->allocate(uint64_t(layout.bytes()));
  log->keep(10);
  // All rows, then elements 2..4 of row 1: stick 1 of the first column of sticks.
  ASSERT_TRUE(
      fillTensor(buffer, layout, size, stride, {{0, layout.sticks(), halves(7, 0, 64)}}).ok());
  ASSERT_TRUE(fillTensor(buffer, layout, size, stride, {{1, 1, halves(9, 2, 3)}}).ok());
  ASSERT_EQ(log->blocks().size(), 2u);
  EXPECT_EQ(log->blocks()[0].kind, ControlBlock::Kind::Fill);
  EXPECT_EQ(log->blocks()[0].bytes, uint64_t(layout.bytes()));

  std::vector<int16_t> values(3 * 70), expected(3 * 70, 7);
  std::fill_n(expected.begin() + 72, 3, int16_t(9));
  ASSERT_TRUE(downloadTensor(buffer, layout, stride,
                             {values.data(), numerics::HostType::Int16, size, stride})
                  .ok());
  EXPECT_EQ(values, expected);
}

TEST(Fill, RunsOutsideTheTensorAreRefused) {
  auto device = simulatedDevice(std::make_shared<ControlBlockLog>());
  const auto layout = *layout::DeviceLayout::makeDefault({64}, numerics::HostType::Int16);
  BufferRef buffer = *device->allocate(128);
  EXPECT_EQ(fillTensor(buffer, layout, {64}, {1}, {{1, 1, halves(1, 0, 64)}}).code(), 6103);
  EXPECT_EQ(fillTensor(nullptr, layout, {64}, {1}, {}).code(), 6105);
}

namespace {

/// Readers that leave only when the next one has come: with a lock that lets readers in while there
/// is one, nobody else ever gets it.
struct Relay {
  std::mutex mutex;
  std::condition_variable changed;
  int entered = 0;
  std::atomic<bool> isOver{false};

  void pass() {
    std::unique_lock lock(mutex);
    const int mine = ++entered;
    changed.notify_all();
    // A reader nobody follows has been cut off by somebody who waits for the lock alone.
    changed.wait_for(lock, std::chrono::milliseconds(200),
                     [&] { return entered > mine || isOver; });
  }
};

class RelayDriver final : public Driver {
public:
  explicit RelayDriver(Relay &relay) : deviceDesc(tinyDesc()), relay(relay) {}
  const char *name() const override { return "relay"; }
  const arch::DeviceDesc &desc() const override { return deviceDesc; }
  Status write(uint64_t, const void *, uint64_t) override { return Status::success(); }
  Status read(uint64_t, void *, uint64_t) override {
    relay.pass();
    return Status::success();
  }
  Status discard(uint64_t, uint64_t) override { return Status::success(); }
  Status launch(uint64_t, uint64_t, const std::vector<SegmentBinding> &, uint32_t) override {
    return Status::success();
  }
  DeviceCounters counters() const override { return {}; }
  void resetCounters() override {}

private:
  arch::DeviceDesc deviceDesc;
  Relay &relay;
};

} // namespace

TEST(FairLock, CopiesThatOverlapDoNotKeepALaunchOut) {
  Relay relay;
  auto device = Device::create(std::make_unique<RelayDriver>(relay));
  BufferRef buffer = *device->allocate(128), program = *device->allocate(128, MemoryKind::Program);
  constexpr int kMost = 2000;
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      char byte = 0;
      for (int n = 0; n < kMost && !relay.isOver; ++n) {
        (void)device->copyToHost(buffer, 0, &byte, 1);
      }
    });
  }
  {
    std::unique_lock lock(relay.mutex);
    relay.changed.wait(lock, [&] { return relay.entered > 5; });
  }
  EXPECT_TRUE(device->launch(program, 0, 128, {}).ok());
  int entered = 0;
  {
    std::lock_guard lock(relay.mutex);
    entered = relay.entered;
    relay.isOver = true;
    relay.changed.notify_all();
  }
  for (std::thread &reader : readers) {
    reader.join();
  }
  EXPECT_LT(entered, kMost) << "the launch had to wait for the last copy";
}
