//===- Clock.h - when the units of a core work ----------------------------------------------===//
//
// Each unit is a queue that is busy until `free`; `done` is when its last result is there (a load
// arrives a latency after its bytes left DDR, while the next one is already under way). Loads and
// stores of a core share its part of the DDR rate: first come, first served by time and not by
// place in the program, so a load may run ahead of a store that still waits. In a phase without
// overlap every instruction begins when the one before it is done; with overlap only Wait and the
// unit's own queue hold it back.
//
// The memory's bus works in one direction at a time: bytes written between bytes read (since the
// last barrier, whatever the overlap, for the cores do not march in step) cost the turning of it.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Program/Program.h"

#include "Moment.h"
#include "TokenQueue.h"

#include <array>
#include <cstdint>
#include <vector>

namespace spyre::sim {

/// Cycles one instruction takes.
struct Duration {
  /// The unit (and the core's part of DDR, for loads and stores) is busy.
  uint64_t busyCycles = 0;
  /// Until the result is there, beyond that.
  uint64_t latencyCycles = 0;
  /// Loads and stores. Bytes, a core's part of what crosses the chip's border.
  double ddrBytes = 0;
  /// What turning the bus costs when all bytes are matched by as many the other way.
  double turnCycles = 0;
  /// The chip's border stands still so long while ports, cores or the ring are busy.
  double slackCycles = 0;
  /// What the busy cycles are spent on, and the part of them that is spent on something else.
  Reason reason = Reason::Ddr, otherReason = Reason::Ddr;
  uint64_t otherCycles = 0;
  Reason latencyReason = Reason::Latency;
};

struct Interval {
  uint64_t start = 0, end = 0;
};

/// Time of something that one user has at a time, reserved in any order.
class Timeline {
public:
  void begin(uint64_t cycle);
  /// The first \p busyCycles free cycles from \p earliest on, in pieces if need be: what comes
  /// later in the program but is ready now does not wait for what comes earlier and is not. From
  /// the first of them to behind the last.
  Interval reserve(uint64_t earliest, uint64_t busyCycles);
  /// Nobody asks for cycles before \p cycle any more.
  void forgetBefore(uint64_t cycle);

private:
  /// Unused time before `end`, ascending; only the last ones are remembered.
  std::vector<Interval> gaps;
  uint64_t end = 0;
  static constexpr size_t kMostGaps = 64;
};

template <typename Moment>
class ClockOf {
public:
  /// A phase begins: no token is signalled.
  void begin(bool overlapped, const Moment &moment);
  /// All units start again at \p moment; tokens stay.
  void synchronize(const Moment &moment);
  Interval run(program::Unit unit, const Duration &duration);
  /// False when more signals than kMostSignals would be outstanding.
  bool signal(program::Unit unit, uint8_t token);
  /// False when nobody signalled.
  bool wait(program::Unit unit, uint8_t token);
  /// When \p unit could begin something.
  const Moment &ready(program::Unit unit) const { return overlap ? free[size_t(unit)] : done(); }
  /// \p unit starts nothing before \p moment.
  void hold(program::Unit unit, const Moment &moment);
  /// All units are done.
  const Moment &done() const;

private:
  uint64_t turnaround(program::Unit unit, const Duration &duration);

  bool overlap = false;
  std::array<Moment, program::kUnits> free{};
  std::array<Moment, program::kUnits> finished{};
  Timeline ddr;
  /// Bytes read and written since the last barrier that nothing the other way has matched.
  double unmatchedReads = 0, unmatchedWrites = 0;
  bool hasTokens = false;
  std::array<TokenQueue<Moment>, program::kMaxTokens> tokens;
};

/// Of one core while it is traced.
using Clock = ClockOf<PlainMoment>;
extern template class ClockOf<PlainMoment>;
extern template class ClockOf<StallMoment>;

} // namespace spyre::sim
