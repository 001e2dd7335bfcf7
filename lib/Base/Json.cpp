//===- Json.cpp - strict parsing into nlohmann-json's tree ----------------------------------===//
//
// The library's own tree builder keeps the last of two equal keys, knows no nesting limit and
// searches an object for each key it adds. StrictBuilder receives the parser's events instead: it
// refuses duplicates and deep nesting, and stays below n log n for an object of n keys.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Json.h"

#include "JsonTree.h"

#include <algorithm>

namespace spyre {

std::string shortenForMessage(std::string_view text) {
  if (text.size() <= kMaxQuotedBytes) {
    return std::string(text);
  }
  size_t end = kMaxQuotedBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
    --end; // Do not cut inside a UTF-8 sequence.
  }
  return std::string(text.substr(0, end)) + "...";
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
      return refuse(fmt::format("the key \"{}\" appears twice in one object; keep one",
                                shortenForMessage(*duplicate)));
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
    if (containers.size() >= kMaxJsonNesting) {
      return refuse(fmt::format("nesting is deeper than {} levels", kMaxJsonNesting));
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

} // namespace spyre
