//===- ModuleCards.cpp - devices, cards and faults for Python -------------------------------===//
#include "Errors.h"
#include "Guard.h"
#include "Module.h"
#include "RuntimeState.h"
#include "torch/csrc/utils/pybind.h"

#include <algorithm>

namespace spyre::plugin {

namespace {

py::dict propertiesDict(c10::DeviceIndex index) {
  checkDeviceIndex(index);
  const arch::DeviceDesc &desc = deviceDesc();
  py::dict result;
  result["name"] = "OpenSpyre (" + desc.name + ")";
  result["total_memory"] = desc.ddrBytes;
  result["multi_processor_count"] = desc.cores;
  result["lx_bytes"] = desc.lxBytes;
  result["stick_bytes"] = desc.stickBytes;
  result["clock_ghz"] = desc.timing.clockGhz;
  result["index"] = int(index);
  result["card"] = cards().cards[size_t(index)];
  result["mode"] = runtime::cardModeName(cards().mode);
  return result;
}

/// Parts of the wall time are 0 to 1.
py::list processList(int64_t index) {
  checkDeviceIndex(index);
  const arch::Timing &timing = deviceDesc().timing;
  const double bytesPerNs = timing.ddrPeakBytesPerCycle * timing.clockGhz;
  std::vector<runtime::CardState> states;
  {
    // A running launch holds the card's lock.
    py::gil_scoped_release release;
    states = cardStates(c10::DeviceIndex(index));
  }
  py::list processes;
  for (const runtime::CardState &state : states) {
    const double movedBytes = double(state.ddrReadBytes) + double(state.ddrWriteBytes);
    py::dict one;
    one["process"] = state.process;
    one["name"] = state.processName;
    one["reserved_bytes"] = state.reservedBytes;
    one["active_bytes"] = state.activeBytes;
    one["busy_part"] = std::min(1.0, state.busyShare());
    one["memory_busy_part"] =
        state.wallNs > 0 ? std::min(1.0, movedBytes / bytesPerNs / double(state.wallNs)) : 0.0;
    processes.append(one);
  }
  return processes;
}

void injectNamedFault(c10::DeviceIndex index, const std::string &kind, uint64_t after,
                      const std::string &target, std::optional<uint64_t> address) {
  runtime::FaultPlan plan;
  plan.kind = check(runtime::parseFaultKind(kind));
  plan.target = check(runtime::parseFaultTarget(target, plan.kind));
  plan.after = after;
  plan.address = address;
  injectFault(index, plan);
}

} // namespace

void bindCards(py::module_ &module) {
  module.def("is_available", [] { return deviceCount() > 0; });
  module.def("device_count", [] { return int(cards().cards.size()); });
  module.def("visible_cards", [] { return cards().cards; });
  module.def("current_device", [] { return int(currentDevice()); });
  module.def("set_device", [](int64_t index) {
    checkDeviceIndex(index);
    setCurrentDevice(c10::DeviceIndex(index));
  });
  module.def("is_started", &initialised);
  module.def("_is_open", [](int64_t index) {
    checkDeviceIndex(index);
    return deviceStarted(c10::DeviceIndex(index));
  });
  module.def(
      "device_properties",
      [](int64_t index) {
        index = index < 0 ? currentDevice() : index;
        checkDeviceIndex(index);
        return propertiesDict(c10::DeviceIndex(index));
      },
      py::arg("device") = -1);
  module.def("_card_processes", &processList, py::arg("device"));
  module.def("_publish_use", [] { publishUse(); });
  module.def(
      "_inject_fault",
      [](int64_t index, const std::string &kind, uint64_t after, const std::string &target,
         std::optional<uint64_t> address) {
        checkDeviceIndex(index);
        injectNamedFault(c10::DeviceIndex(index), kind, after, target, address);
      },
      py::arg("device"), py::arg("kind"), py::arg("after") = 0, py::arg("target") = "",
      py::arg("address") = py::none());
}

} // namespace spyre::plugin
