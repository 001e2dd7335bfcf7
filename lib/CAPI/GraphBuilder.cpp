//===- GraphBuilder.cpp - graph IR text from plain values -----------------------------------===//
#include "spyre/CAPI/Compiler.h"

#include <cmath>
#include <sstream>

namespace spyre::capi {

namespace {

std::string quoted(const std::string &text) {
  std::string result = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\') {
      result += fmt::format("\\{:02X}", c);
    } else if (c < 0x20 || c >= 0x7f) {
      result += fmt::format("\\{:02X}", c);
    } else {
      result += char(c);
    }
  }
  return result + "\"";
}

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

/// "model.py:12" -> loc("model.py":12:0)
bool isNumber(const std::string &text) {
  return !text.empty() && text.size() < 17 &&
         text.find_first_not_of("0123456789") == std::string::npos;
}

/// "tokens:4@0,hidden:2@1" -> [["tokens", 4 : i64, 0 : i64], ["hidden", 2 : i64, 1 : i64]]; what is
/// no name with a number is left out.
std::string countsText(const std::string &counts) {
  std::vector<std::string> entries;
  std::istringstream stream(counts);
  for (std::string entry; std::getline(stream, entry, ',');) {
    const size_t colon = entry.find(':'), scope = entry.find('@');
    if (colon == std::string::npos || colon == 0 || (scope != std::string::npos && scope < colon)) {
      continue;
    }
    const std::string count = entry.substr(colon + 1, scope - colon - 1);
    const std::string number = scope == std::string::npos ? "0" : entry.substr(scope + 1);
    if (isNumber(count) && isNumber(number)) {
      entries.push_back(
          fmt::format("[{}, {} : i64, {} : i64]", quoted(entry.substr(0, colon)), count, number));
    }
  }
  return fmt::format("[{}]", fmt::join(entries, ", "));
}

std::string dimsText(const std::string &dims);

/// "|work_div=tokens:4@0|tiles=m:2@1|named_dims=m:4,n:8" -> metadata of a location.
std::string hintsText(const std::string &hints) {
  constexpr std::string_view kNames = "named_dims=";
  std::vector<std::string> kinds;
  std::istringstream stream(hints);
  for (std::string part; std::getline(stream, part, '|');) {
    for (const char *kind : {"work_div", "tiles"}) {
      if (part.starts_with(std::string(kind) + "=")) {
        kinds.push_back(
            fmt::format("{} = {}", kind, countsText(part.substr(std::string(kind).size() + 1))));
      }
    }
    if (part.starts_with(kNames)) {
      kinds.push_back(fmt::format("named_dims = {}", dimsText(part.substr(kNames.size()))));
    }
  }
  return fmt::format("{{{}}}", fmt::join(kinds, ", "));
}

/// "tokens:2048,batch:2*rows:64" -> a list per dimension of names with sizes.
std::string dimsText(const std::string &dims) {
  std::vector<std::string> lists;
  std::istringstream stream(dims);
  for (std::string dim; std::getline(stream, dim, ',');) {
    std::vector<std::string> parts;
    std::istringstream names(dim);
    for (std::string part; std::getline(names, part, '*');) {
      const size_t colon = part.find(':');
      const bool isPart = colon != std::string::npos && colon + 1 < part.size() &&
                          part.find_first_not_of("0123456789", colon + 1) == std::string::npos &&
                          part.size() - colon < 18;
      if (isPart) {
        parts.push_back(
            fmt::format("{}, {} : i64", quoted(part.substr(0, colon)), part.substr(colon + 1)));
      }
    }
    lists.push_back(fmt::format("[{}]", fmt::join(parts, ", ")));
  }
  return fmt::format("[{}]", fmt::join(lists, ", "));
}

