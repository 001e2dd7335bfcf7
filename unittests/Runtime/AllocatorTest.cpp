//===- AllocatorTest.cpp - first fit never overlaps and forgets nothing ---------------------===//
#include "Runtime/Allocator.h"

#include "spyre/Base/Random.h"

#include "gtest/gtest.h"

#include <map>
#include <vector>

using namespace spyre;
using namespace spyre::runtime;

namespace {

constexpr uint64_t kAlign = kAllocationAlignmentBytes;

TEST(FirstFitAllocator, TakesTheLowestBlockThatFits) {
  FirstFitAllocator allocator(kAlign, 17 * kAlign);
  EXPECT_EQ(allocator.allocate(4 * kAlign), 1 * kAlign);
  EXPECT_EQ(allocator.allocate(2 * kAlign), 5 * kAlign);
  EXPECT_EQ(allocator.allocate(kAlign), 7 * kAlign);
  allocator.release(5 * kAlign, 2 * kAlign);
  EXPECT_EQ(allocator.allocate(3 * kAlign), 8 * kAlign) << "the hole of two is too small";
  EXPECT_EQ(allocator.allocate(kAlign), 5 * kAlign) << "the hole is the lowest that fits";
}

TEST(FirstFitAllocator, JoinsNeighboursInEveryOrder) {
  const std::vector<std::vector<int>> orders{{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                             {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (const std::vector<int> &order : orders) {
    FirstFitAllocator allocator(0, 3 * kAlign);
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(allocator.allocate(kAlign));
    }
    EXPECT_EQ(allocator.freeBlocks(), 0u);
    EXPECT_FALSE(allocator.allocate(kAlign));
    for (int i : order) {
      allocator.release(uint64_t(i) * kAlign, kAlign);
    }
    EXPECT_EQ(allocator.freeBlocks(), 1u);
    EXPECT_EQ(allocator.largestFreeBytes(), 3 * kAlign);
  }
}

TEST(FirstFitAllocator, AnEmptyRangeGivesNothing) {
  FirstFitAllocator allocator(kAlign, 100);
  EXPECT_FALSE(allocator.allocate(kAlign));
  EXPECT_EQ(allocator.freeBytes(), 0u);
  EXPECT_EQ(allocator.largestFreeBytes(), 0u);
}

// Live blocks never overlap, stay inside the range and account for every byte; when all are given
// back the range is one block again.
TEST(FirstFitAllocator, RandomUseNeverOverlapsAndEndsAsOneBlock) {
  constexpr uint64_t kBegin = kAlign, kEnd = 400 * kAlign;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    FirstFitAllocator allocator(kBegin, kEnd);
    std::map<uint64_t, uint64_t> live;
    uint64_t liveBytes = 0;
    for (int step = 0; step < 300; ++step) {
      if (live.empty() || random.below(5) < 3) {
        const uint64_t bytes = (1 + random.below(40)) * kAlign;
        const uint64_t largest = allocator.largestFreeBytes();
        auto address = allocator.allocate(bytes);
        ASSERT_EQ(address.has_value(), bytes <= largest) << "seed " << seed;
        if (!address) {
          continue;
        }
        ASSERT_GE(*address, kBegin);
        ASSERT_LE(*address + bytes, kEnd);
        auto next = live.lower_bound(*address);
        ASSERT_TRUE(next == live.end() || *address + bytes <= next->first) << "seed " << seed;
        ASSERT_TRUE(next == live.begin() ||
                    std::prev(next)->first + std::prev(next)->second <= *address)
            << "seed " << seed;
        live.emplace(*address, bytes);
        liveBytes += bytes;
      } else {
        auto victim = std::next(live.begin(), int64_t(random.below(live.size())));
        allocator.release(victim->first, victim->second);
        liveBytes -= victim->second;
        live.erase(victim);
      }
      ASSERT_EQ(allocator.freeBytes(), kEnd - kBegin - liveBytes) << "seed " << seed;
    }
    for (const auto &[address, bytes] : live) {
      allocator.release(address, bytes);
    }
    ASSERT_EQ(allocator.freeBlocks(), 1u) << "seed " << seed;
    ASSERT_EQ(allocator.largestFreeBytes(), kEnd - kBegin) << "seed " << seed;
  }
}

} // namespace
