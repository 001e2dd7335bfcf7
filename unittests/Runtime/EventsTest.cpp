//===- EventsTest.cpp - events, and the times they have on the simulated clock --------------===//
#include "StreamTools.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <map>

using namespace spyre;
using namespace spyre::runtime;
using namespace spyre::test;

namespace {

TEST(Events, OrderStreams) {
  auto device = makeNullDevice();
  Streams &streams = device->streams();
  Gate gate;
  Trace trace;
  ASSERT_OK(streams.submit(1, gate.operation()));
  ASSERT_OK(streams.submit(1, trace.add(1)));
  EventRef event = *streams.recordEvent(1, false);
  ASSERT_OK(streams.waitEvent(40, event));
  ASSERT_OK(streams.submit(40, trace.add(2)));
  EXPECT_FALSE(*event->query());
  gate.open();
  ASSERT_OK(streams.synchronize(40));
  EXPECT_EQ(trace.values, (std::vector<int>{1, 2}));
  EXPECT_TRUE(*event->query());
  ASSERT_OK(event->synchronize());
}

TEST(Events, OneThatWasNeverRecordedHoldsNobodyUp) {
  auto device = makeNullDevice();
  auto event = std::make_shared<Event>(true);
  EXPECT_TRUE(*event->query());
  ASSERT_OK(event->synchronize());
  ASSERT_OK(device->streams().waitEvent(1, event));
  ASSERT_OK(device->streams().run(1, takes("after", 1)));
  EXPECT_EQ(event->completionNanoseconds().status().code(), 6114);
  EXPECT_EQ(device->streams().recordEvent(nullptr, 1).code(), 6114);
  ASSERT_OK(device->streams().waitEvent(1, nullptr));
}

TEST(Events, AWaitKeepsTheRecordItSaw) {
  auto device = makeNullDevice();
  Streams &streams = device->streams();
  Gate first, second;
  Trace trace;
  auto event = std::make_shared<Event>(false);
  ASSERT_OK(streams.recordEvent(event, 1));
  ASSERT_OK(streams.waitEvent(2, event));
  ASSERT_OK(streams.submit(1, first.operation()));
  ASSERT_OK(streams.submit(1, trace.add(1)));
  ASSERT_OK(streams.recordEvent(event, 1));
  ASSERT_OK(streams.submit(2, trace.add(2)));
  ASSERT_OK(streams.waitEvent(3, event));
  ASSERT_OK(streams.submit(3, trace.add(3)));
  first.open();
  ASSERT_OK(streams.synchronize(3));
  ASSERT_OK(streams.synchronizeAll());
  ASSERT_EQ(trace.values.size(), 3u);
  EXPECT_LT(std::find(trace.values.begin(), trace.values.end(), 1),
            std::find(trace.values.begin(), trace.values.end(), 3));
}

// Each stream waits for the other: what is waited for was always submitted first.
TEST(Events, MutualWaitsDoNotDeadlock) {
  auto device = makeNullDevice();
  Streams &streams = device->streams();
  Trace trace;
  auto a = std::make_shared<Event>(false), b = std::make_shared<Event>(false);
  for (int round = 0; round < 100; ++round) {
    ASSERT_OK(streams.waitEvent(1, b));
    ASSERT_OK(streams.waitEvent(2, a));
    ASSERT_OK(streams.submit(1, trace.add(1)));
    ASSERT_OK(streams.submit(2, trace.add(2)));
    ASSERT_OK(streams.recordEvent(a, 1));
    ASSERT_OK(streams.recordEvent(b, 2));
    // On itself, too.
    ASSERT_OK(streams.waitEvent(1, a));
  }
  ASSERT_OK(streams.synchronizeAll());
  EXPECT_EQ(trace.values.size(), 200u);
}

TEST(Events, WorkAcrossDevices) {
  auto first = makeNullDevice(), second = makeNullDevice();
  Gate gate;
  Trace trace;
  ASSERT_OK(first->streams().submit(0, gate.operation()));
  ASSERT_OK(first->streams().submit(0, trace.add(1)));
  EventRef there = *first->streams().recordEvent(0, false);
  ASSERT_OK(second->streams().waitEvent(0, there));
  ASSERT_OK(second->streams().submit(0, trace.add(2)));
  EventRef back = *second->streams().recordEvent(0, false);
  ASSERT_OK(first->streams().waitEvent(7, back));
  ASSERT_OK(first->streams().submit(7, trace.add(3)));
  gate.open();
  ASSERT_OK(first->streams().synchronizeAll());
  EXPECT_EQ(trace.values, (std::vector<int>{1, 2, 3}));
}

//===- Simulated time -------------------------------------------------------------------------===//

TEST(Timeline, CopiesOverlapCompute) {
  StreamOptions options;
  options.hostLinkBytesPerNanosecond = 10;
  options.hostLinkLatencyNanoseconds = 100;
  auto device = makeNullDevice(options);
  Streams &streams = device->streams();
  std::mutex mutex;
  std::vector<TimelineRecord> records;
  streams.setTimelineObserver([&](const TimelineRecord &record) {
    std::lock_guard lock(mutex);
    records.push_back(record);
  });
  const auto copy = [](const char *name) {
    Operation operation = takes(name, 0, Engine::HostToDevice);
    operation.bytes = 9000;
    return operation;
  };
  ASSERT_OK(streams.submit(1, copy("copy a")));
  EventRef copied = *streams.recordEvent(1, true);
  ASSERT_OK(streams.submit(1, copy("copy b")));
  ASSERT_OK(streams.waitEvent(2, copied));
  ASSERT_OK(streams.submit(2, takes("kernel", 5000)));
  EventRef done = *streams.recordEvent(2, true);
  ASSERT_OK(streams.submit(3, takes("other kernel", 10)));
  ASSERT_OK(streams.synchronizeAll());
  std::map<std::string, std::pair<uint64_t, uint64_t>> spans;
  for (const TimelineRecord &record : records) {
    spans[record.name.c_str()] = {record.startNanoseconds, record.endNanoseconds};
    EXPECT_LE(record.hostSubmitNanoseconds, record.hostStartNanoseconds);
    EXPECT_LE(record.hostStartNanoseconds, record.hostEndNanoseconds);
  }
  using Span = std::pair<uint64_t, uint64_t>;
  EXPECT_EQ(spans["copy a"], Span(0, 1000));
  EXPECT_EQ(spans["copy b"], Span(1000, 2000)) << "one engine";
  EXPECT_EQ(spans["kernel"].first % 10, 0u);
  EXPECT_GE(spans["kernel"].first, 1000u);
  EXPECT_LT(spans["kernel"].first, spans["copy b"].second) << "beside the second copy";
  EXPECT_EQ(*done->completionNanoseconds(), spans["kernel"].second);
  EXPECT_DOUBLE_EQ(*Event::elapsedMilliseconds(*copied, *done),
                   double(spans["kernel"].second - 1000) / 1e6);
  EXPECT_DOUBLE_EQ(*Event::elapsedMilliseconds(*done, *copied),
                   -double(spans["kernel"].second - 1000) / 1e6);
  // The host has seen the end of it all, so nothing later can start before.
  const uint64_t end = streams.deviceNanoseconds();
  ASSERT_OK(streams.run(9, copy("late")));
  EXPECT_EQ(records.back().startNanoseconds, end);
  streams.setTimelineObserver(nullptr);
  ASSERT_OK(streams.run(9, copy("unseen")));
  EXPECT_STREQ(records.back().name.c_str(), "late");
}

TEST(Timeline, TimesNeedTimedEvents) {
  auto device = makeNullDevice();
  EventRef untimed = *device->streams().recordEvent(0, false);
  EXPECT_EQ(untimed->completionNanoseconds().status().code(), 6114);
  Gate gate;
  ASSERT_OK(device->streams().submit(0, gate.operation()));
  EventRef pending = *device->streams().recordEvent(0, true);
  EXPECT_EQ(pending->completionNanoseconds().status().code(), 6114);
  EXPECT_EQ(Event::elapsedMilliseconds(*untimed, *pending).status().code(), 6114);
  gate.open();
  ASSERT_OK(pending->synchronize());
  EXPECT_TRUE(pending->completionNanoseconds().ok());
}

// Simulated clocks of two devices begin when each is opened: their times are not compared.
TEST(Timeline, TimesOfDifferentDevicesAreNotCompared) {
  auto first = makeNullDevice(), second = makeNullDevice();
  Operation late = takes("late", 1'000'000);
  ASSERT_OK(first->streams().run(0, std::move(late)));
  EventRef there = *first->streams().recordEvent(0, true);
  EXPECT_EQ(*there->completionNanoseconds(), 1'000'000u);
  ASSERT_OK(second->streams().waitEvent(3, there));
  EventRef here = *second->streams().recordEvent(3, true);
  ASSERT_OK(here->synchronize());
  EXPECT_EQ(*here->completionNanoseconds(), 0u) << "waiting for another device takes no time here";
  const Status compared = Event::elapsedMilliseconds(*there, *here).status();
  EXPECT_EQ(compared.code(), 6114);
  EXPECT_NE(compared.text().find("different devices"), std::string::npos) << compared.text();
}

} // namespace
