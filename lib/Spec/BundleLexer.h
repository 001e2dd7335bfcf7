//===- BundleLexer.h - the words of bundle.mlir ---------------------------------------------===//
//
// A word is a run of letters, digits and _ . @ % # !, a string in quotes (kept with its quotes, on
// one line), "->", or a single mark. Comments run from // to the end of the line.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"

#include <string_view>

namespace spyre::spec {

class BundleLexer {
public:
  explicit BundleLexer(std::string_view text) : text(text) { advance(); }

  /// The current word; empty at the end of the text.
  std::string_view token;
  bool atEnd() const { return token.empty(); }
  void advance();

  /// "line 3, column 7: " and the text. Error: E5004.
  template <typename... Args>
  Status fault(fmt::format_string<Args...> format, Args &&...args) const {
    return error<5004>("line {}, column {}: {}", tokenLine, tokenColumn,
                       fmt::format(format, std::forward<Args>(args)...));
  }
  Status unexpected(std::string_view wanted) const;
  /// Takes the word, or says what should have been there.
  Status expect(std::string_view word);
  Status expectAll(std::initializer_list<std::string_view> words);
  /// Takes the word if it is there.
  bool accept(std::string_view word);
  /// A name that starts with \p sigil ('%' or '#'), without it.
  Expected<std::string> takeName(char sigil, std::string_view what);
  /// A whole number with an optional sign, at most 2^60 in size.
  Expected<int64_t> takeInteger();
  /// At most 40 characters of the word.
  std::string_view shown() const { return token.substr(0, 40); }

private:
  void skipBlanks();

  std::string_view text;
  size_t at = 0, lineBegin = 0;
  int line = 1, tokenLine = 1;
  size_t tokenColumn = 1;
};

} // namespace spyre::spec