/// "0:128:1024,1:64:256" -> a list per entry: dimension, least and largest size; what is no list of
/// three numbers is left out.
std::string sizesText(const std::string &sizes) {
  constexpr size_t kNumbers = 3, kMostDigits = 16;
  std::vector<std::string> lists;
  std::istringstream stream(sizes);
  for (std::string entry; std::getline(stream, entry, ',');) {
    std::vector<std::string> numbers;
    std::istringstream parts(entry);
    for (std::string number; std::getline(parts, number, ':');) {
      const bool isNumber = !number.empty() && number.size() <= kMostDigits &&
                            number.find_first_not_of("0123456789") == std::string::npos;
      numbers.push_back(isNumber ? number : "");
    }
    if (numbers.size() == kNumbers && std::count(numbers.begin(), numbers.end(), "") == 0) {
      lists.push_back(fmt::format("array<i64: {}>", fmt::join(numbers, ", ")));
    }
  }
  return fmt::format("[{}]", fmt::join(lists, ", "));
}

/// "|tokens:2048,hidden:64|sizes=0:128:1024" behind the name of an input, as its attributes.
std::string inputText(const std::string &known) {
  constexpr std::string_view kSizes = "sizes=";
  std::string dims, sizes;
  std::istringstream stream(known);
  for (std::string part; std::getline(stream, part, '|');) {
    if (part.starts_with(kSizes)) {
      sizes = fmt::format("graph.sizes = {}, ", sizesText(part.substr(kSizes.size())));
    } else if (!part.empty()) {
      dims = fmt::format("graph.dims = {}, ", dimsText(part));
    }
  }
  return dims + sizes;
}

std::string placeText(const std::string &location);

std::string locationText(const std::string &location) {
  const size_t bar = location.find('|');
  const std::string place = placeText(location.substr(0, bar));
  if (bar == std::string::npos) {
    return place.empty() ? "" : fmt::format(" loc({})", place);
  }
  return fmt::format(" loc(fused<{}>[{}])", hintsText(location.substr(bar)),
                     place.empty() ? "unknown" : place);
}

std::string placeText(const std::string &location) {
  size_t colon = location.rfind(':');
  size_t slash = location.rfind('/', colon);
  if (colon == std::string::npos || colon + 1 == location.size() ||
      location.find_first_not_of("0123456789", colon + 1) != std::string::npos ||
      location.size() - colon > 9) {
    return "";
  }
  size_t begin = slash == std::string::npos ? 0 : slash + 1;
  return fmt::format("{}:{}:0", quoted(location.substr(begin, colon - begin)),
                     location.substr(colon + 1));
}

} // namespace

struct GraphBuilder::State {
  std::vector<std::string> arguments;
  std::vector<std::string> names; ///< SSA name of each value
  std::vector<TensorType> types;
  std::string body;
  std::vector<ValueId> outputs;
  std::vector<TensorType> outputTypes;
  std::vector<std::pair<ValueId, ValueId>> mutations; ///< input, new contents
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
  state->arguments.push_back(fmt::format(
      "{}: {} {{{}graph.layout = {{device_size = {}, format = \"{}\", stride_map = {}}}, "
      "graph.name = {}, "
      "graph.offset = {} : i64, graph.stride = {}}}",
      state->names.back(), typeText(type),
      bar == std::string::npos ? "" : inputText(name.substr(bar + 1)), arrayText(layout.deviceSize),
      numerics::formatName(layout.format), arrayText(layout.strideMap), quoted(name.substr(0, bar)),
      storageOffset, arrayText(type.stride)));
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
      fmt::join(operandTypes, ", "), typeText(result), locationText(location));
  return id;
}

void GraphBuilder::addOutput(ValueId value, const TensorType &type) {
  state->outputs.push_back(value);
  state->outputTypes.push_back(type);
}

void GraphBuilder::addMutation(ValueId input, ValueId value) {
  state->mutations.emplace_back(input, value);
}

std::string GraphBuilder::text() const {
  std::vector<std::string> results, values, types;
  for (size_t i = 0; i < state->outputs.size(); ++i) {
    types.push_back(typeText(state->outputTypes[i]));
    values.push_back(state->names.at(state->outputs[i]));
    results.push_back(fmt::format("{} {{graph.stride = {}}}", types.back(),
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
