//===- SimDriver.cpp - the simulated card behind the driver interface -----------------------===//
//
// The simulator is reached through its C interface only, as a card would be: bytes, addresses and
// an error text. The text already carries its code ("SPYRE-E7002: ..."), which becomes the Status.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Runtime/OperationTimes.h"
#include "spyre/Sim/SpyreSim.h"

#include "Drivers.h"

#include <algorithm>
#include <string_view>

namespace spyre::runtime {

Status statusFromText(const char *text) {
  const std::string_view message = text ? text : "";
  constexpr std::string_view kPrefix = "SPYRE-E";
  constexpr size_t kDigits = 4;
  constexpr std::string_view kSeparator = ": ";
  const size_t textBegin = kPrefix.size() + kDigits + kSeparator.size();
  if (message.size() > textBegin && message.substr(0, kPrefix.size()) == kPrefix &&
      message.substr(kPrefix.size() + kDigits, kSeparator.size()) == kSeparator) {
    int code = 0;
    for (char digit : message.substr(kPrefix.size(), kDigits)) {
      if (digit < '0' || digit > '9') {
        code = 0;
        break;
      }
      code = code * 10 + (digit - '0');
    }
    if (code >= 1000) {
      return Status(code, std::string(message.substr(textBegin)));
    }
  }
  return error<6106>("the simulated device failed and said '{}'; run again with the null driver to "
                     "see whether the host side is sound",
                     message);
}

namespace {

class SimDriver final : public Driver, public StallSource {
public:
  SimDriver(spyre_sim *sim, const arch::DeviceDesc &desc) : sim(sim), deviceDesc(desc) {}
  ~SimDriver() override { spyre_sim_destroy(sim); }
  SimDriver(const SimDriver &) = delete;
  SimDriver &operator=(const SimDriver &) = delete;

  const char *name() const override { return "sim"; }
  const arch::DeviceDesc &desc() const override { return deviceDesc; }

  Status write(uint64_t address, const void *data, uint64_t bytes) override {
    return check(spyre_sim_write(sim, address, data, bytes));
  }
  Status read(uint64_t address, void *data, uint64_t bytes) override {
    return check(spyre_sim_read(sim, address, data, bytes));
  }
  Status discard(uint64_t address, uint64_t bytes) override {
    return check(spyre_sim_discard(sim, address, bytes));
  }
  Status copy(uint64_t from, uint64_t to, uint64_t bytes) override {
    return check(spyre_sim_copy(sim, from, to, bytes));
  }
  bool wantsPadding() const override { return spyre_sim_has_sanitizer(sim) != 0; }
  Status writeSticks(uint64_t address, const void *data, uint64_t bytes,
                     const uint64_t *padding) override {
    return check(spyre_sim_write_sticks(sim, address, data, bytes, padding));
  }
  Status readSticks(uint64_t address, void *data, uint64_t bytes,
                    const uint64_t *padding) override {
    return check(spyre_sim_read_sticks(sim, address, data, bytes, padding));
  }
  Status launch(uint64_t programAddress, uint64_t programBytes,
                const std::vector<SegmentBinding> &segments, uint32_t flags) override {
    static_assert(kNonTerminalLaunch == SPYRE_SIM_NON_TERMINAL);
    std::vector<spyre_sim_segment> mapped;
    mapped.reserve(segments.size());
    for (const SegmentBinding &binding : segments) {
      mapped.push_back({binding.physicalBase, binding.bytes});
    }
    return check(spyre_sim_launch(sim, programAddress, programBytes, mapped.data(),
                                  uint32_t(mapped.size()), flags));
  }
  std::optional<uint32_t> containedPhase() const override {
    uint32_t phase = 0;
    return spyre_sim_is_contained(sim, &phase) != 0 ? std::optional(phase) : std::nullopt;
  }
  DeviceCounters counters() const override {
    spyre_sim_counters raw{};
    spyre_sim_get_counters(sim, &raw);
    DeviceCounters counters;
    counters.launches = raw.launches;
    counters.ddrReadBytes = raw.ddr_read_bytes;
    counters.ddrWriteBytes = raw.ddr_write_bytes;
    counters.lxReadBytes = raw.lx_read_bytes;
    counters.lxWriteBytes = raw.lx_write_bytes;
    counters.ringBytes = raw.ring_bytes;
    counters.ptMacs = raw.pt_macs;
    counters.sfpLaneOps = raw.sfp_lane_ops;
    counters.cycles = raw.cycles;
    counters.nanoseconds = raw.nanoseconds;
    counters.sanitizerChecks = raw.sanitizer_checks;
    return counters;
  }
  StallCycles stallCycles() const override {
    spyre_sim_counters raw{};
    spyre_sim_get_counters(sim, &raw);
    StallCycles cycles{};
    std::copy_n(raw.stall_cycles, kStallReasons, cycles.begin());
    return cycles;
  }
  void resetCounters() override { spyre_sim_reset_counters(sim); }

private:
  Status check(int result) const {
    return result == 0 ? Status::success() : statusFromText(spyre_sim_last_error(sim));
  }

  spyre_sim *sim;
  const arch::DeviceDesc deviceDesc;
};

} // namespace

uint64_t unsanitizedLaunches() { return spyre_sim_unsanitized_launches(); }

Expected<std::unique_ptr<Driver>> createSimDriver(const arch::DeviceDesc &desc,
                                                  const DriverOptions &options) {
  const std::string deviceJson = desc.toJson();
  spyre_sim_config config{};
  config.device_json = deviceJson.c_str();
  config.threads = options.threads;
  config.sanitizer = options.sanitizer ? 1 : 0;
  config.vf_mode = options.sharedCard ? 1 : 0;
  config.wipe_seed = options.wipeSeed;
  const char *text = nullptr;
  spyre_sim *sim = spyre_sim_create(&config, &text);
  if (!sim) {
    return statusFromText(text).withContext("the simulated device cannot be made: ");
  }
  return std::unique_ptr<Driver>(std::make_unique<SimDriver>(sim, desc));
}

} // namespace spyre::runtime
