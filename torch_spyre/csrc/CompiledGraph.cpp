//===- CompiledGraph.cpp - programs of a captured graph, by input layouts -------------------===//
#include "CompiledGraph.h"

#include "Copy.h"
#include "Errors.h"
#include "Memory.h"
#include "RuntimeState.h"
#include "Types.h"

namespace spyre::plugin {

namespace {

/// All values whose type the device does not have, in one message.
Status checkTypes(const CapturedGraph &graph) {
  std::map<std::string, int64_t> offenders;
  auto note = [&](const std::string &what, const CapturedType &type) {
    if (!hostTypeOf(type.dtype)) {
      ++offenders[fmt::format("{} ({})", what, dtypeName(type.dtype))];
    }
  };
  for (const CapturedGraph::Input &input : graph.inputs) {
    note("input " + input.name, input.type);
  }
  for (const CapturedGraph::Call &call : graph.calls) {
    note(call.target, call.type);
  }
  if (offenders.empty()) {
    return Status::success();
  }
  std::vector<std::string> lines;
  for (const auto &[what, count] : offenders) {
    lines.push_back(fmt::format("{} x{}", what, count));
  }
  return error<6506>(
      "the graph has values of types the device does not hold: {}; convert them before "
      "the compiled region",
      fmt::join(lines, ", "));
}

capi::TensorType graphType(const CapturedType &type) {
  return {requireHostType(type.dtype), type.size, type.stride};
}

} // namespace

GraphValue CapturedGraph::addInput(std::string name, CapturedType type) {
  SPYRE_CHECK(calls.empty(), "inputs are numbered before calls");
  inputs.push_back({std::move(name), std::move(type)});
  return {capi::ValueId(inputs.size() - 1)};
}

GraphValue CapturedGraph::addCall(std::string target, CallArguments arguments, CapturedType type,
                                  std::string location) {
  calls.push_back({std::move(target), std::move(arguments), std::move(type), std::move(location)});
  return {capi::ValueId(inputs.size() + calls.size() - 1)};
}

void CapturedGraph::addOutput(GraphValue value) { outputs.push_back(value); }

const CapturedType &CapturedGraph::typeOf(GraphValue value) const {
  size_t index = size_t(value.id);
  return index < inputs.size() ? inputs[index].type : calls[index - inputs.size()].type;
}

at::Tensor CompiledGraph::prepareInput(size_t index, const at::Tensor &argument) const {
  const CapturedGraph::Input &input = graph.inputs[index];
  if (argument.scalar_type() != input.type.dtype ||
      argument.sizes() != c10::IntArrayRef(input.type.size)) {
    raise(error<6507>("input {} of the compiled graph is {} [{}], captured was {} [{}]; call the "
                      "function torch.compile returned, it captures again for new shapes",
                      input.name, dtypeName(argument.scalar_type()),
                      fmt::join(argument.sizes(), ", "), dtypeName(input.type.dtype),
                      fmt::join(input.type.size, ", ")));
  }
  if (isSpyre(argument)) {
    return programInput(argument);
  }
  if (!argument.is_cpu() || argument.dim() != 0) {
    raise(error<6505>(
        "input {} of the compiled graph is on {} while others are on spyre; move it with "
        ".to(\"spyre\") (only 0-dimensional CPU tensors are moved for you)",
        input.name, argument.device().str()));
  }
  at::Tensor moved =
      makeDefaultTensor({}, argument.scalar_type(), c10::Device(c10::DeviceType::PrivateUse1, 0));
  copyTensor(argument, moved);
  return moved;
}

Program CompiledGraph::compile(const std::vector<at::Tensor> &inputs) const {
  capi::GraphBuilder builder;
  std::vector<capi::ValueId> ids;
  for (size_t i = 0; i < inputs.size(); ++i) {
    ids.push_back(builder.addInput(graph.inputs[i].name, tensorType(inputs[i]), 0,
                                   geometryOf(inputs[i]).layout));
  }
  for (const CapturedGraph::Call &call : graph.calls) {
    std::vector<capi::ValueId> operands;
    for (capi::ValueId operand : call.arguments.operands) {
      operands.push_back(ids[size_t(operand)]);
    }
    ids.push_back(builder.addCall(call.target, operands, call.arguments.attributes,
                                  graphType(call.type), call.location));
  }
  for (GraphValue output : graph.outputs) {
    builder.addOutput(ids[size_t(output.id)], graphType(graph.typeOf(output)));
  }
  Expected<Program> program = compileProgram(builder, name, cores);
  if (!program.ok() && isUnsupported(program.status())) {
    throw UnsupportedError(program.status().message());
  }
  return check(std::move(program));
}

Program CompiledGraph::programFor(const std::vector<at::Tensor> &inputs) {
  std::string key;
  for (const at::Tensor &input : inputs) {
    key += signatureOf(input) + ";";
  }
  std::lock_guard<std::mutex> lock(mutex);
  if (auto found = programs.find(key); found != programs.end()) {
    hostCounters().compileCacheHits += 1;
    return found->second;
  }
  hostCounters().compileCacheMisses += 1;
  return programs.emplace(key, compile(inputs)).first->second;
}

std::vector<at::Tensor> CompiledGraph::run(const std::vector<at::Tensor> &arguments) {
  SPYRE_CHECK(arguments.size() == graph.inputs.size(), "the importer matches inputs to arguments");
  if (Status types = checkTypes(graph); !types.ok()) {
    throw UnsupportedError(types.message());
  }
  std::vector<at::Tensor> inputs;
  for (size_t i = 0; i < arguments.size(); ++i) {
    inputs.push_back(prepareInput(i, arguments[i]));
  }
  return runProgram(programFor(inputs), inputs);
}

} // namespace spyre::plugin
