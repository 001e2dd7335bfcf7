//===- Driver.cpp - the list of drivers, and what they share --------------------------------===//
#include "Drivers/Drivers.h"

#include <algorithm>

namespace spyre::runtime {

/// Host memory a copy uses at a time.
static constexpr uint64_t kBounceBytes = uint64_t(1) << 20;

Status Driver::copy(uint64_t from, uint64_t to, uint64_t bytes) {
  std::vector<char> bounce(std::min(bytes, kBounceBytes));
  for (uint64_t done = 0; done < bytes;) {
    const uint64_t chunk = std::min<uint64_t>(bytes - done, bounce.size());
    SPYRE_RETURN_IF_ERROR(read(from + done, bounce.data(), chunk));
    SPYRE_RETURN_IF_ERROR(write(to + done, bounce.data(), chunk));
    done += chunk;
  }
  return Status::success();
}

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
