//===- SimSession.cpp - memory map, host access, launches -----------------------------------===//
#include "SimSession.h"

#include <algorithm>
#include <charconv>

namespace spyre::tools {

static constexpr uint64_t kStickBytes = 128;
/// Two bytes of a stick are one bit of its padding mask.
static constexpr uint64_t kMaskStep = 2;

/// The device says "SPYRE-E7002: text"; the code goes back into the status.
static Status deviceStatus(std::string_view message) {
  constexpr std::string_view kPrefix = "SPYRE-E";
  constexpr size_t kDigits = 4;
  int code = 0;
  if (message.starts_with(kPrefix) && message.size() > kPrefix.size() + kDigits + 2) {
    const char *digits = message.data() + kPrefix.size();
    std::from_chars(digits, digits + kDigits, code);
    message.remove_prefix(kPrefix.size() + kDigits + 2);
  }
  SPYRE_CHECK(code != 0, "every error of the device has a number");
  return Status(code, std::string(message));
}

Expected<SimSession> SimSession::create(const arch::DeviceDesc &device,
                                        const SessionOptions &options) {
  std::string json = device.toJson();
  spyre_sim_config config{};
  config.device_json = json.c_str();
  config.threads = options.threads;
  config.sanitizer = options.sanitizer ? 1 : 0;
  config.vf_mode = options.vfMode ? 1 : 0;
  config.wipe_seed = options.wipeSeed;
  const char *message = "";
  Handle sim(spyre_sim_create(&config, &message));
  if (!sim) {
    return deviceStatus(message);
  }
  return SimSession(device, std::move(sim));
}

SimSession::SimSession(arch::DeviceDesc device, Handle sim)
    : device(std::move(device)), sim(std::move(sim)) {
  auto share = uint64_t(this->device.ddrBytes / this->device.segments);
  share -= share % kStickBytes;
  for (int64_t i = 0; i < this->device.segments; ++i) {
    segments.push_back({share * uint64_t(i), std::min(share, uint64_t(this->device.segmentBytes))});
  }
}

Status SimSession::check(int result) const {
  return result == 0 ? Status::success() : deviceStatus(spyre_sim_last_error(sim.get()));
}

Expected<uint64_t> SimSession::translate(uint64_t address, uint64_t bytes) const {
  uint64_t index = address / uint64_t(device.segmentBytes);
  uint64_t offset = address % uint64_t(device.segmentBytes);
  if (index >= segments.size() || bytes > segments[index].bytes ||
      offset > segments[index].bytes - bytes) {
    return error<7102>("{} bytes at DDR {} are outside the memory: there are {} segments of {:#x} "
                       "bytes",
                       bytes, ddrText(address), segments.size(), segments[0].bytes);
  }
  return segments[index].physical_base + offset;
}

Status SimSession::setProgram(const std::string &bytes) {
  auto address = uint64_t(device.segmentBase(device.programSegment()));
  SPYRE_ASSIGN_OR_RETURN(uint64_t physical, translate(address, bytes.size()));
  programBytes = bytes.size();
  return check(spyre_sim_write(sim.get(), physical, bytes.data(), bytes.size()));
}

Status SimSession::checkOutsideProgram(uint64_t address, uint64_t bytes) const {
  auto program = uint64_t(device.segmentBase(device.programSegment()));
  if (address < program + programBytes && program < address + bytes) {
    return error<7102>("{} bytes at DDR {} would overwrite the program, which is at {}..{}; use "
                       "another segment",
                       bytes, ddrText(address), ddrText(program), ddrText(program + programBytes));
  }
  return Status::success();
}

Status SimSession::write(const Place &place, const std::string &bytes) {
  if (place.inLx) {
    return check(
        spyre_sim_write_lx(sim.get(), place.core, place.address, bytes.data(), bytes.size()));
  }
  SPYRE_ASSIGN_OR_RETURN(uint64_t physical, translate(place.address, bytes.size()));
  SPYRE_RETURN_IF_ERROR(checkOutsideProgram(place.address, bytes.size()));
  return check(spyre_sim_write(sim.get(), physical, bytes.data(), bytes.size()));
}

Status SimSession::markPadding(const PaddingSpec &spec) {
  uint64_t bytes = spec.sticks * kStickBytes;
  SPYRE_ASSIGN_OR_RETURN(uint64_t physical, translate(spec.address, bytes));
  SPYRE_RETURN_IF_ERROR(checkOutsideProgram(spec.address, bytes));
  std::string data(bytes, '\0');
  SPYRE_RETURN_IF_ERROR(check(spyre_sim_read(sim.get(), physical, data.data(), bytes)));
  uint64_t validBits = spec.validBytes / kMaskStep;
  uint64_t mask = validBits == 64 ? 0 : ~uint64_t(0) << validBits;
  std::vector<uint64_t> padding(spec.sticks, mask);
  return check(spyre_sim_write_sticks(sim.get(), physical, data.data(), bytes, padding.data()));
}

Expected<std::string> SimSession::read(const Place &place, uint64_t bytes) {
  if (!place.inLx) {
    return readDdr(place.address, bytes);
  }
  if (bytes > uint64_t(device.lxBytes)) {
    return error<7102>("{} bytes are more than LX has ({})", bytes, device.lxBytes);
  }
  std::string data(bytes, '\0');
  SPYRE_RETURN_IF_ERROR(
      check(spyre_sim_read_lx(sim.get(), place.core, place.address, data.data(), bytes)));
  return data;
}

/// Reads the sticks around the range; only bytes of the range must be data.
Expected<std::string> SimSession::readDdr(uint64_t address, uint64_t bytes) {
  SPYRE_RETURN_IF_ERROR(translate(address, bytes).status());
  uint64_t begin = address - address % kStickBytes;
  uint64_t end = (address + bytes + kStickBytes - 1) / kStickBytes * kStickBytes;
  SPYRE_ASSIGN_OR_RETURN(uint64_t physical, translate(begin, end - begin));
  std::string data(end - begin, '\0');
  std::vector<uint64_t> outside(data.size() / kStickBytes);
  for (uint64_t i = 0; i < data.size(); i += kMaskStep) {
    bool inside = begin + i + kMaskStep > address && begin + i < address + bytes;
    outside[i / kStickBytes] |= uint64_t(!inside) << (i % kStickBytes / kMaskStep);
  }
  SPYRE_RETURN_IF_ERROR(
      check(spyre_sim_read_sticks(sim.get(), physical, data.data(), data.size(), outside.data())));
  return data.substr(address - begin, bytes);
}

Status SimSession::launch(uint32_t flags) {
  auto address = uint64_t(device.segmentBase(device.programSegment()));
  return check(spyre_sim_launch(sim.get(), address, programBytes, segments.data(),
                                uint32_t(segments.size()), flags));
}

spyre_sim_counters SimSession::counters() const {
  spyre_sim_counters counters{};
  spyre_sim_get_counters(sim.get(), &counters);
  return counters;
}

void SimSession::startTrace(uint64_t maxEvents) { spyre_sim_trace(sim.get(), maxEvents); }

std::vector<spyre_sim_event> SimSession::trace() const {
  std::vector<spyre_sim_event> events(spyre_sim_get_trace(sim.get(), nullptr, 0));
  spyre_sim_get_trace(sim.get(), events.data(), events.size());
  return events;
}

} // namespace spyre::tools
