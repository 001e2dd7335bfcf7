//===- Module.h - the parts of the Python module _C -----------------------------------------===//
#pragma once

#include "pybind11/pybind11.h"

namespace spyre::plugin {

/// Device times for torch.autograd.profiler; called once, at import.
void registerProfilerMethods();
/// Lets launches with indices name the line of the user; called once, at import.
void installLineHook();
void bindLayout(pybind11::module_ &module);
void bindCards(pybind11::module_ &module);
void bindEager(pybind11::module_ &module);
void bindCompat(pybind11::module_ &module);
void bindScratchpad(pybind11::module_ &module);
void bindCompileLog(pybind11::module_ &module);
void bindGraph(pybind11::module_ &module);
void bindJobPlan(pybind11::module_ &module);
void bindViews(pybind11::module_ &module);
void bindStreams(pybind11::module_ &module);
void bindSpec(pybind11::module_ &module);
void bindSurface(pybind11::module_ &module);

} // namespace spyre::plugin
