//===- Machine.h - the simulated device behind the C interface ------------------------------===//
//
// Category words of the faults, each with its own number: configuration E7001, out-of-bounds E7002,
// uninitialized-read E7003, overlapping-write E7004, missing-barrier E7005, bad-program E7006,
// bad-mapping E7007, system-error E7008, outside-allocation E7009, foreign-read E7010,
// other-core-data E7011, padding-read E7012, wiped-read E7013, end-of-life E7014, missing-wait
// E7015, deadlock E7016, index-out-of-range E7017, overlapping-buffers E7018, too-much-work E7019.
// A launch that fails adds nothing to the counters.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Random.h"
#include "spyre/Base/ThreadPool.h"
#include "spyre/Sim/SpyreSim.h"

#include "Core.h"
#include "ProgramCache.h"
#include "Ring.h"

#include <memory>
#include <optional>

namespace spyre::sim {

/// State of a device, to go back to.
struct Snapshot {
  std::string deviceJson;
  bool sanitizer = true;
  Ddr::Image ddr;
  std::vector<Core::Image> cores;
  uint32_t nextTag = 0;
  Random wipeRandom{0};
};

class Machine {
public:
  static Expected<std::unique_ptr<Machine>> create(const spyre_sim_config &config);

  Status write(uint64_t address, const void *data, uint64_t bytes, const uint64_t *padding);
  Status read(uint64_t address, void *data, uint64_t bytes);
  /// The reader expects data wherever \p padding has no bit.
  Status readSticks(uint64_t address, void *data, uint64_t bytes, const uint64_t *padding);
  Status copy(uint64_t from, uint64_t to, uint64_t bytes);
  Status discard(uint64_t address, uint64_t bytes);
  Status launch(uint64_t programAddress, uint64_t programBytes, std::span<const Segment> segments,
                uint32_t flags);
  Status readLx(uint32_t core, uint64_t address, void *data, uint64_t bytes);
  Status writeLx(uint32_t core, uint64_t address, const void *data, uint64_t bytes);

  /// Number of the phase in which the last launch failed with \p status, when nothing but what the
  /// program writes up to that phase is damaged; else nothing.
  std::optional<uint32_t> containedPhase(const Status &status) const;

  bool hasSanitizer() const { return sanitizer; }
  const spyre_sim_counters &counters() const { return totals; }
  void resetCounters() { totals = {}; }
  void startTrace(uint64_t maxEvents);
  std::vector<spyre_sim_event> trace() const;
  Snapshot save() const;
  Status restore(const Snapshot &snapshot);

private:
  Machine(arch::DeviceDesc device, Ddr ddr, std::vector<Core> cores,
          const spyre_sim_config &config);
  Status checkDdrRange(uint64_t address, uint64_t bytes) const;
  Status checkSticks(uint64_t address, uint64_t bytes) const;
  Status checkLxRange(uint32_t core, uint64_t address, uint64_t bytes) const;
  Status checkMapping(std::span<const Segment> segments) const;
  Expected<PlannedProgram *> fetchProgram(uint64_t address, uint64_t bytes,
                                          std::span<const Segment> segments);
  // Launch.cpp
  Expected<std::vector<BufferPlace>> placeBuffers(const program::Program &program);
  void forgetOldResults(std::span<const BufferPlace> buffers);
  Expected<int64_t> startOf(const program::Program &program, const program::Buffer &buffer) const;
  Status runPhase(PlannedProgram &plan, size_t index, const LaunchContext &context,
                  uint64_t &cycle);
  void runCores(std::span<Core> active, const PlannedPhase &phase, std::vector<Core::Stop> &stops);
  void barrier(std::span<Core> active, const LaunchContext &context, uint64_t &cycle);
  Status checkRaces(std::span<Core> active, const PlannedPhase &phase,
                    const LaunchContext &context);
  void wipe();
  void addToTotals(const Counters &launch, uint64_t programBytes, uint64_t cycles);

  arch::DeviceDesc device;
  Ddr ddr;
  std::vector<Core> cores;
  ThreadPool pool;
  Ring ring;
  ProgramCache programs;
  bool sanitizer;
  bool wipesBetweenLaunches;
  Random wipeRandom;
  uint32_t nextTag = kFirstTag;
  bool tracing = false;
  uint32_t tracedLaunches = 0;
  uint64_t tracedCycles = 0;
  uint64_t traceLimit = 0;
  /// Phase that the last launch is in, or ended in.
  uint32_t currentPhase = 0;
  spyre_sim_counters totals{};
  /// Of the launch under way.
  Counters launchCounters;
  std::array<uint64_t, kReasons> launchStalls{};
};

} // namespace spyre::sim
