//===- OpSpecLexer.cpp - words of the OpSpec text -------------------------------------------===//
//
// Total over any bytes: a byte that starts no word is an error with its position.
//===--------------------------------------------------------------------------------------------===//
#include "OpSpecLexer.h"

#include <array>
#include <string_view>

namespace spyre::spec {

namespace {

constexpr size_t kMaxTextBytes = size_t(64) << 20;
/// What is made of a word may take a hundred bytes; a spec has about 150 words.
constexpr size_t kMaxWords = size_t(1) << 21;
constexpr size_t kMaxShownChars = 40;

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

constexpr auto kIsNamePart = [] {
  std::array<bool, 256> part{};
  for (char c :
       std::string_view("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789")) {
    part[uint8_t(c)] = true;
  }
  return part;
}();
bool isNamePart(char c) { return kIsNamePart[uint8_t(c)]; }

constexpr auto kIsMark = [] {
  std::array<bool, 256> mark{};
  for (char c : std::string_view("()[]{}:,=+-*/.")) {
    mark[uint8_t(c)] = true;
  }
  return mark;
}();
bool isMark(char c) { return kIsMark[uint8_t(c)]; }

} // namespace

OpSpecLexer::OpSpecLexer(std::string_view text, int line, int column)
    : text(text), line(line), column(column) {
  if (text.size() > kMaxTextBytes) {
    fault =
        error<1301>("the text has {} bytes, the limit is {}; split it", text.size(), kMaxTextBytes);
  }
}

Token OpSpecLexer::next() {
  skipBlanks();
  Token token;
  token.line = line;
  token.column = column;
  if (at >= text.size() || !fault.ok()) {
    return token;
  }
  if (++words > kMaxWords) {
    fault = error<1301>("line {}, column {}: more than {} words; split the text", line, column,
                        kMaxWords);
    return token;
  }
  lexWord(token);
  return token;
}

char OpSpecLexer::take() {
  const char c = text[at++];
  if (c == '\n') {
    ++line;
    column = 1;
  } else {
    ++column;
  }
  return c;
}

/// A word, which has no line break.
void OpSpecLexer::takeTo(size_t end, Token &token) {
  token.text = text.substr(at, end - at);
  column += int(end - at);
  at = end;
}

void OpSpecLexer::skipBlanks() {
  while (at < text.size()) {
    const char c = peek();
    if (c == '#') {
      while (at < text.size() && peek() != '\n') {
        take();
      }
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      take();
    } else {
      return;
    }
  }
}

void OpSpecLexer::lexWord(Token &token) {
  const char c = peek();
  if (isNameStart(c)) {
    token.kind = Token::Kind::Name;
    size_t end = at;
    while (end < text.size() && isNamePart(text[end])) {
      ++end;
    }
    takeTo(end, token);
  } else if (isDigit(c) || (c == '.' && isDigit(peek(1)))) {
    token.kind = Token::Kind::Number;
    lexNumber(token);
  } else if (c == '\'' || c == '"') {
    lexString(token);
  } else if (isMark(c)) {
    token.kind = Token::Kind::Punctuation;
    takeTo(at + 1, token);
  } else {
    fault = error<1301>("line {}, column {}: byte 0x{:02x} starts no word of an OpSpec; remove it",
                        line, column, static_cast<unsigned char>(c));
  }
}

void OpSpecLexer::lexNumber(Token &token) {
  size_t end = at;
  while (end < text.size() && (isDigit(text[end]) || text[end] == '.')) {
    ++end;
  }
  auto charAt = [&](size_t place) { return place < text.size() ? text[place] : '\0'; };
  const bool exponent = charAt(end) == 'e' || charAt(end) == 'E';
  const bool sign = charAt(end + 1) == '+' || charAt(end + 1) == '-';
  if (exponent && isDigit(charAt(end + (sign ? 2 : 1)))) {
    end += sign ? 2 : 1;
    while (isDigit(charAt(end))) {
      ++end;
    }
  }
  takeTo(end, token);
}

void OpSpecLexer::lexString(Token &token) {
  const char quote = take();
  size_t end = at;
  while (end < text.size() && text[end] != quote && text[end] != '\n' && text[end] != '\\') {
    ++end;
  }
  takeTo(end, token);
  if (peek() == '\\') {
    unescape(quote, token);
  }
  if (at >= text.size() || peek() != quote) {
    fault = error<1301>("line {}, column {}: the string is not closed on its line; add {}",
                        token.line, token.column, quote);
    return;
  }
  token.kind = Token::Kind::String;
  take();
}

/// The rest of a string from its first escape on.
void OpSpecLexer::unescape(char quote, Token &token) {
  std::string &contents = unescaped.emplace_front(token.text);
  while (at < text.size() && peek() != quote && peek() != '\n') {
    char c = take();
    if (c == '\\' && at < text.size()) {
      c = take();
      c = c == 'n' ? '\n' : c;
    }
    contents += c;
  }
  token.text = contents;
}

std::string positionText(const Token &token) {
  return fmt::format("line {}, column {}", token.line, token.column);
}

std::string shownToken(const Token &token) {
  if (token.kind == Token::Kind::End) {
    return "end of text";
  }
  return fmt::format("'{}'", token.text.substr(0, kMaxShownChars));
}

} // namespace spyre::spec
