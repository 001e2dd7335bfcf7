//===- Rates.h - what moving and multiplying costs in cycles --------------------------------===//
//
// First-order forms of the device's clock (docs/timing.md), for whoever chooses between tilings
// before any instruction exists: the back end, and the prices that have to choose as it does.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Arch/DeviceDesc.h"

#include <algorithm>

namespace spyre::costmodel {

/// Cycles one core is busy with a load of \p bytes that \p readers of \p cores cores read and the
/// ring brings to the others, at most \p hops away.
double groupLoadCycles(double bytes, int64_t readers, int64_t cores, int64_t hops,
                       const arch::DeviceDesc &device);
/// The same, or every core for itself where that is faster.
double loadCycles(double bytes, int64_t readers, int64_t cores, const arch::DeviceDesc &device);
/// The same for storing what was computed from loads: each core stores its own.
double storeCycles(double bytes, int64_t cores, const arch::DeviceDesc &device);

/// Cycles of the matrix unit for \p macs multiplications when blocks of 64 x 64 weights stay for
/// \p rows rows each, in \p instructions that wait for their first block.
double matmulCycles(double macs, double rows, double instructions, const arch::Timing &timing);

/// A loop over tiles; transfers and arithmetic in all, not per tile.
struct TileLoop {
  double iterations = 1;
  double transferCycles = 0;
  double computeCycles = 0;
  /// The next tile is loaded while this one is worked on.
  bool doubled = false;
};
inline double cyclesOf(const TileLoop &loop, const arch::Timing &timing) {
  double transfer = loop.transferCycles / loop.iterations;
  double compute = loop.computeCycles / loop.iterations;
  double oneByOne = transfer + timing.ddrLatencyCycles + compute;
  if (!loop.doubled) {
    return loop.iterations * oneByOne;
  }
  // A tile's next load waits until its arithmetic is over: two tiles in the time of one by one.
  double period = std::max({transfer, compute, oneByOne / 2});
  return oneByOne + (loop.iterations - 1) * period;
}

} // namespace spyre::costmodel
