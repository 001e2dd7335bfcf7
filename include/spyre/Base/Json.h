//===- Json.h - strict JSON reading with paths in the errors --------------------------------===//
//
// nlohmann-json parses and prints; JsonReader adds what our formats need: each access names the
// field, checks its type and range, and says where in the document the fault is
// ("$.dscs_[0].add.N_.mb_"). No exception leaves this file. All errors are E9101 (malformed text),
// E9102 (missing field), E9103 (wrong type or range), unless the caller adds context.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"

#include "nlohmann/json.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace spyre {

/// Keeps the order of keys as written: our files are meant to be read by people.
using Json = nlohmann::ordered_json;

/// Parses; nesting is limited to 128 levels and text to \p limitBytes.
Expected<Json> parseJson(const std::string &text, uint64_t limitBytes = uint64_t(256) << 20);

/// One position in a parsed document. Cheap to copy; the document must outlive it.
class JsonReader {
public:
  explicit JsonReader(const Json &value, std::string path = "$")
      : jsonValue(&value), jsonPath(std::move(path)) {}

  const Json &json() const { return *jsonValue; }
  const std::string &path() const { return jsonPath; }

  bool has(const std::string &key) const;
  Expected<JsonReader> field(const std::string &key) const;
  Expected<JsonReader> element(size_t index) const;
  /// Elements of an array / (key, value) of an object, in written order.
  Expected<std::vector<JsonReader>> elements() const;
  Expected<std::vector<std::pair<std::string, JsonReader>>> members() const;

  Expected<int64_t> asInt(int64_t low = INT64_MIN, int64_t high = INT64_MAX) const;
  /// A decimal number in a string ("17179869184"), as several formats of the interface use.
  Expected<int64_t> asDecimalString(int64_t low = INT64_MIN, int64_t high = INT64_MAX) const;
  Expected<double> asNumber() const;
  Expected<bool> asBool() const;
  Expected<std::string> asString() const;
  Expected<std::vector<int64_t>> asIntList(int64_t low = INT64_MIN, int64_t high = INT64_MAX) const;
  Expected<std::vector<std::string>> asStringList() const;

  /// Refuses keys outside \p known, so that a misspelt field is not silently ignored.
  Status onlyFields(const std::vector<std::string> &known) const;

private:
  const Json *jsonValue;
  std::string jsonPath;
};

} // namespace spyre
