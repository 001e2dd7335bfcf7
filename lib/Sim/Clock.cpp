//===- Clock.cpp - queues of units ----------------------------------------------------------===//
#include "Clock.h"

#include <algorithm>
#include <cmath>

namespace spyre::sim {

using program::Unit;

//===- Timeline -----------------------------------------------------------------------------===//

void Timeline::begin(uint64_t cycle) {
  gaps.clear();
  end = cycle;
}

void Timeline::forgetBefore(uint64_t cycle) {
  auto usable =
      std::find_if(gaps.begin(), gaps.end(), [&](const Interval &gap) { return gap.end > cycle; });
  gaps.erase(gaps.begin(), usable);
}

Interval Timeline::reserve(uint64_t earliest, uint64_t busyCycles) {
  Interval result{UINT64_MAX, 0};
  uint64_t left = busyCycles;
  auto take = [&](uint64_t start, uint64_t cycles) {
    result = {std::min(result.start, start), start + cycles};
    left -= cycles;
  };
  for (size_t i = 0; i < gaps.size() && left > 0; ++i) {
    uint64_t start = std::max(gaps[i].start, earliest);
    if (start >= gaps[i].end) {
      continue;
    }
    uint64_t cycles = std::min(left, gaps[i].end - start);
    take(start, cycles);
    // What is left of the gap: a part before and a part behind.
    Interval behind{start + cycles, gaps[i].end};
    gaps[i].end = start;
    if (behind.start < behind.end) {
      gaps.insert(gaps.begin() + ptrdiff_t(i) + 1, behind);
    }
  }
  std::erase_if(gaps, [](const Interval &gap) { return gap.start == gap.end; });
  if (left > 0 || busyCycles == 0) {
    uint64_t start = std::max(end, earliest);
    if (start > end) {
      gaps.push_back({end, start});
    }
    end = start + left;
    take(start, left);
  }
  if (gaps.size() > kMostGaps) {
    gaps.erase(gaps.begin());
  }
  return result;
}

//===- Units --------------------------------------------------------------------------------===//

void Clock::begin(bool overlapped, uint64_t cycle) {
  overlap = overlapped;
  for (size_t i = 0; hasTokens && i < tokens.size(); ++i) {
    tokens[i].clear();
  }
  hasTokens = false;
  synchronize(cycle);
}

void Clock::synchronize(uint64_t cycle) {
  free.fill(cycle);
  done.fill(cycle);
  ddr.begin(cycle);
  unmatchedReads = unmatchedWrites = 0;
}

uint64_t Clock::readyCycle(Unit unit) const { return overlap ? free[size_t(unit)] : doneCycle(); }

/// Cycles beyond the transfer itself for which the bus turns round.
uint64_t Clock::turnaround(Unit unit, const Duration &duration) {
  if (duration.ddrBytes <= 0) {
    return 0;
  }
  double &other = unit == Unit::Load ? unmatchedWrites : unmatchedReads;
  double matched = std::min(other, duration.ddrBytes);
  other -= matched;
  (unit == Unit::Load ? unmatchedReads : unmatchedWrites) += duration.ddrBytes - matched;
  double cycles = duration.turnCycles * matched / duration.ddrBytes - duration.slackCycles;
  return uint64_t(std::ceil(std::clamp(cycles, 0.0, 0x1p62)));
}

Interval Clock::run(Unit unit, const Duration &duration) {
  bool usesDdr = unit == Unit::Load || unit == Unit::Store;
  uint64_t busyCycles = duration.busyCycles + (usesDdr ? turnaround(unit, duration) : 0);
  uint64_t ready = readyCycle(unit);
  Interval busy{ready, ready + busyCycles};
  if (usesDdr && overlap) {
    ddr.forgetBefore(std::min(free[size_t(Unit::Load)], free[size_t(Unit::Store)]));
    busy = ddr.reserve(ready, busyCycles);
  }
  free[size_t(unit)] = busy.end;
  uint64_t end = busy.end + duration.latencyCycles;
  done[size_t(unit)] = std::max(done[size_t(unit)], end);
  return {busy.start, end};
}

bool Clock::signal(Unit unit, uint8_t token) {
  if (tokens[token].size() == kMostSignals) {
    return false;
  }
  hasTokens = true;
  tokens[token].push(done[size_t(unit)]);
  return true;
}

bool Clock::wait(Unit unit, uint8_t token) {
  if (tokens[token].empty()) {
    return false;
  }
  hold(unit, tokens[token].front());
  tokens[token].pop();
  return true;
}

void Clock::hold(Unit unit, uint64_t cycle) {
  free[size_t(unit)] = std::max(free[size_t(unit)], cycle);
  // A unit that waited for a token passes the wait on with its next signal.
  done[size_t(unit)] = std::max(done[size_t(unit)], free[size_t(unit)]);
}

uint64_t Clock::doneCycle() const { return *std::max_element(done.begin(), done.end()); }

} // namespace spyre::sim
