//===- PhaseTables.h - who takes part in an instruction, for the clock ----------------------===//
//
// What a phase's tables of cores mean for time: how many cores use DDR at once and through which
// ports, who reads for whom, and which links of the ring an exchange crosses. Many instructions
// share a table, so the answers are kept.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Arch/DeviceDesc.h"
#include "spyre/Program/Program.h"

#include <map>

namespace spyre::sim {

/// Cores of a transfer, which all move the same number of bytes between DDR and their LX.
struct DdrUse {
  int64_t cores = 0;
  /// Times the bytes cross the chip's border: cores of a group share a read.
  int64_t reads = 0;
  /// Of the fullest port, and of the core that asks for most; parts of a group's read.
  double readsOfPort = 0, readsOfCore = 0;
  /// Longest way from a leader to one of its group.
  int64_t hops = 0;
};

/// Of an exchange.
struct RingUse {
  /// Transfers across the fullest link, in one direction.
  int64_t linkTransfers = 0;
  /// Longest way.
  int64_t hops = 0;
};

class PhaseTables {
public:
  PhaseTables(const program::Phase &phase, const arch::DeviceDesc &device)
      : phase(phase), coresPerPort(size_t(device.ddrCoresPerPort)), ringCores(device.cores) {}

  const DdrUse &ddrUse(const program::Instruction &source) const;
  const RingUse &ringUse(const program::Instruction &exchange) const;

private:
  DdrUse findDdrUse(int32_t peers, int32_t only) const;
  RingUse findRingUse(const std::vector<int64_t> &peers) const;

  const program::Phase &phase;
  size_t coresPerPort;
  int64_t ringCores;
  /// By peer and only table.
  mutable std::map<std::pair<int32_t, int32_t>, DdrUse> uses;
  /// By peer table.
  mutable std::map<int32_t, RingUse> ringUses;
};

} // namespace spyre::sim
