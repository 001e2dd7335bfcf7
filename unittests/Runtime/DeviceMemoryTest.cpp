//===- DeviceMemoryTest.cpp - memory behind queued work, pressure and reset -----------------===//
#include "FakeDriver.h"
#include "gtest/gtest.h"

#include <latch>
#include <thread>

using namespace spyre;
using namespace spyre::runtime;
using namespace spyre::test;

namespace {

constexpr uint64_t kHalf = kMemoryBytes / 2;

Operation holding(BufferRef buffer, std::function<void()> body = nullptr) {
  Operation operation;
  operation.name = "holding";
  operation.body = [body = std::move(body)](OperationContext &) {
    if (body) {
      body();
    }
    return Status::success();
  };
  operation.references.push_back(std::move(buffer));
  return operation;
}

/// The owner lets go of the buffer, as the deleter of a tensor does.
void dropBuffer(BufferRef &buffer) {
  buffer->abandon();
  buffer.reset();
}

/// Launches that have begun, and end when they may.
struct HeldLaunch {
  explicit HeldLaunch(FakeState &state) {
    state.onLaunch = [this] {
      started.count_down();
      mayEnd.wait();
    };
  }
  std::latch started{1}, mayEnd{1};
};

TEST(DeviceMemory, FreeingAndAllocatingDoNotWaitForALaunch) {
  FakeState state;
  auto device = makeDevice(state);
  HeldLaunch held(state);
  BufferRef program = *device->allocate(256), old = *device->allocate(256);
  const std::string ones(256, '\1');
  ASSERT_TRUE(device->copyToDevice(old, 0, ones.data(), ones.size()).ok());
  std::thread launcher([&] { EXPECT_TRUE(device->launch(program, 0, 128, {}).ok()); });
  held.started.wait();
  const uint64_t address = old->physicalAddress();
  old.reset();
  BufferRef fresh = *device->allocate(256);
  EXPECT_EQ(fresh->physicalAddress(), address);
  EXPECT_EQ(state.memory[address], 1) << "the launch runs, nothing was discarded";
  held.mayEnd.count_down();
  launcher.join();
  std::string read(256, '\2');
  ASSERT_TRUE(device->copyToHost(fresh, 0, read.data(), read.size()).ok());
  EXPECT_EQ(read, std::string(256, '\0')) << "before its first use";
}

TEST(DeviceMemory, ARangeThatCannotBeDiscardedIsNotUsed) {
  FakeState state;
  auto device = makeDevice(state);
  HeldLaunch held(state);
  BufferRef program = *device->allocate(256), old = *device->allocate(256);
  std::thread launcher([&] { EXPECT_TRUE(device->launch(program, 0, 128, {}).ok()); });
  held.started.wait();
  old.reset();
  BufferRef fresh = *device->allocate(256);
  held.mayEnd.count_down();
  launcher.join();
  state.onLaunch = nullptr;
  state.failDiscard = true;
  char byte = 0;
  EXPECT_EQ(device->copyToHost(fresh, 0, &byte, 1).code(), 6119);
  EXPECT_EQ(device->launch(program, 0, 128, {fresh}).code(), 6119);
  EXPECT_TRUE(device->launch(program, 0, 128, {}).ok()) << "others go on";
  state.failDiscard = false;
  EXPECT_TRUE(device->copyToHost(fresh, 0, &byte, 1).ok());
}

// One segment reaches over many buffers. Another thread frees one of them when all that was freed
// before is discarded and the launch has not begun.
TEST(DeviceMemory, ABufferFreedBesideALaunchIsNoFault) {
  FakeState state;
  auto device = makeDevice(state);
  HeldLaunch held(state);
  BufferRef program = *device->allocate(256), old = *device->allocate(256);
  BufferRef neighbour = *device->allocate(256), used = *device->allocate(256);
  std::thread launcher([&] { EXPECT_TRUE(device->launch(program, 0, 128, {}).ok()); });
  held.started.wait();
  const uint64_t address = old->physicalAddress();
  old.reset();
  held.mayEnd.count_down();
  launcher.join();
  state.onLaunch = nullptr;
  state.onDiscard = [&] {
    state.onDiscard = nullptr;
    std::thread([&] { neighbour.reset(); }).join();
  };
  const uint64_t end = used->physicalAddress() + used->bytes();
  const Status launched = device->launchBound(program, 0, 128, {{address, end - address}});
  EXPECT_TRUE(launched.ok()) << launched.message();
  EXPECT_EQ(neighbour, nullptr);
}

TEST(DeviceMemory, AbandonedBuffersAreFreeWhenTheirOperationsRetired) {
  FakeState state;
  auto device = makeDevice(state);
  std::latch mayEnd(1);
  BufferRef buffer = *device->allocate(1000);
  ASSERT_TRUE(device->streams().submit(1, holding(buffer, [&] { mayEnd.wait(); })).ok());
  dropBuffer(buffer);
  MemoryStats stats = device->memoryStats();
  EXPECT_EQ(stats.allocatedNow(), 0u);
  EXPECT_EQ(stats.active[kAllPools].current, 1);
  EXPECT_EQ(stats.activeBytes[kAllPools].current, 1024);
  EXPECT_STREQ(blockStateName(device->memorySnapshot().chunks[0].blocks[0].state),
               "active_pending_free");
  mayEnd.count_down();
  ASSERT_TRUE(device->streams().synchronize(1).ok());
  EXPECT_EQ(device->memoryStats().active[kAllPools].current, 0);
}

TEST(DeviceMemory, RecordStreamKeepsABufferForTheWorkOfThatStream) {
  FakeState state;
  auto device = makeDevice(state);
  std::latch mayEnd(1);
  ASSERT_TRUE(device->streams().submit(2, holding(nullptr, [&] { mayEnd.wait(); })).ok());
  BufferRef buffer = *device->allocate(1000);
  const uint64_t address = buffer->physicalAddress();
  ASSERT_TRUE(device->recordStream(buffer, 2).ok());
  dropBuffer(buffer);
  EXPECT_NE((*device->allocate(1000))->physicalAddress(), address);
  EXPECT_EQ(device->memoryStats().active[kAllPools].current, 1);
  mayEnd.count_down();
  ASSERT_TRUE(device->streams().synchronize(2).ok());
  EXPECT_EQ(device->memoryStats().active[kAllPools].current, 0);
  EXPECT_EQ((*device->allocate(1000))->physicalAddress(), address);
}

TEST(DeviceMemory, PressureWaitsForBuffersOfQueuedWork) {
  FakeState state;
  auto device = makeDevice(state);
  std::latch mayEnd(1);
  BufferRef buffer = *device->allocate(kHalf);
  ASSERT_TRUE(device->streams().submit(1, holding(buffer, [&] { mayEnd.wait(); })).ok());
  dropBuffer(buffer);
  // Not before somebody waits: the operation would be gone by then.
  std::thread opener([&] {
    while (device->memoryStats().numSyncAllStreams == 0) {
      std::this_thread::yield();
    }
    mayEnd.count_down();
  });
  Expected<BufferRef> large = device->allocate(kHalf + kHalf / 2);
  EXPECT_TRUE(large.ok()) << large.status().message();
  opener.join();
  EXPECT_EQ(device->memoryStats().numSyncAllStreams, 1);
  EXPECT_EQ(device->memoryStats().numOoms, 0);
}

// It would execute the others in its middle, with whatever locks it holds.
TEST(DeviceMemory, AnOperationThatAllocatesDoesNotWaitForOthers) {
  FakeState state;
  auto device = makeDevice(state);
  BufferRef held = *device->allocate(kHalf);
  std::latch started(1), submitted(1);
  int code = 0;
  bool otherRan = false, otherRanBefore = false;
  ASSERT_TRUE(device->streams()
                  .submit(1, holding(nullptr,
                                     [&] {
                                       started.count_down();
                                       submitted.wait();
                                       code = device->allocate(kHalf + 128).status().code();
                                       otherRanBefore = otherRan;
                                     }))
                  .ok());
  started.wait();
  ASSERT_TRUE(device->streams().submit(2, holding(held, [&] { otherRan = true; })).ok());
  dropBuffer(held);
  submitted.count_down();
  ASSERT_TRUE(device->streams().synchronizeAll().ok());
  EXPECT_EQ(code, 6102);
  EXPECT_FALSE(otherRanBefore);
  EXPECT_TRUE(device->allocate(kHalf + 128).ok());
}

TEST(DeviceMemory, PressureHandlersAreAskedInOrderWithoutALock) {
  FakeState state;
  auto device = makeDevice(state);
  BufferRef kept = *device->allocate(kHalf), other = *device->allocate(kHalf / 2);
  std::vector<int> calls;
  device->addPressureHandler([&] {
    calls.push_back(1);
    EXPECT_GT(device->memoryStats().allocatedNow(), 0u) << "no lock is held";
    other.reset();
  });
  device->addPressureHandler([&] {
    calls.push_back(2);
    kept.reset();
  });
  const uint64_t third = device->addPressureHandler([&] { calls.push_back(3); });
  Expected<BufferRef> large = device->allocate(kHalf + 128);
  ASSERT_TRUE(large.ok()) << large.status().message();
  EXPECT_EQ(calls, (std::vector<int>{1, 2})) << "until there is room";
  EXPECT_EQ(device->memoryStats().numAllocRetries, 1);
  device->removeHandler(third);
  EXPECT_EQ(device->allocate(kHalf).status().code(), 6102);
  EXPECT_EQ(calls, (std::vector<int>{1, 2, 1, 2}));
}

TEST(DeviceMemory, OutOfMemoryIsReportedOnceAndLeavesTheDeviceUsable) {
  FakeState state;
  auto device = makeDevice(state);
  device->setMemoryHistory(100);
  std::vector<OutOfMemory> reports;
  device->addOutOfMemoryObserver([&](const OutOfMemory &report) { reports.push_back(report); });
  std::vector<BufferRef> buffers;
  for (uint64_t i = 0; i < 4; ++i) {
    buffers.push_back(*device->allocate(kMemoryBytes / 4 - 128));
  }
  const MemoryStats before = device->memoryStats();
  Expected<BufferRef> refused = device->allocate(kHalf, MemoryKind::Tensor, 7);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), 6102);
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].requestedBytes, kHalf);
  EXPECT_EQ(reports[0].info.totalBytes, kMemoryBytes);
  EXPECT_EQ(device->memoryStats().numOoms, 1);
  EXPECT_EQ(device->memoryStats().allocatedBytes[kAllPools], before.allocatedBytes[kAllPools]);
  const std::vector<MemoryEvent> events = device->memorySnapshot().events;
  EXPECT_EQ(events.back().action, MemoryAction::Oom);
  EXPECT_EQ(events.back().bytes, kHalf);
  EXPECT_EQ(events.back().stream, 7u);
  buffers[0].reset();
  buffers[2].reset();
  refused = device->allocate(kHalf - 1024);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().text().find("in pieces"), std::string::npos)
      << refused.status().text();
  buffers[1].reset();
  EXPECT_TRUE(device->allocate(kHalf).ok());
  const std::string summary = device->memorySummary();
  EXPECT_NE(summary.find("out of memory 2"), std::string::npos) << summary;
  EXPECT_NE(summary.find("region 0 (all)"), std::string::npos) << summary;
}

