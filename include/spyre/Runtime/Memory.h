//===- Memory.h - what a device tells about its memory --------------------------------------===//
//
// Statistics have the fields of PyTorch's DeviceStats and snapshots those of its memory viewer, so
// that the torch bridge copies them field by field. Terms: a region is a part of DDR that one
// segment of the address space can show; a chunk (PyTorch: "segment") is carved from a region and
// kept for reuse; blocks are the pieces of a chunk.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Runtime/Streams.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace spyre::runtime {

/// Programs (code and constants) have a region of their own, the one that appears as the last
/// segment. Temporaries are the pools of programs; they lie in the programs' region where it has
/// room, but are counted with the tensors: both hold data of the user's computation.
enum class MemoryKind : uint8_t { Tensor, Program, Temporary };
constexpr size_t kMemoryKinds = 3;

struct MemoryStat {
  int64_t current = 0, peak = 0, allocated = 0, freed = 0;
  void increase(uint64_t amount);
  void decrease(uint64_t amount);
  bool operator==(const MemoryStat &) const = default;
};

/// The order of PyTorch's StatType.
enum MemoryPool : size_t { kAllPools = 0, kSmallPool = 1, kLargePool = 2 };
using MemoryStatArray = std::array<MemoryStat, 3>;

/// Bytes are rounded sizes but for requestedBytes.
struct MemoryStats {
  MemoryStatArray allocation, segment, active, inactiveSplit;
  MemoryStatArray allocatedBytes, reservedBytes, activeBytes, inactiveSplitBytes, requestedBytes;
  /// There is no largest size that is split, so these stay 0.
  MemoryStat oversizeAllocations, oversizeSegments;
  int64_t numAllocRetries = 0, numOoms = 0, numOomRejections = 0, numSyncAllStreams = 0;
  int64_t numDeviceAlloc = 0, numDeviceFree = 0;
  int64_t maxSplitSizeBytes = -1;

  /// Bytes and number of buffers whose owner has not let go of them.
  uint64_t allocatedNow() const { return uint64_t(allocatedBytes[kAllPools].current); }
  uint64_t allocationsNow() const { return uint64_t(allocation[kAllPools].current); }
  /// All arrays, for resets and copies.
  std::array<MemoryStatArray *, 9> arrays();
};

/// Free is what is not in use by a buffer: chunks kept for reuse count as free, because a request
/// that needs their memory gets it.
struct MemoryInfo {
  uint64_t freeBytes = 0, totalBytes = 0;
};

enum class BlockState : uint8_t { ActiveAllocated, ActivePendingFree, Inactive };
/// PyTorch's names: "active_allocated", "active_pending_free", "inactive".
const char *blockStateName(BlockState state);

struct BlockInfo {
  uint64_t address = 0, bytes = 0, requestedBytes = 0;
  BlockState state = BlockState::Inactive;
  StreamId stream = kDefaultStream;
  /// What the caller of allocate gave, such as the frames of a stack.
  std::shared_ptr<const void> tag;
  /// Program whose memory it is; null for tensors.
  std::shared_ptr<const std::string> program;
};

struct ChunkInfo {
  uint64_t address = 0, bytes = 0;
  uint64_t allocatedBytes = 0, activeBytes = 0, requestedBytes = 0;
  MemoryKind kind = MemoryKind::Tensor;
  uint32_t region = 0;
  bool isLarge = false;
  /// Number of the private pool the chunk belongs to; 0: none.
  uint64_t privatePool = 0;
  std::vector<BlockInfo> blocks;
};

enum class MemoryAction : uint8_t {
  Alloc,
  FreeRequested,
  FreeCompleted,
  SegmentAlloc,
  SegmentFree,
  Oom
};
/// PyTorch's names: "alloc", "free_requested", ...
const char *memoryActionName(MemoryAction action);

struct MemoryEvent {
  MemoryAction action = MemoryAction::Alloc;
  /// Of an Oom: the bytes that were free.
  uint64_t address = 0;
  uint64_t bytes = 0;
  StreamId stream = kDefaultStream;
  /// Microseconds since 1970.
  int64_t timeMicroseconds = 0;
  std::shared_ptr<const void> tag;
};

struct MemorySnapshot {
  /// By address.
  std::vector<ChunkInfo> chunks;
  /// Oldest first; empty unless history is on.
  std::vector<MemoryEvent> events;
};

struct OutOfMemory {
  uint64_t requestedBytes = 0;
  MemoryInfo info;
};
using OutOfMemoryObserver = std::function<void(const OutOfMemory &)>;

} // namespace spyre::runtime
