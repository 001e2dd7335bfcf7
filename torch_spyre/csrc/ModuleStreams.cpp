//===- ModuleStreams.cpp - waiting, resetting and watching a device, from Python ------------===//
#include "ATen/record_function.h"
#include "Copy.h"
#include "Errors.h"
#include "Guard.h"
#include "Memory.h"
#include "Module.h"
#include "RuntimeState.h"
#include "Waits.h"
#include "torch/csrc/utils/pybind.h"

#include <algorithm>

namespace spyre::plugin {

namespace {

c10::DeviceIndex checkedIndex(int64_t index) {
  checkDeviceIndex(index);
  return c10::DeviceIndex(index);
}

std::vector<std::string> controlBlockTexts(int64_t index) {
  std::vector<std::string> lines;
  for (const runtime::ControlBlock &block : controlBlocks(checkedIndex(index)).blocks()) {
    lines.push_back(runtime::toString(block));
  }
  return lines;
}

} // namespace

void bindStreams(py::module_ &module) {
  module.def(
      "synchronize",
      [](std::optional<int64_t> index) {
        const c10::DeviceIndex device = index ? checkedIndex(*index) : c10::DeviceIndex(-1);
        py::gil_scoped_release release;
        noteWait("synchronize()");
        RECORD_FUNCTION("host::synchronize", c10::ArrayRef<const c10::IValue>{});
        synchronizeDevice(device);
      },
      py::arg("device") = py::none());
  module.def("_finish", [] { synchronizeDevice(-1); }, py::call_guard<py::gil_scoped_release>());
  module.def(
      "reset_device",
      [](int64_t index) {
        const c10::DeviceIndex device = checkedIndex(index);
        py::gil_scoped_release release;
        resetDevice(device);
      },
      py::arg("device"));
  module.def("_lost_memory", lostMemory);
  // Memory, programs and streams of all cards begin anew; tensors made before are lost. The cards
  // stay with the process, so there is nothing to start again.
  module.def("free_runtime", [] {
    py::gil_scoped_release release;
    for (int i = 0; i < deviceCount(); ++i) {
      clearDevice(c10::DeviceIndex(i));
    }
  });
  module.def("_shut_down", [] {
    py::gil_scoped_release release;
    shutDownDevices();
  });
  module.def(
      "_record_control_blocks",
      [](size_t count, int64_t index) { controlBlocks(checkedIndex(index)).keep(count); },
      py::arg("count"), py::arg("device") = 0);
  module.def("_control_blocks", &controlBlockTexts, py::arg("device") = 0);
}

} // namespace spyre::plugin
