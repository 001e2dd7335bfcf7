//===- TraceFile.h - what the units did when, for chrome://tracing and Perfetto -------------===//
//
// One process per core, one row per unit. A load ends a latency after the next one has begun, and
// the viewers draw only intervals that nest: an instruction that begins before its predecessor on
// the same unit has ended goes to the next free row of the unit ("load +1"). A process of its own
// has the operations, each with what its schedule waited for.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Program/Program.h"
#include "spyre/Runtime/OperationTimes.h"
#include "spyre/Sim/SpyreSim.h"

#include <string>
#include <vector>

namespace spyre::tools {

/// \p events as the device sorts them: by launch, core and start.
std::string traceText(const std::vector<spyre_sim_event> &events,
                      const std::vector<runtime::OperationTime> &operations,
                      const program::Program &program, const arch::Timing &timing);

} // namespace spyre::tools
