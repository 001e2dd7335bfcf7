//===- HostSteps.cpp - see HostSteps.h ------------------------------------------------------===//
#include "HostSteps.h"

#include "spyre/Base/Math.h"

#include "ATen/ops/empty.h"
#include "Copy.h"
#include "Downcast.h"
#include "Errors.h"
#include "RuntimeState.h"
#include "Types.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace spyre::plugin {

namespace {

uint64_t hostBytes(const at::Tensor &tensor) {
  return uint64_t(tensor.numel()) * tensor.element_size();
}

layout::HostTensorRef refOf(const at::Tensor &tensor, const spec::TensorDesc &desc) {
  return {tensor.data_ptr(), desc.dtype, toVector(tensor.sizes()), toVector(tensor.strides())};
}

std::map<std::string, const spec::TensorDesc *> descsOf(const spec::Model &model) {
  std::map<std::string, const spec::TensorDesc *> descs;
  for (const auto *list : {&model.inputs, &model.outputs, &model.buffers}) {
    for (const spec::TensorDesc &desc : *list) {
      descs[desc.name] = &desc;
    }
  }
  for (const spec::ConstantDesc &constant : model.constants) {
    descs[constant.tensor.name] = &constant.tensor;
  }
  return descs;
}

} // namespace

HostStepContext::HostStepContext(const CapturedGraph &graph, const spec::Model &model,
                                 const HostCalls &host, const std::vector<at::Tensor> &arguments,
                                 int64_t firstArgumentNode)
    : graph(graph), model(model), host(host), arguments(arguments),
      firstArgumentNode(firstArgumentNode) {}

Expected<at::Tensor> HostStepContext::fetch(const std::string &name,
                                            const runtime::BufferLookup &bufferOf) {
  if (auto found = values.find(name); found != values.end()) {
    return found->second;
  }
  const spec::TensorDesc &desc = *descs.at(name);
  at::Tensor value = at::empty(desc.size, scalarTypeOf(desc.dtype));
  SPYRE_RETURN_IF_ERROR(runtime::downloadTensor(bufferOf(name), desc, refOf(value, desc)));
  hostCounters().d2hBytes += uint64_t(desc.layout.bytes());
  hostCounters().fallbackBytes += hostBytes(value);
  return values[name] = value;
}

Status HostStepContext::store(const spec::CpuStep &step, const std::string &name,
                              const at::Tensor &value, const runtime::BufferLookup &bufferOf) {
  values[name] = value;
  auto found = descs.find(name);
  if (found == descs.end()) {
    return Status::success();
  }
  const spec::TensorDesc &desc = *found->second;
  if (!value.defined() || !value.is_cpu() || value.sizes() != c10::IntArrayRef(desc.size) ||
      value.scalar_type() != scalarTypeOf(desc.dtype)) {
    return error<6515>("{} gave {} [{}], captured was {} [{}]; the operation must give on the CPU "
                       "what its fake function promises",
                       step.callee, value.defined() ? dtypeName(value.scalar_type()) : "nothing",
                       value.defined() ? fmt::format("{}", fmt::join(value.sizes(), ", ")) : "",
                       numerics::hostTypeName(desc.dtype), fmt::join(desc.size, ", "));
  }
  const at::Tensor dense = value.resolve_conj().resolve_neg().contiguous();
  SPYRE_RETURN_IF_ERROR(checkDowncast(dense, dense));
  SPYRE_RETURN_IF_ERROR(runtime::uploadTensor(bufferOf(name), desc, refOf(dense, desc)));
  hostCounters().h2dBytes += uint64_t(desc.layout.bytes());
  hostCounters().fallbackBytes += hostBytes(dense);
  return Status::success();
}

