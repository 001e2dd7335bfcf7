//===- Cost.cpp - rates of the machine applied to tiles -------------------------------------===//
#include "Cost.h"

#include <algorithm>

namespace spyre::backend {

int64_t readersOf(const TensorMap &map) {
  std::vector<int64_t> starts = map.startAddress;
  std::sort(starts.begin(), starts.end());
  return std::max<int64_t>(std::unique(starts.begin(), starts.end()) - starts.begin(), 1);
}

double loadCycles(double bytes, int64_t readers, int64_t cores, const arch::Timing &timing) {
  double ddr = bytes * double(readers) / timing.ddrBytesPerCycle;
  return readers < cores ? std::max(ddr, bytes / timing.ringBytesPerCycle) : ddr;
}

double storeCycles(double bytes, int64_t cores, const arch::Timing &timing) {
  return bytes * double(cores) / timing.ddrBytesPerCycle;
}

double cyclesOf(const TileLoop &loop, const arch::Timing &timing) {
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

} // namespace spyre::backend
