//===- RuntimeState.h - the one device of the process, and the counters kept beside it ------===//
//
// The device is created on first use, never on import. A child forked after that cannot use it (its
// threads are gone) and says so. The environment is read here and in Python, nowhere else:
//
//   SPYRE_DEVICE_DESC  preset name or JSON file of the machine ("openspyre")
//   SPYRE_SIM_THREADS  host threads of the simulator (one per host core)
//   SPYRE_BACKEND_CMD  another back end, run as CMD --bundle -d DIR (the built-in one)
//   TORCH_SPYRE_DEBUG  "1": a line on standard error per compilation phase and launch
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Runtime/Device.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace spyre::plugin {

constexpr int kDeviceCount = 1;

/// Machine description; does not start the device. Throws when SPYRE_DEVICE_DESC is at fault.
const arch::DeviceDesc &deviceDesc();
/// Starts the device if need be. Throws E6501 in a child forked after the start.
const std::shared_ptr<runtime::Device> &device();
/// SPYRE_BACKEND_CMD; empty: the built-in back end.
std::string backEndCommand();
/// Sets the log level from the environment; called when the module is loaded.
void configureLog();
bool deviceStarted();
bool inBadFork();
/// Throws E6509 when \p index is not a device.
void checkDeviceIndex(int64_t index);

/// Figures of the plug-in itself; those of the device come from runtime::Device.
struct HostCounters {
  std::atomic<uint64_t> programsCompiled{0};
  std::atomic<uint64_t> compileCacheHits{0}, compileCacheMisses{0};
  std::atomic<uint64_t> fallbackOps{0}, fallbackBytes{0}, graphFallbackNodes{0};
  std::atomic<uint64_t> h2dBytes{0}, d2hBytes{0}, d2dBytes{0};
};
HostCounters &hostCounters();

/// All public counters in their documented order.
std::vector<std::pair<std::string, uint64_t>> allCounters();
/// Checks the LX sanitizer made: proof that it was on.
uint64_t sanitizerChecks();
void resetCounters();

void countFallback(const std::string &operation, uint64_t bytes);
std::map<std::string, uint64_t> fallbackCounts();

} // namespace spyre::plugin
