//===- OpSpecLexer.cpp - words of the OpSpec text -------------------------------------------===//
//
// Total over any bytes: a byte that starts no word is an error with its position.
//===--------------------------------------------------------------------------------------------===//
#include "OpSpecLexer.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace spyre::spec {

namespace {

constexpr size_t kMaxTextBytes = size_t(64) << 20;
/// A word takes some 50 bytes of memory but may be one byte of text; a spec has about 150 words.
constexpr size_t kMaxWords = size_t(1) << 21;
constexpr size_t kMaxShownChars = 40;
/// With the blanks around it; of texts the compiler writes.
constexpr size_t kUsualWordBytes = 4;

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

class Lexer {
public:
  Lexer(std::string_view text, Words &words, int line, int column)
      : text(text), words(words), line(line), column(column) {}

  Status run() {
    std::vector<Token> &tokens = words.tokens;
    tokens.clear();
    words.unescaped.clear();
    tokens.reserve(std::min(text.size() / kUsualWordBytes, kMaxWords));
    for (;;) {
      skipBlanks();
      Token token;
      token.line = line;
      token.column = column;
      if (at >= text.size()) {
        tokens.push_back(token);
        return Status::success();
      }
      if (tokens.size() == kMaxWords) {
        return error<1301>("line {}, column {}: more than {} words; split the text", line, column,
                           kMaxWords);
      }
      SPYRE_RETURN_IF_ERROR(lexWord(token));
      tokens.push_back(token);
    }
  }

private:
  char peek(size_t ahead = 0) const { return at + ahead < text.size() ? text[at + ahead] : '\0'; }

  char take() {
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
  void takeTo(size_t end, Token &token) {
    token.text = text.substr(at, end - at);
    column += int(end - at);
    at = end;
  }

  void skipBlanks() {
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

  Status lexWord(Token &token) {
    const char c = peek();
    if (isNameStart(c)) {
      token.kind = Token::Kind::Name;
      size_t end = at;
      while (end < text.size() && isNamePart(text[end])) {
        ++end;
      }
      takeTo(end, token);
      return Status::success();
    }
    if (isDigit(c) || (c == '.' && isDigit(peek(1)))) {
      token.kind = Token::Kind::Number;
      lexNumber(token);
      return Status::success();
    }
    if (c == '\'' || c == '"') {
      token.kind = Token::Kind::String;
      return lexString(token);
    }
    if (isMark(c)) {
      token.kind = Token::Kind::Punctuation;
      takeTo(at + 1, token);
      return Status::success();
    }
    return error<1301>("line {}, column {}: byte 0x{:02x} starts no word of an OpSpec; remove it",
                       line, column, static_cast<unsigned char>(c));
  }

  void lexNumber(Token &token) {
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

  Status lexString(Token &token) {
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
      return error<1301>("line {}, column {}: the string is not closed on its line; add {}",
                         token.line, token.column, quote);
    }
    take();
    return Status::success();
  }

  /// The rest of a string from its first escape on.
  void unescape(char quote, Token &token) {
    std::string &contents = words.unescaped.emplace_back(token.text);
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

  const std::string_view text;
  Words &words;
  size_t at = 0;
  int line, column;
};

} // namespace

Status lexOpSpecText(std::string_view text, Words &words, int line, int column) {
  if (text.size() > kMaxTextBytes) {
    return error<1301>("the text has {} bytes, the limit is {}; split it", text.size(),
                       kMaxTextBytes);
  }
  return Lexer(text, words, line, column).run();
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
