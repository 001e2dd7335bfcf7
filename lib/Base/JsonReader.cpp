//===- JsonReader.cpp - typed access to a JsonDocument --------------------------------------===//
#include "spyre/Base/Json.h"

#include "JsonTree.h"

#include <algorithm>
#include <charconv>

namespace spyre {

using Kind = JsonNode::Kind;

static uint32_t nextSibling(const JsonTree &tree, uint32_t index) {
  return index + tree.nodes[index].entries();
}

/// Position of the member \p key of the object at \p index; 0, the root, when there is none.
static uint32_t findMember(const JsonTree &tree, uint32_t index, std::string_view key) {
  const uint32_t end = nextSibling(tree, index);
  for (uint32_t i = index + 1; i < end; i = nextSibling(tree, i)) {
    if (tree.viewOf(tree.nodes[i].key) == key) {
      return i;
    }
  }
  return 0;
}

static Json copyOf(const JsonTree &tree, uint32_t index) {
  const JsonNode &node = tree.nodes[index];
  switch (node.kind) {
  case Kind::Null:
    return nullptr;
  case Kind::Boolean:
    return node.boolean;
  case Kind::Signed:
    return node.integer;
  case Kind::Unsigned:
    return node.natural;
  case Kind::Float:
    return node.real;
  case Kind::String:
    return std::string(tree.viewOf(node.string));
  case Kind::Array:
  case Kind::Object:
    break;
  }
  const bool isArray = node.kind == Kind::Array;
  Json copy = isArray ? Json::array() : Json::object();
  const uint32_t end = nextSibling(tree, index);
  for (uint32_t i = index + 1; i < end; i = nextSibling(tree, i)) {
    if (isArray) {
      copy.push_back(copyOf(tree, i));
    } else {
      using Members = Json::object_t::Container;
      // The keys are known to differ; the map's own emplace would look for each among the others.
      static_cast<Members &>(copy.get_ref<Json::object_t &>())
          .emplace_back(std::string(tree.viewOf(tree.nodes[i].key)), copyOf(tree, i));
    }
  }
  return copy;
}

static const char *kindName(Kind kind) {
  switch (kind) {
  case Kind::Null:
    return "null";
  case Kind::Boolean:
    return "boolean";
  case Kind::Signed:
  case Kind::Unsigned:
  case Kind::Float:
    return "number";
  case Kind::String:
    return "string";
  case Kind::Array:
    return "array";
  case Kind::Object:
    return "object";
  }
  return "value";
}

//===- Where a value is ---------------------------------------------------------------------===//

static uint32_t positionInArray(const JsonTree &tree, uint32_t index) {
  uint32_t position = 0;
  for (uint32_t i = tree.nodes[index].parent + 1; i < index; i = nextSibling(tree, i)) {
    ++position;
  }
  return position;
}

std::string JsonReader::path() const {
  std::vector<std::string> steps;
  for (uint32_t i = index; i != 0; i = tree->nodes[i].parent) {
    const JsonNode &node = tree->nodes[i];
    const bool inArray = tree->nodes[node.parent].kind == Kind::Array;
    steps.push_back(inArray ? fmt::format("[{}]", positionInArray(*tree, i))
                            : "." + shortenForMessage(tree->viewOf(node.key)));
  }
  std::reverse(steps.begin(), steps.end());
  return fmt::format("${}", fmt::join(steps, ""));
}

Status JsonReader::wrongType(const char *expected) const {
  const JsonNode &node = tree->nodes[index];
  return error<9103>("{}: expected {}, found {} {}", path(), expected, kindName(node.kind),
                     node.isContainer() ? std::string("value")
                                        : shortenForMessage(json().dump(
                                              -1, ' ', false, Json::error_handler_t::replace)));
}

Expected<int64_t> JsonReader::checkRange(int64_t value, int64_t low, int64_t high) const {
  if (value < low || value > high) {
    return error<9103>("{}: {} is outside [{}, {}]", path(), value, low, high);
  }
  return value;
}

//===- Containers ---------------------------------------------------------------------------===//

Json JsonReader::json() const { return copyOf(*tree, index); }
bool JsonReader::isString() const { return tree->nodes[index].kind == Kind::String; }
bool JsonReader::isArray() const { return tree->nodes[index].kind == Kind::Array; }
bool JsonReader::isObject() const { return tree->nodes[index].kind == Kind::Object; }

size_t JsonReader::size() const {
  const JsonNode &node = tree->nodes[index];
  return node.isContainer() ? node.content.children : 0;
}

bool JsonReader::has(std::string_view key) const {
  return isObject() && findMember(*tree, index, key) != 0;
}

Expected<JsonReader> JsonReader::field(std::string_view key) const {
  if (!isObject()) {
    return wrongType("an object");
  }
  const uint32_t found = findMember(*tree, index, key);
  if (found == 0) {
    return error<9102>("{}: the field \"{}\" is missing", path(), shortenForMessage(key));
  }
  return JsonReader(tree, found);
}

Expected<JsonReader> JsonReader::element(size_t position) const {
  SPYRE_ASSIGN_OR_RETURN(JsonElements all, eachElement());
  if (position >= all.size()) {
    return error<9102>("{}: element {} is missing, the array has {}", path(), position, all.size());
  }
  JsonElements::Iterator at = all.begin();
  for (; position > 0; --position) {
    ++at;
  }
  return *at;
}

Expected<JsonElements> JsonReader::eachElement() const {
  if (!isArray()) {
    return wrongType("an array");
  }
  return JsonElements(*this);
}

Expected<JsonMembers> JsonReader::eachMember() const {
  if (!isObject()) {
    return wrongType("an object");
  }
  return JsonMembers(*this);
}

JsonElements::Iterator &JsonElements::Iterator::operator++() {
  at.index = nextSibling(*at.tree, at.index);
  return *this;
}

JsonElements::Iterator JsonElements::end() const {
  return Iterator(JsonReader(list.tree, nextSibling(*list.tree, list.index)));
}

std::pair<std::string_view, JsonReader> JsonMembers::Iterator::operator*() const {
  const JsonReader value = *at;
  return {value.tree->viewOf(value.tree->nodes[value.index].key), value};
}

Expected<std::vector<JsonReader>> JsonReader::elements() const {
  SPYRE_ASSIGN_OR_RETURN(JsonElements all, eachElement());
  std::vector<JsonReader> readers;
  readers.reserve(all.size());
  for (const JsonReader &reader : all) {
    readers.push_back(reader);
  }
  return readers;
}

Expected<std::vector<std::pair<std::string, JsonReader>>> JsonReader::members() const {
  SPYRE_ASSIGN_OR_RETURN(JsonMembers all, eachMember());
  std::vector<std::pair<std::string, JsonReader>> readers;
  readers.reserve(all.size());
  for (auto [key, value] : all) {
    readers.emplace_back(key, value);
  }
  return readers;
}

template <typename Known>
Status JsonReader::refuseOthers(const Known &known) const {
  SPYRE_ASSIGN_OR_RETURN(JsonMembers all, eachMember());
  auto expected = known.begin(); // Writers mostly keep the order in which we list the fields.
  for (auto [key, value] : all) {
    auto found = std::find(expected, known.end(), key);
    if (found == known.end()) {
      found = std::find(known.begin(), expected, key);
      if (found != expected) {
        expected = std::next(found);
        continue;
      }
      return error<9103>("{}: unknown field \"{}\"; known fields: {}", path(),
                         shortenForMessage(key), fmt::join(known, ", "));
    }
    expected = std::next(found);
  }
  return Status::success();
}

Status JsonReader::onlyFields(std::initializer_list<std::string_view> known) const {
  return refuseOthers(known);
}

Status JsonReader::onlyFields(const std::vector<std::string> &known) const {
  return refuseOthers(known);
}

//===- Single values ------------------------------------------------------------------------===//

Expected<int64_t> JsonReader::asInt(int64_t low, int64_t high) const {
  const JsonNode &node = tree->nodes[index];
  if (node.kind == Kind::Unsigned) {
    if (node.natural > uint64_t(INT64_MAX)) {
      return error<9103>("{}: {} does not fit 64 bits with sign", path(), node.natural);
    }
    return checkRange(int64_t(node.natural), low, high);
  }
  if (node.kind == Kind::Signed) {
    return checkRange(node.integer, low, high);
  }
  return wrongType("an integer");
}

Expected<int64_t> JsonReader::asDecimalString(int64_t low, int64_t high) const {
  const JsonNode &node = tree->nodes[index];
  if (node.kind != Kind::String) {
    return wrongType("a decimal number in a string");
  }
  const std::string_view text = tree->viewOf(node.string);
  int64_t value = 0;
  auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size()) {
    return wrongType("a decimal number in a string");
  }
  return checkRange(value, low, high);
}

