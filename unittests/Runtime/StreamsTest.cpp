//===- StreamsTest.cpp - order, priorities, events and errors of streams --------------------===//
//
// The null driver is enough: what is tested is when bodies run, not what they compute. Operations
// are held back by gates, so that no test depends on how fast the host is.
//===--------------------------------------------------------------------------------------------===//
#include "StreamTools.h"
#include "gtest/gtest.h"

#include <future>
#include <stdexcept>
#include <thread>

using namespace spyre;
using namespace spyre::runtime;
using namespace spyre::test;

namespace {

TEST(Streams, PoolsGoRound) {
  auto device = makeNullDevice();
  for (int round = 0; round < 2; ++round) {
    for (StreamId i = 0; i < kPoolStreams; ++i) {
      EXPECT_EQ(device->streams().fromPool(false), 1 + i);
      EXPECT_EQ(device->streams().fromPool(true), 33 + i);
    }
  }
  EXPECT_FALSE(isHighPriority(0));
  EXPECT_FALSE(isHighPriority(32));
  EXPECT_TRUE(isHighPriority(33));
}

TEST(Streams, UnknownStreamsAreRefused) {
  auto device = makeNullDevice();
  Streams &streams = device->streams();
  EventRef event = *streams.recordEvent(0, false);
  EXPECT_EQ(streams.submit(65, {}).code(), 6116);
  EXPECT_EQ(streams.run(65, {}).code(), 6116);
  EXPECT_EQ(streams.query(65).status().code(), 6116);
  EXPECT_EQ(streams.synchronize(UINT32_MAX).code(), 6116);
  EXPECT_EQ(streams.recordEvent(event, 65).code(), 6116);
  EXPECT_EQ(streams.waitEvent(65, event).code(), 6116);
  EXPECT_EQ(streams.keepAlive(65, event).code(), 6116);
}

TEST(Streams, AStreamIsFirstInFirstOut) {
  auto device = makeNullDevice();
  Trace trace;
  std::vector<int> expected;
  for (int i = 0; i < 3000; ++i) {
    ASSERT_OK(device->streams().submit(5, trace.add(i)));
    expected.push_back(i);
  }
  ASSERT_OK(device->streams().synchronize(5));
  EXPECT_EQ(trace.values, expected);
  EXPECT_EQ(device->streams().retiredOperations(), 3000u);
}

TEST(Streams, SubmitReturnsBeforeTheWorkIsDone) {
  auto device = makeNullDevice();
  Gate gate;
  ASSERT_OK(device->streams().submit(1, gate.operation()));
  EXPECT_FALSE(*device->streams().query(1));
  EXPECT_TRUE(*device->streams().query(2));
  gate.open();
  ASSERT_OK(device->streams().synchronize(1));
  EXPECT_TRUE(*device->streams().query(1));
}

TEST(Streams, AHighStreamWaitsForAtMostTheRunningOperation) {
  auto device = makeNullDevice();
  Streams &streams = device->streams();
  Gate gate;
  Trace trace;
  ASSERT_OK(streams.submit(1, gate.operation()));
  for (int i = 0; i < 200; ++i) {
    ASSERT_OK(streams.submit(1, trace.add(i)));
  }
  ASSERT_OK(streams.submit(40, trace.add(-1)));
  gate.open();
  ASSERT_OK(streams.synchronizeAll());
  ASSERT_EQ(trace.values.size(), 201u);
  EXPECT_EQ(trace.values[0], -1);
}

TEST(Streams, StreamsOfOnePriorityTakeTurns) {
  auto device = makeNullDevice();
  Streams &streams = device->streams();
  Gate gate;
  Trace trace;
  ASSERT_OK(streams.submit(0, gate.operation()));
  gate.reached.wait();
  for (int i = 0; i < 3; ++i) {
    for (int stream : {3, 7, 31}) {
      ASSERT_OK(streams.submit(StreamId(stream), trace.add(stream)));
    }
  }
  gate.open();
  ASSERT_OK(streams.synchronizeAll());
  EXPECT_EQ(trace.values, (std::vector<int>{3, 7, 31, 3, 7, 31, 3, 7, 31}));
}

TEST(Streams, RunOnAnIdleDeviceStaysOnTheCallersThread) {
  auto device = makeNullDevice();
  std::thread::id ranOn;
  const auto body = [&] {
    ranOn = std::this_thread::get_id();
    return Status::success();
  };
  ASSERT_OK(device->streams().run(3, makeOperation("here", body)));
  EXPECT_EQ(ranOn, std::this_thread::get_id());
}

TEST(Streams, TheWorkerNeedsNobodyToWait) {
  auto device = makeNullDevice();
  std::latch ran(1);
  ASSERT_OK(device->streams().submit(3, makeOperation("there", [&] {
                                       ran.count_down();
                                       return Status::success();
                                     })));
  ran.wait();
}

TEST(Streams, RunComesAfterWhatIsQueued) {
  auto device = makeNullDevice();
  Gate gate;
  Trace trace;
  ASSERT_OK(device->streams().submit(0, gate.operation()));
  ASSERT_OK(device->streams().submit(0, trace.add(1)));
  std::thread opener([&] {
    gate.reached.wait();
    gate.open();
  });
  ASSERT_OK(device->streams().run(0, trace.add(2)));
  EXPECT_EQ(trace.values, (std::vector<int>{1, 2}));
  opener.join();
}

TEST(Streams, AFullQueueHoldsSubmittersBack) {
  StreamOptions options;
  options.maxQueued = 4;
  auto device = makeNullDevice(options);
  Gate gate;
  Trace trace;
  ASSERT_OK(device->streams().submit(0, gate.operation()));
  gate.reached.wait();
  std::atomic<int> submitted{0};
  std::thread submitter([&] {
    for (int i = 0; i < 50; ++i) {
      ASSERT_OK(device->streams().submit(0, trace.add(i)));
      ++submitted;
    }
  });
  while (submitted < 4) {
    std::this_thread::yield();
  }
  EXPECT_EQ(submitted, 4);
  gate.open();
  submitter.join();
  ASSERT_OK(device->streams().synchronizeAll());
  EXPECT_EQ(trace.values.size(), 50u);
}

TEST(Streams, ReferencesGoBeforeTheOperationCountsAsRetired) {
  auto device = makeNullDevice();
  Gate gate;
  auto value = std::make_shared<int>(1);
  ASSERT_OK(device->streams().submit(0, gate.operation()));
  Operation holds = makeOperation("holds", [] { return Status::success(); });
  holds.references.push_back(value);
  ASSERT_OK(device->streams().submit(0, std::move(holds)));
  ASSERT_OK(device->streams().keepAlive(0, value));
  EXPECT_EQ(value.use_count(), 3);
  gate.open();
  ASSERT_OK(device->streams().synchronize(0));
  EXPECT_EQ(value.use_count(), 1);
  ASSERT_OK(device->streams().keepAlive(0, value));
  EXPECT_EQ(value.use_count(), 1) << "an idle stream has nothing to wait for";
}

//===- Errors ---------------------------------------------------------------------------------===//

TEST(StreamErrors, StayOnTheirStreamUntilReset) {
  auto device = makeNullDevice();
  Streams &streams = device->streams();
  Gate gate;
  Trace trace;
  auto value = std::make_shared<int>(1);
  Operation holds = trace.add(1);
  holds.references.push_back(value);
  ASSERT_OK(streams.submit(4, gate.operation()));
  ASSERT_OK(streams.submit(4, failing(7002)));
  ASSERT_OK(streams.submit(4, std::move(holds)));
  EventRef event = *streams.recordEvent(4, true);
  ASSERT_OK(streams.submit(5, trace.add(5)));
  gate.open();
  const Status status = streams.synchronize(4);
  EXPECT_EQ(status.code(), 7002);
  for (const char *part :
       {"bad_kernel", "stream 4", "told to fail", "torch.spyre.reset_device()"}) {
    EXPECT_NE(status.text().find(part), std::string::npos) << status.text();
  }
  EXPECT_EQ(value.use_count(), 1) << "what was dropped lets go of its references";
  EXPECT_EQ(streams.submit(4, trace.add(2)).text(), status.text());
  EXPECT_EQ(streams.run(4, trace.add(2)).text(), status.text());
  EXPECT_EQ(streams.query(4).status().text(), status.text());
  EXPECT_EQ(streams.error(4).text(), status.text());
  EXPECT_EQ(event->query().status().code(), 7002);
  EXPECT_EQ(event->synchronize().code(), 7002);
  EXPECT_EQ(event->completionNanoseconds().status().code(), 7002);
  ASSERT_OK(streams.synchronize(5));
  EXPECT_EQ(streams.synchronizeAll().code(), 7002);
  EXPECT_EQ(trace.values, std::vector<int>{5});
  ASSERT_OK(streams.reset());
  ASSERT_OK(streams.run(4, trace.add(6)));
  EXPECT_EQ(trace.values, (std::vector<int>{5, 6}));
}

TEST(StreamErrors, ReachThoseWhoWaitForTheirEvents) {
  auto device = makeNullDevice();
  Streams &streams = device->streams();
  Gate gate;
  Trace trace;
  ASSERT_OK(streams.submit(1, gate.operation()));
  ASSERT_OK(streams.submit(1, failing()));
  EventRef event = *streams.recordEvent(1, false);
  ASSERT_OK(streams.waitEvent(2, event));
  ASSERT_OK(streams.submit(2, trace.add(1)));
  gate.open();
  const Status status = streams.synchronize(2);
  EXPECT_EQ(status.code(), 6106);
  EXPECT_NE(status.text().find("stream 2 waited for an event of stream 1"), std::string::npos)
      << status.text();
  EXPECT_TRUE(trace.values.empty());
}

TEST(StreamErrors, ExceptionsAreErrors) {
  auto device = makeNullDevice();
  Streams &streams = device->streams();
  const auto throws = [] {
    return makeOperation("thrower", []() -> Status { throw std::runtime_error("no such page"); });
  };
  ASSERT_OK(streams.submit(1, throws()));
  EXPECT_EQ(streams.synchronize(1).code(), 6110);
  EXPECT_NE(streams.error(1).text().find("no such page"), std::string::npos);
  EXPECT_EQ(streams.run(2, throws()).code(), 6110);
  EXPECT_EQ(streams.error(2).code(), 6110);
  ASSERT_OK(streams.submit(3, makeOperation("int", []() -> Status { throw 3; })));
  EXPECT_EQ(streams.synchronize(3).code(), 6110);
}

TEST(StreamErrors, ALocalErrorGoesToItsCallerAlone) {
  auto device = makeNullDevice();
  Operation refused = failing(6103);
  refused.isErrorLocal = true;
  EXPECT_EQ(device->streams().run(1, refused).code(), 6103);
  ASSERT_OK(device->streams().run(1, takes("fine", 1)));
  ASSERT_OK(device->streams().submit(1, refused));
  EXPECT_EQ(device->streams().synchronize(1).code(), 6103) << "nobody else would hear of it";
}

TEST(StreamErrors, ResetDropsWhatIsQueued) {
  auto device = makeNullDevice();
  Streams &streams = device->streams();
  Gate gate;
  Trace trace;
  ASSERT_OK(streams.submit(1, gate.operation()));
  gate.reached.wait();
  ASSERT_OK(streams.submit(1, trace.add(1)));
  ASSERT_OK(streams.submit(40, trace.add(2)));
  EventRef event = *streams.recordEvent(1, false);
  bool isStopped = false;
  std::thread opener([&] { gate.open(); });
  ASSERT_OK(streams.reset([&] { isStopped = true; }));
  opener.join();
  EXPECT_TRUE(isStopped);
  EXPECT_EQ(event->synchronize().code(), 6115);
  ASSERT_OK(streams.synchronizeAll());
  EXPECT_TRUE(trace.values.empty());
  ASSERT_OK(streams.run(1, trace.add(3)));
}

//===- Operations that use streams ------------------------------------------------------------===//

TEST(NestedOperations, MaySubmitRunAndSynchronize) {
  StreamOptions options;
  options.maxQueued = 2;
  auto device = makeNullDevice(options);
  Streams &streams = device->streams();
  Trace trace;
  const auto nested = [&]() -> Status {
    for (int i = 0; i < 8; ++i) {
      SPYRE_RETURN_IF_ERROR(streams.submit(2, trace.add(2)));
      SPYRE_RETURN_IF_ERROR(streams.submit(1, trace.add(9)));
    }
    SPYRE_RETURN_IF_ERROR(streams.run(1, trace.add(1)));
    SPYRE_RETURN_IF_ERROR(streams.run(2, trace.add(3)));
    SPYRE_RETURN_IF_ERROR(streams.synchronize(1));
    SPYRE_RETURN_IF_ERROR(streams.synchronizeAll());
    Expected<EventRef> event = streams.recordEvent(3, false);
    return event.ok() ? (*event)->synchronize() : event.status();
  };
  for (bool isInline : {true, false}) {
    trace.values.clear();
    if (isInline) {
      ASSERT_OK(streams.run(1, makeOperation("outer", nested)));
    } else {
      ASSERT_OK(streams.submit(1, makeOperation("outer", nested)));
    }
    // The first returns when the outer operation has retired, the second sees what it submitted.
    ASSERT_OK(streams.synchronizeAll());
    ASSERT_OK(streams.synchronizeAll());
    std::vector<int> expected{1};
    expected.insert(expected.end(), 8, 2);
    expected.push_back(3);
    expected.insert(expected.end(), 8, 9);
    EXPECT_EQ(trace.values, expected) << isInline;
  }
}

TEST(NestedOperations, ThatWaitForThemselvesGetAnError) {
  auto device = makeNullDevice();
  Streams &streams = device->streams();
  Status ofEvent = Status::success(), ofRun = Status::success(), ofReset = Status::success();
  bool ran = false;
  ASSERT_OK(streams.submit(1, makeOperation("outer", [&]() -> Status {
                             EventRef event = *streams.recordEvent(1, false);
                             ofEvent = event->synchronize();
                             SPYRE_RETURN_IF_ERROR(streams.waitEvent(2, event));
                             ofRun = streams.run(2, makeOperation("inner", [&] {
                                                   ran = true;
                                                   return Status::success();
                                                 }));
                             ofReset = streams.reset();
                             return Status::success();
                           })));
  ASSERT_OK(streams.synchronizeAll());
  EXPECT_EQ(ofEvent.code(), 6112);
  EXPECT_EQ(ofRun.code(), 6112);
  EXPECT_EQ(ofReset.code(), 6112);
  EXPECT_FALSE(ran) << "what was refused does not run later";
}

//===- Shutting down --------------------------------------------------------------------------===//

TEST(StreamShutdown, DropsWhatIsQueuedAndRefusesTheRest) {
  auto device = makeNullDevice();
  Gate gate;
  Trace trace;
  ASSERT_OK(device->streams().submit(0, gate.operation()));
  gate.reached.wait();
  ASSERT_OK(device->streams().submit(0, trace.add(1)));
  EventRef event = *device->streams().recordEvent(0, false);
  std::thread opener([&] { gate.open(); });
  device->streams().shutdown();
  opener.join();
  EXPECT_TRUE(trace.values.empty());
  EXPECT_EQ(event->synchronize().code(), 6113);
  EXPECT_EQ(device->streams().submit(0, trace.add(2)).code(), 6113);
  ASSERT_OK(device->streams().synchronizeAll());
}

TEST(StreamShutdown, TheLastHandleMayGoWithAnOperation) {
  for (bool isInline : {false, true}) {
    Gate gate;
    auto device = makeNullDevice();
    std::weak_ptr<Device> weak = device;
    Operation last = takes("last", 1);
    last.references.push_back(std::move(device));
    // Goes after the device, and tells us so: the gate must outlive the worker.
    auto done = std::make_shared<std::promise<void>>();
    std::future<void> isDone = done->get_future();
    last.references.push_back(
        std::shared_ptr<void>(nullptr, [done](void *) { done->set_value(); }));
    std::shared_ptr<Device> user = weak.lock();
    Streams &streams = user->streams();
    if (isInline) {
      Device *raw = user.get();
      user.reset();
      ASSERT_OK(raw->streams().run(0, std::move(last)));
    } else {
      ASSERT_OK(streams.submit(0, gate.operation()));
      ASSERT_OK(streams.submit(0, std::move(last)));
      user.reset();
      gate.open();
    }
    isDone.wait();
    EXPECT_TRUE(weak.expired());
  }
}

} // namespace
