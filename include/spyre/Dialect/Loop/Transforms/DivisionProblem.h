//===- DivisionProblem.h - a loop operation as a problem of the division library ------------===//
#pragma once

#include "spyre/Arch/DeviceDesc.h"
#include "spyre/Dialect/Loop/Transforms/Stick.h"
#include "spyre/Solver/Division/Kernels.h"
#include "spyre/Solver/Division/Problem.h"

namespace spyre::loop {

/// Slices a user asks for, per variable; 0: nothing.
constexpr const char *kHints = "hints";
/// Of an operation, per variable two numbers: the step of its sizes from call to call, and the
/// largest one; 0 where it never changes. Of an input: [[dimension, least, largest], ...].
constexpr const char *kSizes = "sizes";

/// What the division of an operation depends on: its attributes, layouts, types and strides of its
/// buffers, and whether its result may grow. Attributes of one context are unique, so their
/// addresses are an exact key.
using OperationKey = llvm::SmallVector<const void *, 24>;
OperationKey operationKey(ComputeOp op);

/// "batchmatmul -> t0".
std::string subjectOf(ComputeOp op);

struct DivisionProblem {
  solver::division::Op op;
  /// Nothing where the cost model has no such kernel.
  std::optional<solver::division::KernelTraits> traits;
};

struct ProblemOptions {
  /// As the documents have it: indices are divided in whole sticks.
  bool documented = false;
  /// Partners of a split K have consecutive cores.
  bool kFastCores = true;
  /// Results may be given more room where that lets a dim be padded.
  bool padding = false;
  /// Dims whose size changes from call to call have the largest one.
  bool forAllSizes = false;
};

/// Dims are the variables in their order. Tensors have their real layouts, with padding and with
/// one device dimension per term of a dimension, as they are emitted. Errors: E2010, E2007
/// (layouts), E1203 (a tensor that is read from inside sticks).
Expected<DivisionProblem> divisionProblemOf(ComputeOp op, const arch::DeviceDesc &device,
                                            const ProblemOptions &options = {});

} // namespace spyre::loop
