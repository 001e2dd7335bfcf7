//===- CachingAllocator.h - chunks and blocks of device memory ------------------------------===//
//
// Chunks are carved from regions (first fit) and split into blocks (best fit, lowest address on a
// tie); free neighbours join, and a chunk that is all free is kept. Under pressure reclaim() gives
// every free block back to its region, in the middle of a chunk too: an allocation fails only when
// no region has a free range of that size. Addresses depend on the order of calls alone.
//
// It knows addresses and counts: contents and locking are the Device's.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Runtime/Memory.h"

#include "Allocator.h"

#include <array>
#include <deque>
#include <map>
#include <set>
#include <string>

namespace spyre::runtime {

struct MemoryBlock;

struct MemoryChunk {
  uint64_t address = 0, bytes = 0;
  MemoryKind kind = MemoryKind::Tensor;
  MemoryPool pool = kSmallPool;
  uint32_t region = 0;
  /// Number of the private pool the chunk belongs to; 0: none.
  uint64_t privatePool = 0;
  MemoryBlock *first = nullptr;
};

struct MemoryBlock {
  uint64_t address = 0, bytes = 0, requestedBytes = 0;
  BlockState state = BlockState::Inactive;
  StreamId stream = kDefaultStream;
  std::shared_ptr<const void> tag;
  std::shared_ptr<const std::string> program;
  MemoryChunk *chunk = nullptr;
  MemoryBlock *previous = nullptr, *next = nullptr;
};

/// What is asked of the allocator; roundedBytes is a positive multiple of the alignment.
struct MemoryRequest {
  uint64_t requestedBytes = 0, roundedBytes = 0;
  MemoryKind kind = MemoryKind::Tensor;
  StreamId stream = kDefaultStream;
  std::shared_ptr<const void> tag;
  /// Blocks come from chunks of the pool with this number only; 0 is everybody's.
  uint64_t privatePool = 0;
  std::shared_ptr<const std::string> program;
};

class CachingAllocator {
public:
  /// Memory [0, totalBytes) in regions of \p regionBytes; the last of several is that of programs.
  CachingAllocator(uint64_t totalBytes, uint64_t regionBytes);
  ~CachingAllocator();
  CachingAllocator(const CachingAllocator &) = delete;
  CachingAllocator &operator=(const CachingAllocator &) = delete;

  /// Null when neither a cached block nor a region has room.
  MemoryBlock *allocate(const MemoryRequest &request);
  /// The owner let go; the block stays where it is until release.
  void abandon(MemoryBlock *block);
  /// The owner uses an abandoned block again.
  void adopt(MemoryBlock *block);
  void release(MemoryBlock *block);
  /// Chunks without a live block go back to their regions.
  void emptyCache();
  /// All free memory goes back to the regions.
  void reclaim();
  /// The chunks of a private pool become everybody's.
  void dissolvePool(uint64_t privatePool);
  /// Forgets every block; pointers to them are invalid. Peaks begin anew, sums go on.
  void reset();

  /// Bytes of the largest block an empty device could give.
  uint64_t largestPossibleBytes(MemoryKind kind) const { return possibleBytes[size_t(kind)]; }
  uint64_t largestFreeBytes(MemoryKind kind) const;
  uint64_t freeBytes() const;
  /// "region 0 (tensors): 100 of 200 bytes used, largest free block 100", one per line.
  std::string regionTable() const;
  /// "temporaries of 'graph_0': 4096 bytes", one per line, the largest programs first; empty where
  /// no temporaries are in memory.
  std::string temporariesTable() const;
  std::vector<ChunkInfo> chunks() const;

  /// Statistics of all kinds together, of one, and of all but programs.
  const MemoryStats &stats() const { return allStats; }
  const MemoryStats &dataStats() const { return withoutPrograms; }
  const MemoryStats &stats(MemoryKind kind) const { return kindStats[size_t(kind)]; }
  void count(MemoryKind kind, int64_t MemoryStats::*counter);
  void resetPeaks();
  void resetSums();
  bool hasPendingFrees() const;

  void setHistory(size_t maxEvents);
  void note(MemoryAction action, uint64_t address, uint64_t bytes, StreamId stream,
            std::shared_ptr<const void> tag);
  std::vector<MemoryEvent> history() const { return {events.begin(), events.end()}; }

private:
  struct Region {
    uint64_t begin, end;
    bool isForTensors, isForPrograms;
    FirstFitAllocator space;
  };
  struct BySize {
    bool operator()(const MemoryBlock *a, const MemoryBlock *b) const {
      return a->bytes != b->bytes ? a->bytes < b->bytes : a->address < b->address;
    }
  };
  using FreeSet = std::set<MemoryBlock *, BySize>;

  void makeRegions();
  std::vector<size_t> regionOrder(MemoryKind kind) const;
  MemoryPool poolOf(uint64_t bytes) const;
  MemoryBlock *takeCached(const MemoryRequest &request, MemoryPool pool);
  MemoryBlock *carve(const MemoryRequest &request, MemoryPool pool);
  MemoryChunk *addChunk(const MemoryChunk &chunk);
  void removeChunk(MemoryChunk *chunk);
  void cutChunk(MemoryChunk *chunk);
  void countAllocated(const MemoryBlock &block);
  void split(MemoryBlock *block, uint64_t bytes);
  void insertFree(MemoryBlock *block);
  void eraseFree(MemoryBlock *block);
  void join(MemoryBlock *left, MemoryBlock *right);
  FreeSet &freeSet(uint64_t privatePool, MemoryKind kind, MemoryPool pool) {
    return freeSets[privatePool][size_t(kind)][size_t(pool) - 1];
  }
  FreeSet &freeSet(const MemoryChunk &chunk) {
    return freeSet(chunk.privatePool, chunk.kind, chunk.pool);
  }
  /// Calls \p action for all statistics that a block of \p kind counts in.
  template <typename Action>
  void forStatsOf(MemoryKind kind, Action &&action);
  std::array<MemoryStats *, 2 + kMemoryKinds> everyStats();
  template <typename Change>
  void change(MemoryKind kind, MemoryPool pool, MemoryStatArray MemoryStats::*field,
              Change &&apply);
  void increase(const MemoryChunk &chunk, MemoryStatArray MemoryStats::*field, uint64_t amount);
  void decrease(const MemoryChunk &chunk, MemoryStatArray MemoryStats::*field, uint64_t amount);

  const uint64_t totalBytes, regionBytes;
  /// Sizes of requests and chunks, scaled down on machines with little memory.
  uint64_t smallRequestBytes, mediumRequestBytes, smallChunkBytes, mediumChunkBytes, roundBytes;
  uint64_t possibleBytes[kMemoryKinds] = {};
  std::vector<Region> regions;
  std::map<uint64_t, std::unique_ptr<MemoryChunk>> chunkAt;
  /// By private pool, kind and size.
  std::map<uint64_t, std::array<std::array<FreeSet, 2>, kMemoryKinds>> freeSets;
  MemoryStats allStats, withoutPrograms, kindStats[kMemoryKinds];
  size_t maxEvents = 0;
  std::deque<MemoryEvent> events;
};

} // namespace spyre::runtime