Expected<double> JsonReader::asNumber() const {
  const JsonNode &node = tree->nodes[index];
  if (!node.isNumber()) {
    return wrongType("a number");
  }
  return node.kind == Kind::Float    ? node.real
         : node.kind == Kind::Signed ? double(node.integer)
                                     : double(node.natural);
}

Expected<bool> JsonReader::asBool() const {
  const JsonNode &node = tree->nodes[index];
  if (node.kind != Kind::Boolean) {
    return wrongType("true or false");
  }
  return node.boolean;
}

Expected<std::string_view> JsonReader::asStringView() const {
  if (!isString()) {
    return wrongType("a string");
  }
  return tree->viewOf(tree->nodes[index].string);
}

Expected<std::string> JsonReader::asString() const {
  SPYRE_ASSIGN_OR_RETURN(std::string_view text, asStringView());
  return std::string(text);
}

Expected<std::vector<int64_t>> JsonReader::asIntList(int64_t low, int64_t high) const {
  SPYRE_ASSIGN_OR_RETURN(JsonElements all, eachElement());
  std::vector<int64_t> values;
  values.reserve(all.size());
  for (const JsonReader &reader : all) {
    SPYRE_ASSIGN_OR_RETURN(int64_t value, reader.asInt(low, high));
    values.push_back(value);
  }
  return values;
}

Expected<std::vector<std::string>> JsonReader::asStringList() const {
  SPYRE_ASSIGN_OR_RETURN(JsonElements all, eachElement());
  std::vector<std::string> values;
  values.reserve(all.size());
  for (const JsonReader &reader : all) {
    SPYRE_ASSIGN_OR_RETURN(std::string_view value, reader.asStringView());
    values.emplace_back(value);
  }
  return values;
}

} // namespace spyre
