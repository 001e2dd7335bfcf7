//===- Hints.h - splits the user asked for --------------------------------------------------===//
#pragma once

#include "spyre/Solver/Division/Divide.h"

namespace spyre::solver::division {

bool hasHints(const Op &op);
/// The hinted splits, 1 for every other dim. Errors: E3063, E3066..E3069.
Expected<Splits> hintedSplits(const Op &op, const arch::DeviceDesc &device, int64_t cores);

} // namespace spyre::solver::division
