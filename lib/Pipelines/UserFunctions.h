//===- UserFunctions.h - functions of the user's as passes on loop IR -----------------------===//
#pragma once

#include "spyre/Dialect/Loop/Transforms/Passes.h"
#include "spyre/Pipelines/UserPasses.h"

namespace spyre::pipelines {

/// Adds the functions of \p point, which is one of loop IR. What they ask for and the machine
/// cannot do is an error: E1503 (splits that do not fit the operation), E3069, and those of
/// division::verifyPlan().
void addUserFunctions(mlir::OpPassManager &manager, PassPoint point, const UserPasses &passes,
                      const loop::DivisionSettings &settings);

} // namespace spyre::pipelines
