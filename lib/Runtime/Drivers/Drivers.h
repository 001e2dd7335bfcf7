//===- Drivers.h - the drivers built into the runtime ---------------------------------------===//
#pragma once

#include "spyre/Runtime/Device.h"

namespace spyre::runtime {

Expected<std::unique_ptr<Driver>> createSimDriver(const arch::DeviceDesc &desc,
                                                  const DriverOptions &options);
Expected<std::unique_ptr<Driver>> createNullDriver(const arch::DeviceDesc &desc,
                                                   const DriverOptions &options);

/// "SPYRE-E7002: text" of the simulator -> Status(7002, "text"); any other text is E6106 and quotes
/// it.
Status statusFromText(const char *text);

} // namespace spyre::runtime
