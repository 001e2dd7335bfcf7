//===- JsonText.cpp - readable JSON ---------------------------------------------------------===//
//
// nlohmann's printer opens either everything or nothing; a SuperDSC is readable only in between.
//===--------------------------------------------------------------------------------------------===//
#include "JsonText.h"

namespace spyre::spec {

namespace {

/// A name with broken UTF-8 is printed with replacement characters instead of an exception.
std::string scalarText(const Json &value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// One-line form with a blank after ':' and ','.
void printInline(const Json &value, std::string &out) {
  if (!value.is_structured()) {
    out += scalarText(value);
    return;
  }
  out += value.is_object() ? '{' : '[';
  bool first = true;
  for (const auto &item : value.items()) {
    if (!first) {
      out += ", ";
    }
    first = false;
    if (value.is_object()) {
      out += scalarText(item.key()) + ": ";
    }
    printInline(item.value(), out);
  }
  out += value.is_object() ? '}' : ']';
}

void printOpened(const Json &value, int indent, int column, size_t inlineChars, std::string &out) {
  std::string flat;
  printInline(value, flat);
  if (!value.is_structured() || value.empty() || flat.size() <= inlineChars) {
    out += flat;
    return;
  }
  const int inner = column + indent;
  out += value.is_object() ? "{\n" : "[\n";
  bool first = true;
  for (const auto &item : value.items()) {
    if (!first) {
      out += ",\n";
    }
    first = false;
    out.append(size_t(inner), ' ');
    if (value.is_object()) {
      out += scalarText(item.key()) + ": ";
    }
    printOpened(item.value(), indent, inner, inlineChars, out);
  }
  out += '\n';
  out.append(size_t(column), ' ');
  out += value.is_object() ? '}' : ']';
}

} // namespace

std::string printJson(const Json &value, int indentColumns, size_t inlineChars) {
  std::string out;
  printOpened(value, indentColumns, 0, inlineChars, out);
  out += '\n';
  return out;
}

bool isPlainFileName(const std::string &name) {
  if (name.empty() || name.size() > 255 || name == "." || name.find("..") != std::string::npos) {
    return false;
  }
  for (char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter && c != '_' && c != '-' && c != '.') {
      return false;
    }
  }
  return true;
}

} // namespace spyre::spec
