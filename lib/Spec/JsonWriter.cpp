//===- JsonWriter.cpp - JSON text written as it comes ---------------------------------------===//
#include "JsonWriter.h"

#include "spyre/Base/Json.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace spyre::spec {

/// Characters that stand for themselves; a table, since every key and string passes here.
static constexpr auto kIsPlain = [] {
  std::array<bool, 256> plain{};
  for (int c = 0x20; c < 0x7f; ++c) {
    plain[size_t(c)] = c != '"' && c != '\\';
  }
  return plain;
}();

static bool isPlain(char c) { return kIsPlain[uint8_t(c)]; }

void JsonWriter::appendQuoted(std::string_view string) {
  if (std::all_of(string.begin(), string.end(), isPlain)) {
    text += '"';
    text += string;
    text += '"';
    return;
  }
  // Broken UTF-8 is printed with replacement characters.
  text += Json(std::string(string)).dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// From the value before in the same container.
void JsonWriter::separate() {
  if (!open.empty() && text.size() != items[open.back()].value + size_t(1)) {
    text += ", ";
  }
}

JsonWriter &JsonWriter::key(std::string_view name) {
  separate();
  pendingKey = uint32_t(text.size());
  appendQuoted(name);
  text += ": ";
  return *this;
}

JsonWriter &JsonWriter::plainKey(std::string_view name) {
  separate();
  pendingKey = uint32_t(text.size());
  text += '"';
  text += name;
  text += "\": ";
  return *this;
}

JsonWriter::Item &JsonWriter::addItem() {
  if (pendingKey == kNoKey) {
    separate();
  }
  Item &item = items.emplace_back();
  item.value = uint32_t(text.size());
  item.begin = std::min(pendingKey, item.value);
  item.next = uint32_t(items.size());
  pendingKey = kNoKey;
  return item;
}

JsonWriter &JsonWriter::begin(char bracket) {
  addItem();
  text += bracket;
  open.push_back(uint32_t(items.size() - 1));
  return *this;
}

JsonWriter &JsonWriter::end() {
  const size_t index = open.back();
  open.pop_back();
  Item &item = items[index];
  text += text[item.value] == '{' ? '}' : ']';
  item.end = uint32_t(text.size());
  if (item.end - item.value <= inlineChars) {
    items.resize(index + 1);
  } else {
    item.next = uint32_t(items.size());
  }
  return *this;
}

template <typename Number>
void JsonWriter::appendNumber(Number number) {
  Item &item = addItem();
  char digits[32];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
  item.end = uint32_t(text.size());
}

JsonWriter &JsonWriter::value(int64_t number) {
  appendNumber(number);
  return *this;
}

JsonWriter &JsonWriter::real(double number) {
  appendNumber(number);
  return *this;
}

JsonWriter &JsonWriter::value(std::string_view string) {
  Item &item = addItem();
  appendQuoted(string);
  item.end = uint32_t(text.size());
  return *this;
}

void JsonWriter::printItem(size_t index, int indent, int column, std::string &out) const {
  const Item &item = items[index];
  if (item.next == index + 1) {
    out.append(text, item.begin, item.end - item.begin);
    return;
  }
  out.append(text, item.begin, item.value + 1 - item.begin);
  const char *before = "\n";
  for (size_t child = index + 1; child < item.next; child = items[child].next) {
    out += before;
    out.append(size_t(column + indent), ' ');
    printItem(child, indent, column + indent, out);
    before = ",\n";
  }
  out += '\n';
  out.append(size_t(column), ' ');
  out += text[item.end - 1];
}

std::string JsonWriter::print(int indentColumns) const {
  std::string out;
  out.reserve(text.size() + text.size() / 4);
  if (!items.empty()) {
    printItem(0, indentColumns, 0, out);
  }
  out += '\n';
  return out;
}

} // namespace spyre::spec
