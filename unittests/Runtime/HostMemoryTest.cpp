//===- HostMemoryTest.cpp - pinned buffers come back from their cache -----------------------===//
#include "spyre/Runtime/HostMemory.h"

#include "gtest/gtest.h"

#include <cstring>
#include <thread>
#include <vector>

using namespace spyre;
using namespace spyre::runtime;

namespace {

TEST(HostMemory, BuffersArePagesAndAreUsedAgain) {
  HostBufferCache cache;
  HostBufferRef first = *cache.allocate(5000);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first->data()) % 4096, 0u);
  EXPECT_EQ(first->bytes(), 8192u);
  std::memset(first->data(), 1, first->bytes());
  void *data = first->data();
  first.reset();
  EXPECT_EQ(cache.stats().cachedBytes, 8192u);
  HostBufferRef again = *cache.allocate(8000);
  EXPECT_EQ(again->data(), data);
  EXPECT_EQ(cache.stats().requests, 2u);
  EXPECT_EQ(cache.stats().misses, 1u);
  EXPECT_EQ((*cache.allocate(0))->bytes(), 4096u);
  EXPECT_EQ((*cache.allocate((5 << 20) + 1))->bytes(), uint64_t(6 << 20));
  cache.emptyCache();
  EXPECT_EQ(cache.stats().cachedBuffers, 0u);
  EXPECT_EQ(cache.stats().buffers, 1u);
  EXPECT_EQ(cache.stats().bytes, 8192u);
  EXPECT_EQ(cache.stats().lockedBytes, again->isLocked() ? 8192u : 0u);
}

TEST(HostMemory, PointersInsideBuffersArePinned) {
  HostBufferCache cache;
  HostBufferRef buffer = *cache.allocate(4096);
  char *data = static_cast<char *>(buffer->data());
  int onStack = 0;
  EXPECT_TRUE(cache.isPinned(data));
  EXPECT_TRUE(cache.isPinned(data + 4095));
  EXPECT_FALSE(cache.isPinned(data + 4096));
  EXPECT_FALSE(cache.isPinned(data - 1));
  EXPECT_FALSE(cache.isPinned(&onStack));
  EXPECT_FALSE(cache.isPinned(nullptr));
  buffer.reset();
  EXPECT_FALSE(cache.isPinned(data)) << "nobody uses it";
}

TEST(HostMemory, TooMuchIsAnError) {
  HostBufferCache cache;
  EXPECT_EQ(cache.allocate(UINT64_MAX).status().code(), 6118);
  EXPECT_EQ(cache.allocate(uint64_t(1) << 50).status().code(), 6118);
  EXPECT_TRUE(cache.allocate(1).ok());
}

TEST(HostMemory, BuffersMayOutliveTheirCacheAndMoveBetweenThreads) {
  HostBufferRef kept;
  {
    HostBufferCache cache;
    kept = *cache.allocate(100);
    std::vector<std::thread> threads;
    for (int id = 0; id < 4; ++id) {
      threads.emplace_back([&cache, id] {
        for (int round = 0; round < 200; ++round) {
          HostBufferRef buffer = *cache.allocate(uint64_t(1 + (round * 977 + id) % 20000));
          std::memset(buffer->data(), id, 64);
          ASSERT_TRUE(cache.isPinned(static_cast<char *>(buffer->data()) + 63));
          ASSERT_EQ(static_cast<char *>(buffer->data())[63], char(id));
        }
      });
    }
    for (std::thread &thread : threads) {
      thread.join();
    }
    EXPECT_EQ(cache.stats().buffers, 1u);
  }
  std::memset(kept->data(), 2, kept->bytes());
}

} // namespace
