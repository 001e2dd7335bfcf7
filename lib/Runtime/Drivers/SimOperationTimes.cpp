//===- SimOperationTimes.cpp - phases of the simulator's timer under the roofline -----------===//
#include "spyre/Runtime/OperationTimes.h"
#include "spyre/Sim/SpyreSim.h"

#include "Drivers.h"

#include <algorithm>
#include <limits>
#include <memory>

namespace spyre::runtime {

static_assert(kStallReasons == SPYRE_SIM_STALLS);

const char *OperationTime::mainReason() const {
  auto most = std::max_element(stallCycles.begin(), stallCycles.end());
  return kStallNames[size_t(most - stallCycles.begin())];
}

/// At the peaks of the whole chip, however few cores the operation has.
static void placeUnderRoofline(OperationTime &time, const spyre_sim_phase &phase,
                               const arch::DeviceDesc &device) {
  const auto cores = double(device.cores);
  const double bytes = double(time.ddrReadBytes + time.ddrWriteBytes);
  const double work = double(time.ptMacs + time.sfpLaneOps);
  time.intensity = bytes > 0  ? work / bytes
                   : work > 0 ? std::numeric_limits<double>::infinity()
                              : 0;
  constexpr double kRowMacs = 64 * 64;
  const std::pair<const char *, double> bounds[] = {
      {"ddr", bytes / device.timing.ddrPeakBytesPerCycle},
      {"pt", double(phase.pt_rows) * kRowMacs / (cores * device.timing.ptMacsPerCycle)},
      {"sfp", double(time.sfpLaneOps) / (cores * device.timing.sfpLanesPerCycle)}};
  for (const auto &[name, cycles] : bounds) {
    if (cycles > time.boundCycles) {
      time.boundCycles = cycles;
      time.bound = name;
    }
  }
}

static OperationTime timeOf(const spyre_sim_phase &phase, const char *name,
                            const arch::DeviceDesc &device) {
  OperationTime time;
  time.name = name;
  time.cores = phase.cores;
  time.cycles = phase.cycles;
  time.nanoseconds = double(phase.cycles) / device.timing.clockGhz;
  std::copy_n(phase.stall_cycles, kStallReasons, time.stallCycles.begin());
  time.ddrReadBytes = phase.ddr_read_bytes;
  time.ddrWriteBytes = phase.ddr_write_bytes;
  time.ringBytes = phase.ring_bytes;
  time.ptMacs = phase.pt_macs;
  time.sfpLaneOps = phase.sfp_lane_ops;
  placeUnderRoofline(time, phase, device);
  return time;
}

Expected<std::vector<OperationTime>> operationTimes(const std::string &program,
                                                    const arch::DeviceDesc &device) {
  const char *text = "";
  std::unique_ptr<spyre_sim_timer, decltype(&spyre_sim_timer_destroy)> timer(
      spyre_sim_timer_create(program.data(), program.size(), &text), &spyre_sim_timer_destroy);
  if (timer == nullptr) {
    return statusFromText(text);
  }
  const std::string json = device.toJson();
  std::vector<spyre_sim_phase> phases;
  uint64_t count = 0;
  // Once to know how many there are.
  for (int round = 0; round < 2; ++round) {
    phases.resize(count);
    count = spyre_sim_timer_phases(timer.get(), json.c_str(), phases.data(), phases.size(), &text);
    if (count == 0) {
      break;
    }
  }
  if (count == 0 && *text != '\0') {
    return statusFromText(text);
  }
  std::vector<OperationTime> times;
  for (uint64_t i = 0; i < count; ++i) {
    times.push_back(timeOf(phases[i], spyre_sim_timer_phase_name(timer.get(), i), device));
  }
  return times;
}

} // namespace spyre::runtime
