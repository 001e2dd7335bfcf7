//===- CutTail.h - the last, partial stick of a large restickify as operations of its own ---===//
//
// The end of a restickify that is no whole stick cannot be a tile: it would need two gaps along one
// dimension, to the next row of the tensor and to the end of its memory. In tensors of their own
// these few rows are a restickify like any other:
//
//     x[49159, 4096] -> y    x[0..49152] -> y,   x[49152..] -> t -> u -> y[49152..]
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Dialect/Loop/Transforms/Stick.h"

namespace spyre::loop {

/// Operations before \p op that do the same, the first over whole sticks; none where no variable
/// ends in a partial stick. \p op is left to the caller.
std::vector<ComputeOp> cutTail(ComputeOp op);

} // namespace spyre::loop
