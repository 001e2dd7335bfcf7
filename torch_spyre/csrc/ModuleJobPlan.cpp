//===- ModuleJobPlan.cpp - kernels of a directory, prepared and launched from Python --------===//
//
// For code that brings its own back end's output: a spyreCodeDir becomes a JobPlan, and a JobPlan
// is launched on tensors in the order of the bundle's arguments. Programs of torch.compile and of
// eager operations go through Programs.h.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Runtime/JobPlan.h"

#include "Copy.h"
#include "Errors.h"
#include "Guard.h"
#include "Memory.h"
#include "Module.h"
#include "RuntimeState.h"
#include "Types.h"
#include "torch/csrc/utils/pybind.h"

#include <filesystem>

namespace spyre::plugin {

namespace {

using runtime::BufferRef;
using runtime::JobPlan;

Expected<Artifacts> readCode(const std::string &directory) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (!fs::exists(directory, ignored)) {
    return error<6570>("SpyreCode directory does not exist: '{}'; pass the spyreCodeDir the back "
                       "end wrote",
                       directory);
  }
  if (!fs::is_directory(directory, ignored)) {
    return error<6570>("SpyreCode path is not a directory: '{}'; pass the spyreCodeDir the back "
                       "end wrote",
                       directory);
  }
  return readDirectory(directory);
}

std::shared_ptr<JobPlan> prepareKernel(const std::string &directory) {
  const std::shared_ptr<runtime::Device> card = device();
  py::gil_scoped_release release;
  Artifacts code = check(readCode(directory));
  return check(JobPlan::prepare(*card, code));
}

/// A kernel binds whole storages: a view would silently read its base.
BufferRef argumentBuffer(const at::Tensor &tensor, size_t index) {
  if (!isSpyre(tensor)) {
    raise(error<6571>("SpyreStream::launch: argument {} must be on Spyre device, it is on {}; move "
                      "it with .to(\"spyre\")",
                      index, tensor.device().str()));
  }
  if (!isWholeStorage(tensor)) {
    raise(error<6571>("argument {} of a kernel launch is a view (offset {}); a kernel reads whole "
                      "storages, pass a copy: tensor.clone()",
                      index, tensor.storage_offset()));
  }
  return bufferOf(tensor);
}

void launchPlan(const std::shared_ptr<JobPlan> &plan, const std::vector<at::Tensor> &arguments) {
  std::vector<BufferRef> buffers;
  for (size_t i = 0; i < arguments.size(); ++i) {
    buffers.push_back(argumentBuffer(arguments[i], i));
  }
  const c10::DeviceIndex index =
      arguments.empty() ? currentDevice() : arguments[0].device().index();
  const runtime::StreamId stream = currentStream(index);
  py::gil_scoped_release release;
  runtime::Operation operation;
  operation.name = "launch::Compute";
  operation.body = [launch = check(plan->bind(buffers, nullptr, stream))](
                       runtime::OperationContext &) { return launch.run(); };
  check(device(index)->streams().submit(stream, std::move(operation)));
}

std::string describe(const JobPlan &plan) {
  return fmt::format(
      "<JobPlan steps={} job_allocation_size={} expected_inputs=0 pinned_buffers={}>",
      plan.steps().size(), plan.allocationBytes(), plan.hostBuffers());
}

} // namespace

void bindJobPlan(py::module_ &module) {
  py::class_<JobPlan, std::shared_ptr<JobPlan>>(module, "JobPlan")
      .def("num_steps", [](const JobPlan &plan) { return plan.steps().size(); })
      .def("job_allocation_size", &JobPlan::allocationBytes)
      .def("get_step_type",
           [](const JobPlan &plan, int64_t index) {
             return JobPlan::stepName(check(plan.step(index)));
           })
      .def("__repr__", &describe);
  module.def(
      "prepare_kernel",
      [](const std::string &directory, const py::object &) { return prepareKernel(directory); },
      py::arg("spyrecode_dir"), py::arg("stream") = py::none());
  module.def("launch_jobplan", &launchPlan, py::arg("plan"), py::arg("args"));
  module.def(
      "launch_kernel",
      [](const std::string &directory, const std::vector<at::Tensor> &arguments) {
        launchPlan(prepareKernel(directory + "/spyreCodeDir"), arguments);
      },
      py::arg("code_dir"), py::arg("args"));
}

} // namespace spyre::plugin
