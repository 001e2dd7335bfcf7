//===- Machine.h - the simulated device behind the C interface ------------------------------===//
//
// Category words of the faults, each with its own number: configuration E7001, out-of-bounds E7002,
// uninitialized-read E7003, overlapping-write E7004, undefined-behavior (racing read) E7005,
// bad-program E7006, bad-mapping E7007, system-error E7008. A launch that fails adds nothing to the
// counters.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/ThreadPool.h"
#include "spyre/Sim/SpyreSim.h"

#include "Core.h"

#include <memory>

namespace spyre::sim {

class Machine {
public:
  static Expected<std::unique_ptr<Machine>> create(const spyre_sim_config &config);

  Status write(uint64_t address, const void *data, uint64_t bytes);
  Status read(uint64_t address, void *data, uint64_t bytes);
  Status discard(uint64_t address, uint64_t bytes);
  Status launch(uint64_t programAddress, uint64_t programBytes, std::span<const Segment> segments);
  Status readLx(uint32_t core, uint64_t address, void *data, uint64_t bytes);

  const spyre_sim_counters &counters() const { return totals; }
  void resetCounters() { totals = {}; }

private:
  Machine(arch::DeviceDesc device, HostMemory ddr, std::vector<Core> cores, uint32_t threads,
          bool sanitizer);
  Status checkDdrRange(uint64_t address, uint64_t bytes) const;
  Status checkMapping(std::span<const Segment> segments) const;
  Expected<program::Program> fetchProgram(uint64_t address, uint64_t bytes,
                                          std::span<const Segment> segments) const;
  Status runPhase(const PlannedPhase &phase, const LaunchContext &context);
  Status checkRaces(const PlannedPhase &phase, const LaunchContext &context);
  void addToTotals(const Counters &launch, uint64_t programBytes);

  arch::DeviceDesc device;
  HostMemory ddr;
  std::vector<Core> cores;
  ThreadPool pool;
  bool sanitizer;
  spyre_sim_counters totals{};
  /// Of the launch under way.
  Counters launchCounters;
};

} // namespace spyre::sim
