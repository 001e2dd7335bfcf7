//===- ProgramTimer.h - the time of a program without its data ------------------------------===//
//
// When the units work does not depend on what they compute: addresses come from tables, trip counts
// from the program. So the clock can run without DDR, LX and arithmetic, in milliseconds where the
// device needs minutes, with the same cycles and counters. Cores that execute the same instructions
// have the same clock and are timed once.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Sim/SpyreSim.h"

#include "Plan.h"

namespace spyre::sim {

class ProgramTimer {
public:
  /// Error: E7006 (no program).
  static Expected<ProgramTimer> create(const std::string &bytes);

  /// What a launch on an idle \p device would count, but for the sanitizer's checks. Errors: E7006
  /// (a program of another machine, tokens that are never signalled).
  Expected<spyre_sim_counters> run(const arch::DeviceDesc &device);

private:
  program::Program program;
  uint64_t programBytes = 0;
  /// The machine the program was verified for, without its rates.
  arch::DeviceDesc verifiedFor;
  bool isVerified = false;
};

} // namespace spyre::sim
