//===- TimingFields.h - the clock's parameters by name, and what they allow at best ---------===//
#pragma once

#include "spyre/Arch/DeviceDesc.h"

#include <algorithm>

namespace spyre::arch {

/// Names of the fields of Timing, as in a device file.
std::vector<std::string> timingFieldNames();
/// nullptr when there is no such field.
double *timingField(Timing &timing, const std::string &name);

/// Cycles the chip's memory needs at least for what a kernel reads and writes side by side, when
/// all cores work: the roofline of what moves data.
inline double ddrCyclesAtBest(const Timing &timing, double readBytes, double writeBytes) {
  return (readBytes + writeBytes) / timing.ddrBytesPerCycle +
         std::min(readBytes, writeBytes) / kDdrWriteBatchBytes * timing.ddrTurnaroundCycles;
}

} // namespace spyre::arch
