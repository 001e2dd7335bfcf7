//===- Driver.cpp - the list of drivers -----------------------------------------------------===//
#include "Drivers/Drivers.h"

namespace spyre::runtime {

Expected<std::unique_ptr<Driver>>
createDriver(const std::string &name, const arch::DeviceDesc &desc, const DriverOptions &options) {
  if (name == "sim") {
    return createSimDriver(desc, options);
  }
  if (name == "null") {
    return createNullDriver(desc, options);
  }
  return error<6101>("there is no driver '{}'; use one of: sim, null", name);
}

} // namespace spyre::runtime
