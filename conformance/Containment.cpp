//===- Containment.cpp - faults that cost the results of their operation only ---------------===//
#include "Conformance.h"

#include <latch>

using namespace spyre;
using namespace spyre::runtime;

namespace spyre::conformance {

/// The driver under test, told to fail.
class Containment : public ConformanceTest {
protected:
  void SetUp() override {
    ConformanceTest::SetUp();
    device = Device::create(createFaultDriver(makeDriver(), injector));
    program = loadAdd({0, 1, 2, 1, false});
    in = filled(1.5f);
    out = *device->allocate(128);
  }

  Operation add(const BufferRef &left, const BufferRef &right, const BufferRef &to) {
    Operation operation;
    operation.name = "add";
    operation.location = std::make_shared<const std::string>("train.py:12");
    operation.body = [left, right, to, program = program,
                      bytes = programBytes](OperationContext &context) {
      return context.device.launch(program, 0, bytes, {left, right, to});
    };
    return operation;
  }
  /// Waits until it has run, and tells nobody.
  void runAdd(StreamId stream, const BufferRef &left, const BufferRef &right, const BufferRef &to) {
    ASSERT_TRUE(device->streams().submit(stream, add(left, right, to)).ok());
    ASSERT_TRUE(device->streams().finish(stream).ok());
  }
  void failInto(const BufferRef &to, StreamId stream = 5) {
    injector->arm({FaultKind::BadIndex, FaultTarget::Launch, 0, {}});
    runAdd(stream, in, in, to);
  }
  int codeOfReading(const BufferRef &buffer) {
    uint16_t bits = 0;
    return device->copyToHost(buffer, 0, &bits, sizeof(bits)).code();
  }
  void expectLane(const BufferRef &buffer, float value) {
    EXPECT_EQ(codeOfReading(buffer), 0);
    if (traits().computes) {
      EXPECT_EQ(lane(buffer, 0), value);
    }
  }

