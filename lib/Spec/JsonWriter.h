//===- JsonWriter.h - JSON text written as it comes -----------------------------------------===//
//
// The same text as printJson (JsonText.h) without a tree of values in between: a compilation writes
// megabytes of it. The one-line form of all is written first; when a container ends its length is
// known, and one that fits on a line is a range of that text. Only what is opened is kept as items.
// Everything a value passes through is inline and writes into one buffer: a SuperDSC has thousands
// of values of a few characters each.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include <charconv>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace spyre::spec {

class JsonWriter {
public:
  /// A value whose one-line form is at most \p inlineChars long stays on one line.
  explicit JsonWriter(size_t inlineChars) : inlineChars(inlineChars) {
    items.reserve(kUsualItems);
    open.reserve(kUsualDepth);
  }
  JsonWriter &beginObject() { return begin('{'); }
  JsonWriter &beginArray() { return begin('['); }
  JsonWriter &end();

  /// Before each value of an object; the caller gives each key once.
  JsonWriter &key(std::string_view name) {
    startKey();
    appendQuoted(name);
    return endKey();
  }
  /// A name of the interface, which is plain and need not be looked at.
  template <size_t size>
  JsonWriter &key(const char (&literal)[size]) {
    startKey();
    char *to = room(size + 1);
    *to = '"';
    std::memcpy(to + 1, literal, size - 1);
    to[size] = '"';
    used += size + 1;
    return endKey();
  }
  JsonWriter &value(int64_t number) {
    appendNumber(number);
    return *this;
  }
  JsonWriter &value(std::string_view string) {
    Item &item = addItem();
    appendQuoted(string);
    item.end = uint32_t(used);
    return *this;
  }
  JsonWriter &value(const char *string) { return value(std::string_view(string)); }
  JsonWriter &boolean(bool value);
  /// The shortest decimal form that reads back the same; whole numbers without a point. Finite.
  JsonWriter &real(double number) {
    appendNumber(number);
    return *this;
  }
  /// Text that is JSON already and stays on one line however long it is.
  JsonWriter &raw(std::string_view text);
  /// The same with a number in it.
  JsonWriter &raw(std::string_view before, int64_t number, std::string_view after) {
    Item &item = addItem();
    char *to = room(before.size() + kNumberBytes + after.size());
    std::memcpy(to, before.data(), before.size());
    to += before.size();
    to = std::to_chars(to, to + kNumberBytes, number).ptr;
    std::memcpy(to, after.data(), after.size());
    used = size_t(to + after.size() - buffer.get());
    item.end = uint32_t(used);
    return *this;
  }
  /// A number in quotes as a key, with plain text around it.
  JsonWriter &numberKey(int64_t number, std::string_view before = "", std::string_view after = "") {
    startKey();
    char *to = room(before.size() + kNumberBytes + after.size() + 2);
    *to++ = '"';
    std::memcpy(to, before.data(), before.size());
    to += before.size();
    to = std::to_chars(to, to + kNumberBytes, number).ptr;
    std::memcpy(to, after.data(), after.size());
    to += after.size();
    *to++ = '"';
    used = size_t(to - buffer.get());
    return endKey();
  }
  /// A number in quotes.
  JsonWriter &numberText(int64_t number) { return raw("\"", number, "\""); }

  /// For the next text; the memory stays, so one writer serves all the files of a bundle.
  void clear() {
    used = 0;
    items.clear();
    open.clear();
    pendingKey = kNoKey;
    needsComma = false;
  }

  /// All that was written, as one value; see printJson.
  std::string print(int indentColumns) const;

private:
  /// Of a SuperDSC for 32 cores.
  static constexpr size_t kUsualBytes = 16384, kUsualItems = 512, kUsualDepth = 16;
  static constexpr size_t kNumberBytes = 32;

  /// A range of the text. The items of an opened container follow it, up to `next`.
  struct Item {
    /// Of the key, where there is one, and of the value.
    uint32_t begin, value;
    uint32_t end;
    uint32_t next;
  };

  /// Where at least \p bytes may be written.
  char *room(size_t bytes) {
    if (bytes > capacity - used) [[unlikely]] {
      grow(bytes);
    }
    return buffer.get() + used;
  }
  void put(char c) {
    *room(1) = c;
    ++used;
  }
  void append(std::string_view string) {
    std::memcpy(room(string.size()), string.data(), string.size());
    used += string.size();
  }
  /// From the value before in the same container.
  void separate() {
    if (needsComma) {
      std::memcpy(room(2), ", ", 2);
      used += 2;
    }
    needsComma = false;
  }
  void startKey() {
    separate();
    pendingKey = uint32_t(used);
  }
  JsonWriter &endKey() {
    std::memcpy(room(2), ": ", 2);
    used += 2;
    return *this;
  }
  Item &addItem() {
    separate();
    const auto value = uint32_t(used);
    items.push_back(
        {pendingKey < value ? pendingKey : value, value, 0, uint32_t(items.size() + 1)});
    pendingKey = kNoKey;
    needsComma = true;
    return items.back();
  }
  template <typename Number>
  void appendNumber(Number number) {
    Item &item = addItem();
    char *to = room(kNumberBytes);
    used += size_t(std::to_chars(to, to + kNumberBytes, number).ptr - to);
    item.end = uint32_t(used);
  }
  JsonWriter &begin(char bracket) {
    addItem();
    put(bracket);
    open.push_back(uint32_t(items.size() - 1));
    needsComma = false;
    return *this;
  }
  void appendQuoted(std::string_view string);
  void grow(size_t bytes);
  size_t printedSize(size_t index, size_t indent, size_t column) const;
  char *printItem(size_t index, size_t indent, size_t column, char *to) const;

  size_t inlineChars;
  std::unique_ptr<char[]> buffer{new char[kUsualBytes]};
  size_t used = 0, capacity = kUsualBytes;
  std::vector<Item> items;
  std::vector<uint32_t> open;
  /// Where the key of the next value begins, or kNoKey.
  static constexpr uint32_t kNoKey = UINT32_MAX;
  uint32_t pendingKey = kNoKey;
  bool needsComma = false;
};

} // namespace spyre::spec
