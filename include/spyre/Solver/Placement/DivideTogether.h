//===- DivideTogether.h - neighbours are divided so that what they share stays in LX ----------===//
//
// The cheapest division of an operation alone may leave a tensor on other cores than the next
// operation wants it, and the tensor then goes through memory. Here the divisions of a whole
// program are chosen together, by the same prices, which know what an operand in LX saves.
//
//     product   [m 8, n 4]         12 us             [m 32]   13 us, result stays
//     exp       [m 32]              9 us             [m 32]    2 us
//
// Each operation has few divisions to choose from: its own, and those that would meet a
// neighbour's. One pass over the program keeps, for each way in which tensors may lie in LX, the
// cheapest choice so far. docs/adr/0064-neighbours-are-divided-together.md
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Solver/Division/Kernels.h"
#include "spyre/Solver/Placement/DimFlip.h"

namespace spyre::solver::placement {

/// What equal operations of a program have in common.
struct DivisionKind {
  /// Its dims are the first symbols of the OpSpec.
  division::Op op;
  /// Nothing where the cost model has no such kernel.
  std::optional<division::KernelTraits> traits;
};

struct DivisionKinds {
  std::vector<DivisionKind> kinds;
  /// Per step of the program its kind; -1: it keeps its division.
  std::vector<int> kindOf;
};

struct TogetherLimits {
  /// Divisions of one operation.
  size_t choices = 8;
  /// Ways in which tensors may lie in LX that are followed.
  size_t states = 48;
};

struct TogetherResult {
  struct Change {
    size_t step = 0;
    CoreSplits splits;
    /// Of the operation, with what then is in LX.
    double nsBefore = 0, nsAfter = 0;
  };
  /// By step.
  std::vector<Change> changes;
  /// Of all operations, with what could stay in LX.
  double nsBefore = 0, nsAfter = 0;
  /// Every combination of the choices was tried or is no cheaper.
  bool isComplete = true;
};

/// The splits of \p op by which each core touches of argument \p index what \p view says, and that
/// divide nothing else; nothing where its symbols do not say that. The view is of the same tensor.
std::optional<CoreSplits> splitsLike(const spec::OpSpec &op, size_t index, const CoreView &view,
                                     int64_t tensorBytes);

/// Changes nothing unless all together is cheaper by a hundredth. Errors: E1302 (an operation with
/// more arguments than an OpSpec has), those of makeProblem().
Expected<TogetherResult> divideTogether(const SpecProgram &program, const DivisionKinds &kinds,
                                        const arch::DeviceDesc &device, const LxOptions &options,
                                        int cores, int64_t capacityBytes, bool kFastCores,
                                        const TogetherLimits &limits = {});

} // namespace spyre::solver::placement
