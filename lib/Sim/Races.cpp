//===- Races.cpp - overlap of address ranges between cores ----------------------------------===//
//
// The usual answer is "no race", so that is what is fast: all writes sorted once, then one merge
// walk per core over its reads. Only when a race exists are all pairs of cores compared, to name
// the same one every time.
//===--------------------------------------------------------------------------------------------===//
#include "Races.h"

#include <algorithm>
#include <tuple>

namespace spyre::sim {

using Range = RangeSet::Range;

bool RangeSet::add(uint64_t begin, uint64_t end, size_t instruction) {
  lowest = std::min(lowest, begin);
  highest = std::max(highest, end);
  if (ranges.size() > compactCount) {
    Range &last = ranges.back();
    bool touches = begin <= last.end && last.begin <= end;
    if (last.instruction == instruction && touches) {
      last.begin = std::min(last.begin, begin);
      last.end = std::max(last.end, end);
      return true;
    }
  }
  ranges.push_back({begin, end, instruction});
  if (ranges.size() < limit) {
    return true;
  }
  compact();
  limit = std::max(kFirstLimit, 2 * ranges.size());
  return ranges.size() <= kMostRanges;
}

void RangeSet::clear() {
  ranges.clear();
  limit = kFirstLimit;
  compactCount = 0;
  lowest = UINT64_MAX;
  highest = 0;
}

bool RangeSet::touches(uint64_t begin, uint64_t end) {
  if (begin >= highest || end <= lowest) {
    return false;
  }
  if (ranges.size() - compactCount > kMostLoose) {
    compact();
  }
  auto loose = ranges.begin() + std::ptrdiff_t(compactCount);
  auto found =
      std::upper_bound(ranges.begin(), loose, begin,
                       [](uint64_t value, const Range &range) { return value < range.end; });
  return (found != loose && found->begin < end) ||
         std::any_of(loose, ranges.end(),
                     [&](const Range &range) { return range.begin < end && begin < range.end; });
}

const std::vector<Range> &RangeSet::sorted() {
  compact();
  return ranges;
}

void RangeSet::compact() {
  if (compactCount == ranges.size()) {
    return;
  }
  auto before = [](const Range &a, const Range &b) {
    return std::tie(a.begin, a.instruction, a.end) < std::tie(b.begin, b.instruction, b.end);
  };
  auto loose = ranges.begin() + std::ptrdiff_t(compactCount);
  std::sort(loose, ranges.end(), before);
  std::inplace_merge(ranges.begin(), loose, ranges.end(), before);
  size_t kept = 0;
  for (const Range &range : ranges) {
    Range *last = kept == 0 ? nullptr : &ranges[kept - 1];
    if (last != nullptr && range.begin < last->end) {
      // The part behind the earlier range stays attributed to this one.
      if (range.end <= last->end) {
        continue;
      }
      if (range.instruction == last->instruction) {
        last->end = range.end;
        continue;
      }
      ranges[kept++] = {last->end, range.end, range.instruction};
    } else if (last != nullptr && range.begin == last->end &&
               range.instruction == last->instruction) {
      last->end = range.end;
    } else {
      ranges[kept++] = range;
    }
  }
  ranges.resize(kept);
  compactCount = kept;
}

//===- Reads under way ----------------------------------------------------------------------===//

void ReadWindow::add(uint64_t begin, uint64_t end, uint32_t time) {
  if (!reads.empty() && reads.back().time == time && begin <= reads.back().end &&
      reads.back().begin <= end) {
    reads.back().begin = std::min(reads.back().begin, begin);
    reads.back().end = std::max(reads.back().end, end);
    return;
  }
  if (reads.size() == kMostReads) {
    reads.pop_front();
  }
  reads.push_back({begin, end, time});
}

bool ReadWindow::overlaps(uint64_t begin, uint64_t end, uint32_t known) {
  while (!reads.empty() && reads.front().time <= known) {
    reads.pop_front();
  }
  return std::any_of(reads.begin(), reads.end(), [&](const Read &read) {
    return read.time > known && read.begin < end && begin < read.end;
  });
}

//===- Races --------------------------------------------------------------------------------===//

namespace {

struct OwnedRange {
  Range range;
  size_t core = 0;
};

} // namespace

/// All writes by address; sets \p overlap when two cores share a byte.
static std::vector<OwnedRange> allWrites(std::vector<CoreAccesses *> &cores, bool &overlap) {
  std::vector<OwnedRange> writes;
  for (size_t core = 0; core < cores.size(); ++core) {
    for (const Range &range : cores[core]->writes.sorted()) {
      writes.push_back({range, core});
    }
  }
  std::sort(writes.begin(), writes.end(), [](const OwnedRange &a, const OwnedRange &b) {
    return std::tie(a.range.begin, a.core) < std::tie(b.range.begin, b.core);
  });
  // The ranges of one core are disjoint, so neighbours that overlap belong to two cores.
  overlap = false;
  for (size_t i = 1; i < writes.size(); ++i) {
    overlap |= writes[i].range.begin < writes[i - 1].range.end;
  }
  return writes;
}

static bool readsOthersWrites(const std::vector<Range> &reads, size_t core,
                              const std::vector<OwnedRange> &writes) {
  auto write = writes.begin();
  for (const Range &read : reads) {
    while (write != writes.end() && write->range.end <= read.begin) {
      ++write;
    }
    for (auto it = write; it != writes.end() && it->range.begin < read.end; ++it) {
      if (it->core != core) {
        return true;
      }
    }
  }
  return false;
}

/// The first overlap of two sorted lists in the order (instruction of a, address).
static std::optional<Race> firstOverlap(const std::vector<Range> &a, const std::vector<Range> &b) {
  std::optional<Race> best;
  size_t j = 0;
  for (const Range &range : a) {
    while (j < b.size() && b[j].end <= range.begin) {
      ++j;
    }
    if (j < b.size() && b[j].begin < range.end &&
        (!best || range.instruction < best->instruction)) {
      best = Race{.instruction = range.instruction,
                  .otherInstruction = b[j].instruction,
                  .address = std::max(range.begin, b[j].begin)};
    }
  }
  return best;
}

static std::optional<Race> firstRace(std::vector<CoreAccesses *> &cores, bool bothWrite) {
  for (size_t core = 0; core < cores.size(); ++core) {
    RangeSet &mine = bothWrite ? cores[core]->writes : cores[core]->reads;
    std::optional<Race> best;
    for (size_t other = bothWrite ? core + 1 : 0; other < cores.size(); ++other) {
      if (other == core) {
        continue;
      }
      std::optional<Race> race = firstOverlap(mine.sorted(), cores[other]->writes.sorted());
      if (race && (!best || std::tie(race->instruction, race->address) <
                                std::tie(best->instruction, best->address))) {
        best = race;
        best->core = core;
        best->otherCore = other;
        best->bothWrite = bothWrite;
      }
    }
    if (best) {
      return best;
    }
  }
  return std::nullopt;
}

std::optional<Race> findRace(std::vector<CoreAccesses *> &cores) {
  bool overlap = false;
  std::vector<OwnedRange> writes = allWrites(cores, overlap);
  if (overlap) {
    return firstRace(cores, true);
  }
  for (size_t core = 0; core < cores.size(); ++core) {
    if (readsOthersWrites(cores[core]->reads.sorted(), core, writes)) {
      return firstRace(cores, false);
    }
  }
  return std::nullopt;
}

} // namespace spyre::sim
