//===- OpSpecLexer.h - words of the OpSpec text ---------------------------------------------===//
//
// Names, numbers, quoted strings and punctuation, each with its line and column, one at a time: a
// compilation reads tens of thousands of them and looks at none twice. The same lexer reads the
// expressions inside sympify('...'), whose positions are then those in the outer text.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"

#include <forward_list>
#include <string>
#include <string_view>

namespace spyre::spec {

struct Token {
  enum class Kind : uint8_t { Name, Number, String, Punctuation, End };
  Kind kind = Kind::End;
  /// Contents without quotes; the one character of a punctuation mark. A range of the text, or of
  /// the lexer's memory where a string has escapes.
  std::string_view text;
  int line = 1;
  int column = 1;
};

class OpSpecLexer {
public:
  /// Positions start at \p line and \p column.
  explicit OpSpecLexer(std::string_view text, int line = 1, int column = 1);
  /// Words may point into its memory.
  OpSpecLexer(const OpSpecLexer &) = delete;
  OpSpecLexer &operator=(const OpSpecLexer &) = delete;

  /// The next word. At the end of the text, and from the first fault on, its kind is End.
  Token next();
  /// The first fault (E1301), if there was one.
  const Status &status() const { return fault; }

private:
  char peek(size_t ahead = 0) const { return at + ahead < text.size() ? text[at + ahead] : '\0'; }
  char take();
  void takeTo(size_t end, Token &token);
  void skipBlanks();
  void lexWord(Token &token);
  void lexNumber(Token &token);
  void lexString(Token &token);
  void unescape(char quote, Token &token);

  std::string_view text;
  size_t at = 0, words = 0;
  int line, column;
  Status fault = Status::success();
  /// Contents of strings with escapes.
  std::forward_list<std::string> unescaped;
};

/// "line 3, column 14" for messages.
std::string positionText(const Token &token);
/// A token as a message shows it: shortened, with "end of text" for the last one.
std::string shownToken(const Token &token);

} // namespace spyre::spec
