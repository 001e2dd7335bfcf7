//===- HostSteps.h - CPU steps of the model and the memory between steps ---------------------===//
#pragma once

#include "spyre/Dialect/Loop/IR/Loop.h"
#include "spyre/Spec/Model.h"

namespace spyre {

spec::CpuStep cpuStep(loop::HostOp op);
spec::HostValue hostValue(loop::BufferOp buffer);
/// Puts an allocation before the first step that touches each of the model's buffers, and a free
/// behind the last. Buffers no step touches are dropped.
void addAllocations(spec::Model &model);

} // namespace spyre
