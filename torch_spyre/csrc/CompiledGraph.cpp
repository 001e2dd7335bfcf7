//===- CompiledGraph.cpp - programs of a captured graph, by input layouts -------------------===//
#include "CompiledGraph.h"

#include "Copy.h"
#include "Errors.h"
#include "Guard.h"
#include "HostSteps.h"
#include "Memory.h"
#include "Placement.h"
#include "RuntimeState.h"
#include "Types.h"
#include "c10/core/DeviceGuard.h"

#include <algorithm>

namespace spyre::plugin {

namespace {

/// Results whose type the device does not have, all in one message.
Status checkResults(const CapturedGraph &graph) {
  std::vector<std::string> offenders;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const c10::ScalarType type = graph.typeOf(graph.outputs[i]).dtype;
    if (!hostTypeOf(type)) {
      offenders.push_back(fmt::format("result {} ({})", i, dtypeName(type)));
    }
  }
  return offenders.empty()
             ? Status::success()
             : error<6506>("the graph returns tensors of types the device does not hold: {}; "
                           "convert them inside the compiled region to a type of page E6502",
                           fmt::join(offenders, ", "));
}

/// The type in the compiler's words, for tensors of any kind.
capi::TensorType graphType(const CapturedType &type) {
  capi::TensorType result;
  result.size = type.size;
  result.stride = type.stride;
  if (std::optional<numerics::HostType> held = hostTypeOf(type.dtype)) {
    result.dtype = *held;
  } else {
    result.hostElement = hostElementOf(type.dtype);
  }
  return result;
}

} // namespace

bool deviceHolds(const CapturedType &type) {
  return hostTypeOf(type.dtype).has_value() && int64_t(type.size.size()) <= layout::kMaxRank &&
         std::find(type.size.begin(), type.size.end(), 0) == type.size.end();
}

GraphValue CapturedGraph::addInput(std::string name, CapturedType type) {
  SPYRE_CHECK(calls.empty(), "inputs are numbered before calls");
  inputs.push_back({std::move(name), std::move(type)});
  return {capi::ValueId(inputs.size() - 1)};
}

GraphValue CapturedGraph::addCall(std::string target, CallArguments arguments, CapturedType type,
                                  std::string location, int64_t node) {
  calls.push_back(
      {std::move(target), std::move(arguments), std::move(type), std::move(location), node});
  return {capi::ValueId(inputs.size() + calls.size() - 1)};
}

void CapturedGraph::addOutput(GraphValue value) { outputs.push_back(value); }

bool CapturedGraph::addMutation(GraphValue input, GraphValue value) {
  SPYRE_CHECK(size_t(input.id) < inputs.size(), "only inputs can be mutated");
  if (!deviceHolds(inputs[size_t(input.id)].type)) {
    return false;
  }
  mutations.push_back({input, value});
  return true;
}

const CapturedType &CapturedGraph::typeOf(GraphValue value) const {
  size_t index = size_t(value.id);
  return index < inputs.size() ? inputs[index].type : calls[index - inputs.size()].type;
}

CompiledGraph::CompiledGraph(CapturedGraph captured, std::string name, CompileSettings settings,
                             HostCalls host, c10::Device device)
    : graph(std::move(captured)), name(std::move(name)), settings(std::move(settings)),
      host(std::move(host)), device(device) {
  for (const CapturedGraph::Call &call : graph.calls) {
    firstArgumentNode = std::max(firstArgumentNode, call.node + 1);
  }
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    if (deviceHolds(graph.inputs[i].type)) {
      held.push_back(int64_t(i));
    }
  }
}

void CompiledGraph::checkArgument(size_t index, const at::Tensor &argument) const {
  const CapturedGraph::Input &input = graph.inputs[index];
  if (argument.scalar_type() != input.type.dtype ||
      argument.sizes() != c10::IntArrayRef(input.type.size)) {
    raise(error<6507>("input {} of the compiled graph is {} [{}], captured was {} [{}]; call the "
                      "function torch.compile returned, it captures again for new shapes",
                      input.name, dtypeName(argument.scalar_type()),
                      fmt::join(argument.sizes(), ", "), dtypeName(input.type.dtype),
                      fmt::join(input.type.size, ", ")));
  }
}

at::Tensor CompiledGraph::prepareInput(size_t index, const at::Tensor &argument) const {
  const CapturedGraph::Input &input = graph.inputs[index];
  if (isSpyre(argument)) {
    return programInput(argument);
  }
  if (!argument.is_cpu() || argument.dim() != 0) {
    raise(error<6505>(
        "input {} of the compiled graph is on {} while others are on spyre; move it with "
        ".to(\"spyre\") (only 0-dimensional CPU tensors are moved for you)",
        input.name, argument.device().str()));
  }
  at::Tensor moved = makeDefaultTensor({}, argument.scalar_type(), currentSpyre());
  copyTensor(argument, moved);
  return moved;
}

