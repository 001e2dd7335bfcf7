//===- ProgramTimer.cpp - phases one after the other ----------------------------------------===//
#include "ProgramTimer.h"

#include "spyre/Program/Facts.h"

#include "PhaseTimer.h"

namespace spyre::sim {

//===- Program ------------------------------------------------------------------------------===//

Expected<ProgramTimer> ProgramTimer::create(const std::string &bytes) {
  Expected<program::Program> program = program::readProgram(bytes);
  if (!program.ok()) {
    return error<7006>("bad-program: {}", program.status().message());
  }
  SPYRE_RETURN_IF_ERROR(program::checkWork(*program));
  ProgramTimer timer;
  timer.program = *std::move(program);
  timer.programBytes = bytes.size();
  return timer;
}

Status ProgramTimer::verifyFor(const arch::DeviceDesc &device) {
  arch::DeviceDesc shape = device;
  shape.timing = arch::Timing();
  if (!isVerified || shape != verifiedFor) {
    if (Status status = program::verifyProgram(program, device); !status.ok()) {
      return error<7006>("bad-program: {}", status.message());
    }
    verifiedFor = std::move(shape);
    isVerified = true;
  }
  return Status::success();
}

Expected<std::vector<PhaseTime>> ProgramTimer::phases(const arch::DeviceDesc &device) {
  SPYRE_RETURN_IF_ERROR(verifyFor(device));
  std::vector<PhaseTime> times;
  for (size_t i = 0; i < program.phases.size(); ++i) {
    PlannedPhase phase = planPhase(program.phases[i], i, device);
    SPYRE_ASSIGN_OR_RETURN(PhaseTime time, timeOf(phase, device.timing));
    times.push_back(time);
  }
  return times;
}

Expected<spyre_sim_counters> ProgramTimer::run(const arch::DeviceDesc &device) {
  SPYRE_RETURN_IF_ERROR(verifyFor(device));
  uint64_t cycle = wholeCycles(device.timing.launchOverheadCycles) +
                   wholeCycles(device.timing.bundleOverheadCycles);
  spyre_sim_counters counters{};
  counters.stall_cycles[size_t(Reason::Overhead)] = cycle;
  Counters sum;
  for (size_t i = 0; i < program.phases.size(); ++i) {
    PlannedPhase phase = planPhase(program.phases[i], i, device);
    SPYRE_ASSIGN_OR_RETURN(PhaseTime time, timeOf(phase, device.timing));
    cycle += time.cycles;
    sum += time.counters;
    for (size_t r = 0; r < kReasons; ++r) {
      counters.stall_cycles[r] += time.stallCycles[r];
    }
  }
  counters.launches = 1;
  counters.ddr_read_bytes = sum.ddrReadBytes;
  counters.ddr_write_bytes = sum.ddrWriteBytes;
  counters.lx_read_bytes = sum.lxReadBytes;
  counters.lx_write_bytes = sum.lxWriteBytes;
  counters.ring_bytes = sum.ringBytes;
  counters.program_bytes = programBytes;
  counters.pt_macs = sum.ptMacs;
  counters.sfp_lane_ops = sum.sfpLaneOps;
  counters.instructions = sum.instructions;
  counters.cycles = cycle;
  counters.nanoseconds = wholeCycles(double(cycle) / device.timing.clockGhz);
  return counters;
}

} // namespace spyre::sim
