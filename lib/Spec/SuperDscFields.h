//===- SuperDscFields.h - reading fields of the SuperDSC JSON -------------------------------===//
//
// Helpers the two halves of the reader share; every error has the JSON path.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Spec/SuperDsc.h"

#include "JsonText.h"

namespace spyre::spec {

inline constexpr int64_t kMaxCores = 1024;
constexpr int64_t kMaxSize = int64_t(1) << 47;
constexpr size_t kMaxDims = 16;
constexpr int64_t kMaxStickLanes = 1024;
/// As many as an OpSpec has arguments; operands are found by comparing with each.
constexpr size_t kMaxTensors = 64;
/// maskingConstId_ has one byte; a constant is found by its number among all of them.
constexpr size_t kMaxConstants = 256;

template <typename... Args>
Status fault(const JsonReader &at, fmt::format_string<Args...> format, Args &&...args) {
  return error<5002>("{}: {}", at.path(), fmt::format(format, std::forward<Args>(args)...));
}

Status expectInt(const JsonReader &object, const char *key, int64_t low, int64_t high);
Status expectText(const JsonReader &object, const char *key, std::string_view text);
Expected<int64_t> intField(const JsonReader &object, const char *key, int64_t low, int64_t high);
Expected<std::string> textField(const JsonReader &object, const char *key);
/// {"factor_": n, "label_": "core"}
Status checkFactor(const JsonReader &object, int64_t low, int64_t high);
/// A fold: equally many functions and factors; \p hasData adds data_.
Status checkFold(const JsonReader &fold, bool hasData);
/// {"name_": .., "mb_": 4, ...}; the suffix and the name are optional parts of the convention.
Expected<DimMap<int64_t>> readDims(const JsonReader &object, const char *name, bool suffixed,
                                   int64_t low);
/// The value of a number printed in full, so that "007" or "1x" is not a core id.
Expected<int64_t> parseId(const JsonReader &at, std::string_view text);

/// scheduleTree_: one allocate node per tensor of \p dsc, whose tensors and layouts are read.
Status readAllocateNodes(const JsonReader &config, SuperDsc &dsc);

/// Calls \p read(core, value) for the keys "0".."cores-1", each of which must be present.
template <typename Fn>
Status readPerCore(const JsonReader &parent, const char *key, int64_t cores, Fn &&read) {
  SPYRE_ASSIGN_OR_RETURN(JsonReader object, parent.field(key));
  SPYRE_ASSIGN_OR_RETURN(JsonMembers members, object.eachMember());
  if (int64_t(members.size()) != cores) {
    return fault(object, "{} entries for {} cores", members.size(), cores);
  }
  for (const auto [name, value] : members) {
    SPYRE_ASSIGN_OR_RETURN(int64_t core, parseId(value, name));
    if (core >= cores) {
      return fault(value, "core {} of {}", core, cores);
    }
    SPYRE_RETURN_IF_ERROR(read(core, value));
  }
  return Status::success();
}

} // namespace spyre::spec