TEST(DeviceMemory, ALimitIsAnOutOfMemoryErrorWithAdvice) {
  FakeState state;
  auto device = makeDevice(state);
  device->setMemoryLimit(1024);
  BufferRef first = *device->allocate(512);
  const Expected<BufferRef> refused = device->allocate(640);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), 6102);
  EXPECT_NE(refused.status().message().find("may use 1024 of"), std::string::npos)
      << refused.status().message();
  EXPECT_TRUE(device->allocate(512).ok());
  first.reset();
  EXPECT_TRUE(device->allocate(1024).ok());
  device->setMemoryLimit(UINT64_MAX);
  EXPECT_TRUE(device->allocate(kHalf).ok());
}

TEST(DeviceMemory, ManyThreadsMayRunOutOfMemoryTogether) {
  FakeState state;
  auto device = makeDevice(state);
  std::atomic<int> served{0}, refused{0};
  std::vector<std::thread> threads;
  for (int id = 0; id < 8; ++id) {
    threads.emplace_back([&] {
      std::vector<BufferRef> mine;
      for (int i = 0; i < 40; ++i) {
        Expected<BufferRef> buffer = device->allocate(kMemoryBytes / 64);
        if (buffer.ok()) {
          ++served;
          mine.push_back(*buffer);
        } else {
          ++refused;
          mine.clear();
        }
      }
    });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  EXPECT_EQ(served + refused, 320);
  EXPECT_EQ(device->memoryStats().numOoms, refused);
  EXPECT_EQ(device->memoryStats().active[kAllPools].current, 0);
  EXPECT_TRUE(device->allocate(kMemoryBytes - 128).ok());
}

TEST(DeviceMemory, ResetInvalidatesBuffersAndGivesTheirMemoryBack) {
  FakeState state, otherState;
  auto device = makeDevice(state), other = makeDevice(otherState);
  BufferRef elsewhere = *other->allocate(256);
  BufferRef old = *device->allocate(256), second = *device->allocate(kHalf);
  const std::string ones(256, '\1');
  ASSERT_TRUE(device->copyToDevice(old, 0, ones.data(), ones.size()).ok());
  Operation bad;
  bad.body = [](OperationContext &) { return Status(7002, "page fault"); };
  ASSERT_TRUE(device->streams().submit(3, std::move(bad)).ok());
  EXPECT_EQ(device->streams().synchronize(3).code(), 7002);
  EXPECT_EQ(device->generation(), 1u);
  ASSERT_TRUE(device->reset().ok());
  EXPECT_EQ(device->generation(), 2u);
  EXPECT_EQ(state.resets, 1);
  EXPECT_EQ(device->memoryStats().allocatedNow(), 0u);
  EXPECT_EQ(device->memoryStats().reservedBytes[kAllPools].current, 0);
  char byte = 0;
  for (const Status &status :
       {device->copyToDevice(old, 0, &byte, 1), device->copyToHost(old, 0, &byte, 1),
        device->copySticksToHost(old, 0, &byte, 1, nullptr), device->copyOnDevice(old, second, 128),
        device->launch(old, 0, 128, {})}) {
    EXPECT_EQ(status.code(), 6117) << status.message();
  }
  BufferRef fresh = *device->allocate(256);
  EXPECT_EQ(fresh->physicalAddress(), old->physicalAddress());
  EXPECT_EQ(device->launch(fresh, 0, 128, {old}).code(), 6117);
  std::string read(256, '\2');
  ASSERT_TRUE(device->copyToHost(fresh, 0, read.data(), read.size()).ok());
  EXPECT_EQ(read, std::string(256, '\0'));
  ASSERT_TRUE(device->copyToDevice(fresh, 0, ones.data(), ones.size()).ok());
  dropBuffer(old);
  second.reset();
  ASSERT_TRUE(device->copyToHost(fresh, 0, read.data(), read.size()).ok());
  EXPECT_EQ(read, ones) << "handles from before the reset free nothing";
  EXPECT_EQ(device->memoryStats().allocationsNow(), 1u);
  EXPECT_TRUE(device->streams().synchronize(3).ok());
  EXPECT_TRUE(other->copyToDevice(elsewhere, 0, &byte, 1).ok());
}

TEST(DeviceMemory, ResetsMayMeetOperationsAndAllocations) {
  FakeState state;
  auto device = makeDevice(state);
  std::atomic<bool> ends{false};
  std::atomic<int> rounds{0};
  std::vector<std::thread> threads;
  for (int id = 0; id < 3; ++id) {
    threads.emplace_back([&, id] {
      while (!ends) {
        Expected<BufferRef> buffer = device->allocate(4096);
        ASSERT_TRUE(buffer.ok());
        Operation writes = holding(*buffer);
        writes.body = [buffer = *buffer](OperationContext &context) {
          const Status written = context.device.copyToDevice(buffer, 0, "x", 1);
          return written.code() == 6117 ? Status::success() : written;
        };
        const Status submitted = device->streams().submit(StreamId(id), std::move(writes));
        ASSERT_TRUE(submitted.ok()) << submitted.message();
        dropBuffer(*buffer);
        ++rounds;
      }
    });
  }
  for (int resets = 0; resets < 10 || rounds < 200; ++resets) {
    ASSERT_TRUE(device->reset().ok());
  }
  ends = true;
  for (std::thread &thread : threads) {
    thread.join();
  }
  ASSERT_TRUE(device->streams().synchronizeAll().ok());
  EXPECT_EQ(device->memoryStats().active[kAllPools].current, 0);
}

TEST(DeviceMemory, LaunchesAndCopiesTellTheSimulatedClock) {
  FakeState state;
  state.nanosecondsPerLaunch = 700;
  auto device = makeDevice(state);
  BufferRef program = *device->allocate(256), data = *device->allocate(64000);
  std::vector<TimelineRecord> records;
  device->streams().setTimelineObserver(
      [&](const TimelineRecord &record) { records.push_back(record); });
  Operation launches;
  launches.body = [&](OperationContext &context) -> Status {
    SPYRE_RETURN_IF_ERROR(context.device.launch(program, 0, 128, {}));
    return context.device.launch(program, 0, 128, {});
  };
  ASSERT_TRUE(device->streams().run(0, std::move(launches)).ok());
  std::vector<char> host(64000);
  Operation copies;
  copies.engine = Engine::HostToDevice;
  copies.body = [&](OperationContext &context) {
    return context.device.copyToDevice(data, 0, host.data(), host.size());
  };
  ASSERT_TRUE(device->streams().run(0, std::move(copies)).ok());
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].endNanoseconds, 1400u);
  EXPECT_EQ(records[1].startNanoseconds, 1400u);
  EXPECT_EQ(records[1].bytes, 64000u);
  EXPECT_EQ(records[1].endNanoseconds, 1400u + 2000 + 64000 / 32);
}

} // namespace
