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

  void add(uint64_t begin, uint64_t end, size_t instruction);
  /// Sorted by address, disjoint; ranges of different instructions that touch are not merged.
  const std::vector<Range> &sorted();
  void clear();

private:
  void compact();
  std::vector<Range> ranges;
  /// Compact when this many are held.
  size_t limit = kFirstLimit;
  static constexpr size_t kFirstLimit = size_t(1) << 16;
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
};

/// The race with the lowest core, then instruction, then address; write-write ones first.
std::optional<Race> findRace(std::vector<CoreAccesses *> &cores);

} // namespace spyre::sim
