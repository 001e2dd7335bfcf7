//===- TileReach.h - how far the smallest tile of an operation reaches ----------------------===//
#pragma once

#include "spyre/Arch/DeviceDesc.h"
#include "spyre/Solver/Division/Problem.h"

#include <vector>

namespace spyre::solver::division {

/// Elements of the smallest tile along each dim; 0 for dims that tiles may not cut, because they
/// are reduced or end in a partial stick that has no memory.
std::vector<int64_t> tileUnits(const Op &op);

/// For each tensor, the fewest sticks a core spans of it when every dim that tiles may cut has
/// tiles of one unit and every other one has all cores to itself. No tiling and no division keeps a
/// smaller limit. Tables that the machine exempts have 0.
std::vector<int64_t> leastReaches(const Op &op, const arch::DeviceDesc &device, int64_t cores);

} // namespace spyre::solver::division
