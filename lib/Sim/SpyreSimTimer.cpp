//===- SpyreSimTimer.cpp - C interface of ProgramTimer --------------------------------------===//
//
// No exception leaves this file; the text of the last error is kept per thread.
//===--------------------------------------------------------------------------------------------===//
#include "ProgramTimer.h"

#include <algorithm>
#include <exception>
#include <memory>

using spyre::Status;
using spyre::sim::PhaseTime;
using spyre::sim::ProgramTimer;

struct spyre_sim_timer {
  ProgramTimer timer;
};

static void report(const Status &status, const char **error) {
  static thread_local std::string text;
  text = status.message();
  if (error != nullptr) {
    *error = text.c_str();
  }
}

template <typename Body>
static Status guarded(Body body) {
  try {
    return body();
  } catch (const std::exception &exception) {
    return spyre::error<7008>("system-error: {}; the host ran out of a resource", exception.what());
  }
}

static spyre_sim_phase phaseOf(const PhaseTime &time, const spyre::program::Phase &source) {
  spyre_sim_phase phase{};
  phase.cores = uint32_t(source.cores);
  phase.cycles = time.cycles;
  std::copy(time.stallCycles.begin(), time.stallCycles.end(), phase.stall_cycles);
  phase.ddr_read_bytes = time.counters.ddrReadBytes;
  phase.ddr_write_bytes = time.counters.ddrWriteBytes;
  phase.ring_bytes = time.counters.ringBytes;
  phase.pt_macs = time.counters.ptMacs;
  phase.sfp_lane_ops = time.counters.sfpLaneOps;
  return phase;
}

extern "C" {

spyre_sim_timer *spyre_sim_timer_create(const void *program, uint64_t bytes, const char **error) {
  std::unique_ptr<spyre_sim_timer> result;
  Status status = guarded([&]() -> Status {
    if (program == nullptr) {
      return spyre::error<7001>("configuration: program is NULL");
    }
    SPYRE_ASSIGN_OR_RETURN(ProgramTimer timer, ProgramTimer::create(std::string(
                                                   static_cast<const char *>(program), bytes)));
    result = std::make_unique<spyre_sim_timer>(spyre_sim_timer{std::move(timer)});
    return Status::success();
  });
  report(status, error);
  return result.release();
}

int spyre_sim_timer_run(spyre_sim_timer *timer, const char *device_json,
                        spyre_sim_counters *counters, const char **error) {
  Status status = guarded([&]() -> Status {
    if (timer == nullptr || device_json == nullptr || counters == nullptr) {
      return spyre::error<7001>("configuration: timer, device_json or counters is NULL");
    }
    SPYRE_ASSIGN_OR_RETURN(spyre::arch::DeviceDesc device,
                           spyre::arch::DeviceDesc::fromJson(device_json));
    SPYRE_ASSIGN_OR_RETURN(*counters, timer->timer.run(device));
    return Status::success();
  });
  report(status, error);
  return status.ok() ? 0 : 1;
}

uint64_t spyre_sim_timer_phases(spyre_sim_timer *timer, const char *device_json,
                                spyre_sim_phase *phases, uint64_t capacity, const char **error) {
  uint64_t count = 0;
  Status status = guarded([&]() -> Status {
    if (timer == nullptr || device_json == nullptr || (phases == nullptr && capacity > 0)) {
      return spyre::error<7001>("configuration: timer, device_json or phases is NULL");
    }
    SPYRE_ASSIGN_OR_RETURN(spyre::arch::DeviceDesc device,
                           spyre::arch::DeviceDesc::fromJson(device_json));
    SPYRE_ASSIGN_OR_RETURN(std::vector<PhaseTime> times, timer->timer.phases(device));
    for (uint64_t i = 0; i < std::min<uint64_t>(capacity, times.size()); ++i) {
      phases[i] = phaseOf(times[i], timer->timer.source().phases[i]);
    }
    count = times.size();
    return Status::success();
  });
  report(status, error);
  return count;
}

const char *spyre_sim_timer_phase_name(spyre_sim_timer *timer, uint64_t phase) {
  if (timer == nullptr || phase >= timer->timer.source().phases.size()) {
    return nullptr;
  }
  return timer->timer.source().phases[phase].name.c_str();
}

void spyre_sim_timer_destroy(spyre_sim_timer *timer) { delete timer; }

} // extern "C"
