//===- CompileLog.cpp - logs of compilations in torch's thread state ------------------------===//
#include "CompileLog.h"

#include "ATen/ThreadLocalPythonObjects.h"
#include "Module.h"
#include "torch/csrc/PyInterpreter.h"
#include "torch/csrc/utils/pybind.h"

#include <utility>

namespace spyre::plugin {

namespace {

using ThreadState = at::impl::ThreadLocalPythonObjects;

constexpr const char *kKey = "spyre_compile_log";

/// Context manager of Python: a log, and the one that was open before.
struct OpenLog {
  std::shared_ptr<CompileLog> log = std::make_shared<CompileLog>();
  std::shared_ptr<c10::SafePyObject> outer;
};

py::object openLog(py::object self) {
  auto &opened = self.cast<OpenLog &>();
  opened.outer = ThreadState::contains(kKey) ? ThreadState::get(kKey) : nullptr;
  ThreadState::set(kKey,
                   std::make_shared<c10::SafePyObject>(self.inc_ref().ptr(), getPyInterpreter()));
  return self;
}

void closeLog(OpenLog &opened, const py::args & /*exception*/) {
  if (opened.outer) {
    ThreadState::set(kKey, std::exchange(opened.outer, nullptr));
  } else {
    ThreadState::erase(kKey);
  }
}

std::vector<std::shared_ptr<CompileRecord>> recordsOf(const OpenLog &opened) {
  std::vector<std::shared_ptr<CompileRecord>> records;
  for (const auto &record : opened.log->records()) {
    records.push_back(std::const_pointer_cast<CompileRecord>(record));
  }
  return records;
}

} // namespace

void CompileLog::add(std::shared_ptr<const CompileRecord> record) {
  std::lock_guard<std::mutex> lock(mutex);
  kept.push_back(std::move(record));
}

std::vector<std::shared_ptr<const CompileRecord>> CompileLog::records() const {
  std::lock_guard<std::mutex> lock(mutex);
  return kept;
}

std::shared_ptr<CompileLog> currentCompileLog() {
  if (!ThreadState::contains(kKey)) {
    return nullptr;
  }
  py::gil_scoped_acquire gil;
  const py::handle opened = ThreadState::get(kKey)->ptr(getPyInterpreter());
  return opened.cast<OpenLog &>().log;
}

void bindCompileLog(py::module_ &module) {
  py::class_<OpenLog>(module, "CompileLog")
      .def(py::init<>())
      .def("__enter__", &openLog)
      .def("__exit__", &closeLog)
      .def_property_readonly("records", &recordsOf);
}

} // namespace spyre::plugin
