//===- Multicast.cpp - groups of cores with equal addresses ---------------------------------===//
#include "Multicast.h"

#include "Cost.h"

#include <algorithm>
#include <map>

namespace spyre::backend {

using program::Instruction;
using program::Opcode;

static const std::vector<int64_t> *tableAt(const program::Phase &phase, int32_t index) {
  return index < 0 ? nullptr : &phase.coreTables[size_t(index)];
}

/// The leader of every core; a core that skips the load leads itself.
static std::vector<int64_t> leadersOf(const program::Phase &phase, const Instruction &load) {
  const std::vector<int64_t> *offsets = tableAt(phase, load.operands[0].coreTable);
  const std::vector<int64_t> *only = tableAt(phase, load.onlyTable);
  std::vector<int64_t> leaders;
  std::map<int64_t, int64_t> leaderAt;
  for (size_t core = 0; core < size_t(phase.cores); ++core) {
    bool runs = only == nullptr || (*only)[core] != 0;
    int64_t start = offsets ? (*offsets)[core] : 0;
    leaders.push_back(runs ? leaderAt.emplace(start, int64_t(core)).first->second : int64_t(core));
  }
  return leaders;
}

/// True when reading once and sending along the ring is faster than reading for each core.
static bool pays(const program::Phase &phase, const Instruction &load,
                 const std::vector<int64_t> &leaders, const arch::DeviceDesc &device) {
  const std::vector<int64_t> *only = tableAt(phase, load.onlyTable);
  int64_t readers = 0, leading = 0, hops = 0;
  for (size_t core = 0; core < leaders.size(); ++core) {
    if (only == nullptr || (*only)[core] != 0) {
      int64_t apart = int64_t(core) - leaders[core];
      hops = std::max(hops, std::min(apart, device.cores - apart));
      leading += apart == 0;
      ++readers;
    }
  }
  double bytes = double(load.points()) * double(kStickBytes);
  return leading < readers && groupLoadCycles(bytes, leading, readers, hops, device) <
                                  loadCycles(bytes, readers, readers, device);
}

void addMulticast(program::Phase &phase, const std::vector<program::Buffer> &buffers,
                  const arch::DeviceDesc &device) {
  if (phase.cores < 2) {
    return;
  }
  for (Instruction &instruction : phase.instructions) {
    if (instruction.opcode != Opcode::Load || instruction.peerTable >= 0 ||
        !buffers[size_t(instruction.operands[0].buffer)].coreOffset.empty()) {
      continue;
    }
    std::vector<int64_t> leaders = leadersOf(phase, instruction);
    if (!pays(phase, instruction, leaders, device)) {
      continue;
    }
    auto found = std::find(phase.coreTables.begin(), phase.coreTables.end(), leaders);
    instruction.peerTable = int32_t(found - phase.coreTables.begin());
    if (found == phase.coreTables.end()) {
      phase.coreTables.push_back(std::move(leaders));
    }
  }
}

} // namespace spyre::backend
