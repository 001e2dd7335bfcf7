//===- Rates.cpp - rates of the machine applied to tiles ------------------------------------===//
#include "spyre/CostModel/Rates.h"

#include <algorithm>

namespace spyre::costmodel {

/// The chip's border, a port of it, a core: what is narrowest, when the readers are spread evenly.
static double ddrCycles(double bytes, double readers, double cores,
                        const arch::DeviceDesc &device) {
  const arch::Timing &timing = device.timing;
  double streams = 1 + (readers - 1) * timing.ddrStreamLoss;
  double perPort = std::min(double(device.ddrCoresPerPort), cores) / cores;
  return std::max({bytes * readers * streams / timing.ddrBytesPerCycle,
                   bytes * readers * perPort / timing.ddrPortBytesPerCycle,
                   bytes * readers / cores / timing.ddrCoreBytesPerCycle});
}

double groupLoadCycles(double bytes, int64_t readers, int64_t cores, int64_t hops,
                       const arch::DeviceDesc &device) {
  const arch::Timing &timing = device.timing;
  double ddr = ddrCycles(bytes, double(readers), double(cores), device);
  // Cycles are rounded up.
  return std::max(ddr, bytes / timing.ringBytesPerCycle) + double(hops) * timing.ringHopCycles + 1;
}

double loadCycles(double bytes, int64_t readers, int64_t cores, const arch::DeviceDesc &device) {
  double alone = ddrCycles(bytes, double(cores), double(cores), device);
  int64_t hops = std::min(cores - 1, device.cores / 2);
  return readers == cores ? alone
                          : std::min(alone, groupLoadCycles(bytes, readers, cores, hops, device));
}

double storeCycles(double bytes, int64_t cores, const arch::DeviceDesc &device) {
  double turns = bytes * double(cores) / arch::kDdrWriteBatchBytes;
  return ddrCycles(bytes, double(cores), double(cores), device) +
         turns * device.timing.ddrTurnaroundCycles;
}

double matmulCycles(double macs, double rows, double instructions, const arch::Timing &timing) {
  constexpr double kBlock = 64, kBlockBytes = kBlock * 128;
  double stream = rows * kBlock * kBlock / timing.ptMacsPerCycle;
  double fill = kBlockBytes / timing.ptFillBytesPerCycle;
  return macs / timing.ptMacsPerCycle * std::max(fill / stream, 1.0) +
         instructions * std::min(fill, stream);
}

} // namespace spyre::costmodel
