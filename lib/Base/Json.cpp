//===- Json.cpp - a strict JSON reader on top of nlohmann-json ------------------------------===//
//
// The library's own tree builder keeps the last of two equal keys, knows no nesting limit and
// searches an object for each key it adds. StrictBuilder receives the parser's events instead: it
// refuses duplicates and deep nesting, and stays below n log n for an object of n keys.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

namespace spyre {

static constexpr size_t kMaxNesting = 128;
/// Values and keys are quoted in messages; a hostile document must not make a message of megabytes.
static constexpr size_t kMaxQuotedBytes = 80;

static std::string shorten(const std::string &text) {
  if (text.size() <= kMaxQuotedBytes) {
    return text;
  }
  size_t end = kMaxQuotedBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
    --end; // Do not cut inside a UTF-8 sequence.
  }
  return text.substr(0, end) + "...";
}

/// A duplicate key of \p object, or nullptr.
static const std::string *findDuplicateKey(const Json::object_t &object) {
  std::vector<const std::string *> keys;
  keys.reserve(object.size());
  for (const auto &member : object) {
    keys.push_back(&member.first);
  }
  std::sort(keys.begin(), keys.end(), [](auto *a, auto *b) { return *a < *b; });
  auto found =
      std::adjacent_find(keys.begin(), keys.end(), [](auto *a, auto *b) { return *a == *b; });
  return found == keys.end() ? nullptr : *found;
}

namespace {

class StrictBuilder : public nlohmann::json_sax<Json> {
public:
  Json takeRoot() { return std::move(root); }
  const std::string &fault() const { return faultText; }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t &) override { return add(value); }
  bool string(string_t &value) override { return add(std::move(value)); }
  bool binary(binary_t &) override { return refuse("binary values are not JSON"); }
  bool key(string_t &value) override {
    pendingKey = std::move(value);
    return true;
  }
  bool start_object(size_t) override { return open(Json::object()); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool end_object() override {
    const auto &object = containers.back()->get_ref<const Json::object_t &>();
    if (const std::string *duplicate = findDuplicateKey(object)) {
      return refuse(
          fmt::format("the key \"{}\" appears twice in one object; keep one", shorten(*duplicate)));
    }
    containers.pop_back();
    return true;
  }
  bool end_array() override {
    containers.pop_back();
    return true;
  }
  bool parse_error(size_t position, const std::string &,
                   const nlohmann::detail::exception &exception) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..." without the bracket.
    std::string text = exception.what();
    if (size_t close = text.find("] "); close != std::string::npos) {
      text = text.substr(close + 2);
    }
    return refuse(fmt::format("{} (byte {})", text, position));
  }

private:
  bool refuse(std::string text) {
    if (faultText.empty()) {
      faultText = std::move(text);
    }
    return false;
  }

  /// Puts the value where the parser is; the pointer stays valid while the value is being filled,
  /// since nothing is added to its parent meanwhile.
  Json *insert(Json &&value) {
    if (containers.empty()) {
      root = std::move(value);
      return &root;
    }
    Json &parent = *containers.back();
    if (parent.is_array()) {
      return &parent.get_ref<Json::array_t &>().emplace_back(std::move(value));
    }
    auto &object = parent.get_ref<Json::object_t &>();
    using Members = Json::object_t::Container;
    // The base class's emplace_back: the map's own emplace looks for the key first, n^2 in all.
    return &static_cast<Members &>(object)
                .emplace_back(std::move(pendingKey), std::move(value))
                .second;
  }

  bool add(Json &&value) {
    insert(std::move(value));
    return true;
  }

  bool open(Json &&container) {
    if (containers.size() >= kMaxNesting) {
      return refuse(fmt::format("nesting is deeper than {} levels", kMaxNesting));
    }
    containers.push_back(insert(std::move(container)));
    return true;
  }

  Json root;
  std::vector<Json *> containers;
  std::string pendingKey;
  std::string faultText;
};

} // namespace

Expected<Json> parseJson(const std::string &text, uint64_t limitBytes) {
  if (text.size() > limitBytes) {
    return error<9101>("the text has {} bytes, the limit is {}; give a smaller document",
                       text.size(), limitBytes);
  }
  // The library takes a zero byte for the end and would ignore whatever follows.
  if (size_t zero = text.find('\0'); zero != std::string::npos) {
    return error<9101>("byte {} is zero; the file is not text", zero);
  }
  StrictBuilder builder;
  if (!Json::sax_parse(text, &builder)) {
    return error<9101>("{}", builder.fault());
  }
  return builder.takeRoot();
}

//===--------------------------------------------------------------------------------------------===//
// JsonReader
//===--------------------------------------------------------------------------------------------===//

static std::string fieldPath(const std::string &path, const std::string &key) {
  return fmt::format("{}.{}", path, shorten(key));
}

static std::string elementPath(const std::string &path, size_t index) {
  return fmt::format("{}[{}]", path, index);
}

static Status wrongType(const JsonReader &reader, const char *expected) {
  return error<9103>(
      "{}: expected {}, found {} {}", reader.path(), expected, reader.json().type_name(),
      reader.json().is_structured()
          ? std::string("value")
          : shorten(reader.json().dump(-1, ' ', false, Json::error_handler_t::replace)));
}

