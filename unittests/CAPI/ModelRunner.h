//===- ModelRunner.h - runs compiled artifacts on the simulator and on the evaluator --------===//
#pragma once

#include "spyre/Base/Artifacts.h"
#include "spyre/Runtime/Device.h"

#include "GraphInterpreter.h"

namespace spyre::testing {

struct RunResult {
  /// Device bytes of every output, as the simulator left them.
  std::vector<std::vector<uint8_t>> deviceBytes;
  /// The same outputs read back as host tensors.
  std::vector<HostTensor> outputs;
  /// Both for the inputs, after the run.
  std::vector<std::vector<uint8_t>> inputBytes;
  std::vector<HostTensor> inputs;
  runtime::DeviceCounters counters;
};

Expected<RunResult> runOnSimulator(const Artifacts &artifacts, const arch::DeviceDesc &device,
                                   const std::vector<HostTensor> &inputs, uint32_t threads = 0);
Expected<RunResult> runOnSimulator(const Artifacts &artifacts, const arch::DeviceDesc &device,
                                   const std::vector<HostTensor> &inputs,
                                   const runtime::DriverOptions &options);
/// Device bytes of every output by the evaluator, from op_spec.txt alone; on request also those of
/// the inputs, after the run.
Expected<std::vector<std::vector<uint8_t>>>
runOnEvaluator(const Artifacts &artifacts, const std::vector<HostTensor> &inputs,
               std::vector<std::vector<uint8_t>> *inputBytes = nullptr);

} // namespace spyre::testing
