//===- RuntimeState.cpp - lazy start, fork safety, counters ---------------------------------===//
#include "RuntimeState.h"

#include "spyre/Base/Log.h"
#include "spyre/Runtime/OperationTimes.h"

#include "Allocator.h"
#include "Eager.h"
#include "Errors.h"
#include "Guard.h"
#include "Programs.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <pthread.h>
#include <unistd.h>

namespace spyre::plugin {

namespace {

/// One visible device.
struct Slot {
  std::mutex mutex;
  std::atomic<bool> started{false};
  std::shared_ptr<runtime::Device> device;
  /// Of the device's driver.
  const runtime::StallSource *stalls = nullptr;
  runtime::CardLock lock;
  std::shared_ptr<runtime::FaultInjector> faults;
  std::shared_ptr<runtime::ControlBlockLog> blocks = std::make_shared<runtime::ControlBlockLog>();
  std::chrono::steady_clock::time_point opened;
  /// What counted before the user's last reset: spyre-smi shows everything since the start.
  runtime::DeviceCounters before;
};

/// Never destroyed: tensors of the interpreter may outlive static destructors.
struct State {
  std::array<Slot, runtime::kMaxCards> slots;
  std::atomic<bool> initialised{false};
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
    // A child that lives on must not keep the cards of a parent that died.
    for (Slot &slot : state().slots) {
      slot.lock.abandon();
    }
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

const runtime::CardVariables &cardVariables() {
  static const auto *variables =
      new runtime::CardVariables{environment("FLEX_DEVICE", ""), environment("AIU_WORLD_SIZE", ""),
                                 environment("SPYRE_DEVICES", ""), environment("LOCAL_RANK", "")};
  return *variables;
}

/// Decided once per process.
const Expected<runtime::CardList> &enumeration() {
  static const auto *list =
      new Expected<runtime::CardList>(runtime::enumerateCards(cardVariables()));
  return *list;
}

/// True for the words of torch_spyre.environment that turn a flag on; it tells of any other.
bool isFlagOn(const char *name) {
  std::string text = environment(name, "0");
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return char(std::tolower(c)); });
  return text == "1" || text == "true" || text == "on" || text == "yes";
}

bool isCompileWorker() {
  static const bool worker = isFlagOn("IS_INDUCTOR_SPAWNED_SUBPROCESS");
  return worker;
}

const std::string &cardFolder() {
  static const auto *folder = new std::string(
      runtime::cardFolder(environment("SPYRE_CARD_DIR", ""), environment("XDG_RUNTIME_DIR", ""),
                          environment("TMPDIR", "/tmp"), unsigned(geteuid())));
  return *folder;
}

Status openSlot(Slot &slot, c10::DeviceIndex index) {
  const int card = enumeration()->cards[size_t(index)];
  const runtime::CardMode mode = enumeration()->mode;
  SPYRE_ASSIGN_OR_RETURN(slot.lock, runtime::CardLock::acquire(cardFolder(), card, mode));
  runtime::DriverOptions options;
  SPYRE_ASSIGN_OR_RETURN(options.threads, simulatorThreads());
  options.sharedCard = mode == runtime::CardMode::Shared;
  options.wipeSeed = uint64_t(card) + 1;
  SPYRE_ASSIGN_OR_RETURN(std::unique_ptr<runtime::Driver> driver,
                         runtime::createDriver("sim", deviceDesc(), options));
  slot.stalls = dynamic_cast<runtime::StallSource *>(driver.get());
  slot.faults = std::make_shared<runtime::FaultInjector>();
  driver = runtime::createFaultDriver(std::move(driver), slot.faults);
  slot.device = runtime::Device::create(
      runtime::recordControlBlocks(std::move(driver), slot.blocks), options.threads);
  applyMemorySettings(index, *slot.device);
  slot.device->addPressureHandler([] { releaseTemporaries(); });
  slot.device->addPressureHandler([] { collectGarbage(); });
  slot.device->addPressureHandler([index] { evictPrograms(index); });
  slot.opened = std::chrono::steady_clock::now();
  return Status::success();
}

void checkProcess() {
  if (state().badFork) {
    raise(
        error<6501>("Cannot re-initialize Spyre in forked subprocess; the parent had already used "
                    "the device. Use the 'spawn' start method of multiprocessing"));
  }
  if (isCompileWorker()) {
    raise(error<6521>("a compile worker must not open a Spyre device "
                      "(IS_INDUCTOR_SPAWNED_SUBPROCESS is 1); use the device in the main process"));
  }
}

void add(runtime::DeviceCounters &sum, const runtime::DeviceCounters &more) {
  for (auto member :
       {&runtime::DeviceCounters::launches, &runtime::DeviceCounters::ddrReadBytes,
        &runtime::DeviceCounters::ddrWriteBytes, &runtime::DeviceCounters::lxReadBytes,
        &runtime::DeviceCounters::lxWriteBytes, &runtime::DeviceCounters::ringBytes,
        &runtime::DeviceCounters::ptMacs, &runtime::DeviceCounters::sfpLaneOps,
        &runtime::DeviceCounters::cycles, &runtime::DeviceCounters::nanoseconds,
        &runtime::DeviceCounters::sanitizerChecks}) {
    sum.*member += more.*member;
  }
}

/// Calls \p action for every open device, with its slot; none in a forked child.
template <typename Action>
void forEachOpen(Action action) {
  if (!deviceStarted()) {
    return;
  }
  for (size_t i = 0; i < state().slots.size(); ++i) {
    if (state().slots[i].started) {
      action(i, state().slots[i]);
    }
  }
}

/// What was called has happened; errors are told by those who wait for results.
void finishQueuedWork() {
  forEachOpen([](size_t, Slot &slot) { slot.device->streams().finishAll(); });
}

runtime::DeviceCounters summedCounters() {
  finishQueuedWork();
  runtime::DeviceCounters sum;
  forEachOpen([&](size_t, Slot &slot) { add(sum, slot.device->counters()); });
  return sum;
}

runtime::StallCycles summedStalls() {
  runtime::StallCycles sum{};
  forEachOpen([&](size_t, Slot &slot) {
    const runtime::StallCycles cycles = slot.stalls->stallCycles();
    std::transform(sum.begin(), sum.end(), cycles.begin(), sum.begin(), std::plus<>());
  });
  return sum;
}

} // namespace

