//===- JsonWriter.h - JSON text written as it comes -----------------------------------------===//
//
// The same text as printJson (JsonText.h) without a tree of values in between: a compilation writes
// megabytes of it. The one-line form of all is written first; when a container ends its length is
// known, and one that fits on a line is a range of that text. Only what is opened is kept as items.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spyre::spec {

class JsonWriter {
public:
  /// A value whose one-line form is at most \p inlineChars long stays on one line.
  explicit JsonWriter(size_t inlineChars) : inlineChars(inlineChars) {
    text.reserve(kUsualBytes);
    items.reserve(kUsualItems);
  }
  JsonWriter &beginObject() { return begin('{'); }
  JsonWriter &beginArray() { return begin('['); }
  JsonWriter &end();

  /// Before each value of an object; the caller gives each key once.
  JsonWriter &key(std::string_view name);
  /// A name of the interface, which is plain and need not be looked at.
  template <size_t size>
  JsonWriter &key(const char (&literal)[size]) {
    return plainKey({literal, size - 1});
  }
  JsonWriter &value(int64_t number);
  JsonWriter &value(std::string_view string);
  JsonWriter &value(const char *string) { return value(std::string_view(string)); }
  /// The shortest decimal form that reads back the same; whole numbers without a point. Finite.
  JsonWriter &real(double number);

  /// All that was written, as one value; see printJson.
  std::string print(int indentColumns) const;

private:
  /// Of a SuperDSC for 32 cores.
  static constexpr size_t kUsualBytes = 16384, kUsualItems = 512;

  /// A range of `text`. The items of an opened container follow it, up to `next`.
  struct Item {
    /// Of the key, where there is one, and of the value.
    uint32_t begin = 0, value = 0;
    uint32_t end = 0;
    uint32_t next = 0;
  };

  template <typename Number>
  void appendNumber(Number number);
  JsonWriter &begin(char bracket);
  JsonWriter &plainKey(std::string_view name);
  void separate();
  Item &addItem();
  void appendQuoted(std::string_view string);
  void printItem(size_t index, int indent, int column, std::string &out) const;

  size_t inlineChars;
  std::string text;
  std::vector<Item> items;
  std::vector<uint32_t> open;
  /// Where the key of the next value begins, or kNoKey.
  static constexpr uint32_t kNoKey = UINT32_MAX;
  uint32_t pendingKey = kNoKey;
};

} // namespace spyre::spec
