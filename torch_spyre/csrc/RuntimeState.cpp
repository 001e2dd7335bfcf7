//===- RuntimeState.cpp - lazy start, fork safety, counters ---------------------------------===//
#include "RuntimeState.h"

#include "spyre/Base/Log.h"

#include "Errors.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <pthread.h>

namespace spyre::plugin {

namespace {

/// Never destroyed: tensors of the interpreter may outlive static destructors.
struct State {
  std::mutex mutex;
  std::shared_ptr<runtime::Device> device;
  std::atomic<bool> started{false};
  std::atomic<bool> badFork{false};
  HostCounters counters;
  std::mutex fallbackMutex;
  std::map<std::string, uint64_t> fallbacks;
};

State &state() {
  static State *instance = new State();
  return *instance;
}

void markChild() {
  if (state().started) {
    state().badFork = true;
  }
}

std::string environment(const char *name, const char *fallback) {
  const char *value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : fallback;
}

Expected<uint32_t> simulatorThreads() {
  constexpr uint32_t kMost = 256;
  const std::string text = environment("SPYRE_SIM_THREADS", "0");
  uint32_t value = 0;
  auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size() || value > kMost) {
    return error<6508>(
        "SPYRE_SIM_THREADS is '{}'; give a number of host threads from 1 to {}, or 0 "
        "for one per host core",
        text, kMost);
  }
  return value;
}

Expected<std::shared_ptr<runtime::Device>> createDevice() {
  runtime::DriverOptions options;
  SPYRE_ASSIGN_OR_RETURN(options.threads, simulatorThreads());
  SPYRE_ASSIGN_OR_RETURN(std::unique_ptr<runtime::Driver> driver,
                         runtime::createDriver("sim", deviceDesc(), options));
  return runtime::Device::create(std::move(driver), options.threads);
}

} // namespace

std::string backEndCommand() { return environment("SPYRE_BACKEND_CMD", ""); }

void configureLog() {
  std::string level = environment("TORCH_SPYRE_DEBUG", "0");
  setLogLevel(level == "0" ? LogLevel::Off : LogLevel::Debug);
}

const arch::DeviceDesc &deviceDesc() {
  static const arch::DeviceDesc *desc = new arch::DeviceDesc(
      check(arch::DeviceDesc::load(environment("SPYRE_DEVICE_DESC", "openspyre"))));
  return *desc;
}

const std::shared_ptr<runtime::Device> &device() {
  State &s = state();
  if (s.badFork) {
    raise(
        error<6501>("Cannot re-initialize Spyre in forked subprocess; the parent had already used "
                    "the device. Use the 'spawn' start method of multiprocessing"));
  }
  if (!s.started) {
    std::lock_guard<std::mutex> lock(s.mutex);
    if (!s.device) {
      static std::once_flag forkHandler;
      std::call_once(forkHandler, [] { pthread_atfork(nullptr, nullptr, markChild); });
      s.device = check(createDevice());
      s.started = true;
    }
  }
  return s.device;
}

bool deviceStarted() { return state().started && !state().badFork; }
bool inBadFork() { return state().badFork; }

void checkDeviceIndex(int64_t index) {
  if (index < 0 || index >= kDeviceCount) {
    raise(error<6509>(
        "Device index {} out of range [0, {}); torch.spyre.device_count() says how many "
        "devices there are",
        index, kDeviceCount));
  }
}

HostCounters &hostCounters() { return state().counters; }

std::vector<std::pair<std::string, uint64_t>> allCounters() {
  const HostCounters &host = hostCounters();
  runtime::DeviceCounters sim;
  if (deviceStarted()) {
    sim = device()->counters();
  }
  return {{"programs_compiled", host.programsCompiled},
          {"programs_launched", sim.launches},
          {"compile_cache_hits", host.compileCacheHits},
          {"compile_cache_misses", host.compileCacheMisses},
          {"fallback_ops", host.fallbackOps},
          {"fallback_bytes", host.fallbackBytes},
          {"graph_fallback_nodes", host.graphFallbackNodes},
          {"h2d_bytes", host.h2dBytes},
          {"d2h_bytes", host.d2hBytes},
          {"d2d_bytes", host.d2dBytes},
          {"ddr_read_bytes", sim.ddrReadBytes},
          {"ddr_write_bytes", sim.ddrWriteBytes},
          {"lx_read_bytes", sim.lxReadBytes},
          {"lx_write_bytes", sim.lxWriteBytes},
          {"ring_bytes", sim.ringBytes},
          {"pt_macs", sim.ptMacs},
          {"sfp_lane_ops", sim.sfpLaneOps},
          {"device_cycles", sim.cycles},
          {"device_ns", sim.nanoseconds}};
}

uint64_t sanitizerChecks() { return deviceStarted() ? device()->counters().sanitizerChecks : 0; }

void resetCounters() {
  HostCounters &host = hostCounters();
  for (std::atomic<uint64_t> *counter :
       {&host.programsCompiled, &host.compileCacheHits, &host.compileCacheMisses, &host.fallbackOps,
        &host.fallbackBytes, &host.graphFallbackNodes, &host.h2dBytes, &host.d2hBytes,
        &host.d2dBytes}) {
    *counter = 0;
  }
  {
    std::lock_guard<std::mutex> lock(state().fallbackMutex);
    state().fallbacks.clear();
  }
  if (deviceStarted()) {
    device()->resetCounters();
  }
}

void countFallback(const std::string &operation, uint64_t bytes) {
  hostCounters().fallbackOps += 1;
  hostCounters().fallbackBytes += bytes;
  std::lock_guard<std::mutex> lock(state().fallbackMutex);
  ++state().fallbacks[operation];
}

std::map<std::string, uint64_t> fallbackCounts() {
  std::lock_guard<std::mutex> lock(state().fallbackMutex);
  return state().fallbacks;
}

} // namespace spyre::plugin
