//===- Races.h - which cores touched which sticks in one phase ------------------------------===//
//
// Between two barriers nothing orders the cores. A stick that two cores write, or that one core
// writes and another reads, has a value that depends on chance: on a real machine as well as here.
// Cores record ranges of physical addresses while they run; the check happens at the barrier, so
// its answer does not depend on host threads.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace spyre::sim {

/// A set of byte ranges that stays small because neighbours merge.
class RangeSet {
public:
  struct Range {
    uint64_t begin = 0;
    uint64_t end = 0;
    /// The first instruction that touched the range.
    size_t instruction = 0;
  };

  /// A program that reads every second stick of DDR must not fill the host's memory.
  static constexpr size_t kMostRanges = size_t(1) << 21;

  /// False when more than kMostRanges separate ranges would be kept.
  bool add(uint64_t begin, uint64_t end, size_t instruction);
  /// True when a byte of [begin, end) is in the set.
  bool touches(uint64_t begin, uint64_t end);
  /// Sorted by address, disjoint; ranges of different instructions that touch are not merged.
  const std::vector<Range> &sorted();
  void clear();

private:
  void compact();
  std::vector<Range> ranges;
  /// Around all ranges: the usual answer of touches() is found here.
  uint64_t lowest = UINT64_MAX, highest = 0;
  /// Compact when this many are held.
  size_t limit = kFirstLimit;
  /// The first ones are sorted and disjoint, what came since compact() is behind them.
  size_t compactCount = 0;
  static constexpr size_t kFirstLimit = size_t(1) << 16;
  /// touches() looks at each of these.
  static constexpr size_t kMostLoose = 1024;
};

/// What the load unit read of late, to see whether a store that overwrites it waited for it. Only
/// the last kMostReads runs are kept: a pipeline is never that deep.
class ReadWindow {
public:
  void add(uint64_t begin, uint64_t end, uint32_t time);
  /// True when [begin, end) was read later than \p known.
  bool overlaps(uint64_t begin, uint64_t end, uint32_t known);
  void clear() { reads.clear(); }

private:
  struct Read {
    uint64_t begin = 0, end = 0;
    uint32_t time = 0;
  };
  std::deque<Read> reads;
  static constexpr size_t kMostReads = 4096;
};

/// Core \p core and core \p otherCore (which wrote) touched the same bytes.
struct Race {
  size_t core = 0;
  size_t otherCore = 0;
  size_t instruction = 0;
  size_t otherInstruction = 0;
  uint64_t address = 0;
  bool bothWrite = false;
};

struct CoreAccesses {
  RangeSet reads;
  RangeSet writes;
  /// In phases that overlap.
  ReadWindow recentReads;

  void clear() {
    reads.clear();
    writes.clear();
    recentReads.clear();
  }
};

/// The race with the lowest core, then instruction, then address; write-write ones first.
std::optional<Race> findRace(std::vector<CoreAccesses *> &cores);

} // namespace spyre::sim
