//===- Arguments.cpp - the rule -------------------------------------------------------------===//
#include "Arguments.h"

#include "ATen/core/jit_type.h"
#include "c10/core/ScalarType.h"

#include <algorithm>

namespace spyre::plugin {

namespace {

using c10::TypeKind;

/// The type inside Optional, or the type itself.
c10::TypePtr innerType(const c10::TypePtr &type) {
  if (auto optional = type->cast<c10::OptionalType>()) {
    return innerType(optional->getElementType());
  }
  return type;
}

bool isDtype(const c10::Argument &argument) {
  return innerType(argument.real_type())->kind() == TypeKind::ScalarTypeType;
}

bool isTensor(const c10::Argument &argument) {
  return innerType(argument.type())->kind() == TypeKind::TensorType;
}

/// A tensor follows ones that were left out: their positions become a part of the call.
void noteAbsent(CallArguments &call) {
  if (call.skipped.empty()) {
    return;
  }
  auto known = std::find_if(call.attributes.begin(), call.attributes.end(),
                            [](const auto &attribute) { return attribute.first == "absent"; });
  if (known == call.attributes.end()) {
    call.attributes.emplace_back("absent", std::vector<int64_t>());
    known = std::prev(call.attributes.end());
  }
  auto &positions = std::get<std::vector<int64_t>>(known->second);
  positions.insert(positions.end(), call.skipped.begin(), call.skipped.end());
  call.skipped.clear();
}

} // namespace

bool isPlacement(const c10::Argument &argument) {
  TypeKind kind = innerType(argument.real_type())->kind();
  return kind == TypeKind::DeviceObjType || kind == TypeKind::LayoutType ||
         kind == TypeKind::MemoryFormatType || argument.name() == "pin_memory" ||
         argument.name() == "non_blocking";
}

std::string dtypeName(c10::ScalarType type) { return std::string(c10::getDtypeNames(type).first); }

std::optional<ArgumentValue> constantOf(const c10::Argument &argument, const c10::IValue &value) {
  if (value.isNone()) {
    return ArgumentValue();
  }
  if (value.isBool()) {
    return capi::Attribute(value.toBool());
  }
  if (value.isInt()) {
    return isDtype(argument)
               ? capi::Attribute(dtypeName(static_cast<c10::ScalarType>(value.toInt())))
               : capi::Attribute(value.toInt());
  }
  if (value.isDouble()) {
    return capi::Attribute(value.toDouble());
  }
  if (value.isString()) {
    return capi::Attribute(std::string(value.toStringRef()));
  }
  if (value.isIntList()) {
    return capi::Attribute(value.toIntVector());
  }
  return std::nullopt;
}

/// The tensors of a list; where some are None, "<name>_at" has the places of the others.
static void appendList(const c10::Argument &argument, const std::vector<GraphValue> &tensors,
                       CallArguments &call) {
  std::vector<int64_t> places;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!(tensors[i] == GraphValue())) {
      call.operands.push_back(tensors[i].id);
      places.push_back(int64_t(i));
    }
  }
  if (places.size() != tensors.size()) {
    call.attributes.emplace_back(argument.name() + "_at", capi::Attribute(std::move(places)));
  }
}

void appendArgument(const c10::Argument &argument, size_t position, const ArgumentValue &value,
                    CallArguments &call) {
  if (isPlacement(argument)) {
    return;
  }
  if (std::holds_alternative<std::monostate>(value)) {
    if (isTensor(argument)) {
      call.skipped.push_back(int64_t(position));
    }
    return;
  }
  if (const auto *tensor = std::get_if<GraphValue>(&value)) {
    noteAbsent(call);
    call.operands.push_back(tensor->id);
    return;
  }
  if (const auto *tensors = std::get_if<std::vector<GraphValue>>(&value)) {
    noteAbsent(call);
    appendList(argument, *tensors, call);
    return;
  }
  const auto &attribute = std::get<capi::Attribute>(value);
  if (isTensor(argument)) {
    call.attributes.emplace_back(fmt::format("scalar{}", position), attribute);
    return;
  }
  if (argument.default_value() && constantOf(argument, *argument.default_value()) == value) {
    return;
  }
  call.attributes.emplace_back(argument.name(), attribute);
}

std::string operationName(const c10::OperatorName &name) {
  const size_t colons = name.name.find("::");
  const std::string space = colons == std::string::npos ? "" : name.name.substr(0, colons) + ".";
  const std::string base = colons == std::string::npos ? name.name : name.name.substr(colons + 2);
  return fmt::format("{}{}.{}", space, base,
                     name.overload_name.empty() ? "default" : name.overload_name);
}

} // namespace spyre::plugin
