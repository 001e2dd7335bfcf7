//===- Ring.h - transfers between the scratchpads of cores ----------------------------------===//
//
// An Exchange concerns all cores of a phase at once: each has arrived, every receiver's data is
// read before any is written, and then all go on. So the result depends neither on the order of
// cores nor on host threads, and data may even change places.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/ThreadPool.h"

#include "Core.h"

#include <span>

namespace spyre::sim {

class Ring {
public:
  /// All \p cores stopped at the same Exchange. The lowest core's fault, if any.
  Status exchange(std::span<Core> cores, const LaunchContext &context, const PlannedPhase &phase,
                  ThreadPool &pool);

private:
  struct Receiver {
    size_t core = 0, peer = 0;
    Core::Places places;
    std::vector<uint8_t> data;
    std::vector<uint64_t> padding;
  };
  bool prepare(std::span<Core> cores, const LaunchContext &context, Receiver &receiver);
  void fetch(std::span<Core> cores, const PlannedInstruction &planned, Receiver &receiver);
  bool deliver(std::span<Core> cores, const LaunchContext &context, Receiver &receiver);
  void advanceClocks(std::span<Core> cores, const PlannedInstruction &planned);

  std::vector<Receiver> receivers;
};

} // namespace spyre::sim