std::string backEndCommand() { return environment("SPYRE_BACKEND_CMD", ""); }

void configureLog() {
  setLogLevel(isFlagOn("TORCH_SPYRE_DEBUG") ? LogLevel::Debug : LogLevel::Off);
}

const arch::DeviceDesc &deviceDesc() {
  static const arch::DeviceDesc *desc = new arch::DeviceDesc(
      check(arch::DeviceDesc::load(environment("SPYRE_DEVICE_DESC", "openspyre"))));
  return *desc;
}

int deviceCount() noexcept { return enumeration().ok() ? int(enumeration()->cards.size()) : 0; }

const runtime::CardList &cards() {
  check(enumeration().status());
  return *enumeration();
}

int defaultDevice() {
  if (cards().cards.empty()) {
    raise(error<6522>("No Spyre devices are visible; SPYRE_DEVICES names no card that exists"));
  }
  static const auto *index =
      new Expected<int>(runtime::defaultDeviceIndex(cardVariables(), cards().cards.size()));
  check(index->status());
  return **index;
}

void initialise() {
  checkProcess();
  if (cards().cards.empty()) {
    defaultDevice(); // says that there are none
  }
  state().initialised = true;
}

bool initialised() {
  return (state().initialised || state().started) && !state().badFork && !isCompileWorker();
}

const std::shared_ptr<runtime::Device> &device(c10::DeviceIndex index) {
  State &s = state();
  checkDeviceIndex(index);
  checkProcess();
  Slot &slot = s.slots[size_t(index)];
  if (!slot.started) {
    std::lock_guard<std::mutex> lock(slot.mutex);
    if (!slot.started) {
      static std::once_flag forkHandler;
      std::call_once(forkHandler, [] { pthread_atfork(nullptr, nullptr, markChild); });
      if (Status status = openSlot(slot, index); !status.ok()) {
        slot.lock = runtime::CardLock();
        raise(status);
      }
      slot.started = true;
      s.started = true;
    }
  }
  return slot.device;
}

c10::DeviceIndex deviceIndexOf(const runtime::Device &device) {
  for (size_t i = 0; i < state().slots.size(); ++i) {
    if (state().slots[i].started && state().slots[i].device.get() == &device) {
      return c10::DeviceIndex(i);
    }
  }
  raise(error<6105>("the buffer belongs to a device this process has not opened; make it anew"));
}

const std::shared_ptr<runtime::Device> &device() { return device(currentDevice()); }

void injectFault(c10::DeviceIndex index, const runtime::FaultPlan &plan) {
  device(index);
  state().slots[size_t(index)].faults->arm(plan);
}

runtime::ControlBlockLog &controlBlocks(c10::DeviceIndex index) {
  device(index);
  return *state().slots[size_t(index)].blocks;
}

void resetDevice(c10::DeviceIndex index) {
  checkDeviceIndex(index);
  if (deviceStarted(index)) {
    evictPrograms(index);
    clearEagerCache(); // it holds constants in device memory
    check(device(index)->recover());
  }
}

void clearDevice(c10::DeviceIndex index) {
  checkDeviceIndex(index);
  if (deviceStarted(index)) {
    evictPrograms(index);
    clearEagerCache();
    check(device(index)->reset());
  }
}

void shutDownDevices() noexcept {
  forEachOpen([](size_t, Slot &slot) {
    slot.device->streams().finishAll();
    slot.device->streams().shutdown();
  });
}

bool deviceStarted() { return state().started && !state().badFork; }

bool deviceStarted(c10::DeviceIndex index) {
  return deviceStarted() && index >= 0 && index < deviceCount() &&
         state().slots[size_t(index)].started;
}

