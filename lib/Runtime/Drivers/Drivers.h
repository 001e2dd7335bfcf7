//===- Drivers.h - the drivers built into the runtime ---------------------------------------===//
#pragma once

#include "spyre/Runtime/Device.h"

namespace spyre::runtime {

Expected<std::unique_ptr<Driver>> createSimDriver(const arch::DeviceDesc &desc,
                                                  const DriverOptions &options);
Expected<std::unique_ptr<Driver>> createNullDriver(const arch::DeviceDesc &desc,
                                                   const DriverOptions &options);

} // namespace spyre::runtime