static Expected<int64_t> checkRange(const JsonReader &reader, int64_t value, int64_t low,
                                    int64_t high) {
  if (value < low || value > high) {
    return error<9103>("{}: {} is outside [{}, {}]", reader.path(), value, low, high);
  }
  return value;
}

bool JsonReader::has(const std::string &key) const {
  return jsonValue->is_object() && jsonValue->contains(key);
}

Expected<JsonReader> JsonReader::field(const std::string &key) const {
  if (!jsonValue->is_object()) {
    return wrongType(*this, "an object");
  }
  auto found = jsonValue->find(key);
  if (found == jsonValue->end()) {
    return error<9102>("{}: the field \"{}\" is missing", jsonPath, shorten(key));
  }
  return JsonReader(*found, fieldPath(jsonPath, key));
}

Expected<JsonReader> JsonReader::element(size_t index) const {
  if (!jsonValue->is_array()) {
    return wrongType(*this, "an array");
  }
  if (index >= jsonValue->size()) {
    return error<9102>("{}: element {} is missing, the array has {}", jsonPath, index,
                       jsonValue->size());
  }
  return JsonReader((*jsonValue)[index], elementPath(jsonPath, index));
}

Expected<std::vector<JsonReader>> JsonReader::elements() const {
  if (!jsonValue->is_array()) {
    return wrongType(*this, "an array");
  }
  std::vector<JsonReader> readers;
  readers.reserve(jsonValue->size());
  for (size_t i = 0; i < jsonValue->size(); ++i) {
    readers.emplace_back((*jsonValue)[i], elementPath(jsonPath, i));
  }
  return readers;
}

Expected<std::vector<std::pair<std::string, JsonReader>>> JsonReader::members() const {
  if (!jsonValue->is_object()) {
    return wrongType(*this, "an object");
  }
  std::vector<std::pair<std::string, JsonReader>> readers;
  readers.reserve(jsonValue->size());
  for (const auto &[key, value] : jsonValue->get_ref<const Json::object_t &>()) {
    readers.emplace_back(key, JsonReader(value, fieldPath(jsonPath, key)));
  }
  return readers;
}

Expected<int64_t> JsonReader::asInt(int64_t low, int64_t high) const {
  if (jsonValue->is_number_unsigned()) {
    uint64_t value = jsonValue->get_ref<const Json::number_unsigned_t &>();
    if (value > uint64_t(INT64_MAX)) {
      return error<9103>("{}: {} does not fit 64 bits with sign", jsonPath, value);
    }
    return checkRange(*this, int64_t(value), low, high);
  }
  if (jsonValue->is_number_integer()) {
    return checkRange(*this, jsonValue->get_ref<const Json::number_integer_t &>(), low, high);
  }
  return wrongType(*this, "an integer");
}

Expected<int64_t> JsonReader::asDecimalString(int64_t low, int64_t high) const {
  if (!jsonValue->is_string()) {
    return wrongType(*this, "a decimal number in a string");
  }
  const auto &text = jsonValue->get_ref<const std::string &>();
  int64_t value = 0;
  auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size()) {
    return wrongType(*this, "a decimal number in a string");
  }
  return checkRange(*this, value, low, high);
}

Expected<double> JsonReader::asNumber() const {
  if (!jsonValue->is_number()) {
    return wrongType(*this, "a number");
  }
  return jsonValue->get<double>();
}

Expected<bool> JsonReader::asBool() const {
  if (!jsonValue->is_boolean()) {
    return wrongType(*this, "true or false");
  }
  return jsonValue->get<bool>();
}

Expected<std::string> JsonReader::asString() const {
  if (!jsonValue->is_string()) {
    return wrongType(*this, "a string");
  }
  return jsonValue->get_ref<const std::string &>();
}

Expected<std::vector<int64_t>> JsonReader::asIntList(int64_t low, int64_t high) const {
  SPYRE_ASSIGN_OR_RETURN(std::vector<JsonReader> readers, elements());
  std::vector<int64_t> values;
  values.reserve(readers.size());
  for (const JsonReader &reader : readers) {
    SPYRE_ASSIGN_OR_RETURN(int64_t value, reader.asInt(low, high));
    values.push_back(value);
  }
  return values;
}

Expected<std::vector<std::string>> JsonReader::asStringList() const {
  SPYRE_ASSIGN_OR_RETURN(std::vector<JsonReader> readers, elements());
  std::vector<std::string> values;
  values.reserve(readers.size());
  for (const JsonReader &reader : readers) {
    SPYRE_ASSIGN_OR_RETURN(std::string value, reader.asString());
    values.push_back(std::move(value));
  }
  return values;
}

Status JsonReader::onlyFields(const std::vector<std::string> &known) const {
  if (!jsonValue->is_object()) {
    return wrongType(*this, "an object");
  }
  for (const auto &[key, value] : jsonValue->get_ref<const Json::object_t &>()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      return error<9103>("{}: unknown field \"{}\"; known fields: {}", jsonPath, shorten(key),
                         fmt::join(known, ", "));
    }
  }
  return Status::success();
}

} // namespace spyre
