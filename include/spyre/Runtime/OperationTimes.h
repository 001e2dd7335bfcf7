//===- OperationTimes.h - where the time of a program goes, operation by operation ----------===//
//
// For people who want a model faster: of each operation its simulated time, what the schedule
// waited for in every cycle of it, and where it lies under the machine's roofline. Nothing is
// executed: time does not depend on data. docs/timing.md
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Arch/DeviceDesc.h"
#include "spyre/Base/Status.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace spyre::runtime {

constexpr size_t kStallReasons = 8;
constexpr std::array<const char *, kStallReasons> kStallNames = {
    "ddr", "lx", "ring", "pt_fill", "pt", "sfp", "latency", "overhead"};

/// Cycles by what the schedule waited for in them, as kStallNames has the reasons.
using StallCycles = std::array<uint64_t, kStallReasons>;

/// A driver whose device knows: they sum to the cycles its counters have.
class StallSource {
public:
  virtual ~StallSource() = default;
  virtual StallCycles stallCycles() const = 0;
};

struct OperationTime {
  /// "0_add".
  std::string name;
  uint32_t cores = 0;
  uint64_t cycles = 0;
  double nanoseconds = 0;
  /// Sum to the cycles.
  StallCycles stallCycles{};
  uint64_t ddrReadBytes = 0, ddrWriteBytes = 0, ringBytes = 0;
  uint64_t ptMacs = 0, sfpLaneOps = 0;
  /// Multiplications and lane operations per byte that crosses DDR; infinite when none does.
  double intensity = 0;
  /// Cycles the whole chip would need at its peaks, for the memory or for the unit that needs most:
  /// "ddr", "pt" or "sfp"; "none" when the operation does nothing that has a peak.
  double boundCycles = 0;
  const char *bound = "none";

  /// Of the time, how much the bound explains: 1 is as fast as the chip can be.
  double partOfBound() const { return cycles == 0 ? 0 : boundCycles / double(cycles); }
  /// The reason with most cycles.
  const char *mainReason() const;
};

/// \p program: a device program ("init.bin"). Errors: E7006, E9201.
Expected<std::vector<OperationTime>> operationTimes(const std::string &program,
                                                    const arch::DeviceDesc &device);

} // namespace spyre::runtime