  std::shared_ptr<FaultInjector> injector = std::make_shared<FaultInjector>();
  BufferRef program, in, out;
};

TEST_F(Containment, AFaultIsToldOnceAndItsStreamGoesOn) {
  failInto(out);
  const Status told = device->streams().synchronize(5);
  EXPECT_EQ(told.code(), 6155);
  for (const char *part : {"operation 'add' at train.py:12 on stream 5", "all other data"}) {
    EXPECT_NE(told.text().find(part), std::string::npos) << told.text();
  }
  EXPECT_TRUE(device->streams().synchronize(5).ok());
  EXPECT_TRUE(device->streams().synchronizeAll().ok());
  in = filled(1.5f);
  BufferRef other = *device->allocate(128);
  runAdd(5, in, in, other);
  expectLane(other, 3);
}

/// A driver that keeps no memory keeps no program: all buffers of a failed launch count as written.
class ContainmentByProgram : public Containment {
protected:
  void SetUp() override {
    if (!traits().computes) {
      GTEST_SKIP() << "the driver keeps no programs";
    }
    Containment::SetUp();
  }
};

TEST_F(ContainmentByProgram, ResultsStayPoisonedAndOperandsReadable) {
  failInto(out);
  expectLane(in, 1.5f);
  for (int again = 0; again < 3; ++again) {
    EXPECT_EQ(codeOfReading(out), 6155);
  }
  EXPECT_TRUE(device->streams().synchronize(5).ok()) << "reading told the fault";
}

TEST_F(ContainmentByProgram, WhatReadsPoisonDoesNotRun) {
  failInto(out);
  BufferRef fresh = *device->allocate(128), copied = *device->allocate(128);
  runAdd(6, out, in, fresh);
  EXPECT_EQ(device->counters().launches, 0u);
  EXPECT_EQ(codeOfReading(fresh), 6155);
  EXPECT_EQ(device->copyOnDevice(out, copied, 128).code(), 6155);
  EXPECT_EQ(codeOfReading(copied), 6155);
  EXPECT_EQ(device->streams().error(6).code(), 0);
}

TEST_F(ContainmentByProgram, TargetsOfSkippedWritesKeepTheirContents) {
  BufferRef weight = filled(2);
  failInto(out);
  runAdd(5, out, in, weight);
  EXPECT_TRUE(weight->isPoisoned()) << "until somebody was told";
  EXPECT_EQ(device->streams().synchronize(5).code(), 6155);
  expectLane(weight, 2);
}

TEST_F(ContainmentByProgram, NewContentsHeal) {
  const std::vector<char> bytes(128);
  failInto(out);
  ASSERT_TRUE(device->copyToDevice(out, 0, bytes.data(), 64).ok());
  EXPECT_EQ(codeOfReading(out), 6155) << "half of it is still unusable";
  ASSERT_TRUE(device->copyToDevice(out, 0, bytes.data(), 128).ok());
  expectLane(out, 0);
  failInto(out);
  ASSERT_TRUE(device->copyOnDevice(in, out, 128).ok());
  expectLane(out, 1.5f);
}

TEST_F(ContainmentByProgram, WaitingDoesNotSpreadPoison) {
  Streams &streams = device->streams();
  failInto(out);
  const EventRef event = *streams.recordEvent(5, false);
  ASSERT_TRUE(streams.waitEvent(6, event).ok());
  BufferRef other = *device->allocate(128);
  runAdd(6, in, in, other);
  EXPECT_TRUE(streams.synchronize(6).ok());
  expectLane(other, 3);
  EXPECT_EQ(event->synchronize().code(), 6155) << "the host is told";
  EXPECT_TRUE(event->synchronize().ok()) << "once";
  EXPECT_TRUE(streams.synchronize(5).ok());
}

TEST_F(Containment, MemoryOfAFreedResultIsCleanAgain) {
  failInto(out);
  const uint64_t address = out->physicalAddress();
  out.reset();
  ASSERT_TRUE(device->streams().finish(5).ok());
  BufferRef next = *device->allocate(128);
  EXPECT_EQ(next->physicalAddress(), address);
  expectLane(next, 0);
}

TEST_F(ContainmentByProgram, RecoveryKeepsContentsUnlessAStreamIsInError) {
  failInto(out);
  ASSERT_TRUE(device->recover().ok());
  EXPECT_TRUE(device->streams().synchronizeAll().ok());
  expectLane(in, 1.5f);
  EXPECT_EQ(codeOfReading(out), 6155);
  injector->arm({FaultKind::Timeout, FaultTarget::Launch, 0, {}});
  ASSERT_TRUE(device->streams().submit(5, add(in, in, out)).ok());
  const Status lost = device->streams().synchronize(5);
  EXPECT_EQ(lost.code(), 6151);
  EXPECT_NE(lost.text().find("loses what its memory holds"), std::string::npos) << lost.text();
  ASSERT_TRUE(device->recover().ok());
  EXPECT_EQ(codeOfReading(in), 6117);
}

TEST_F(Containment, WhatADroppedOperationWasToWriteFirstCannotBeRead) {
  BufferRef weight = filled(2), fresh = *device->allocate(128);
  // The stream waits for another device, which does nothing until it may.
  const std::shared_ptr<Device> other = Device::create(makeDriver());
  std::latch mayGoOn(1);
  Operation gate;
  gate.body = [&](OperationContext &) {
    mayGoOn.wait();
    return Status::success();
  };
  ASSERT_TRUE(other->streams().submit(0, std::move(gate)).ok());
  ASSERT_TRUE(device->streams().waitEvent(5, *other->streams().recordEvent(0, false)).ok());
  for (const BufferRef &target : {weight, fresh}) {
    Operation copy;
    copy.target = target;
    copy.body = [](OperationContext &) -> Status {
      ADD_FAILURE() << "it was dropped";
      return Status::success();
    };
    ASSERT_TRUE(device->streams().submit(5, std::move(copy)).ok());
  }
  ASSERT_TRUE(device->recover().ok());
  mayGoOn.count_down();
  EXPECT_EQ(codeOfReading(fresh), 6115);
  expectLane(weight, 2);
}

} // namespace spyre::conformance
