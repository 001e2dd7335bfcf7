//===- GraphBuilder.cpp - graph IR text from plain values -----------------------------------===//
#include "spyre/CAPI/Compiler.h"

#include "Annotations.h"

#include <cmath>

namespace spyre::capi {

namespace {

std::string arrayText(const std::vector<int64_t> &values) {
  return values.empty() ? "array<i64>" : fmt::format("array<i64: {}>", fmt::join(values, ", "));
}

const char *elementText(numerics::HostType type) {
  using numerics::HostType;
  switch (type) {
  case HostType::Float16:
    return "f16";
  case HostType::Bfloat16:
    return "bf16";
  case HostType::Float32:
    return "f32";
  case HostType::Bool:
    return "i1";
  case HostType::Int8:
    return "i8";
  case HostType::Int16:
    return "i16";
  case HostType::Int32:
    return "i32";
  case HostType::Int64:
    return "i64";
  case HostType::Float8E4m3fn:
    return "f8E4M3FN";
  case HostType::Float8E5m2fnuz:
    return "f8E5M2FNUZ";
  case HostType::Uint8:
    return "ui8";
  }
  return "f16";
}

std::string typeText(const TensorType &type) {
  std::string text = "tensor<";
  for (int64_t size : type.size) {
    text += fmt::format("{}x", size);
  }
  return text + (type.hostElement.empty() ? elementText(type.dtype) : type.hostElement) + ">";
}

/// MLIR reads infinities and NaN only as bit patterns.
std::string floatText(double value) {
  if (std::isfinite(value)) {
    std::string text = fmt::format("{:.17e}", value);
    return text + " : f64";
  }
  return fmt::format("0x{:016X} : f64", std::bit_cast<uint64_t>(value));
}

std::string attributeText(const Attribute &attribute) {
  if (const auto *integer = std::get_if<int64_t>(&attribute)) {
    return fmt::format("{} : i64", *integer);
  }
  if (const auto *number = std::get_if<double>(&attribute)) {
    return floatText(*number);
  }
  if (const auto *flag = std::get_if<bool>(&attribute)) {
    return *flag ? "true" : "false";
  }
  if (const auto *text = std::get_if<std::string>(&attribute)) {
    return quoted(*text);
  }
  return arrayText(std::get<std::vector<int64_t>>(attribute));
}

/// The dictionary that Dialect/Utils reads; the standard arrangement is not written.
std::string layoutText(const layout::DeviceLayout &layout) {
  const std::string arrangement =
      layout.arrangement == layout::ElementArrangement::Standard
          ? ""
          : fmt::format("arrangement = \"{}\", ", layout::arrangementName(layout.arrangement));
  return fmt::format("{{{}device_size = {}, format = \"{}\", stride_map = {}}}", arrangement,
                     arrayText(layout.deviceSize), numerics::formatName(layout.format),
                     arrayText(layout.strideMap));
}

} // namespace

struct GraphBuilder::State {
  std::vector<std::string> arguments;
  std::vector<std::string> names; ///< SSA name of each value
  std::vector<TensorType> types;
  std::string body;
  std::vector<ValueId> outputs;
  std::vector<TensorType> outputTypes;
  std::vector<std::string> outputLayouts;             ///< attribute, or empty
  std::vector<std::pair<ValueId, ValueId>> mutations; ///< input, new contents
  Status fault = Status::success();                   ///< the first one

  /// The text, or nothing where it is refused.
  std::string checked(Expected<std::string> annotations) {
    fault = fault.ok() ? annotations.status() : fault;
    return annotations.ok() ? *std::move(annotations) : std::string();
  }
};

GraphBuilder::GraphBuilder() : state(std::make_unique<State>()) {}
GraphBuilder::~GraphBuilder() = default;
GraphBuilder::GraphBuilder(GraphBuilder &&) noexcept = default;

ValueId GraphBuilder::addInput(const std::string &name, const TensorType &type,
                               int64_t storageOffset, const layout::DeviceLayout &layout) {
  const size_t bar = name.find('|');
  ValueId id = state->names.size();
  state->names.push_back(fmt::format("%arg{}", state->arguments.size()));
  state->types.push_back(type);
  const std::string annotations = bar == std::string::npos ? "" : name.substr(bar + 1);
  state->arguments.push_back(fmt::format(
      "{}: {} {{{}graph.layout = {}, graph.name = {}, graph.offset = {} : i64, graph.stride = {}}}",
      state->names.back(), typeText(type), state->checked(inputAttributes(annotations)),
      layoutText(layout), quoted(name.substr(0, bar)), storageOffset, arrayText(type.stride)));
  return id;
}

ValueId GraphBuilder::addCall(const std::string &target, const std::vector<ValueId> &operands,
                              const std::vector<std::pair<std::string, Attribute>> &attributes,
                              const TensorType &result, const std::string &location, int64_t node) {
  std::vector<std::string> operandNames, operandTypes, attributeTexts;
  for (ValueId operand : operands) {
    operandNames.push_back(state->names.at(operand));
    operandTypes.push_back(typeText(state->types.at(operand)));
  }
  for (const auto &[name, value] : attributes) {
    attributeTexts.push_back(fmt::format("{} = {}", name, attributeText(value)));
  }
  ValueId id = state->names.size();
  state->names.push_back(fmt::format("%{}", id));
  state->types.push_back(result);
  state->body += fmt::format(
      "  {} = graph.call {}({}){}{} : ({}) -> {}{}\n", state->names.back(), quoted(target),
      fmt::join(operandNames, ", "), node < 0 ? "" : fmt::format(" node {}", node),
      attributeTexts.empty() ? "" : fmt::format(" {{{}}}", fmt::join(attributeTexts, ", ")),
      fmt::join(operandTypes, ", "), typeText(result), state->checked(locationText(location)));
  return id;
}

void GraphBuilder::addOutput(ValueId value, const TensorType &type,
                             const std::optional<layout::DeviceLayout> &layout) {
  state->outputs.push_back(value);
  state->outputTypes.push_back(type);
  state->outputLayouts.push_back(layout ? fmt::format("graph.layout = {}, ", layoutText(*layout))
                                        : std::string());
}

void GraphBuilder::addMutation(ValueId input, ValueId value) {
  state->mutations.emplace_back(input, value);
}

Expected<std::string> GraphBuilder::text() const {
  SPYRE_RETURN_IF_ERROR(state->fault);
  std::vector<std::string> results, values, types;
  for (size_t i = 0; i < state->outputs.size(); ++i) {
    types.push_back(typeText(state->outputTypes[i]));
    values.push_back(state->names.at(state->outputs[i]));
    results.push_back(fmt::format("{} {{{}graph.stride = {}}}", types.back(),
                                  state->outputLayouts[i],
                                  arrayText(state->outputTypes[i].stride)));
  }
  for (auto [input, value] : state->mutations) {
    const TensorType &type = state->types.at(input);
    types.push_back(typeText(type));
    values.push_back(state->names.at(value));
    results.push_back(fmt::format("{} {{graph.mutates = {} : i64, graph.stride = {}}}",
                                  types.back(), state->names.at(input).substr(4),
                                  arrayText(type.stride))); // after "%arg"
  }
  std::string text = fmt::format("func.func @main({})", fmt::join(state->arguments, ",\n    "));
  if (!results.empty()) {
    text += fmt::format(" -> ({})", fmt::join(results, ", "));
  }
  text += " {\n" + state->body;
  text += values.empty()
              ? "  return\n"
              : fmt::format("  return {} : {}\n", fmt::join(values, ", "), fmt::join(types, ", "));
  return text + "}\n";
}

} // namespace spyre::capi
