//===- Cost.h - what tiles cost in cycles ---------------------------------------------------===//
//
// The device's clock in first order, for lowerings that choose between tilings before any
// instruction exists. The formulas are those planners price with (CostModel/Rates.h).
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/CostModel/Rates.h"

#include "Geometry.h"

namespace spyre::backend {

/// Cores that read DDR for a tensor: those with different addresses, since cores with the same one
/// share a read (Multicast.h).
int64_t readersOf(const TensorMap &map);

using costmodel::cyclesOf;
using costmodel::groupLoadCycles;
using costmodel::loadCycles;
using costmodel::matmulCycles;
using costmodel::storeCycles;
using costmodel::TileLoop;

} // namespace spyre::backend
