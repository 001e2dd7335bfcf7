//===- DynamoPause.cpp - see DynamoPause.h --------------------------------------------------===//
#include "DynamoPause.h"

#include "torch/csrc/utils/pybind.h"

namespace spyre::plugin {

struct DynamoPause::Before {
  py::object callback;
};

static py::object setEvalFrame(const py::object &callback) {
  return py::module_::import("torch._C._dynamo.eval_frame").attr("set_eval_frame")(callback);
}

DynamoPause::DynamoPause() {
  if (Py_IsInitialized() == 0) {
    return;
  }
  const py::gil_scoped_acquire gil;
  before = std::make_unique<Before>(Before{setEvalFrame(py::none())});
}

DynamoPause::~DynamoPause() {
  if (!before) {
    return;
  }
  const py::gil_scoped_acquire gil;
  setEvalFrame(before->callback);
  before.reset();
}

} // namespace spyre::plugin
