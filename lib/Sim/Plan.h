//===- Plan.h - what the device works out once per phase before its cores run it ------------===//
//
// An instruction's nest is simplified without changing the order of its points: levels of count 1
// vanish, and two neighbouring levels become one when every operand walks them as one. The
// innermost level is then as long as it can be and the units work on it as one run. Cost and
// counters of one execution are the same on every core, so they are computed here and added where
// it executes.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Arch/DeviceDesc.h"
#include "spyre/Program/Program.h"

#include "Lx.h"

#include <array>
#include <string>
#include <vector>

namespace spyre::sim {

struct Counters {
  uint64_t ddrReadBytes = 0, ddrWriteBytes = 0;
  uint64_t lxReadBytes = 0, lxWriteBytes = 0;
  uint64_t ptMacs = 0, sfpLaneOps = 0;
  uint64_t instructions = 0;
  uint64_t cycles = 0;
  uint64_t sanitizerChecks = 0;

  Counters &operator+=(const Counters &other);
};

/// A nest of points with one address walk per operand; level kMaxLevels - 1 is the innermost.
struct Nest {
  std::array<int64_t, program::kMaxLevels> counts{1, 1, 1, 1};
  std::array<std::array<int64_t, program::kMaxLevels>, program::kMaxOperands> strides{};
};

struct PlannedInstruction {
  const program::Instruction *source = nullptr;
  size_t index = 0;
  Nest nest;
  /// Matmul: the same points with one B block used as long as possible; equal to nest when that
  /// order could change a result.
  Nest matmulNest;
  /// Bytes of one point of each operand.
  std::array<int64_t, program::kMaxOperands> width{};
  /// Operand in DDR, or -1.
  int ddrOperand = -1;
  /// Lanes of a stick of the format.
  int64_t lanes = 0;
  /// What one execution adds.
  Counters cost;
  /// Loop: index of the EndLoop. EndLoop: index of the Loop.
  size_t partner = 0;
};

struct PlannedPhase {
  const program::Phase *source = nullptr;
  /// Printable form of the name, for faults.
  std::string name;
  std::vector<PlannedInstruction> instructions;
};

/// \p phase must have passed verifyProgram for \p device and must outlive the plan.
PlannedPhase planPhase(const program::Phase &phase, const arch::DeviceDesc &device);

/// \p cycles as an integer, rounded up.
uint64_t wholeCycles(double cycles);

} // namespace spyre::sim
