//===- UserLine.cpp - which line of the user's code runs ------------------------------------===//
//
// Asked before launches whose data can be wrong, so that the error, which comes later, can name the
// line. Frames of torch and of this package are passed over.
//===--------------------------------------------------------------------------------------------===//
#include "Module.h"
#include "Programs.h"
#include "torch/csrc/utils/pybind.h"

#include <array>
#include <string_view>

namespace spyre::plugin {

namespace {

/// Folders of torch and of this package, with a slash at the end; set once, by installLineHook().
const std::array<std::string, 2> *packageFolders = nullptr;

std::string folderOf(const char *package) {
  return py::module_::import("os.path")
             .attr("dirname")(py::module_::import(package).attr("__file__"))
             .cast<std::string>() +
         "/";
}

/// Code that torch generates has a name in angle brackets.
bool isUserFile(std::string_view file) {
  return !file.starts_with("<eval_with_key>") && !file.starts_with("<frozen ") &&
         !file.starts_with((*packageFolders)[0]) && !file.starts_with((*packageFolders)[1]);
}

py::object asObject(void *owned) {
  return py::reinterpret_steal<py::object>(static_cast<PyObject *>(owned));
}

std::shared_ptr<const std::string> userLine() {
  if (Py_IsInitialized() == 0) {
    return nullptr;
  }
  const py::gil_scoped_acquire gil;
  PyFrameObject *running = PyEval_GetFrame();
  py::object frame = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject *>(running));
  while (frame) {
    auto *raw = reinterpret_cast<PyFrameObject *>(frame.ptr());
    const py::object code = asObject(PyFrame_GetCode(raw));
    Py_ssize_t bytes = 0;
    const char *text =
        PyUnicode_AsUTF8AndSize(reinterpret_cast<PyCodeObject *>(code.ptr())->co_filename, &bytes);
    if (text == nullptr) {
      PyErr_Clear();
      return nullptr;
    }
    const std::string_view file(text, size_t(bytes));
    if (isUserFile(file)) {
      const std::string_view name = file.substr(file.rfind('/') + 1);
      return std::make_shared<const std::string>(
          fmt::format("{}:{}", name, PyFrame_GetLineNumber(raw)));
    }
    frame = asObject(PyFrame_GetBack(raw));
  }
  return nullptr;
}

} // namespace

void installLineHook() {
  packageFolders = new std::array<std::string, 2>{folderOf("torch"), folderOf("torch_spyre")};
  setLineHook(userLine);
}

} // namespace spyre::plugin
