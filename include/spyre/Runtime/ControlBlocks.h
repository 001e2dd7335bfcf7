//===- ControlBlocks.h - what a card is told, as a stream one can read ----------------------===//
//
// The documents leave the control-block stream open; ours is this: a driver call is a control
// block, blocks are numbered in the order the card accepts them, and each says what it moves or
// starts. A recording driver stands between a device and its driver and keeps the newest blocks
// when asked to. docs/runtime/launch.md explains the stream of a launch.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Runtime/Device.h"

#include <atomic>
#include <deque>
#include <mutex>

namespace spyre::runtime {

struct ControlBlock {
  enum class Kind : uint8_t { Write, Read, Copy, Fill, Discard, Launch };
  /// From 1, without gaps while recording is on.
  uint64_t sequence = 0;
  Kind kind = Kind::Write;
  /// Physical; of a launch the virtual address of the job.
  uint64_t address = 0;
  /// Source of a copy.
  uint64_t from = 0;
  uint64_t bytes = 0;
  /// Launches only.
  std::vector<SegmentBinding> segments;
  uint32_t flags = 0;
  /// Code of the error the card answered with; 0: accepted and carried out.
  int failure = 0;
};

/// "7 launch 0x1c00000000 2048 bytes, segments 0=0x80+512 7=0x400+2176"
std::string toString(const ControlBlock &block);

/// The newest blocks of one card. Shared by its driver and whoever reads it.
class ControlBlockLog {
public:
  /// Keeps the newest \p count blocks from now on and forgets those kept; 0: none.
  void keep(size_t count);
  bool isOn() const { return limit.load(std::memory_order_relaxed) != 0; }
  void add(ControlBlock block);
  std::vector<ControlBlock> blocks() const;

private:
  std::atomic<size_t> limit{0};
  mutable std::mutex mutex;
  uint64_t next = 1;
  std::deque<ControlBlock> kept;
};

/// \p driver with a log; costs one test per call while the log is off.
std::unique_ptr<Driver> recordControlBlocks(std::unique_ptr<Driver> driver,
                                            std::shared_ptr<ControlBlockLog> log);

} // namespace spyre::runtime
