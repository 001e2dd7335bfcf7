//===- Streams.cpp - asynchronous work, errors and reset on every driver --------------------===//
#include "Conformance.h"

#include <latch>

using namespace spyre;
using namespace spyre::runtime;

namespace spyre::conformance {

class StreamWork : public ConformanceTest {
protected:
  Status submitAdd(StreamId stream, const BufferRef &program, const BufferRef &left,
                   const BufferRef &right, const BufferRef &out) {
    Operation operation;
    operation.name = "add";
    operation.references = {program, left, right, out};
    operation.body = [program, left, right, out, bytes = programBytes](OperationContext &context) {
      return context.device.launch(program, 0, bytes, {left, right, out});
    };
    return device->streams().submit(stream, std::move(operation));
  }
  Status submitRead(StreamId stream, const BufferRef &from,
                    std::shared_ptr<std::vector<uint16_t>> to) {
    Operation operation;
    operation.name = "read";
    operation.engine = Engine::DeviceToHost;
    operation.body = [from, to](OperationContext &context) {
      return context.device.copyToHost(from, 0, to->data(), to->size() * 2);
    };
    return device->streams().submit(stream, std::move(operation));
  }
};

// Inputs and program are let go right after the submission; the queue keeps them.
TEST_F(StreamWork, OperationsKeepWhatTheyUse) {
  BufferRef out = *device->allocate(256);
  auto host = std::make_shared<std::vector<uint16_t>>(128);
  const uint64_t kept = device->memoryStats().allocationsNow();
  std::latch mayStart(1);
  Operation gate;
  gate.body = [&](OperationContext &) {
    mayStart.wait();
    return Status::success();
  };
  ASSERT_TRUE(device->streams().submit(3, std::move(gate)).ok());
  {
    BufferRef program = loadAdd({0, 1, 2, 2, false});
    BufferRef left = filled(1.5f, 2), right = filled(2.25f, 2);
    ASSERT_TRUE(submitAdd(3, program, left, right, out).ok());
    ASSERT_TRUE(submitRead(3, out, host).ok());
    for (const BufferRef &buffer : {program, left, right}) {
      buffer->abandon();
    }
  }
  EXPECT_EQ(device->memoryStats().allocationsNow(), kept);
  EXPECT_EQ(device->memoryStats().active[kAllPools].current, int64_t(kept) + 3);
  BufferRef other = filled(9, 2);
  mayStart.count_down();
  const Status status = device->streams().synchronize(3);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(device->counters().launches, 1u);
  if (traits().computes) {
    EXPECT_EQ(numerics::dl16ToFloat((*host)[127]), 3.75f);
    EXPECT_GT(device->streams().deviceNanoseconds(), device->counters().nanoseconds);
  }
  EXPECT_EQ(device->memoryStats().active[kAllPools].current, int64_t(kept) + 1);
}

TEST_F(StreamWork, EventsOrderStreams) {
  BufferRef program = loadAdd({0, 1, 2, 1, false});
  BufferRef value = filled(1), next = *device->allocate(128);
  Streams &streams = device->streams();
  constexpr int kRounds = 12;
  // Each sum is made on another stream, from the one before.
  for (int round = 0; round < kRounds; ++round) {
    const StreamId stream = round % 2 == 0 ? streams.fromPool(false) : streams.fromPool(true);
    ASSERT_TRUE(submitAdd(stream, program, value, value, next).ok());
    EventRef event = *streams.recordEvent(stream, true);
    for (StreamId waiting = 0; waiting < kStreamCount; ++waiting) {
      ASSERT_TRUE(streams.waitEvent(waiting, event).ok());
    }
    std::swap(value, next);
    next = *device->allocate(128);
  }
  const Status status = streams.synchronizeAll();
  ASSERT_TRUE(status.ok()) << status.message();
  if (traits().computes) {
    EXPECT_EQ(lane(value, 5), 4096.0f);
  }
}

TEST_F(StreamWork, AFaultStaysOnItsStreamAndResetClearsIt) {
  BufferRef program = loadAdd({0, 1, 2, 1, false}), in = filled(1), out = *device->allocate(128);
  const Status outside = device->streams().submit(5, [&] {
    Operation operation;
    operation.name = "outside";
    operation.body = [in](OperationContext &context) {
      char byte = 0;
      return context.device.copyToHost(in, 1 << 20, &byte, 1);
    };
    return operation;
  }());
  ASSERT_TRUE(outside.ok());
  const Status fault = device->streams().synchronize(5);
  EXPECT_EQ(fault.code(), 6103);
  EXPECT_NE(fault.text().find("'outside' on stream 5"), std::string::npos) << fault.text();
  EXPECT_EQ(submitAdd(5, program, in, in, out).code(), 6103);
  ASSERT_TRUE(submitAdd(6, program, in, in, out).ok());
  EXPECT_TRUE(device->streams().synchronize(6).ok());
  ASSERT_TRUE(device->reset().ok());
  EXPECT_EQ(device->memoryStats().active[kAllPools].current, 0);
  ASSERT_TRUE(submitAdd(5, program, in, in, out).ok()) << "the stream works, its buffers do not";
  EXPECT_EQ(device->streams().synchronize(5).code(), 6117);
  ASSERT_TRUE(device->reset().ok());
  program = loadAdd({0, 1, 2, 1, false});
  in = filled(2);
  out = *device->allocate(128);
  if (traits().computes) {
    EXPECT_EQ(lane(out, 0), 0.0f) << "nothing of before is left";
  }
  ASSERT_TRUE(submitAdd(5, program, in, in, out).ok());
  ASSERT_TRUE(device->streams().synchronize(5).ok());
  if (traits().computes) {
    EXPECT_EQ(lane(out, 0), 4.0f);
  }
}

TEST_F(StreamWork, FreedMemoryIsFreshAlsoWhileLaunchesRun) {
  BufferRef program = loadAdd({0, 1, 2, 64, false});
  BufferRef in = filled(1, 64), out = *device->allocate(64 * 128);
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(submitAdd(1, program, in, in, out).ok());
    BufferRef dirty = filled(7, 4);
    const uint64_t address = dirty->physicalAddress();
    dirty.reset();
    BufferRef fresh = *device->allocate(512);
    ASSERT_EQ(fresh->physicalAddress(), address);
    if (traits().computes) {
      ASSERT_EQ(lane(fresh, 200), 0.0f) << round;
    }
  }
  ASSERT_TRUE(device->streams().synchronizeAll().ok());
}

} // namespace spyre::conformance
