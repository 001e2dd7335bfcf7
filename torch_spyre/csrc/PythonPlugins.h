//===- PythonPlugins.h - code of the user's in Python that takes part in compilations --------===//
//
// Compilations run without Python's lock; each call takes it. An exception cannot travel through
// the compiler: it is kept, the compilation ends with E1503, and the exception itself is raised
// behind it. What the code gets and gives is made in torch_spyre/_inductor/plugins.py.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/CAPI/Compiler.h"

#include "pybind11/pybind11.h"

namespace spyre::plugin {

/// Solver that makes an object of \p solverClass for each plan.
std::shared_ptr<const solver::placement::MemoryPlanSolver>
pythonSolver(const pybind11::object &solverClass);

std::shared_ptr<const solver::placement::ScratchpadOptimizationPass>
pythonScratchpadPass(const pybind11::object &pass);

/// \p point: where it runs, as in capi::CompileOptions::userFunctions.
capi::OperationFunction pythonFunction(const pybind11::object &function, const std::string &point);

/// Around one compilation on this thread.
class PythonFaults {
public:
  PythonFaults();
  /// Throws the first exception that a plug-in raised since then, if there is one.
  void rethrow() const;
};

} // namespace spyre::plugin
