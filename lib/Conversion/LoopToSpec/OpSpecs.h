//===- OpSpecs.h - one planned operation as an OpSpec ----------------------------------------===//
#pragma once

#include "spyre/Dialect/Loop/IR/Loop.h"
#include "spyre/Spec/OpSpec.h"

namespace spyre {

struct MadeSpec {
  /// Everything but where its tensors are.
  spec::OpSpec spec;
  /// The buffer of each argument.
  std::vector<loop::BufferOp> buffers;
};

/// What an OpSpec calls a variable. In loops of several operations that is the loops that cut it:
/// the same name means the same tile there.
std::string symbolOf(loop::ComputeOp op, unsigned var);

/// Errors: E1203 (an access the device cannot express), E1205 (no splits), and those of layouts.
Expected<MadeSpec> makeSpec(loop::ComputeOp op);

} // namespace spyre
