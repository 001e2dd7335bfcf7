//===- OpSpecLexer.h - words of the OpSpec text ---------------------------------------------===//
//
// Names, numbers, quoted strings and punctuation, each with its line and column. The same lexer
// reads the expressions inside sympify('...'), whose positions are then those in the outer text.
// Words are ranges of the text: a compilation reads tens of thousands of them.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"

#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace spyre::spec {

struct Token {
  enum class Kind : uint8_t { Name, Number, String, Punctuation, End };
  Kind kind = Kind::End;
  /// Contents without quotes; the one character of a punctuation mark.
  std::string_view text;
  int line = 1;
  int column = 1;
};

/// Good as long as the text they were made from.
struct Words {
  /// The last one has kind End.
  std::vector<Token> tokens;
  /// Contents of strings with escapes.
  std::deque<std::string> unescaped;
};

/// Positions start at \p line and \p column; what \p words held is replaced. Error: E1301.
Status lexOpSpecText(std::string_view text, Words &words, int line = 1, int column = 1);

/// "line 3, column 14" for messages.
std::string positionText(const Token &token);
/// A token as a message shows it: shortened, with "end of text" for the last one.
std::string shownToken(const Token &token);

} // namespace spyre::spec
