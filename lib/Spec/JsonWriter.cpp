//===- JsonWriter.cpp - JSON text written as it comes ---------------------------------------===//
#include "JsonWriter.h"

#include "spyre/Base/Json.h"

#include <algorithm>
#include <array>

namespace spyre::spec {

/// Characters that stand for themselves; a table, since every key and string passes here.
static constexpr auto kIsPlain = [] {
  std::array<bool, 256> plain{};
  for (int c = 0x20; c < 0x7f; ++c) {
    plain[size_t(c)] = c != '"' && c != '\\';
  }
  return plain;
}();

void JsonWriter::grow(size_t bytes) {
  capacity = std::max(capacity * 2, used + bytes);
  std::unique_ptr<char[]> larger(new char[capacity]);
  std::memcpy(larger.get(), buffer.get(), used);
  buffer = std::move(larger);
}

void JsonWriter::appendQuoted(std::string_view string) {
  char *to = room(string.size() + 2);
  *to++ = '"';
  for (char c : string) {
    if (!kIsPlain[uint8_t(c)]) {
      // Broken UTF-8 is printed with replacement characters.
      append(Json(std::string(string)).dump(-1, ' ', false, Json::error_handler_t::replace));
      return;
    }
    *to++ = c;
  }
  *to = '"';
  used += string.size() + 2;
}

JsonWriter &JsonWriter::end() {
  const size_t index = open.back();
  open.pop_back();
  Item &item = items[index];
  put(buffer[item.value] == '{' ? '}' : ']');
  item.end = uint32_t(used);
  if (item.end - item.value <= inlineChars) {
    items.resize(index + 1);
  } else {
    item.next = uint32_t(items.size());
  }
  needsComma = true;
  return *this;
}

JsonWriter &JsonWriter::raw(std::string_view text) {
  Item &item = addItem();
  append(text);
  item.end = uint32_t(used);
  return *this;
}

JsonWriter &JsonWriter::boolean(bool value) { return raw(value ? "true" : "false"); }

size_t JsonWriter::printedSize(size_t index, size_t indent, size_t column) const {
  const Item &item = items[index];
  if (item.next == index + 1) {
    return item.end - item.begin;
  }
  // The brackets, each child on a line of its own, and the line of the last bracket.
  size_t size = item.value + 1 - item.begin + column + 2;
  size_t children = 0;
  for (size_t child = index + 1; child < item.next; child = items[child].next, ++children) {
    size += column + indent + printedSize(child, indent, column + indent);
  }
  return size + 2 * children - 1;
}

/// \return the end of what was written.
char *JsonWriter::printItem(size_t index, size_t indent, size_t column, char *to) const {
  const Item &item = items[index];
  auto copy = [&](size_t begin, size_t end) {
    std::memcpy(to, buffer.get() + begin, end - begin);
    to += end - begin;
  };
  auto startLine = [&](size_t columns) {
    *to++ = '\n';
    std::memset(to, ' ', columns);
    to += columns;
  };
  if (item.next == index + 1) {
    copy(item.begin, item.end);
    return to;
  }
  copy(item.begin, item.value + 1);
  for (size_t child = index + 1; child < item.next; child = items[child].next) {
    if (child != index + 1) {
      *to++ = ',';
    }
    startLine(column + indent);
    to = printItem(child, indent, column + indent, to);
  }
  startLine(column);
  *to++ = buffer[item.end - 1];
  return to;
}

std::string JsonWriter::print(int indentColumns) const {
  if (items.empty()) {
    return "\n";
  }
  std::string out(printedSize(0, size_t(indentColumns), 0) + 1, '\n');
  printItem(0, size_t(indentColumns), 0, out.data());
  return out;
}

} // namespace spyre::spec
