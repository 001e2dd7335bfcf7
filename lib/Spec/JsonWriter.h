//===- JsonWriter.h - JSON text written as it comes -----------------------------------------===//
//
// The same text as printJson (JsonText.h) without a tree of values in between: a compilation writes
// megabytes of it. Values are noted in one list with the lengths of their one-line forms, which
// decide what is opened when the text is printed.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spyre::spec {

class JsonWriter {
public:
  JsonWriter() {
    pool.reserve(kUsualBytes);
    items.reserve(kUsualItems);
  }
  JsonWriter &beginObject() { return begin(Kind::Object); }
  JsonWriter &beginArray() { return begin(Kind::Array); }
  JsonWriter &end();

  /// Before each value of an object; the caller gives each key once.
  JsonWriter &key(std::string_view name);
  JsonWriter &value(int64_t number);
  JsonWriter &value(std::string_view text);
  /// The shortest decimal form that reads back the same; whole numbers without a point. Finite.
  JsonWriter &real(double number);
  JsonWriter &value(const char *text) { return value(std::string_view(text)); }

  /// All that was written, as one value; see printJson.
  std::string print(int indentColumns, size_t inlineChars) const;

private:
  /// Of a SuperDSC for 32 cores.
  static constexpr size_t kUsualBytes = 16384, kUsualItems = 1536;

  enum class Kind : uint8_t { Scalar, Object, Array };
  /// Texts are ranges of `pool`. Children follow their container in `items`.
  struct Item {
    Kind kind = Kind::Scalar;
    uint32_t keyBegin = 0, keySize = 0;
    uint32_t textBegin = 0;
    /// Of the one-line form, without the key.
    uint32_t size = 0;
    uint32_t children = 0;
  };

  template <typename Number>
  void appendNumber(Number number);
  JsonWriter &begin(Kind kind);
  Item &addItem(Kind kind);
  void finish(size_t index);
  void appendQuoted(std::string_view text);
  void printKey(const Item &item, std::string &out) const;
  size_t printInline(size_t index, std::string &out) const;
  size_t printOpened(size_t index, int indent, int column, size_t inlineChars,
                     std::string &out) const;

  std::string pool;
  std::vector<Item> items;
  std::vector<size_t> open;
  uint32_t keyBegin = 0, keySize = 0;
};

} // namespace spyre::spec
