//===- Module.cpp - the Python module torch_spyre._C ----------------------------------------===//
//
// Loading it registers allocator, guard, hooks and kernels with torch; no device is started.
//===--------------------------------------------------------------------------------------------===//
#include "Module.h"

#include "Copy.h"
#include "DeviceCopy.h"
#include "Downcast.h"
#include "Eager.h"
#include "Errors.h"
#include "Fill.h"
#include "Guard.h"
#include "Memory.h"
#include "Programs.h"
#include "RuntimeState.h"
#include "Serialization.h"
#include "Waits.h"
#include "torch/csrc/Exceptions.h"
#include "torch/csrc/utils/pybind.h"

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
  setFallbackHook([kept](const std::string &name, const std::string &why) {
    withPython([&] { (*kept)(name, why); });
  });
}

void installDowncastHook(const py::function &callable) {
  auto *kept = new py::function(callable);
  setDowncastHook([kept](const std::string &text) { withPython([&] { (*kept)(text); }); });
}

/// Null: no reports. What the callable raises is not the failure and is dropped.
void installFailureHook(const std::optional<py::function> &callable) {
  if (!callable) {
    setFailureHook(nullptr);
    return;
  }
  auto *kept = new py::function(*callable);
  setFailureHook([kept](const std::string &message) {
    if (Py_IsInitialized() == 0) {
      return;
    }
    py::gil_scoped_acquire gil;
    const py::error_scope pending;
    try {
      (*kept)(message);
    } catch (py::error_already_set &ignored) {
      ignored.discard_as_unraisable("torch_spyre.ffdc");
    }
  });
}

/// Null: waits are not told.
void installWaitHook(const std::optional<py::function> &callable) {
  if (!callable) {
    setWaitHook(nullptr);
    return;
  }
  auto *kept = new py::function(*callable);
  setWaitHook([kept](const std::string &call) { withPython([&] { (*kept)(call); }); });
}

void installSettingsHook(const py::function &callable) {
  auto *kept = new py::function(callable);
  setSettingsHook([kept] { return withPython([&] { return (*kept)().cast<CompileSettings>(); }); });
}

/// Asked when device memory is short, by a thread that holds no lock and not the interpreter.
void installGarbageCollector() {
  setGarbageCollector([] {
    if (Py_IsInitialized() != 0) {
      withPython([] { py::module_::import("gc").attr("collect")(); }); // also when it is disabled
    }
  });
}

/// Torch's errors keep their type also where torch does not translate them: in our own functions.
void translateErrors(std::exception_ptr raised) {
  try {
    if (raised) {
      std::rethrow_exception(raised);
    }
  } catch (const UnsupportedError &unsupported) {
    py::object type = py::module_::import("torch_spyre._inductor.errors").attr("Unsupported");
    PyErr_SetString(type.ptr(), unsupported.what());
  } catch (const c10::Error &) {
    torch::translate_exception_to_python(raised);
  }
}

py::dict countersDict() {
  // Work that is waited for may call Python.
  const auto counters = [] {
    py::gil_scoped_release release;
    return allCounters();
  }();
  py::dict result;
  for (const auto &[name, value] : counters) {
    result[py::str(name)] = value;
  }
  return result;
}

c10::DeviceIndex checkedIndex(int64_t index) {
  checkDeviceIndex(index);
  return c10::DeviceIndex(index);
}

py::dict allocatorStats(int64_t index) {
  constexpr size_t kAll = size_t(c10::CachingAllocator::StatType::AGGREGATE);
  auto stats = deviceAllocator().getDeviceStats(checkedIndex(index));
  py::dict result;
  result["allocated_bytes.all.current"] = stats.allocated_bytes[kAll].current;
  result["allocated_bytes.all.peak"] = stats.allocated_bytes[kAll].peak;
  result["allocation.all.current"] = stats.allocation[kAll].current;
  return result;
}

void bindDevice(py::module_ &module) {
  module.def("start_runtime", &initialise);
  module.def("in_bad_fork", &inBadFork);
  module.def("device_description", [] { return deviceDesc().toJson(); });
  module.def("counters", &countersDict);
  module.def("sanitizer_checks", &sanitizerChecks, py::call_guard<py::gil_scoped_release>());
  module.def("_unsanitized_launches", &runtime::unsanitizedLaunches);
  module.def("reset_counters", &resetCounters, py::call_guard<py::gil_scoped_release>());
  module.def("fallback_counts", &fallbackCounts);
  module.def("_spyre_get_allocator_stats", &allocatorStats);
  module.def("_spyre_reset_accumulated_stats",
             [](int64_t index) { deviceAllocator().resetAccumulatedStats(checkedIndex(index)); });
  module.def("_spyre_reset_peak_stats",
             [](int64_t index) { deviceAllocator().resetPeakStats(checkedIndex(index)); });
}

} // namespace

PYBIND11_MODULE(_C, module) {
  module.doc() = "PyTorch plug-in of the Spyre device";
  py::register_exception_translator(&translateErrors);
  configureLog();
  registerAllocator();
  installGarbageCollector();
  installLineHook();
  registerHooks();
  registerEagerKernels();
  registerSerialization();
  registerProfilerMethods();
  bindDevice(module);
  bindCards(module);
  bindEager(module);
  bindLayout(module);
  bindCompileLog(module);
  bindGraph(module);
  bindJobPlan(module);
  bindViews(module);
  bindStreams(module);
  bindCompat(module);
  bindScratchpad(module);
  bindSpec(module);
  bindSurface(module);
  module.def(
      "copy_tensor",
      [](const at::Tensor &source, const at::Tensor &destination, bool nonBlocking) {
        py::gil_scoped_release release;
        copyTensor(source, destination, nonBlocking);
      },
      py::arg("source"), py::arg("destination"), py::arg("non_blocking") = false);
  module.def(
      "fill_tensor",
      [](const at::Tensor &tensor, double value) {
        py::gil_scoped_release release;
        fillWithScalar(tensor, value);
      },
      py::arg("tensor"), py::arg("value"));
  module.def("get_downcast_warning", &downcastWarning);
  module.def("set_downcast_warning", &setDowncastWarning);
  module.def("_set_downcast_check", &setDowncastCheck);
  module.def("_check_downcast",
             [](const at::Tensor &host) { check(checkDowncast(host.contiguous(), host)); });
  module.def("_set_downcast_hook", &installDowncastHook);
  module.def("_set_fallback_hook", &installFallbackHook);
  module.def("_set_settings_hook", &installSettingsHook);
  module.def("_set_failure_hook", &installFailureHook);
  module.def("_set_wait_hook", &installWaitHook);
  module.def("_copy_programs", &copyProgramCount);
  module.def("_limit_copy_programs", &limitCopyPrograms);
}

} // namespace spyre::plugin
