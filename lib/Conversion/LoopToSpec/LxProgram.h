//===- LxProgram.h - planned loop IR as scratchpad planning sees it --------------------------===//
#pragma once

#include "spyre/Solver/Placement/LxPlan.h"
#include "spyre/Solver/Placement/SpecList.h"

#include "OpSpecs.h"

namespace spyre {

struct LxProgram {
  /// Of each loop.compute, in order.
  std::vector<MadeSpec> specs;
  /// Points into specs.
  solver::placement::SpecProgram program;
  /// The buffer of each tensor, the operation of each step.
  std::vector<loop::BufferOp> buffers;
  std::vector<mlir::Operation *> operations;
  /// Tensors that have an address in LX already.
  solver::placement::Residents residents;

  LxProgram() = default;
  LxProgram(LxProgram &&) = default;
  LxProgram &operator=(LxProgram &&) = default;
};

/// Errors: those of makeSpec.
Expected<LxProgram> lxProgramOf(mlir::func::FuncOp main);

/// Do the addresses in LX that the buffers carry fit the operations as they are now? Error: E3101.
Status verifyLx(const LxProgram &program, int64_t capacityBytes, bool kFastCores);

} // namespace spyre