Expected<std::vector<at::Tensor>> HostStepContext::call(const spec::CpuStep &step,
                                                        const runtime::BufferLookup &bufferOf) {
  if (step.node >= firstArgumentNode) {
    const at::Tensor &argument = arguments[size_t(step.node - firstArgumentNode)];
    return std::vector<at::Tensor>{isSpyre(argument) ? toHost(argument) : argument};
  }
  auto captured = std::find_if(graph.calls.begin(), graph.calls.end(),
                               [&](const auto &call) { return call.node == step.node; });
  SPYRE_CHECK(captured != graph.calls.end() &&
                  captured->arguments.operands.size() == step.inputs.size(),
              "the model was compiled from this graph");
  std::vector<at::Tensor> tensors;
  for (const std::string &name : step.inputs) {
    SPYRE_ASSIGN_OR_RETURN(at::Tensor tensor, fetch(name, bufferOf));
    tensors.push_back(std::move(tensor));
  }
  hostCounters().graphFallbackNodes += 1;
  return host.run(step.node, step.results, captured->arguments.operands, tensors);
}

Status HostStepContext::run(const spec::CpuStep &step, const runtime::BufferLookup &bufferOf) {
  if (descs.empty()) {
    descs = descsOf(model);
  }
  SPYRE_ASSIGN_OR_RETURN(std::vector<at::Tensor> results, call(step, bufferOf));
  if (results.size() != step.outputs.size()) {
    return error<6515>("{} gave {} results, {} were captured", step.callee, results.size(),
                       step.outputs.size());
  }
  for (size_t i = 0; i < results.size(); ++i) {
    SPYRE_RETURN_IF_ERROR(store(step, step.outputs[i], results[i], bufferOf));
  }
  return Status::success();
}

//===--------------------------------------------------------------------------------------------===//
// Report
//===--------------------------------------------------------------------------------------------===//

namespace {

struct Line {
  int64_t count = 0;
  uint64_t bytes = 0;
  std::set<std::string> locations;
};

/// Bytes a step moves between host and device. What an earlier step moved is there.
uint64_t bytesMoved(const spec::CpuStep &step,
                    const std::map<std::string, const spec::TensorDesc *> &descs,
                    std::set<std::string> &onHost) {
  uint64_t bytes = 0;
  auto add = [&](const std::string &name) {
    auto found = descs.find(name);
    if (onHost.insert(name).second && found != descs.end()) {
      int64_t elements = 0;
      SPYRE_CHECK(checkedProduct(found->second->size, elements), "verifyModel bounds every tensor");
      bytes += uint64_t(elements * numerics::hostTypeBytes(found->second->dtype));
    }
  };
  std::for_each(step.inputs.begin(), step.inputs.end(), add);
  std::for_each(step.outputs.begin(), step.outputs.end(), add);
  return bytes;
}

} // namespace

std::string describeHostSteps(const spec::Model &model, const std::string &graphName) {
  const std::map<std::string, const spec::TensorDesc *> descs = descsOf(model);
  std::set<std::string> onHost;
  std::map<std::tuple<std::string, int64_t, std::string>, Line> lines;
  int64_t nodes = 0;
  uint64_t total = 0;
  for (const spec::CpuStep &step : spec::cpuSteps(model)) {
    if (step.callee == kArgumentCallee) {
      continue;
    }
    Line &line = lines[{step.callee, step.gate, step.reason}];
    const uint64_t bytes = bytesMoved(step, descs, onHost);
    ++line.count;
    ++nodes;
    line.bytes += bytes;
    total += bytes;
    if (!step.location.empty()) {
      line.locations.insert(step.location);
    }
  }
  if (nodes == 0) {
    return "";
  }
  std::string text =
      fmt::format("{} node(s) of the compiled graph {} are falling back to cpu, {} bytes moved per "
                  "call:",
                  nodes, graphName, total);
  for (const auto &[key, line] : lines) {
    const auto &[callee, gate, reason] = key;
    text += fmt::format(
        "\n  {} x{}{}: gate {} ({}): {}; {} bytes", callee, line.count,
        line.locations.empty() ? "" : fmt::format(" at {}", fmt::join(line.locations, ", ")), gate,
        capi::gateName(gate), reason, line.bytes);
  }
  return text;
}

} // namespace spyre::plugin
