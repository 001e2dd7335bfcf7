//===- Json.h - strict JSON reading with paths in the errors --------------------------------===//
//
// Two trees for two uses. `Json` is nlohmann-json's: it can be changed and printed. JsonDocument is
// for reading alone: a compiler reads megabytes of JSON per model, so its values lie side by side
// in one array and are never copied. JsonReader walks over it; each access names the field, checks
// its type and range, and says where in the document the fault is ("$.dscs_[0].add.N_.mb_"). No
// exception leaves this file. All errors are E9101 (malformed text), E9102 (missing field), E9103
// (wrong type or range), unless the caller adds context.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"

#include "nlohmann/json.hpp"

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace spyre {

/// Keeps the order of keys as written: our files are meant to be read by people.
using Json = nlohmann::ordered_json;

inline constexpr uint64_t kMaxJsonTextBytes = uint64_t(256) << 20;

/// Parses into a tree that can be changed; nesting is limited to 128 levels and text to
/// \p limitBytes.
Expected<Json> parseJson(const std::string &text, uint64_t limitBytes = kMaxJsonTextBytes);

struct JsonTree;

/// A parsed text that is only read. Same language, limits and errors as parseJson().
class JsonDocument {
public:
  static Expected<JsonDocument> parse(const std::string &text,
                                      uint64_t limitBytes = kMaxJsonTextBytes);

  JsonDocument(JsonDocument &&) noexcept;
  JsonDocument &operator=(JsonDocument &&) noexcept;
  ~JsonDocument();

private:
  friend class JsonReader;
  explicit JsonDocument(std::unique_ptr<const JsonTree> tree);

  std::unique_ptr<const JsonTree> tree;
};

class JsonElements;
class JsonMembers;

/// One position in a parsed document: two words, free to copy. The document must outlive it (and
/// may be moved meanwhile).
class JsonReader {
public:
  explicit JsonReader(const JsonDocument &document) : tree(document.tree.get()) {}

  /// A copy as a tree that can be changed.
  Json json() const;
  /// Built on demand, for messages: it costs a walk to the root.
  std::string path() const;

  bool isString() const;
  bool isArray() const;
  bool isObject() const;
  /// Elements of an array, members of an object; 0 for anything else.
  size_t size() const;

  bool has(std::string_view key) const;
  Expected<JsonReader> field(std::string_view key) const;
  /// Costs a walk over the elements before; use elements() for all of them.
  Expected<JsonReader> element(size_t index) const;
  /// Elements of an array / (key, value) of an object, in written order.
  Expected<std::vector<JsonReader>> elements() const;
  Expected<std::vector<std::pair<std::string, JsonReader>>> members() const;
  /// The same to loop over, without a copy; keys live as long as the document.
  Expected<JsonElements> eachElement() const;
  Expected<JsonMembers> eachMember() const;

  Expected<int64_t> asInt(int64_t low = INT64_MIN, int64_t high = INT64_MAX) const;
  /// A decimal number in a string ("17179869184"), as several formats of the interface use.
  Expected<int64_t> asDecimalString(int64_t low = INT64_MIN, int64_t high = INT64_MAX) const;
  Expected<double> asNumber() const;
  Expected<bool> asBool() const;
  Expected<std::string> asString() const;
  /// Lives as long as the document.
  Expected<std::string_view> asStringView() const;
  Expected<std::vector<int64_t>> asIntList(int64_t low = INT64_MIN, int64_t high = INT64_MAX) const;
  Expected<std::vector<std::string>> asStringList() const;

  /// Refuses keys outside \p known, so that a misspelt field is not silently ignored.
  Status onlyFields(std::initializer_list<std::string_view> known) const;
  Status onlyFields(const std::vector<std::string> &known) const;

private:
  friend class JsonElements;
  friend class JsonMembers;
  JsonReader(const JsonTree *tree, uint32_t index) : tree(tree), index(index) {}

  Status wrongType(const char *expected) const;
  Expected<int64_t> checkRange(int64_t value, int64_t low, int64_t high) const;
  template <typename Known>
  Status refuseOthers(const Known &known) const;

  const JsonTree *tree;
  uint32_t index = 0;
};

/// SPYRE_ASSIGN_OR_RETURN(JsonElements list, reader.eachElement());
/// for (const JsonReader &element : list) ...
class JsonElements {
public:
  class Iterator {
  public:
    explicit Iterator(JsonReader at) : at(at) {}
    const JsonReader &operator*() const { return at; }
    Iterator &operator++();
    bool operator!=(const Iterator &other) const { return at.index != other.at.index; }

  private:
    JsonReader at;
  };

  explicit JsonElements(JsonReader list) : list(list) {}
  Iterator begin() const { return Iterator(JsonReader(list.tree, list.index + 1)); }
  Iterator end() const;
  size_t size() const { return list.size(); }

private:
  JsonReader list;
};

/// SPYRE_ASSIGN_OR_RETURN(JsonMembers fields, reader.eachMember());
/// for (const auto [key, value] : fields) ...
class JsonMembers {
public:
  class Iterator {
  public:
    explicit Iterator(JsonElements::Iterator at) : at(at) {}
    std::pair<std::string_view, JsonReader> operator*() const;
    Iterator &operator++() {
      ++at;
      return *this;
    }
    bool operator!=(const Iterator &other) const { return at != other.at; }

  private:
    JsonElements::Iterator at;
  };

  explicit JsonMembers(JsonReader object) : values(object) {}
  Iterator begin() const { return Iterator(values.begin()); }
  Iterator end() const { return Iterator(values.end()); }
  size_t size() const { return values.size(); }

private:
  JsonElements values;
};

} // namespace spyre
