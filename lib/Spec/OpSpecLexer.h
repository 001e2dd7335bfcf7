//===- OpSpecLexer.h - words of the OpSpec text ---------------------------------------------===//
//
// Names, numbers, quoted strings and punctuation, each with its line and column. The same lexer
// reads the expressions inside sympify('...'), whose positions are then those in the outer text.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"

#include <string>
#include <vector>

namespace spyre::spec {

struct Token {
  enum class Kind : uint8_t { Name, Number, String, Punctuation, End };
  Kind kind = Kind::End;
  /// Contents without quotes; the one character of a punctuation mark.
  std::string text;
  int line = 1;
  int column = 1;
};

/// Positions start at \p line and \p column. Error: E1301. The last token has kind End.
Expected<std::vector<Token>> lexOpSpecText(const std::string &text, int line = 1, int column = 1);

/// "line 3, column 14" for messages.
std::string positionText(const Token &token);
/// A token as a message shows it: shortened, with "end of text" for the last one.
std::string shownToken(const Token &token);

} // namespace spyre::spec
