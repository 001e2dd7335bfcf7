//===- Module.cpp - the Python module torch_spyre._C ----------------------------------------===//
//
// Loading it registers allocator, guard, hooks and kernels with torch; no device is started.
//===--------------------------------------------------------------------------------------------===//
#include "Module.h"

#include "Copy.h"
#include "Eager.h"
#include "Errors.h"
#include "Generator.h"
#include "Guard.h"
#include "Memory.h"
#include "Programs.h"
#include "RuntimeState.h"
#include "torch/csrc/Exceptions.h"
#include "torch/csrc/utils/pybind.h"

#include <mutex>

namespace spyre::plugin {

namespace {

/// Calls Python from any thread; an exception of the callee leaves through torch as itself.
template <typename Function>
auto withPython(Function function) {
  py::gil_scoped_acquire gil;
  try {
    return function();
  } catch (py::error_already_set &raised) {
    raised.restore();
    python_error carried;
    carried.persist();
    throw carried;
  }
}

/// The callable is never released: it may be needed while the interpreter shuts down.
void installFallbackHook(const py::function &callable) {
  auto *kept = new py::function(callable);
  setFallbackHook([kept](const std::string &name) { withPython([&] { (*kept)(name); }); });
}

void installSettingsHook(const py::function &callable) {
  auto *kept = new py::function(callable);
  setSettingsHook([kept] { return withPython([&] { return (*kept)().cast<CompileSettings>(); }); });
}

void translateUnsupported(std::exception_ptr raised) {
  try {
    if (raised) {
      std::rethrow_exception(raised);
    }
  } catch (const UnsupportedError &unsupported) {
    py::object type = py::module_::import("torch_spyre._inductor.errors").attr("Unsupported");
    PyErr_SetString(type.ptr(), unsupported.what());
  }
}

py::dict countersDict() {
  py::dict result;
  for (const auto &[name, value] : allCounters()) {
    result[py::str(name)] = value;
  }
  return result;
}

py::dict propertiesDict() {
  const arch::DeviceDesc &desc = deviceDesc();
  py::dict result;
  result["name"] = "OpenSpyre (" + desc.name + ")";
  result["total_memory"] = desc.ddrBytes;
  result["multi_processor_count"] = desc.cores;
  result["lx_bytes"] = desc.lxBytes;
  result["stick_bytes"] = desc.stickBytes;
  result["clock_ghz"] = desc.timing.clockGhz;
  return result;
}

at::Tensor rngState() {
  at::Generator generator = defaultGenerator();
  std::lock_guard<std::mutex> lock(generator.mutex());
  return generator.get_state();
}

void setRngState(const at::Tensor &state) {
  at::Generator generator = defaultGenerator();
  std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_state(state);
}

void seed(uint64_t value) {
  at::Generator generator = defaultGenerator();
  std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_current_seed(value);
}

py::dict allocatorStats() {
  constexpr size_t kAll = size_t(c10::CachingAllocator::StatType::AGGREGATE);
  auto stats = deviceAllocator().getDeviceStats(0);
  py::dict result;
  result["allocated_bytes.all.current"] = stats.allocated_bytes[kAll].current;
  result["allocated_bytes.all.peak"] = stats.allocated_bytes[kAll].peak;
  result["allocation.all.current"] = stats.allocation[kAll].current;
  return result;
}

void bindDevice(py::module_ &module) {
  module.def("start_runtime", [] { device(); });
  module.def("is_started", &deviceStarted);
  module.def("in_bad_fork", &inBadFork);
  module.def("device_count", [] { return kDeviceCount; });
  module.def("current_device", [] { return int(currentDevice()); });
  module.def("set_device", [](int64_t index) {
    checkDeviceIndex(index);
    setCurrentDevice(c10::DeviceIndex(index));
  });
  module.def("device_properties", &propertiesDict);
  module.def("device_description", [] { return deviceDesc().toJson(); });
  module.def("counters", &countersDict);
  module.def("sanitizer_checks", &sanitizerChecks);
  module.def("_unsanitized_launches", &runtime::unsanitizedLaunches);
  module.def("reset_counters", &resetCounters);
  module.def("fallback_counts", &fallbackCounts);
  module.def("_spyre_get_allocator_stats", [](int) { return allocatorStats(); });
  module.def("_spyre_reset_accumulated_stats",
             [](int index) { deviceAllocator().resetAccumulatedStats(c10::DeviceIndex(index)); });
  module.def("_spyre_reset_peak_stats",
             [](int index) { deviceAllocator().resetPeakStats(c10::DeviceIndex(index)); });
}

void bindRandom(py::module_ &module) {
  module.def(
      "manual_seed", [](uint64_t value, int) { seed(value); }, py::arg("seed"),
      py::arg("device") = -1);
  module.def("manual_seed_all", &seed, py::arg("seed"));
  module.def("get_rng_state", [](int) { return rngState(); }, py::arg("device") = -1);
  module.def(
      "set_rng_state", [](const at::Tensor &state, int) { setRngState(state); },
      py::arg("new_state"), py::arg("device") = -1);
  module.def(
      "initial_seed", [](int) { return defaultGenerator().current_seed(); },
      py::arg("device") = -1);
  module.def(
      "_get_default_generator", [](int) { return defaultGenerator(); }, py::arg("device") = -1);
}

} // namespace

PYBIND11_MODULE(_C, module) {
  module.doc() = "PyTorch plug-in of the Spyre device";
  py::register_exception_translator(&translateUnsupported);
  configureLog();
  registerAllocator();
  registerHooks();
  registerEagerKernels();
  bindDevice(module);
  bindRandom(module);
  bindEager(module);
  bindLayout(module);
  bindGraph(module);
  bindCompat(module);
  bindSpec(module);
  module.def(
      "copy_tensor",
      [](const at::Tensor &source, const at::Tensor &destination, bool) {
        py::gil_scoped_release release;
        copyTensor(source, destination);
      },
      py::arg("source"), py::arg("destination"), py::arg("non_blocking") = false);
  module.def("get_downcast_warning", &downcastWarning);
  module.def("set_downcast_warning", &setDowncastWarning);
  module.def("_set_fallback_hook", &installFallbackHook);
  module.def("_set_settings_hook", &installSettingsHook);
}

} // namespace spyre::plugin
