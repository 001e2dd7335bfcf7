//===- Clock.cpp - queues of units ----------------------------------------------------------===//
#include "Clock.h"

#include <algorithm>

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

uint64_t Timeline::reserve(uint64_t earliest, uint64_t busyCycles) {
  for (auto gap = gaps.begin(); gap != gaps.end(); ++gap) {
    uint64_t start = std::max(gap->start, earliest);
    if (start + busyCycles > gap->end) {
      continue;
    }
    // What is left of the gap: a part before and a part behind.
    Interval behind{start + busyCycles, gap->end};
    gap->end = start;
    if (behind.start < behind.end) {
      gaps.insert(gap + 1, behind);
    }
    std::erase_if(gaps, [](const Interval &left) { return left.start == left.end; });
    return start;
  }
  uint64_t start = std::max(end, earliest);
  if (start > end) {
    gaps.push_back({end, start});
  }
  if (gaps.size() > kMostGaps) {
    gaps.erase(gaps.begin());
  }
  end = start + busyCycles;
  return start;
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
}

uint64_t Clock::readyCycle(Unit unit) const { return overlap ? free[size_t(unit)] : doneCycle(); }

Interval Clock::run(Unit unit, Duration duration) {
  bool usesDdr = unit == Unit::Load || unit == Unit::Store;
  uint64_t start = readyCycle(unit);
  if (usesDdr && overlap) {
    ddr.forgetBefore(std::min(free[size_t(Unit::Load)], free[size_t(Unit::Store)]));
    start = ddr.reserve(start, duration.busyCycles);
  }
  uint64_t busyUntil = start + duration.busyCycles;
  free[size_t(unit)] = busyUntil;
  uint64_t end = busyUntil + duration.latencyCycles;
  done[size_t(unit)] = std::max(done[size_t(unit)], end);
  return {start, end};
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
