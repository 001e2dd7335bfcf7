//===- AssemblerLexer.cpp - the words of program text ---------------------------------------===//
#include "AssemblerLexer.h"

#include "Tables.h"

#include <algorithm>

namespace spyre::program {

static constexpr size_t kShownCharacters = 20;

static bool isBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
static bool isDigit(char c) { return c >= '0' && c <= '9'; }

/// Value of a digit in base 16; 16 when it is none.
static unsigned digitValue(char c) {
  if (isDigit(c)) {
    return unsigned(c - '0');
  }
  char lower = char(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? unsigned(lower - 'a' + 10) : 16;
}

/// The beginning of \p text without anything a terminal would act on.
static std::string shown(std::string_view text) {
  std::string result;
  for (char c : text.substr(0, kShownCharacters)) {
    result += c >= 0x20 && c < 0x7f ? c : '?';
  }
  return result;
}

bool AssemblerLexer::nextLine() {
  while (!rest.empty()) {
    size_t end = std::min(rest.find('\n'), rest.size());
    line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++lineNumber;
    position = 0;
    if (!atEnd()) {
      return true;
    }
  }
  return false;
}

void AssemblerLexer::skipBlanks() {
  while (position < line.size() && isBlank(line[position])) {
    ++position;
  }
  start = position;
}

bool AssemblerLexer::atEnd() {
  skipBlanks();
  return position == line.size() || line.substr(position).starts_with("//");
}

Status AssemblerLexer::expectEnd() {
  return atEnd() ? Status::success() : expected("the end of the line");
}

Status AssemblerLexer::expected(std::string_view what) const {
  std::string_view found = line.substr(start);
  return found.empty() || found.starts_with("//")
             ? fault("expected {}, found the end of the line", what)
             : fault("expected {}, found '{}'", what, shown(found));
}

bool AssemblerLexer::at(std::string_view text) {
  skipBlanks();
  return line.substr(position).starts_with(text);
}

bool AssemblerLexer::atNumber() {
  skipBlanks();
  size_t next = position + (at("-") ? 1 : 0);
  while (next < line.size() && isBlank(line[next])) {
    ++next;
  }
  return next < line.size() && isDigit(line[next]);
}

bool AssemblerLexer::take(std::string_view text) {
  if (!at(text)) {
    return false;
  }
  position += text.size();
  return true;
}

bool AssemblerLexer::takeWord(std::string_view word) {
  if (!at(word)) {
    return false;
  }
  size_t end = position + word.size();
  if (end < line.size() && isNameCharacter(line[end])) {
    return false;
  }
  position = end;
  return true;
}

Status AssemblerLexer::expect(std::string_view text) {
  return take(text) ? Status::success() : expected(fmt::format("'{}'", text));
}

Status AssemblerLexer::expectWord(std::string_view word) {
  return takeWord(word) ? Status::success() : expected(fmt::format("'{}'", word));
}

bool AssemblerLexer::takeMagnitude(uint64_t &value) {
  std::string_view digits = line.substr(position);
  unsigned base = digits.size() > 2 && digits[0] == '0' && (digits[1] | 0x20) == 'x' ? 16 : 10;
  position += base == 16 ? 2 : 0;
  size_t first = position;
  value = 0;
  bool fits = true;
  while (position < line.size() && digitValue(line[position]) < base) {
    fits = fits && !__builtin_mul_overflow(value, uint64_t(base), &value) &&
           !__builtin_add_overflow(value, uint64_t(digitValue(line[position])), &value);
    ++position;
  }
  return fits && position > first;
}

Expected<int64_t> AssemblerLexer::number(const char *what, int64_t low, int64_t high) {
  if (!atNumber()) {
    return expected(fmt::format("{}, a number", what));
  }
  bool isNegative = take("-");
  size_t begin = start;
  skipBlanks();
  uint64_t magnitude = 0;
  bool fits = takeMagnitude(magnitude);
  start = begin;
  if (!fits || magnitude > uint64_t(INT64_MAX) + (isNegative ? 1 : 0)) {
    return fault("{} is not a number of 64 bits", what);
  }
  auto value = int64_t(isNegative ? 0 - magnitude : magnitude);
  if (value < low || value > high) {
    return fault("{} {} must be in {}..{}", what, value, low, high);
  }
  return value;
}

Expected<int64_t> AssemblerLexer::digits(const char *what, int64_t high) {
  if (position >= line.size() || !isDigit(line[position])) {
    return expected(fmt::format("{}, a letter and a number", what));
  }
  uint64_t value = 0;
  if (!takeMagnitude(value) || value > uint64_t(high)) {
    return fault("{}: the number must be in 0..{}", what, high);
  }
  return int64_t(value);
}

Expected<std::string_view> AssemblerLexer::name(const char *what) {
  skipBlanks();
  while (position < line.size() && isNameCharacter(line[position])) {
    ++position;
  }
  if (position == start) {
    return expected(what);
  }
  return line.substr(start, position - start);
}

Expected<std::string> AssemblerLexer::quoted() {
  SPYRE_RETURN_IF_ERROR(expect("\""));
  std::string text;
  while (position < line.size() && line[position] != '"') {
    char c = line[position++];
    if (c != '\\') {
      text += c;
      continue;
    }
    std::string_view escape = line.substr(position);
    if (escape.size() < 3 || escape[0] != 'x' || digitValue(escape[1]) > 15 ||
        digitValue(escape[2]) > 15) {
      start = position - 1;
      return fault("a backslash begins \\xNN with two hexadecimal digits");
    }
    text += char(digitValue(escape[1]) * 16 + digitValue(escape[2]));
    position += 3;
  }
  if (!take("\"")) {
    return fault("the name has no closing quote");
  }
  return text;
}

} // namespace spyre::program
