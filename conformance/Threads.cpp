//===- Threads.cpp - one device used by several threads -------------------------------------===//
#include "spyre/Base/Random.h"

#include "Conformance.h"

#include <thread>

using namespace spyre;
using namespace spyre::runtime;

namespace spyre::conformance {

using Threads = ConformanceTest;

// Each thread allocates, copies, launches and frees on its own; what it reads back is its own.
TEST_F(Threads, ThreadsDoNotDisturbEachOther) {
  constexpr int kThreads = 4, kRounds = 25;
  BufferRef program = loadAdd({0, 1, 2, 1, false});
  const uint64_t bytes = programBytes;
  const uint64_t before = device->memoryStats().allocationsNow();
  std::vector<std::thread> threads;
  for (int id = 0; id < kThreads; ++id) {
    threads.emplace_back([&, id] {
      Random random(uint64_t(id) + 1);
      std::vector<BufferRef> kept;
      for (int round = 0; round < kRounds; ++round) {
        const float a = float(random.below(32)), b = float(id);
        BufferRef left = filled(a), right = filled(b), out = *device->allocate(128);
        const Status status = device->launch(program, 0, bytes, {left, right, out});
        ASSERT_TRUE(status.ok()) << status.message();
        if (traits().computes) {
          ASSERT_EQ(lane(out, random.below(64)), a + b);
        }
        BufferRef copy = *device->allocate(128 * (1 + random.below(8)));
        ASSERT_TRUE(device->copyOnDevice(out, copy, 128).ok());
        ASSERT_FALSE(device->copyToHost(copy, copy->bytes(), &kept, 1).ok());
        kept.push_back(std::move(copy));
        if (kept.size() > 4) {
          kept.erase(kept.begin() + int64_t(random.below(kept.size())));
        }
        ASSERT_GE(device->counters().launches, uint64_t(round) + 1);
      }
    });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  EXPECT_EQ(device->counters().launches, uint64_t(kThreads * kRounds));
  EXPECT_EQ(device->memoryStats().allocationsNow(), before);
}

TEST_F(Threads, TheLastHandleMayGoInAnotherThread) {
  BufferRef buffer = filled(5, 16);
  std::weak_ptr<runtime::Device> opened = device;
  device.reset();
  std::thread([moved = std::move(buffer)]() mutable { moved.reset(); }).join();
  EXPECT_TRUE(opened.expired()) << "the last buffer closes the device";
}

} // namespace spyre::conformance
