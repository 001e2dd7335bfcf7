//===- Moment.h - points in time, and how the schedule got there ----------------------------===//
//
// A clock is written once for two kinds of moments. One is a number of cycles. The other also
// carries, for every cycle up to it, what the schedule waited for: a moment grows by the work of a
// unit, and the later of two moments hands on its own history. So the last moment of a phase has
// the critical path to it, and its parts sum to its cycle.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Sim/SpyreSim.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace spyre::sim {

/// What a cycle was spent on; numbered as spyre_sim_counters::stall_cycles.
enum class Reason : uint8_t {
  Ddr = SPYRE_SIM_STALL_DDR,
  Lx = SPYRE_SIM_STALL_LX,
  Ring = SPYRE_SIM_STALL_RING,
  PtFill = SPYRE_SIM_STALL_PT_FILL,
  Pt = SPYRE_SIM_STALL_PT,
  Sfp = SPYRE_SIM_STALL_SFP,
  Latency = SPYRE_SIM_STALL_LATENCY,
  Overhead = SPYRE_SIM_STALL_OVERHEAD,
};
constexpr size_t kReasons = SPYRE_SIM_STALLS;

struct PlainMoment {
  uint64_t cycle = 0;
  void spend(Reason, uint64_t cycles) { cycle += cycles; }
};

struct StallMoment {
  uint64_t cycle = 0;
  std::array<uint64_t, kReasons> spent{};
  void spend(Reason reason, uint64_t cycles) {
    cycle += cycles;
    spent[size_t(reason)] += cycles;
  }
};

} // namespace spyre::sim
