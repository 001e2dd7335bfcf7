//===- JsonWriter.cpp - JSON text written as it comes ---------------------------------------===//
#include "JsonWriter.h"

#include "spyre/Base/Json.h"

#include <algorithm>
#include <charconv>

namespace spyre::spec {

static bool isPlain(char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; }

void JsonWriter::appendQuoted(std::string_view text) {
  if (std::all_of(text.begin(), text.end(), isPlain)) {
    pool += '"';
    pool += text;
    pool += '"';
    return;
  }
  // Broken UTF-8 is printed with replacement characters.
  pool += Json(std::string(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
}

JsonWriter &JsonWriter::key(std::string_view name) {
  keyBegin = uint32_t(pool.size());
  appendQuoted(name);
  keySize = uint32_t(pool.size()) - keyBegin;
  return *this;
}

JsonWriter::Item &JsonWriter::addItem(Kind kind) {
  Item &item = items.emplace_back();
  item.kind = kind;
  item.keyBegin = keyBegin;
  item.keySize = keySize;
  item.textBegin = uint32_t(pool.size());
  keySize = 0;
  return item;
}

/// Adds a finished value to the length of what it is in.
void JsonWriter::finish(size_t index) {
  if (open.empty()) {
    return;
  }
  const Item &item = items[index];
  Item &outer = items[open.back()];
  const uint32_t comma = outer.children++ == 0 ? 0 : 2, colon = item.keySize == 0 ? 0 : 2;
  outer.size += comma + item.keySize + colon + item.size;
}

JsonWriter &JsonWriter::begin(Kind kind) {
  addItem(kind).size = 2;
  open.push_back(items.size() - 1);
  return *this;
}

JsonWriter &JsonWriter::end() {
  const size_t index = open.back();
  open.pop_back();
  finish(index);
  return *this;
}

template <typename Number>
void JsonWriter::appendNumber(Number number) {
  Item &item = addItem(Kind::Scalar);
  char digits[32];
  const char *last = std::to_chars(digits, digits + sizeof digits, number).ptr;
  pool.append(digits, size_t(last - digits));
  item.size = uint32_t(last - digits);
  finish(items.size() - 1);
}

JsonWriter &JsonWriter::value(int64_t number) {
  appendNumber(number);
  return *this;
}

JsonWriter &JsonWriter::real(double number) {
  appendNumber(number);
  return *this;
}

JsonWriter &JsonWriter::value(std::string_view text) {
  Item &item = addItem(Kind::Scalar);
  appendQuoted(text);
  item.size = uint32_t(pool.size()) - item.textBegin;
  finish(items.size() - 1);
  return *this;
}

void JsonWriter::printKey(const Item &item, std::string &out) const {
  if (item.keySize > 0) {
    out.append(pool, item.keyBegin, item.keySize);
    out += ": ";
  }
}

size_t JsonWriter::printInline(size_t index, std::string &out) const {
  const Item &item = items[index++];
  if (item.kind == Kind::Scalar) {
    out.append(pool, item.textBegin, item.size);
    return index;
  }
  out += item.kind == Kind::Object ? '{' : '[';
  for (uint32_t i = 0; i < item.children; ++i) {
    if (i > 0) {
      out += ", ";
    }
    printKey(items[index], out);
    index = printInline(index, out);
  }
  out += item.kind == Kind::Object ? '}' : ']';
  return index;
}

size_t JsonWriter::printOpened(size_t index, int indent, int column, size_t inlineChars,
                               std::string &out) const {
  const Item &item = items[index];
  if (item.kind == Kind::Scalar || item.children == 0 || item.size <= inlineChars) {
    return printInline(index, out);
  }
  const int inner = column + indent;
  out += item.kind == Kind::Object ? "{\n" : "[\n";
  ++index;
  for (uint32_t i = 0; i < item.children; ++i) {
    if (i > 0) {
      out += ",\n";
    }
    out.append(size_t(inner), ' ');
    printKey(items[index], out);
    index = printOpened(index, indent, inner, inlineChars, out);
  }
  out += '\n';
  out.append(size_t(column), ' ');
  out += item.kind == Kind::Object ? '}' : ']';
  return index;
}

std::string JsonWriter::print(int indentColumns, size_t inlineChars) const {
  std::string out;
  out.reserve(pool.size() * 2);
  if (!items.empty()) {
    (void)printOpened(0, indentColumns, 0, inlineChars, out);
  }
  out += '\n';
  return out;
}

} // namespace spyre::spec
