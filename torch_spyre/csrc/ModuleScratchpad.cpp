//===- ModuleScratchpad.cpp - the documented placement solvers, for Python ------------------===//
//
// Thin: buffers are numbers here, their class is torch_spyre/_inductor/scratchpad/plan_solver.py.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Solver/Placement/MemoryPlanSolver.h"

#include "Errors.h"
#include "Module.h"
#include "torch/csrc/utils/pybind.h"

namespace spyre::plugin {

namespace {

/// Name, bytes, ticks of its uses, whether the first one is a read, numbers of its parents.
using PlainBuffer = std::tuple<std::string, int64_t, std::vector<int64_t>, bool, std::vector<int>>;

/// The address of each buffer, or none.
solver::placement::Offsets placeBuffers(const std::string &solverName, int64_t capacityBytes,
                                        int64_t alignment,
                                        const std::vector<PlainBuffer> &buffers) {
  namespace placement = solver::placement;
  placement::Problem problem;
  problem.capacityBytes = capacityBytes;
  problem.alignment = alignment;
  for (const auto &[name, sizeBytes, uses, firstUseIsRead, parents] : buffers) {
    TORCH_CHECK_VALUE(!uses.empty() && uses.back() < placement::kMaxTick, "'", name,
                      "' needs uses, numbers of operations below ", placement::kMaxTick);
    placement::Buffer buffer;
    buffer.name = name;
    buffer.sizeBytes = sizeBytes;
    buffer.lower = uses.front();
    buffer.upper = uses.back() + 1;
    buffer.uses = uses;
    buffer.firstUseIsRead = firstUseIsRead;
    buffer.parents = parents;
    problem.buffers.push_back(std::move(buffer));
  }
  check(placement::validate(problem));
  const auto solver = check(placement::createSolver(solverName));
  return check(solver->plan(problem, placement::Variant::Pick)).offsets;
}

} // namespace

void bindScratchpad(py::module_ &module) {
  module.def("place_buffers", &placeBuffers, py::arg("solver"), py::arg("capacity_bytes"),
             py::arg("alignment"), py::arg("buffers"));
}

} // namespace spyre::plugin