CompiledProgram CompiledGraph::compile(const std::vector<at::Tensor> &inputs) const {
  capi::GraphBuilder builder;
  std::vector<capi::ValueId> ids(graph.inputs.size());
  size_t next = 0;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    if (deviceHolds(graph.inputs[i].type)) {
      const at::Tensor &input = inputs[next++];
      ids[i] =
          builder.addInput(graph.inputs[i].name, tensorType(input), 0, geometryOf(input).layout);
    }
  }
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    if (!deviceHolds(graph.inputs[i].type)) {
      ids[i] = builder.addCall(kArgumentCallee, {}, {}, graphType(graph.inputs[i].type), "",
                               firstArgumentNode + int64_t(i));
    }
  }
  for (const CapturedGraph::Call &call : graph.calls) {
    std::vector<capi::ValueId> operands;
    for (capi::ValueId operand : call.arguments.operands) {
      operands.push_back(ids[size_t(operand)]);
    }
    ids.push_back(builder.addCall(call.target, operands, call.arguments.attributes,
                                  graphType(call.type), call.location, call.node));
  }
  for (GraphValue output : graph.outputs) {
    builder.addOutput(ids[size_t(output.id)], graphType(graph.typeOf(output)));
  }
  for (const CapturedGraph::Mutation &mutation : graph.mutations) {
    builder.addMutation(ids[size_t(mutation.input.id)], ids[size_t(mutation.value.id)]);
  }
  Expected<CompiledProgram> compiled = compileProgram(builder, name, settings, CompiledFor::Graph);
  if (!compiled.ok() && isUnsupported(compiled.status())) {
    throw UnsupportedError(compiled.status().message());
  }
  return check(std::move(compiled));
}

Program CompiledGraph::programFor(const std::vector<at::Tensor> &inputs) {
  std::string key = currentSpyre().str() + ";";
  for (const at::Tensor &input : inputs) {
    key += signatureOf(input) + ";";
  }
  std::lock_guard<std::mutex> lock(mutex);
  if (auto found = programs.find(key); found != programs.end()) {
    hostCounters().compileCacheHits += 1;
    return found->second;
  }
  CompiledProgram compiled = compile(inputs);
  last = std::move(compiled.record);
  return programs.emplace(key, std::move(compiled.program)).first->second;
}

std::shared_ptr<const CompileRecord> CompiledGraph::record() {
  std::lock_guard<std::mutex> lock(mutex);
  return last;
}

void CompiledGraph::reportOnce(const Program &program) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (reported) {
      return;
    }
    reported = true;
  }
  // Outside the lock: a warning may run any code of the user's.
  const std::string shortName = name.substr(0, name.find('|'));
  if (const std::string text = describeHostSteps(program->model(), shortName); !text.empty()) {
    host.report(text);
  }
}

void CompiledGraph::storeMutations(const std::vector<at::Tensor> &arguments,
                                   const std::vector<at::Tensor> &inputs) const {
  for (const CapturedGraph::Mutation &mutation : graph.mutations) {
    const auto index = int64_t(mutation.input.id);
    const auto place = std::lower_bound(held.begin(), held.end(), index) - held.begin();
    const at::Tensor &input = inputs[size_t(place)], &argument = arguments[size_t(index)];
    if (!input.is_same(argument)) {
      copyTensor(input, argument);
    }
  }
}

c10::Device CompiledGraph::placement(const std::vector<at::Tensor> &arguments) const {
  return placementOf(arguments, device);
}

std::vector<at::Tensor>
CompiledGraph::prepareInputs(const std::vector<at::Tensor> &arguments) const {
  SPYRE_CHECK(arguments.size() == graph.inputs.size(), "the importer matches inputs to arguments");
  if (Status types = checkResults(graph); !types.ok()) {
    throw UnsupportedError(types.message());
  }
  std::vector<at::Tensor> inputs;
  for (size_t i = 0; i < arguments.size(); ++i) {
    checkArgument(i, arguments[i]);
    if (deviceHolds(graph.inputs[i].type)) {
      inputs.push_back(prepareInput(i, arguments[i]));
    }
  }
  return inputs;
}

std::shared_ptr<const CompileRecord>
CompiledGraph::compileFor(const std::vector<at::Tensor> &arguments) {
  const c10::DeviceGuard guard(placement(arguments));
  return compile(prepareInputs(arguments)).record;
}

std::vector<at::Tensor> CompiledGraph::run(const std::vector<at::Tensor> &arguments) {
  const c10::DeviceGuard guard(placement(arguments));
  const std::vector<at::Tensor> inputs = prepareInputs(arguments);
  const Program program = programFor(inputs);
  reportOnce(program);
  HostStepContext context(graph, program->model(), host, arguments, firstArgumentNode);
  std::vector<at::Tensor> results = runProgram(
      program, inputs, [&](const spec::CpuStep &step, const runtime::BufferLookup &bufferOf) {
        return context.run(step, bufferOf);
      });
  storeMutations(arguments, inputs);
  return results;
}

} // namespace spyre::plugin
