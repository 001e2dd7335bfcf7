//===- ProgramTimer.h - the time of a program without its data ------------------------------===//
//
// PhaseTimer.h over the phases of a program: in milliseconds what the device needs minutes for,
// with the same cycles and counters.
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
  /// Phase by phase, with what was waited for.
  Expected<std::vector<PhaseTime>> phases(const arch::DeviceDesc &device);
  const program::Program &source() const { return program; }

private:
  Status verifyFor(const arch::DeviceDesc &device);

  program::Program program;
  uint64_t programBytes = 0;
  /// The machine the program was verified for, without its rates.
  arch::DeviceDesc verifiedFor;
  bool isVerified = false;
};

} // namespace spyre::sim
