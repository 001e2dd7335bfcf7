//===- Explain.h - what a compilation did, and where its time will go ------------------------===//
//
// Steps are the operations of the device and of the host in the order they run. Every text and
// every decision gives a step the same number, from 0 on.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Arch/DeviceDesc.h"
#include "spyre/Base/Artifacts.h"
#include "spyre/Runtime/OperationTimes.h"

#include <string>
#include <vector>

namespace spyre::capi {

/// Predicted time of one operation of the device.
struct StepTime {
  int64_t step = 0;
  /// Name of the device operation, as its OpSpec has it.
  std::string operation;
  /// Directory of its bundle.
  std::string bundle;
  /// Sums over all iterations of the loops around it.
  runtime::OperationTime time;
};

/// One entry per device operation whose bundle has a program of our back end, in the order they
/// run.
/// \p artifacts are those of a compiled model; without model.json there are no steps. Errors: E0102
/// (model.json), E1301 (op_spec.txt), E7006, E9201 (programs).
Expected<std::vector<StepTime>> stepTimes(const Artifacts &artifacts,
                                          const arch::DeviceDesc &device);

/// Text for people of CompileResult: what is moved and why, layouts that would save copies, what
/// stays in the scratchpads, the division of each step, and where the time goes. Errors: E0102 (not
/// JSON), E9303 (not a decision trace), and those of stepTimes().
Expected<std::string> explanationText(const std::string &decisionsJson, const Artifacts &artifacts,
                                      const arch::DeviceDesc &device);

} // namespace spyre::capi
