//===- PhaseTables.cpp - groups, ports and links --------------------------------------------===//
#include "PhaseTables.h"

#include <algorithm>
#include <cstdlib>

namespace spyre::sim {

using program::Instruction;

/// The shorter way round.
static int64_t hopsBetween(int64_t a, int64_t b, int64_t cores) {
  int64_t apart = std::abs(a - b);
  return std::min(apart, cores - apart);
}

const DdrUse &PhaseTables::ddrUse(const Instruction &source) const {
  auto [found, isNew] = uses.try_emplace({source.peerTable, source.onlyTable});
  if (isNew) {
    found->second = findDdrUse(source.peerTable, source.onlyTable);
  }
  return found->second;
}

DdrUse PhaseTables::findDdrUse(int32_t peers, int32_t only) const {
  auto cores = size_t(phase.cores);
  auto runs = [&](size_t core) { return only < 0 || phase.coreTables[size_t(only)][core] != 0; };
  auto leaderOf = [&](size_t core) {
    int64_t leader = peers < 0 ? -1 : phase.coreTables[size_t(peers)][core];
    return leader < 0 ? core : size_t(leader);
  };
  DdrUse use;
  std::vector<int64_t> members(cores, 0);
  for (size_t core = 0; core < cores; ++core) {
    if (runs(core)) {
      size_t leader = leaderOf(core);
      ++members[leader];
      use.hops = std::max(use.hops, hopsBetween(int64_t(core), int64_t(leader), ringCores));
      ++use.cores;
    }
  }
  double port = 0;
  for (size_t core = 0; core < cores; ++core) {
    port = core % coresPerPort == 0 ? 0 : port;
    if (runs(core)) {
      double part = 1 / double(members[leaderOf(core)]);
      port += part;
      use.readsOfCore = std::max(use.readsOfCore, part);
    }
    use.readsOfPort = std::max(use.readsOfPort, port);
    use.reads += members[core] > 0;
  }
  return use;
}

const RingUse &PhaseTables::ringUse(const Instruction &exchange) const {
  auto [found, isNew] = ringUses.try_emplace(exchange.peerTable);
  if (isNew) {
    found->second = findRingUse(phase.coreTables[size_t(exchange.peerTable)]);
  }
  return found->second;
}

RingUse PhaseTables::findRingUse(const std::vector<int64_t> &peers) const {
  // Transfers over the link from a core to the next one, and from the next one to the core.
  std::vector<int64_t> up(size_t(ringCores), 0), down(size_t(ringCores), 0);
  RingUse use;
  for (int64_t core = 0; core < phase.cores; ++core) {
    int64_t peer = peers[size_t(core)];
    if (peer < 0 || peer == core) {
      continue;
    }
    int64_t hops = hopsBetween(core, peer, ringCores);
    use.hops = std::max(use.hops, hops);
    bool goesUp = (peer + hops) % ringCores == core;
    for (int64_t hop = 0; hop < hops; ++hop) {
      int64_t link = goesUp ? (peer + hop) % ringCores : (core + hop) % ringCores;
      int64_t &load = (goesUp ? up : down)[size_t(link)];
      use.linkTransfers = std::max(use.linkTransfers, ++load);
    }
  }
  return use;
}

} // namespace spyre::sim
