//===- Plan.h - what the device works out once per program ----------------------------------===//
//
// An instruction's nest is simplified without changing the order of its points: levels of count 1
// vanish, and two neighbouring levels become one when every operand walks them as one. The
// innermost level is then as long as it can be and the units work on it as one run. Cost and
// counters of one execution are the same on every core, so they are computed here and added where
// it executes. Plans are kept between launches; only symbol values may change.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Arch/DeviceDesc.h"
#include "spyre/Program/Program.h"

#include "Access.h"
#include "Clock.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace spyre::sim {

constexpr int64_t kMaxLanes = 64;

struct Counters {
  uint64_t ddrReadBytes = 0, ddrWriteBytes = 0;
  uint64_t lxReadBytes = 0, lxWriteBytes = 0;
  uint64_t ringBytes = 0;
  uint64_t ptMacs = 0, sfpLaneOps = 0;
  /// Rows that stream past a block of weights: 64 x 64 products, in 8 bits 128 x 64.
  uint64_t ptRows = 0;
  uint64_t instructions = 0;
  uint64_t sanitizerChecks = 0;

  Counters &operator+=(const Counters &other);
};

/// A nest of points with one address walk per operand; level kMaxLevels - 1 is the innermost.
struct Nest {
  std::array<int64_t, program::kMaxLevels> counts{1, 1, 1, 1, 1, 1};
  std::array<std::array<int64_t, program::kMaxLevels>, program::kMaxOperands> strides{};
  /// Levels before this one have count 1.
  size_t firstLevel = program::kMaxLevels - 1;
};

struct PlannedOperand {
  program::Role role = program::Role::LxStick;
  bool inMemory = true;
  bool inDdr = false;
  bool read = false, written = false;
  /// Bytes at one address, and the number of such addresses `parameter` apart.
  int64_t width = 0, places = 1;
  /// Lowest and one past the highest byte of the whole nest, relative to its first point.
  int64_t low = 0, high = 0;
};

struct PlannedInstruction {
  const program::Instruction *source = nullptr;
  size_t index = 0;
  Nest nest;
  /// Matmul: the same points with one B block used as long as possible; equal to nest when that
  /// order could change a result.
  Nest matmulNest;
  std::array<PlannedOperand, program::kMaxOperands> operands;
  program::Unit unit = program::Unit::Vector;
  /// Lanes of a stick of the format.
  int64_t lanes = 0;
  /// What one execution adds; a multicast load charges DDR to the leader, the ring to all.
  Counters cost;
  Duration duration;
  /// Loop: index of the EndLoop. EndLoop: index of the Loop.
  size_t partner = 0;
};

/// When a phase is over, counted from its beginning, and what the schedule waited for; the parts
/// sum to the cycles.
struct PhaseTime {
  uint64_t cycles = 0;
  std::array<uint64_t, kReasons> stallCycles{};
  Counters counters;
};

struct PlannedPhase {
  const program::Phase *source = nullptr;
  size_t index = 0;
  /// Printable form of the name, for faults.
  std::string name;
  std::vector<PlannedInstruction> instructions;
  /// A guess of host work: points over all cores.
  double hostPoints = 0;
  /// The phase stores more than the host's caches keep.
  bool storesPastCaches = false;
  /// No address is data: where and in which order the phase touches memory follows from the program
  /// and the places of its buffers.
  bool hasFixedAddresses = true;
};

/// \p phase must have passed verifyProgram for \p device and must outlive the plan.
PlannedPhase planPhase(const program::Phase &phase, size_t index, const arch::DeviceDesc &device);

/// Phases whose accesses were found to be ordered, with the buffers at these places. The next
/// launch there does the same in the same order and need not be asked again.
class OrderProofs {
public:
  /// Forgets what was found for other places.
  void begin(std::vector<uint64_t> newPlaces, size_t phases) {
    if (newPlaces != places) {
      places = std::move(newPlaces);
      proven.assign(phases, false);
    }
    proven.resize(phases);
  }
  bool has(size_t phase) const { return proven[phase]; }
  void add(const PlannedPhase &phase) { proven[phase.index] = phase.hasFixedAddresses; }

private:
  std::vector<uint64_t> places;
  std::vector<bool> proven;
};

struct PlannedProgram {
  program::Program program;
  std::vector<PlannedPhase> phases;
  /// Binary form it was read from, symbol values included.
  std::string bytes;
  /// Live LX buffers were found not to overlap.
  bool buffersAreApart = false;
  /// Of each phase, once it has run: time does not depend on data.
  std::vector<std::optional<PhaseTime>> times;
  /// With the sanitizer only.
  OrderProofs orderProofs;
};

/// \p cycles as an integer, rounded up.
uint64_t wholeCycles(double cycles);

} // namespace spyre::sim
