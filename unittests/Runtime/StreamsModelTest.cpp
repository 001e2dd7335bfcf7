//===- StreamsModelTest.cpp - random programs on streams against a sequential model ---------===//
//
// A program is a list of operations, records and waits on random streams, some of which fail. Which
// operations run does not depend on the order in which streams get their turn, so a model that goes
// through the program once knows it; the order itself is held against what streams and events
// promise.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Random.h"

#include "FakeDriver.h"
#include "gtest/gtest.h"

#include <latch>
#include <set>

using namespace spyre;
using namespace spyre::runtime;
using namespace spyre::test;

namespace {

struct Step {
  enum class Kind { Run, Fail, Record, Wait };
  Kind kind;
  StreamId stream;
  /// Of a record or wait.
  size_t event = 0;
};

std::vector<Step> randomProgram(Random &random) {
  std::vector<StreamId> streams;
  for (uint64_t i = 0, count = 1 + random.below(8); i < count; ++i) {
    streams.push_back(StreamId(1 + random.below(kStreamCount - 1)));
  }
  const uint64_t events = 1 + random.below(4);
  const bool fails = random.below(2) == 0;
  std::vector<Step> program;
  for (uint64_t i = 0, count = 20 + random.below(150); i < count; ++i) {
    const StreamId stream = streams[random.below(streams.size())];
    const uint64_t choice = random.below(100);
    Step::Kind kind = Step::Kind::Run;
    if (choice < 20) {
      kind = Step::Kind::Record;
    } else if (choice < 40) {
      kind = Step::Kind::Wait;
    } else if (choice < 43 && fails) {
      kind = Step::Kind::Fail;
    }
    program.push_back({kind, stream, size_t(random.below(events))});
  }
  return program;
}

/// What the sequential model knows of one point of a stream.
struct Point {
  bool isFailed = false;
  /// Operations that are done before it.
  std::set<size_t> before;
};

struct Model {
  std::set<size_t> ran;
  /// Of each operation that ran: those that must have come first.
  std::map<size_t, std::set<size_t>> before;
  std::map<StreamId, Point> streams;
};

Model runModel(const std::vector<Step> &program) {
  Model model;
  std::map<size_t, Point> events;
  for (size_t i = 0; i < program.size(); ++i) {
    const Step &step = program[i];
    Point &stream = model.streams[step.stream];
    switch (step.kind) {
    case Step::Kind::Record:
      events[step.event] = stream;
      break;
    case Step::Kind::Wait:
      if (auto event = events.find(step.event); event != events.end() && !stream.isFailed) {
        stream.isFailed = event->second.isFailed;
        stream.before.insert(event->second.before.begin(), event->second.before.end());
      }
      break;
    case Step::Kind::Run:
    case Step::Kind::Fail:
      if (!stream.isFailed) {
        model.ran.insert(i);
        model.before[i] = stream.before;
        stream.before.insert(i);
        stream.isFailed = step.kind == Step::Kind::Fail;
      }
      break;
    }
  }
  return model;
}

void checkProgram(uint64_t seed, bool isGated) {
  Random random(seed);
  const std::vector<Step> program = randomProgram(random);
  const Model model = runModel(program);
  FakeState state;
  auto device = makeDevice(state);
  Streams &streams = device->streams();
  std::latch reached(1), opened(isGated ? 1 : 0);
  std::vector<size_t> order;
  std::vector<TimelineRecord> records;
  streams.setTimelineObserver([&](const TimelineRecord &record) { records.push_back(record); });
  Operation gate;
  gate.name = "gate";
  gate.body = [&](OperationContext &) {
    reached.count_down();
    opened.wait();
    return Status::success();
  };
  ASSERT_TRUE(streams.submit(kDefaultStream, std::move(gate)).ok());
  reached.wait();
  std::vector<EventRef> events;
  for (size_t i = 0; i < 4; ++i) {
    events.push_back(std::make_shared<Event>(true));
  }
  for (size_t i = 0; i < program.size(); ++i) {
    const Step &step = program[i];
    // A stream may already be in error while the program is submitted; the model knows it as well.
    Status status = Status::success();
    if (step.kind == Step::Kind::Record) {
      status = streams.recordEvent(events[step.event], step.stream);
    } else if (step.kind == Step::Kind::Wait) {
      status = streams.waitEvent(step.stream, events[step.event]);
    } else {
      Operation operation;
      operation.engine = Engine(random.below(kEngineCount));
      operation.body = [&order, i, fails = step.kind == Step::Kind::Fail,
                        nanoseconds = random.below(1000)](OperationContext &context) {
        order.push_back(i);
        context.addNanoseconds(nanoseconds);
        return fails ? Status(7002, "told to fail") : Status::success();
      };
      status = streams.submit(step.stream, std::move(operation));
    }
    if (isGated) {
      EXPECT_TRUE(status.ok()) << status.message();
    }
  }
  if (isGated) {
    opened.count_down();
  }
  for (const auto &[stream, point] : model.streams) {
    ASSERT_EQ(streams.synchronize(stream).ok(), !point.isFailed) << seed << " stream " << stream;
  }
  const Status ignored = streams.synchronizeAll();
  (void)ignored;
  ASSERT_EQ(std::set<size_t>(order.begin(), order.end()), model.ran) << "seed " << seed;
  ASSERT_EQ(order.size(), model.ran.size()) << "seed " << seed << ": something ran twice";
  std::set<size_t> done;
  for (size_t i : order) {
    const std::set<size_t> &before = model.before.at(i);
    ASSERT_TRUE(std::includes(done.begin(), done.end(), before.begin(), before.end()))
        << "seed " << seed << " operation " << i << " came too early";
    done.insert(i);
  }
  // On the simulated clock neither a stream nor an engine does two things at once.
  std::map<StreamId, uint64_t> streamEnd;
  std::map<Engine, uint64_t> engineEnd;
  for (const TimelineRecord &record : records) {
    ASSERT_GE(record.startNanoseconds, streamEnd[record.stream]) << "seed " << seed;
    streamEnd[record.stream] = record.endNanoseconds;
    if (record.engine != Engine::Host && !record.isFailed) {
      ASSERT_GE(record.startNanoseconds, engineEnd[record.engine]) << "seed " << seed;
      engineEnd[record.engine] = record.endNanoseconds;
    }
  }
}

TEST(StreamsModel, QueuedProgramsRunAsTheModelSays) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    ASSERT_NO_FATAL_FAILURE(checkProgram(seed, true));
  }
}

TEST(StreamsModel, ProgramsMayRunWhileTheyAreSubmitted) {
  for (uint64_t seed = 1000; seed < 1300; ++seed) {
    ASSERT_NO_FATAL_FAILURE(checkProgram(seed, false));
  }
}

} // namespace
