//===- BundleLexer.cpp - splits bundle.mlir into words --------------------------------------===//
#include "BundleLexer.h"

#include <charconv>

namespace spyre::spec {

static bool isWordChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '@' || c == '%' || c == '#' || c == '!';
}

void BundleLexer::skipBlanks() {
  while (at < text.size()) {
    if (text[at] == '\n') {
      ++line;
      lineBegin = at + 1;
    } else if (text.substr(at, 2) == "//") {
      while (at + 1 < text.size() && text[at + 1] != '\n') {
        ++at;
      }
    } else if (text[at] != ' ' && text[at] != '\t' && text[at] != '\r') {
      return;
    }
    ++at;
  }
}

void BundleLexer::advance() {
  skipBlanks();
  tokenLine = line;
  tokenColumn = at - lineBegin + 1;
  const size_t begin = at;
  if (at < text.size() && text[at] == '"') {
    do {
      ++at;
    } while (at < text.size() && text[at] != '"' && text[at] != '\n');
    at += at < text.size() && text[at] == '"';
  } else if (text.substr(at, 2) == "->") {
    at += 2;
  } else {
    while (at < text.size() && isWordChar(text[at])) {
      ++at;
    }
    at += at == begin && at < text.size();
  }
  token = text.substr(begin, at - begin);
}

Status BundleLexer::unexpected(std::string_view wanted) const {
  return fault("expected {}, found {}", wanted,
               atEnd() ? "the end of the text" : fmt::format("'{}'", shown()));
}

Status BundleLexer::expect(std::string_view word) {
  if (token != word) {
    return unexpected(fmt::format("'{}'", word));
  }
  advance();
  return Status::success();
}

Status BundleLexer::expectAll(std::initializer_list<std::string_view> words) {
  for (std::string_view word : words) {
    SPYRE_RETURN_IF_ERROR(expect(word));
  }
  return Status::success();
}

bool BundleLexer::accept(std::string_view word) {
  if (token != word) {
    return false;
  }
  advance();
  return true;
}

Expected<std::string> BundleLexer::takeName(char sigil, std::string_view what) {
  constexpr size_t kMaxNameChars = 128;
  if (token.size() < 2 || token.front() != sigil || token.size() > kMaxNameChars) {
    return unexpected(
        fmt::format("{} such as '{}a_0' (at most {} characters)", what, sigil, kMaxNameChars));
  }
  std::string name(token.substr(1));
  advance();
  return name;
}

Expected<int64_t> BundleLexer::takeInteger() {
  constexpr int64_t kLargest = int64_t(1) << 60;
  const bool isNegative = accept("-");
  int64_t value = 0;
  auto [end, failure] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (token.empty() || failure != std::errc() || end != token.data() + token.size() || value < 0 ||
      value > kLargest) {
    return unexpected("a whole number of at most 2^60");
  }
  advance();
  return isNegative ? -value : value;
}

} // namespace spyre::spec
