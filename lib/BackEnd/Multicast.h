//===- Multicast.h - one read of DDR for all cores that need it -----------------------------===//
#pragma once

#include "spyre/Arch/DeviceDesc.h"
#include "spyre/Program/Program.h"

namespace spyre::backend {

/// Loads whose sticks several cores need get a table of leaders, the lowest core of each group,
/// where the ring delivers faster than DDR would.
void addMulticast(program::Phase &phase, const std::vector<program::Buffer> &buffers,
                  const arch::DeviceDesc &device);

} // namespace spyre::backend
