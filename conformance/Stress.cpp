//===- Stress.cpp - many threads, all streams, everything checked ---------------------------===//
//
// Each thread allocates, copies, adds and reads back on random streams, orders them by events, and
// lets go of its buffers while they are queued. Every result is compared. Short by default; a
// minute with SPYRE_TEST_LONG=1.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Random.h"
#include "spyre/Runtime/HostMemory.h"

#include "Conformance.h"

#include <chrono>
#include <cstdlib>
#include <deque>
#include <thread>

using namespace spyre;
using namespace spyre::runtime;

namespace spyre::conformance {

namespace {

constexpr int kThreads = 16, kShortRounds = 40;
constexpr std::chrono::seconds kLongTime{60};
constexpr size_t kLanes = 128;

bool isLong() {
  const char *value = std::getenv("SPYRE_TEST_LONG");
  return value && std::string_view(value) == "1";
}

Operation copyIn(BufferRef to, HostBufferRef from) {
  Operation operation;
  operation.name = "copy in";
  operation.engine = Engine::HostToDevice;
  operation.body = [to, from](OperationContext &context) {
    return context.device.copyToDevice(to, 0, from->data(), kLanes * 2);
  };
  return operation;
}

Operation copyOut(BufferRef from, HostBufferRef to) {
  Operation operation;
  operation.name = "copy out";
  operation.engine = Engine::DeviceToHost;
  operation.body = [to, from](OperationContext &context) {
    return context.device.copyToHost(from, 0, to->data(), kLanes * 2);
  };
  return operation;
}

/// One sum on its way.
struct Job {
  HostBufferRef result;
  EventRef done;
  float expected;
};

class Client {
public:
  Client(Device &device, BufferRef program, uint64_t programBytes, uint64_t seed)
      : device(device), program(std::move(program)), programBytes(programBytes), random(seed) {}

  void round() {
    ASSERT_NO_FATAL_FAILURE(start());
    while (jobs.size() > random.below(8)) {
      ASSERT_NO_FATAL_FAILURE(finish());
    }
  }
  void finish() {
    Job job = std::move(jobs.front());
    jobs.pop_front();
    const Status status = job.done->synchronize();
    ASSERT_TRUE(status.ok()) << status.message();
    const auto *lanes = static_cast<const uint16_t *>(job.result->data());
    for (size_t i = 0; traits().computes && i < kLanes; ++i) {
      ASSERT_EQ(numerics::dl16ToFloat(lanes[i]), job.expected) << "lane " << i;
    }
  }
  bool hasJobs() const { return !jobs.empty(); }

private:
  StreamId anyStream() { return StreamId(random.below(kStreamCount)); }
  BufferRef upload(StreamId stream, float value) {
    HostBufferRef host = *hostBuffers().allocate(kLanes * 2);
    std::fill_n(static_cast<uint16_t *>(host->data()), kLanes, numerics::floatToDl16(value));
    BufferRef buffer = *device.allocate(kLanes * 2);
    const Status copied = random.below(4) == 0
                              ? device.streams().run(stream, copyIn(buffer, host))
                              : device.streams().submit(stream, copyIn(buffer, host));
    EXPECT_TRUE(copied.ok()) << copied.message();
    return buffer;
  }
  void start() {
    Streams &streams = device.streams();
    const StreamId first = anyStream(), second = anyStream(), third = anyStream();
    const float a = float(random.below(100)), b = float(random.below(100));
    BufferRef left = upload(first, a), right = upload(second, b);
    BufferRef out = *device.allocate(kLanes * 2 + 128 * random.below(64));
    EventRef copied = *streams.recordEvent(second, false);
    ASSERT_TRUE(streams.waitEvent(first, copied).ok());
    Operation add;
    add.name = "add";
    add.body = [program = program, bytes = programBytes, left, right,
                out](OperationContext &context) {
      return context.device.launch(program, 0, bytes, {left, right, out});
    };
    ASSERT_TRUE(streams.submit(first, std::move(add)).ok());
    EventRef added = *streams.recordEvent(first, random.below(2) == 0);
    ASSERT_TRUE(streams.waitEvent(third, added).ok());
    HostBufferRef result = *hostBuffers().allocate(kLanes * 2);
    ASSERT_TRUE(streams.submit(third, copyOut(out, result)).ok());
    jobs.push_back({result, *streams.recordEvent(third, false), a + b});
    if (random.below(2) == 0) {
      ASSERT_TRUE(device.recordStream(left, anyStream()).ok());
    }
    for (const BufferRef &buffer : {left, right, out}) {
      buffer->abandon();
    }
    if (random.below(64) == 0) {
      device.emptyCache();
    }
  }

  Device &device;
  BufferRef program;
  uint64_t programBytes;
  Random random;
  std::deque<Job> jobs;
};

} // namespace

using Stress = ConformanceTest;

TEST_F(Stress, ManyThreadsOnAllStreams) {
  BufferRef program = loadAdd({0, 1, 2, 2, false});
  const uint64_t before = device->memoryStats().allocationsNow();
  const auto end = std::chrono::steady_clock::now() + kLongTime;
  std::vector<std::thread> threads;
  for (int id = 0; id < kThreads; ++id) {
    threads.emplace_back([&, id] {
      Client client(*device, program, programBytes, uint64_t(id) + 1);
      for (int round = 0; isLong() ? std::chrono::steady_clock::now() < end : round < kShortRounds;
           ++round) {
        ASSERT_NO_FATAL_FAILURE(client.round());
      }
      while (client.hasJobs()) {
        ASSERT_NO_FATAL_FAILURE(client.finish());
      }
    });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  const Status status = device->streams().synchronizeAll();
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(device->memoryStats().allocationsNow(), before);
  EXPECT_EQ(device->memoryStats().active[kAllPools].current, int64_t(before));
  EXPECT_EQ(device->memoryStats().numOoms, 0);
}

} // namespace spyre::conformance
