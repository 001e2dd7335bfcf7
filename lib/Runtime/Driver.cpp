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

bool StickFill::isWhole() const {
  return std::all_of(mask.begin(), mask.end(), [](uint8_t byte) { return byte == 0xFF; });
}

/// A block of equal sticks, written as often as it takes.
static Status writeEqualSticks(Driver &driver, uint64_t address, uint64_t sticks,
                               const StickFill &fill, const uint64_t *padding) {
  constexpr uint64_t kStickBytes = sizeof(fill.value);
  const uint64_t blockSticks = std::min(sticks, kBounceBytes / 16 / kStickBytes);
  std::vector<uint8_t> block(blockSticks * kStickBytes);
  for (uint64_t i = 0; i < blockSticks; ++i) {
    std::copy(fill.value.begin(), fill.value.end(), block.begin() + ptrdiff_t(i * kStickBytes));
  }
  for (uint64_t done = 0; done < sticks; done += blockSticks) {
    const uint64_t count = std::min(blockSticks, sticks - done);
    SPYRE_RETURN_IF_ERROR(driver.writeSticks(address + done * kStickBytes, block.data(),
                                             count * kStickBytes,
                                             padding ? padding + done : nullptr));
  }
  return Status::success();
}

Status Driver::fillSticks(uint64_t address, uint64_t sticks, const StickFill &fill,
                          const uint64_t *padding) {
  if (fill.isWhole()) {
    return writeEqualSticks(*this, address, sticks, fill, padding);
  }
  std::array<uint8_t, sizeof(fill.value)> stick{};
  for (uint64_t i = 0; i < sticks; ++i, address += stick.size()) {
    const uint64_t *mask = padding ? padding + i : nullptr;
    SPYRE_RETURN_IF_ERROR(readSticks(address, stick.data(), stick.size(), mask));
    for (size_t byte = 0; byte < stick.size(); ++byte) {
      stick[byte] =
          uint8_t((stick[byte] & ~fill.mask[byte]) | (fill.value[byte] & fill.mask[byte]));
    }
    SPYRE_RETURN_IF_ERROR(writeSticks(address, stick.data(), stick.size(), mask));
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
