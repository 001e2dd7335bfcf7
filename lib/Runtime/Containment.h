//===- Containment.h - launches whose failure costs their results only ----------------------===//
//
// A driver says when a launch failed without touching anything but what it was writing. Then only
// those buffers are poisoned: their contents cannot be read until they are written anew. A launch
// that would read one of them does not run, and what it would have written is poisoned by the same
// fault. What a launch reads and writes is found in its program, and only when something failed.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Runtime/JobPlan.h"

#include <span>

namespace spyre::runtime {

/// A program and everything bound to it.
struct ProgramBinding {
  const BufferRef &program;
  std::span<const ProgramJob> jobs;
  const std::vector<SegmentBinding> &segments;
  /// The buffers behind the segments, without memory that is used in one run only; null entries are
  /// allowed.
  std::span<const BufferRef> buffers;
  /// Bytes that are written into the program at an offset before it runs; null: none.
  const std::string *correction = nullptr;
  uint64_t correctionOffset = 0;
};

/// Runs the jobs of \p binding. \p flags gives the launch flags of a job. \p runFault, if given, is
/// the fault that earlier launches of the same run ran into; it is set when this one runs into one.
/// Inside an operation a contained fault is noted there.
Status runContained(const ProgramBinding &binding, FaultRef *runFault,
                    const std::function<uint32_t(const ProgramJob &)> &flags);

/// The launch will never run: buffers that held no data before cannot be read.
void poisonUnwritten(const std::vector<BufferRef> &buffers, const Status &reason);

/// \p fault as the error of the running operation, or of the caller when there is none.
Status failWith(const Device &device, const FaultRef &fault);

} // namespace spyre::runtime