bool inBadFork() { return state().badFork || isCompileWorker(); }

void checkDeviceIndex(int64_t index) {
  if (index >= 0 && index < deviceCount()) {
    return;
  }
  if (cards().cards.empty()) {
    defaultDevice(); // says that there are none
  }
  raise(
      error<6509>("Device index {} out of range [0, {}); torch.spyre.device_count() says how many "
                  "devices there are",
                  index, deviceCount()));
}

//===--------------------------------------------------------------------------------------------===//
// spyre-smi
//===--------------------------------------------------------------------------------------------===//

namespace {

using Clock = std::chrono::steady_clock;

/// Whether, where and when next this process tells about itself.
struct Publisher {
  std::string folder;
  bool enabled = false;
  std::atomic<int64_t> nextNs{0};
};

void withdrawAll();

Publisher &publisher() {
  static Publisher *instance = [] {
    auto *made = new Publisher();
    made->folder = runtime::stateFolder(cardFolder());
    const std::string wish = environment("SPYRE_SMI", "");
    if (wish == "1" && runtime::prepareCardFolder(cardFolder()).ok()) {
      made->enabled = runtime::prepareCardFolder(made->folder).ok();
    } else if (wish != "0") {
      made->enabled = access(made->folder.c_str(), W_OK) == 0;
    }
    if (made->enabled) {
      std::atexit(withdrawAll);
    }
    return made;
  }();
  return *instance;
}

void withdrawAll() {
  forEachOpen([](size_t index, Slot &) {
    runtime::withdrawState(publisher().folder, cards().cards[index], getpid());
  });
}

runtime::CardState stateOf(size_t index, Slot &slot) {
  runtime::CardState now;
  runtime::describeThisProcess(now);
  now.card = cards().cards[index];
  now.mode = cards().mode;
  now.machine = deviceDesc().name;
  const runtime::MemoryStats memory = slot.device->memoryStats();
  now.reservedBytes = memory.reservedBytes[runtime::kAllPools].current;
  now.activeBytes = memory.activeBytes[runtime::kAllPools].current;
  now.totalBytes = deviceDesc().ddrBytes;
  std::unique_lock<std::mutex> lock(slot.mutex);
  runtime::DeviceCounters counters = slot.before;
  lock.unlock();
  add(counters, slot.device->counters());
  now.launches = int64_t(counters.launches);
  now.ddrReadBytes = int64_t(counters.ddrReadBytes);
  now.ddrWriteBytes = int64_t(counters.ddrWriteBytes);
  now.ptMacs = int64_t(counters.ptMacs);
  now.cycles = int64_t(counters.cycles);
  now.simulatedNs = int64_t(counters.nanoseconds);
  now.wallNs = std::chrono::nanoseconds(Clock::now() - slot.opened).count();
  now.ptMacsPerCycle = deviceDesc().timing.ptMacsPerCycle * double(deviceDesc().cores);
  return now;
}

void publishSlot(size_t index, Slot &slot) {
  runtime::publishState(publisher().folder, stateOf(index, slot));
}

} // namespace

std::vector<runtime::CardState> cardStates(c10::DeviceIndex index) {
  checkDeviceIndex(index);
  const int card = cards().cards[size_t(index)];
  std::vector<runtime::CardState> states;
  if (deviceStarted(index)) {
    states.push_back(stateOf(size_t(index), state().slots[size_t(index)]));
  }
  for (runtime::CardState &other : runtime::readStates(publisher().folder)) {
    if (other.card == card && other.process != getpid()) {
      states.push_back(std::move(other));
    }
  }
  return states;
}

void publishUse(bool isIdle) {
  static Publisher &mine = publisher();
  if (!mine.enabled) {
    return;
  }
  constexpr int64_t kPeriodNs = 1'000'000'000;
  const int64_t nowNs = std::chrono::nanoseconds(Clock::now().time_since_epoch()).count();
  int64_t due = mine.nextNs;
  if ((isIdle || nowNs >= due) && mine.nextNs.compare_exchange_strong(due, nowNs + kPeriodNs)) {
    forEachOpen(publishSlot);
  }
}

HostCounters &hostCounters() { return state().counters; }

std::vector<std::pair<std::string, uint64_t>> allCounters() {
  const HostCounters &host = hostCounters();
  const runtime::DeviceCounters sim = summedCounters();
  std::vector<std::pair<std::string, uint64_t>> counters = {
      {"programs_compiled", host.programsCompiled},
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
  const runtime::StallCycles stalls = summedStalls();
  for (size_t i = 0; i < runtime::kStallReasons; ++i) {
    counters.emplace_back(fmt::format("{}_cycles", runtime::kStallNames[i]), stalls[i]);
  }
  return counters;
}

uint64_t sanitizerChecks() { return summedCounters().sanitizerChecks; }

void resetCounters() {
  finishQueuedWork();
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
  forEachOpen([](size_t, Slot &slot) {
    std::lock_guard<std::mutex> lock(slot.mutex);
    add(slot.before, slot.device->counters());
    slot.device->resetCounters();
  });
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
