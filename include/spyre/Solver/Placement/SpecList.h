//===- SpecList.h - OpSpecs as the list of operations that scratchpad planning works on ------===//
//
// Which sticks of a tensor each core touches, and in which order they would lie in its LX, follows
// from the device coordinates and the core split of an OpSpec. Two accesses may share a resident
// tensor when every core has the same sticks in the same order in both, however they are spelled:
// [512] read as [8, 64] by one operation and as [512] by another is one and the same.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Solver/Placement/OpList.h"
#include "spyre/Spec/OpSpec.h"

namespace spyre::solver::placement {

struct SpecTensor {
  std::string name;
  int64_t bytes = 0;
  bool isGraphInput = false, isGraphOutput = false;
  /// Why the front end bars it; empty: it does not.
  std::string barred;
};

struct SpecStep {
  /// None: another program runs, which may use any address.
  const spec::OpSpec *op = nullptr;
  std::string name;
  /// The tensor of each argument of the operation; what another program touches.
  std::vector<int> tensors;
  /// It runs as a loop: tensors move between iterations, addresses in LX do not.
  bool inLoop = false;
};

struct SpecProgram {
  std::vector<SpecTensor> tensors;
  std::vector<SpecStep> steps;
};

/// The part of argument \p index each core touches. Not known where it is not a whole tensor of
/// \p tensorBytes, cut evenly: a slice, an offset, a window, rows chosen by indices.
CoreView viewOf(const spec::OpSpec &op, size_t index, int64_t tensorBytes, bool kFastCores);

/// One operation with its views.
OpStep stepOf(const SpecProgram &program, const SpecStep &step, bool kFastCores);
/// What the tensors take on a core, from the views. Where those differ the tensor does not stay.
void setCoreBytes(OpList &list);

/// Operations with their views, tensors with what they take on a core and why they may not stay.
OpList listOf(const SpecProgram &program, bool kFastCores);

} // namespace spyre::solver::placement
