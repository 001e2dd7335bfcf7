//===- Verify.h - an independent check of a division ----------------------------------------===//
//
// Nothing of the planners is used here: ranges come from the owner map, spans are the difference of
// the largest and the smallest device address each core touches.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Arch/DeviceDesc.h"
#include "spyre/Solver/Division/Plan.h"

namespace spyre::solver::division {

/// Largest span of any core, per tensor, in bytes. The plan must belong to the operation.
std::vector<int64_t> trueSpans(const Op &op, const Plan &plan);

/// Errors: E3061 (more cores than there are), E3072 (points on no core or on several, a cut stick,
/// a result with more than one final writer), E3064 (a span beyond the limit), E3070 (a core counts
/// further than the machine can).
Status verifyPlan(const Op &op, const arch::DeviceDesc &device, int64_t cores, const Plan &plan);

} // namespace spyre::solver::division
