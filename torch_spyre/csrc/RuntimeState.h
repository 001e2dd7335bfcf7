//===- RuntimeState.h - the devices of the process, and the counters kept beside them -------===//
//
// Which devices there are is decided once, from the environment, without opening any. A device is
// opened when it is first used, never on import. A child forked after that cannot use any (their
// threads are gone) and says so. The environment is read here and in Python, nowhere else:
//
//   FLEX_DEVICE, AIU_WORLD_SIZE, SPYRE_DEVICES, LOCAL_RANK  see spyre/Runtime/Cards.h
//   SPYRE_CARD_DIR     folder of locks and state files of cards (run-time or temporary folder)
//   SPYRE_SMI          "1": tell spyre-smi about this process; "0": never; else when it is on
//   IS_INDUCTOR_SPAWNED_SUBPROCESS  "1": a compile worker, which never opens a device
//   SPYRE_DEVICE_DESC  preset name or JSON file of the machine ("openspyre")
//   SPYRE_SIM_THREADS  host threads of the simulator (one per host core)
//   SPYRE_BACKEND_CMD  another back end, run as CMD --bundle -d DIR (the built-in one)
//   TORCH_SPYRE_DEBUG  "1": a line on standard error per compilation phase and launch
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Runtime/CardState.h"
#include "spyre/Runtime/Cards.h"
#include "spyre/Runtime/ControlBlocks.h"
#include "spyre/Runtime/Device.h"
#include "spyre/Runtime/Faults.h"

#include "c10/core/Device.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace spyre::plugin {

/// Machine description; does not start the device. Throws when SPYRE_DEVICE_DESC is at fault.
const arch::DeviceDesc &deviceDesc();
/// Visible devices; 0 when the environment is at fault. Opens nothing.
int deviceCount() noexcept;
/// What a factory without an index uses until set_device(): LOCAL_RANK or 0. Throws when there are
/// no devices (E6522) or the environment is at fault (E6140-E6143).
int defaultDevice();
/// Visible cards. Throws when the environment is at fault.
const runtime::CardList &cards();
/// What torch calls before the first use of any device: throws where no use is possible, and opens
/// none, as it is not known yet which one is meant.
void initialise();
/// initialise() was called, or a device is open; not in a forked child of such a process.
bool initialised();
/// Opens the device if need be. Throws E6501 in a child forked after the first was opened, E6521 in
/// a compile worker, E6144 when another process has the card.
const std::shared_ptr<runtime::Device> &device(c10::DeviceIndex index);
/// The index of an open device.
c10::DeviceIndex deviceIndexOf(const runtime::Device &device);
/// The thread's current device.
const std::shared_ptr<runtime::Device> &device();
/// Makes the device fail; see spyre/Runtime/Faults.h. Opens it.
void injectFault(c10::DeviceIndex index, const runtime::FaultPlan &plan);
/// The log of the card's control blocks. Opens the device.
runtime::ControlBlockLog &controlBlocks(c10::DeviceIndex index);
/// Drops queued work, errors and programs of an open device, and its memory if a stream is in
/// error; see docs/runtime/errors.md.
void resetDevice(c10::DeviceIndex index);
/// Drops queued work, errors, programs and all memory of an open device.
void clearDevice(c10::DeviceIndex index);
/// Waits for all work and ends the workers: before the interpreter goes.
void shutDownDevices() noexcept;
/// SPYRE_BACKEND_CMD; empty: the built-in back end.
std::string backEndCommand();
/// Sets the log level from the environment; called when the module is loaded.
void configureLog();
/// Any of them is open, or this one.
bool deviceStarted();
bool deviceStarted(c10::DeviceIndex index);
bool inBadFork();
/// Throws E6509 when \p index is not a device.
void checkDeviceIndex(int64_t index);

/// States of the processes that use a card: this one, and those that tell spyre-smi. Opens
/// nothing.
std::vector<runtime::CardState> cardStates(c10::DeviceIndex index);

/// Tells spyre-smi, if somebody wants to know: at most once a second, and when the device has just
/// finished all its work. Cheap otherwise.
void publishUse(bool isIdle = false);

/// Figures of the plug-in itself; those of the devices come from runtime::Device.
struct HostCounters {
  std::atomic<uint64_t> programsCompiled{0};
  std::atomic<uint64_t> compileCacheHits{0}, compileCacheMisses{0};
  std::atomic<uint64_t> fallbackOps{0}, fallbackBytes{0}, graphFallbackNodes{0};
  std::atomic<uint64_t> h2dBytes{0}, d2hBytes{0}, d2dBytes{0};
};
HostCounters &hostCounters();

/// All public counters in their documented order, those of the devices added up.
std::vector<std::pair<std::string, uint64_t>> allCounters();
/// Checks the LX sanitizer made: proof that it was on.
uint64_t sanitizerChecks();
void resetCounters();

void countFallback(const std::string &operation, uint64_t bytes);
std::map<std::string, uint64_t> fallbackCounts();

} // namespace spyre::plugin
