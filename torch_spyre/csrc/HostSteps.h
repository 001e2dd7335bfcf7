//===- HostSteps.h - nodes of a compiled graph that run on the CPU ---------------------------===//
//
// One context per run. What a step reads from the device is fetched once, whoever else reads it;
// values the device does not hold stay here between the steps that make and use them.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "CompiledGraph.h"

#include <map>
#include <string>
#include <vector>

namespace spyre::plugin {

/// Callee of the steps that bring in arguments the device cannot hold.
constexpr const char *kArgumentCallee = "spyre.argument.default";

class HostStepContext {
public:
  HostStepContext(const CapturedGraph &graph, const spec::Model &model, const HostCalls &host,
                  const std::vector<at::Tensor> &arguments, int64_t firstArgumentNode);

  /// Counts graph_fallback_nodes and fallback_bytes. Errors: E6515 (a result is not what was
  /// captured); exceptions of the framework pass through.
  Status run(const spec::CpuStep &step, const runtime::BufferLookup &bufferOf);

private:
  Expected<at::Tensor> fetch(const std::string &name, const runtime::BufferLookup &bufferOf);
  Status store(const spec::CpuStep &step, const std::string &name, const at::Tensor &value,
               const runtime::BufferLookup &bufferOf);
  Expected<std::vector<at::Tensor>> call(const spec::CpuStep &step,
                                         const runtime::BufferLookup &bufferOf);

  const CapturedGraph &graph;
  const spec::Model &model;
  const HostCalls &host;
  const std::vector<at::Tensor> &arguments;
  const int64_t firstArgumentNode;
  /// Filled by the first step: most graphs have none.
  std::map<std::string, const spec::TensorDesc *> descs;
  std::map<std::string, at::Tensor> values;
};

/// All CPU steps of a model for people: operation, count, lines, gate, reason, bytes. Empty when
/// there are none.
std::string describeHostSteps(const spec::Model &model, const std::string &graphName);

} // namespace spyre::plugin
