//===- SuperDscFields.cpp - reading fields of the SuperDSC JSON -----------------------------===//
#include "SuperDscFields.h"

#include <algorithm>
#include <charconv>

namespace spyre::spec {

Status expectInt(const JsonReader &object, const char *key, int64_t low, int64_t high) {
  SPYRE_ASSIGN_OR_RETURN(JsonReader field, object.field(key));
  SPYRE_ASSIGN_OR_RETURN([[maybe_unused]] int64_t value, field.asInt(low, high));
  return Status::success();
}

Status expectText(const JsonReader &object, const char *key, std::string_view text) {
  SPYRE_ASSIGN_OR_RETURN(JsonReader field, object.field(key));
  SPYRE_ASSIGN_OR_RETURN(std::string_view value, field.asStringView());
  return value == text ? Status::success()
                       : fault(field, "\"{}\"; only \"{}\" is accepted", value.substr(0, 40), text);
}

Expected<int64_t> intField(const JsonReader &object, const char *key, int64_t low, int64_t high) {
  SPYRE_ASSIGN_OR_RETURN(JsonReader field, object.field(key));
  return field.asInt(low, high);
}

Expected<std::string> textField(const JsonReader &object, const char *key) {
  SPYRE_ASSIGN_OR_RETURN(JsonReader field, object.field(key));
  return field.asString();
}

Status checkFactor(const JsonReader &object, int64_t low, int64_t high) {
  SPYRE_RETURN_IF_ERROR(object.onlyFields({"factor_", "label_"}));
  SPYRE_RETURN_IF_ERROR(expectInt(object, "factor_", low, high));
  SPYRE_ASSIGN_OR_RETURN(JsonReader label, object.field("label_"));
  return label.asStringView().status();
}

/// One of {"Affine": {"alpha_": a, "beta_": b}}, {"Map": {}}, {"Const": {}}.
static Status checkFunction(const JsonReader &function) {
  SPYRE_RETURN_IF_ERROR(function.onlyFields({"Affine", "Map", "Const"}));
  SPYRE_ASSIGN_OR_RETURN(JsonMembers members, function.eachMember());
  if (members.size() != 1) {
    return fault(function, "{} functions; a fold has one of Affine, Map and Const", members.size());
  }
  const auto [kind, body] = *members.begin();
  if (kind != "Affine") {
    return body.onlyFields({});
  }
  SPYRE_RETURN_IF_ERROR(body.onlyFields({"alpha_", "beta_"}));
  SPYRE_RETURN_IF_ERROR(expectInt(body, "alpha_", 0, kMaxSize));
  return expectInt(body, "beta_", 0, kMaxSize);
}

Status checkFold(const JsonReader &fold, bool hasData) {
  SPYRE_RETURN_IF_ERROR(hasData ? fold.onlyFields({"dim_prop_func", "dim_prop_attr", "data_"})
                                : fold.onlyFields({"dim_prop_func", "dim_prop_attr"}));
  SPYRE_ASSIGN_OR_RETURN(JsonReader functions, fold.field("dim_prop_func"));
  SPYRE_ASSIGN_OR_RETURN(JsonElements functionList, functions.eachElement());
  for (const JsonReader &function : functionList) {
    SPYRE_RETURN_IF_ERROR(checkFunction(function));
  }
  SPYRE_ASSIGN_OR_RETURN(JsonReader factors, fold.field("dim_prop_attr"));
  SPYRE_ASSIGN_OR_RETURN(JsonElements factorList, factors.eachElement());
  for (const JsonReader &entry : factorList) {
    SPYRE_RETURN_IF_ERROR(checkFactor(entry, 0, kMaxSize));
  }
  return functionList.size() == factorList.size()
             ? Status::success()
             : fault(fold, "{} functions for {} factors", functionList.size(), factorList.size());
}

Expected<DimMap<int64_t>> readDims(const JsonReader &object, const char *name, bool suffixed,
                                   int64_t low) {
  DimMap<int64_t> out;
  if (name) {
    SPYRE_RETURN_IF_ERROR(expectText(object, "name_", name));
  }
  SPYRE_ASSIGN_OR_RETURN(JsonMembers members, object.eachMember());
  out.reserve(std::min(members.size(), kMaxDims));
  for (const auto [key, value] : members) {
    if (name && key == "name_") {
      continue;
    }
    std::string_view dim = key;
    if (suffixed) {
      if (dim.size() < 2 || dim.back() != '_') {
        return fault(value, "a size field is named <dim>_");
      }
      dim.remove_suffix(1);
    }
    if (dim.empty() || dim.size() > 32 || out.size() >= kMaxDims) {
      return fault(object, "more than {} dimensions, or a name that is empty or too long",
                   kMaxDims);
    }
    SPYRE_ASSIGN_OR_RETURN(int64_t number, value.asInt(low, kMaxSize));
    out.emplace_back(dim, number);
  }
  return out;
}

Expected<int64_t> parseId(const JsonReader &at, std::string_view text) {
  int64_t value = -1;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool hasLeadingZero = text.size() > 1 && text.front() == '0';
  if (failure != std::errc() || end != text.data() + text.size() || hasLeadingZero ||
      text.front() == '-') {
    return fault(at, "\"{}\" is not a number", text.substr(0, 40));
  }
  return value;
}

} // namespace spyre::spec
