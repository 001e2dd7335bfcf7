//===- LxBudget.cpp - see LxBudget.h --------------------------------------------------------===//
#include "spyre/Arch/LxBudget.h"

#include "spyre/Base/Math.h"

#include <algorithm>

namespace spyre::arch {

/// Part of LX that holds programs: 64 KiB of 2 MiB.
static constexpr int64_t kProgramPart = 32;

int64_t plannedLxBytes(const DeviceDesc &device, double backEndShare) {
  const int64_t shared = device.lxBytes - device.lxBytes / kProgramPart;
  const int64_t left = roundUp(int64_t(double(shared) * (1 - backEndShare)), device.stickBytes);
  const int64_t bytes = std::clamp<int64_t>(left, 0, device.lxBytes);
  return backEndShare == kBackEndLxShare
             ? std::min(bytes, device.lxPlannerBytes / device.stickBytes * device.stickBytes)
             : bytes;
}

} // namespace spyre::arch
