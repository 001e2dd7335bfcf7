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

template <typename Moment>
static void atLeast(Moment &moment, const Moment &other) {
  if (moment.cycle < other.cycle) {
    moment = other;
  }
}

template <typename Moment>
void ClockOf<Moment>::begin(bool overlapped, const Moment &moment) {
  overlap = overlapped;
  for (size_t i = 0; hasTokens && i < tokens.size(); ++i) {
    tokens[i].clear();
  }
  hasTokens = false;
  synchronize(moment);
}

template <typename Moment>
void ClockOf<Moment>::synchronize(const Moment &moment) {
  free.fill(moment);
  finished.fill(moment);
  ddr.begin(moment.cycle);
  unmatchedReads = unmatchedWrites = 0;
}

/// Cycles beyond the transfer itself for which the bus turns round.
template <typename Moment>
uint64_t ClockOf<Moment>::turnaround(Unit unit, const Duration &duration) {
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

template <typename Moment>
Interval ClockOf<Moment>::run(Unit unit, const Duration &duration) {
  const bool usesDdr = unit == Unit::Load || unit == Unit::Store;
  const uint64_t turn = usesDdr ? turnaround(unit, duration) : 0;
  Moment moment = ready(unit);
  Interval busy{moment.cycle, moment.cycle + duration.busyCycles + turn};
  if (usesDdr && overlap) {
    ddr.forgetBefore(std::min(free[size_t(Unit::Load)].cycle, free[size_t(Unit::Store)].cycle));
    busy = ddr.reserve(moment.cycle, duration.busyCycles + turn);
    // Another transfer had the memory before this one or between its pieces.
    moment.spend(Reason::Ddr, busy.end - moment.cycle - duration.busyCycles - turn);
  }
  moment.spend(Reason::Ddr, turn);
  moment.spend(duration.reason, duration.busyCycles - duration.otherCycles);
  moment.spend(duration.otherReason, duration.otherCycles);
  free[size_t(unit)] = moment;
  moment.spend(duration.latencyReason, duration.latencyCycles);
  atLeast(finished[size_t(unit)], moment);
  return {busy.start, moment.cycle};
}

template <typename Moment>
bool ClockOf<Moment>::signal(Unit unit, uint8_t token) {
  if (tokens[token].size() == kMostSignals) {
    return false;
  }
  hasTokens = true;
  tokens[token].push(finished[size_t(unit)]);
  return true;
}

template <typename Moment>
bool ClockOf<Moment>::wait(Unit unit, uint8_t token) {
  if (tokens[token].empty()) {
    return false;
  }
  hold(unit, tokens[token].front());
  tokens[token].pop();
  return true;
}

template <typename Moment>
void ClockOf<Moment>::hold(Unit unit, const Moment &moment) {
  atLeast(free[size_t(unit)], moment);
  // A unit that waited for a token passes the wait on with its next signal.
  atLeast(finished[size_t(unit)], free[size_t(unit)]);
}

template <typename Moment>
const Moment &ClockOf<Moment>::done() const {
  return *std::max_element(finished.begin(), finished.end(),
                           [](const Moment &a, const Moment &b) { return a.cycle < b.cycle; });
}

template class ClockOf<PlainMoment>;
template class ClockOf<StallMoment>;

} // namespace spyre::sim
