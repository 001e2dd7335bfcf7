//===- PhaseTimer.h - the time of one phase without its data --------------------------------===//
//
// When the units work does not depend on what they compute: addresses come from tables, trip counts
// from the program. So the clock runs without DDR, LX and arithmetic, once per program instead of
// once per core and launch. Cores that execute the same instructions have the same clock and are
// timed once.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "Plan.h"

namespace spyre::sim {

/// Error: E7006 (tokens that are never signalled).
Expected<PhaseTime> timeOf(const PlannedPhase &phase, const arch::Timing &timing);

} // namespace spyre::sim
