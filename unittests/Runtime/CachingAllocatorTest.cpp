//===- CachingAllocatorTest.cpp - the allocator against a simple model ----------------------===//
#include "Runtime/CachingAllocator.h"

#include "spyre/Base/Random.h"

#include "gtest/gtest.h"

#include <map>
#include <set>

using namespace spyre;
using namespace spyre::runtime;

namespace {

constexpr uint64_t kAlign = kAllocationAlignmentBytes;
constexpr uint64_t kMiB = uint64_t(1) << 20, kGiB = uint64_t(1) << 30;

MemoryRequest request(uint64_t bytes, MemoryKind kind = MemoryKind::Tensor) {
  MemoryRequest made;
  made.requestedBytes = bytes;
  made.roundedBytes = (bytes + kAlign - 1) / kAlign * kAlign;
  made.kind = kind;
  return made;
}

/// The preset: seven regions of 16 GiB.
struct CardAllocator : CachingAllocator {
  CardAllocator() : CachingAllocator(112 * kGiB, 16 * kGiB) {}
};

TEST(CachingAllocator, CarvesChunksOfThreeSizes) {
  CardAllocator allocator;
  MemoryBlock *small = allocator.allocate(request(1000));
  MemoryBlock *medium = allocator.allocate(request(3 * kMiB));
  MemoryBlock *large = allocator.allocate(request(33 * kMiB));
  EXPECT_EQ(small->chunk->bytes, 2 * kMiB);
  EXPECT_EQ(medium->chunk->bytes, 20 * kMiB);
  EXPECT_EQ(large->chunk->bytes, 34 * kMiB);
  EXPECT_EQ(small->address, 128u) << "address 0 means nothing";
  const MemoryStats &stats = allocator.stats();
  EXPECT_EQ(stats.reservedBytes[kAllPools].current, int64_t(56 * kMiB));
  EXPECT_EQ(stats.reservedBytes[kSmallPool].current, int64_t(2 * kMiB));
  EXPECT_EQ(stats.allocatedBytes[kLargePool].current, int64_t(36 * kMiB));
  EXPECT_EQ(stats.requestedBytes[kSmallPool].current, 1000);
  EXPECT_EQ(stats.allocatedBytes[kSmallPool].current, 1024);
  EXPECT_EQ(stats.segment[kAllPools].current, 3);
  EXPECT_EQ(stats.inactiveSplit[kAllPools].current, 3);
  EXPECT_EQ(stats.numDeviceAlloc, 3);
}

TEST(CachingAllocator, KeepsChunksUntilTheCacheIsEmptied) {
  CardAllocator allocator;
  MemoryBlock *first = allocator.allocate(request(33 * kMiB));
  const uint64_t address = first->address;
  allocator.release(first);
  EXPECT_EQ(allocator.stats().reservedBytes[kAllPools].current, int64_t(34 * kMiB));
  EXPECT_EQ(allocator.stats().inactiveSplit[kAllPools].current, 0) << "a whole chunk is not split";
  MemoryBlock *again = allocator.allocate(request(30 * kMiB));
  EXPECT_EQ(again->address, address);
  EXPECT_EQ(allocator.stats().numDeviceAlloc, 1);
  allocator.emptyCache();
  EXPECT_EQ(allocator.stats().segment[kAllPools].current, 1) << "in use";
  allocator.release(again);
  allocator.emptyCache();
  EXPECT_EQ(allocator.stats().segment[kAllPools].current, 0);
  EXPECT_EQ(allocator.stats().reservedBytes[kAllPools].current, 0);
  EXPECT_EQ(allocator.stats().numDeviceFree, 1);
}

TEST(CachingAllocator, TakesTheSmallestBlockThatFits) {
  CardAllocator allocator;
  std::vector<MemoryBlock *> blocks;
  for (uint64_t sticks : {8, 1, 2, 1, 4, 1}) {
    blocks.push_back(allocator.allocate(request(sticks * kAlign)));
  }
  const uint64_t two = blocks[2]->address, four = blocks[4]->address;
  for (int i : {0, 2, 4}) {
    allocator.release(blocks[size_t(i)]);
  }
  EXPECT_EQ(allocator.allocate(request(2 * kAlign))->address, two);
  EXPECT_EQ(allocator.allocate(request(3 * kAlign))->address, four);
}

TEST(CachingAllocator, TensorsAndProgramsHaveRegionsOfTheirOwn) {
  CardAllocator allocator;
  std::set<uint64_t> regions;
  for (int i = 0; i < 6; ++i) {
    // The first region lacks the stick at address 0.
    MemoryBlock *block = allocator.allocate(request(16 * kGiB - kAlign));
    ASSERT_NE(block, nullptr) << i;
    regions.insert(block->address / (16 * kGiB));
    EXPECT_EQ((block->address + block->bytes - 1) / (16 * kGiB), block->address / (16 * kGiB));
  }
  EXPECT_EQ(regions, (std::set<uint64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(allocator.allocate(request(kMiB)), nullptr) << "the last region is for programs";
  MemoryBlock *program = allocator.allocate(request(kMiB, MemoryKind::Program));
  ASSERT_NE(program, nullptr);
  EXPECT_EQ(program->address, 96 * kGiB);
  EXPECT_EQ(allocator.stats(MemoryKind::Program).allocationsNow(), 1u);
  EXPECT_EQ(allocator.stats(MemoryKind::Tensor).allocationsNow(), 6u);
  EXPECT_EQ(allocator.stats().allocationsNow(), 7u);
}

TEST(CachingAllocator, AMachineWithOneRegionSharesIt) {
  CachingAllocator allocator(8 * kMiB, 16 * kGiB);
  EXPECT_NE(allocator.allocate(request(1000)), nullptr);
  EXPECT_NE(allocator.allocate(request(1000, MemoryKind::Program)), nullptr);
  EXPECT_LT(allocator.stats().reservedBytes[kAllPools].current, int64_t(kMiB))
      << "chunks are smaller where memory is";
}

TEST(CachingAllocator, TemporariesLieWithProgramsAndCountWithTensors) {
  CardAllocator allocator;
  allocator.allocate(request(1000));
  allocator.allocate(request(2000, MemoryKind::Program));
  MemoryRequest pool = request(3000, MemoryKind::Temporary);
  pool.program = std::make_shared<const std::string>("graph_0");
  MemoryBlock *block = allocator.allocate(pool);
  ASSERT_NE(block, nullptr);
  EXPECT_GE(block->address, 96 * kGiB);
  EXPECT_EQ(allocator.dataStats().allocatedNow(), 1024u + 3072u);
  EXPECT_EQ(allocator.stats(MemoryKind::Temporary).allocatedNow(), 3072u);
  EXPECT_EQ(allocator.stats(MemoryKind::Program).allocatedNow(), 2048u);
  EXPECT_EQ(allocator.temporariesTable(), "\n  temporaries of 'graph_0': 3072 bytes");
}

TEST(CachingAllocator, AnAdoptedBlockCountsAsAllocatedAgain) {
  CardAllocator allocator;
  MemoryBlock *block = allocator.allocate(request(1000, MemoryKind::Temporary));
  allocator.abandon(block);
  EXPECT_EQ(allocator.dataStats().allocatedNow(), 0u);
  for (int i = 0; i < 2; ++i) {
    allocator.adopt(block);
    EXPECT_EQ(allocator.dataStats().allocatedNow(), 1024u);
    EXPECT_EQ(allocator.dataStats().active[kAllPools].current, 1);
  }
  allocator.release(block);
  EXPECT_EQ(allocator.dataStats().active[kAllPools].current, 0);
  EXPECT_EQ(allocator.dataStats().allocatedNow(), 0u);
}

TEST(CachingAllocator, AbandonedBlocksStayActive) {
  CardAllocator allocator;
  MemoryBlock *block = allocator.allocate(request(1000));
  allocator.abandon(block);
  allocator.abandon(block);
  const MemoryStats &stats = allocator.stats();
  EXPECT_EQ(stats.allocationsNow(), 0u);
  EXPECT_EQ(stats.allocatedNow(), 0u);
  EXPECT_EQ(stats.requestedBytes[kAllPools].current, 0);
  EXPECT_EQ(stats.active[kAllPools].current, 1);
  EXPECT_EQ(stats.activeBytes[kAllPools].current, 1024);
  EXPECT_TRUE(allocator.hasPendingFrees());
  EXPECT_EQ(allocator.chunks()[0].blocks[0].state, BlockState::ActivePendingFree);
  allocator.release(block);
  EXPECT_EQ(stats.active[kAllPools].current, 0);
  EXPECT_FALSE(allocator.hasPendingFrees());
}

// Memory between live blocks is found again when it is short.
TEST(CachingAllocator, ReclaimCutsChunks) {
  CachingAllocator allocator(8 * kMiB, 16 * kGiB);
  std::vector<MemoryBlock *> blocks;
  while (MemoryBlock *block = allocator.allocate(request(4096))) {
    blocks.push_back(block);
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (i < 100 || i >= 400) {
      allocator.release(blocks[i]);
    }
  }
  EXPECT_EQ(allocator.allocate(request(3 * kMiB)), nullptr);
  allocator.reclaim();
  EXPECT_EQ(allocator.stats().reservedBytes[kAllPools].current, 300 * 4096);
  EXPECT_EQ(allocator.stats().inactiveSplit[kAllPools].current, 0);
  EXPECT_NE(allocator.allocate(request(3 * kMiB)), nullptr);
}

TEST(CachingAllocator, APrivatePoolSharesNoChunks) {
  CardAllocator allocator;
  MemoryRequest own = request(1000);
  own.privatePool = 7;
  MemoryBlock *everybodys = allocator.allocate(request(1000));
  MemoryBlock *first = allocator.allocate(own);
  MemoryBlock *second = allocator.allocate(own);
  EXPECT_NE(first->chunk, everybodys->chunk);
  EXPECT_EQ(first->chunk, second->chunk);
  EXPECT_EQ(first->chunk->privatePool, 7u);
  const uint64_t address = first->address;
  allocator.release(first);
  EXPECT_NE(allocator.allocate(request(1000))->chunk, second->chunk);
  EXPECT_EQ(allocator.allocate(own)->address, address) << "free memory of the pool is used first";
}

TEST(CachingAllocator, MemoryOfAPrivatePoolIsReclaimedAndDissolved) {
  CachingAllocator allocator(4 * kMiB, 4 * kMiB);
  MemoryRequest own = request(1000);
  own.privatePool = 7;
  MemoryBlock *kept = allocator.allocate(own);
  MemoryBlock *freed = allocator.allocate(own);
  allocator.release(freed);
  const MemoryStatArray before = allocator.stats().inactiveSplitBytes;
  allocator.dissolvePool(7);
  EXPECT_EQ(kept->chunk->privatePool, 0u);
  EXPECT_EQ(allocator.stats().inactiveSplitBytes, before);
  EXPECT_EQ(allocator.allocate(request(1000))->chunk, kept->chunk) << "it is everybody's now";
  allocator.release(kept);
}

TEST(CachingAllocator, HistoryIsARing) {
  CardAllocator allocator;
  allocator.release(allocator.allocate(request(1000)));
  EXPECT_TRUE(allocator.history().empty());
  allocator.setHistory(4);
  auto tag = std::make_shared<const int>(7);
  MemoryRequest tagged = request(64 * kMiB);
  tagged.tag = tag;
  tagged.stream = 3;
  MemoryBlock *block = allocator.allocate(tagged);
  allocator.release(block);
  allocator.emptyCache();
  const std::vector<MemoryEvent> events = allocator.history();
  ASSERT_EQ(events.size(), 4u) << "the first of six is gone, and one chunk was empty before";
  EXPECT_STREQ(memoryActionName(events[0].action), "free_requested");
  EXPECT_STREQ(memoryActionName(events[1].action), "free_completed");
  EXPECT_STREQ(memoryActionName(events[2].action), "segment_free");
  EXPECT_EQ(events[1].tag, tag);
  EXPECT_EQ(events[1].stream, 3u);
  EXPECT_EQ(events[1].bytes, 64 * kMiB);
}

TEST(CachingAllocator, ResetForgetsEverything) {
  CardAllocator allocator;
  for (int i = 0; i < 50; ++i) {
    MemoryBlock *block = allocator.allocate(request(uint64_t(i) * 100000 + 1));
    if (i % 3 == 0) {
      allocator.release(block);
    } else if (i % 3 == 1) {
      allocator.abandon(block);
    }
  }
  allocator.reset();
  MemoryStats stats = allocator.stats();
  for (MemoryStatArray *array : stats.arrays()) {
    for (const MemoryStat &stat : *array) {
      EXPECT_EQ(stat.current, 0);
      EXPECT_EQ(stat.peak, 0);
      EXPECT_EQ(stat.allocated, stat.freed);
    }
  }
  EXPECT_EQ(allocator.freeBytes(), 112 * kGiB - kAlign);
  EXPECT_EQ(allocator.allocate(request(1))->address, 128u);
}

/// Recounts everything from the chunks and compares.
void checkAgainstSnapshot(const CachingAllocator &allocator) {
  MemoryStats counted;
  const auto add = [](MemoryStatArray &array, MemoryPool pool, uint64_t amount) {
    array[kAllPools].current += int64_t(amount);
    array[pool].current += int64_t(amount);
  };
  uint64_t end = 0;
  for (const ChunkInfo &chunk : allocator.chunks()) {
    ASSERT_GE(chunk.address, end) << "chunks overlap";
    const MemoryPool pool = chunk.isLarge ? kLargePool : kSmallPool;
    add(counted.segment, pool, 1);
    add(counted.reservedBytes, pool, chunk.bytes);
    end = chunk.address;
    BlockState last = BlockState::ActiveAllocated;
    for (const BlockInfo &block : chunk.blocks) {
      ASSERT_EQ(block.address, end) << "blocks leave a gap";
      end += block.bytes;
      const bool isFree = block.state == BlockState::Inactive;
      ASSERT_FALSE(isFree && last == BlockState::Inactive) << "free neighbours were not joined";
      last = block.state;
      if (isFree && chunk.blocks.size() > 1) {
        add(counted.inactiveSplit, pool, 1);
        add(counted.inactiveSplitBytes, pool, block.bytes);
      }
      if (!isFree) {
        add(counted.active, pool, 1);
        add(counted.activeBytes, pool, block.bytes);
      }
      if (block.state == BlockState::ActiveAllocated) {
        add(counted.allocation, pool, 1);
        add(counted.allocatedBytes, pool, block.bytes);
        add(counted.requestedBytes, pool, block.requestedBytes);
      }
    }
    ASSERT_EQ(end, chunk.address + chunk.bytes);
  }
  MemoryStats stats = allocator.stats();
  for (size_t i = 0; i < stats.arrays().size(); ++i) {
    for (size_t pool = 0; pool < 3; ++pool) {
      const MemoryStat &stat = (*stats.arrays()[i])[pool];
      ASSERT_EQ(stat.current, (*counted.arrays()[i])[pool].current) << i << ' ' << pool;
      ASSERT_EQ(stat.allocated - stat.freed, stat.current) << i << ' ' << pool;
      ASSERT_GE(stat.peak, stat.current);
    }
  }
}

// Live blocks never overlap, stay inside their regions and are all accounted for; a request fails,
// after reclaim, only when the model finds no room either.
TEST(CachingAllocator, RandomUseAgreesWithAModel) {
  constexpr uint64_t kRegion = 64 * kMiB;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    CachingAllocator allocator(3 * kRegion, kRegion);
    std::map<uint64_t, MemoryBlock *> live;
    const auto largestHole = [&] {
      uint64_t largest = 0;
      for (uint64_t region = 0; region < 2; ++region) {
        uint64_t end = std::max(region * kRegion, kAlign);
        for (auto at = live.lower_bound(end); at != live.end(); ++at) {
          if (at->first >= (region + 1) * kRegion) {
            break;
          }
          largest = std::max(largest, at->first - end);
          end = at->first + at->second->bytes;
        }
        largest = std::max(largest, (region + 1) * kRegion - end);
      }
      return largest;
    };
    for (int step = 0; step < 400; ++step) {
      const uint64_t choice = random.below(100);
      if (choice < 60) {
        const uint64_t limit = uint64_t(1) << random.between(7, 25);
        const MemoryRequest wanted = request(1 + random.below(limit));
        MemoryBlock *block = allocator.allocate(wanted);
        if (!block) {
          allocator.reclaim();
          block = allocator.allocate(wanted);
        }
        ASSERT_EQ(block != nullptr, wanted.roundedBytes <= largestHole()) << "seed " << seed;
        if (!block) {
          continue;
        }
        ASSERT_EQ(block->bytes, wanted.roundedBytes);
        ASSERT_EQ(block->address / kRegion, (block->address + block->bytes - 1) / kRegion);
        ASSERT_LT(block->address / kRegion, 2u) << "seed " << seed;
        auto next = live.lower_bound(block->address);
        ASSERT_TRUE(next == live.end() || block->address + block->bytes <= next->first);
        ASSERT_TRUE(next == live.begin() ||
                    std::prev(next)->first + std::prev(next)->second->bytes <= block->address);
        live.emplace(block->address, block);
      } else if (choice < 96 && !live.empty()) {
        auto victim = std::next(live.begin(), int64_t(random.below(live.size())));
        if (random.below(4) == 0) {
          allocator.abandon(victim->second);
        } else {
          allocator.release(victim->second);
          live.erase(victim);
        }
      } else if (choice < 98) {
        allocator.emptyCache();
      } else {
        allocator.reclaim();
      }
      if (step % 20 == 0) {
        ASSERT_NO_FATAL_FAILURE(checkAgainstSnapshot(allocator)) << "seed " << seed;
      }
    }
    for (const auto &[address, block] : live) {
      allocator.release(block);
    }
    ASSERT_NO_FATAL_FAILURE(checkAgainstSnapshot(allocator));
    allocator.emptyCache();
    ASSERT_EQ(allocator.freeBytes(), 3 * kRegion - kAlign) << "seed " << seed;
    ASSERT_EQ(allocator.stats().reservedBytes[kAllPools].current, 0);
  }
}

TEST(CachingAllocator, TheSameCallsGiveTheSameAddresses) {
  const auto addresses = [] {
    Random random(9);
    CardAllocator allocator;
    std::vector<MemoryBlock *> live;
    std::vector<uint64_t> result;
    for (int i = 0; i < 3000; ++i) {
      if (live.size() > 50) {
        const size_t victim = random.below(live.size());
        allocator.release(live[victim]);
        live.erase(live.begin() + int64_t(victim));
      }
      live.push_back(allocator.allocate(request(1 + random.below(4 * kMiB))));
      result.push_back(live.back()->address);
    }
    return result;
  };
  EXPECT_EQ(addresses(), addresses());
}

// A million allocations with up to a thousand alive neither slow down nor spread out.
TEST(CachingAllocator, AMillionCyclesStayCheapAndCompact) {
  Random random(3);
  CardAllocator allocator;
  std::vector<MemoryBlock *> live(1000, nullptr);
  for (int i = 0; i < 1000000; ++i) {
    MemoryBlock *&slot = live[random.below(live.size())];
    if (slot) {
      allocator.release(slot);
    }
    slot = allocator.allocate(request(1 + random.below(random.below(8) == 0 ? 4 * kMiB : 65536)));
    ASSERT_NE(slot, nullptr);
  }
  const MemoryStats &stats = allocator.stats();
  EXPECT_LT(stats.reservedBytes[kAllPools].current, 3 * stats.allocatedBytes[kAllPools].peak);
}

} // namespace
