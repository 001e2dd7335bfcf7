//===- AssemblerLexer.h - the words of program text -----------------------------------------===//
//
// Text is read line by line. The characters of a name (which may contain '-' and '.') and of a
// number overlap, so there are no tokens: the parser says what it expects at each place, and the
// lexer takes it or says what it found instead.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace spyre::program {

class AssemblerLexer {
public:
  explicit AssemblerLexer(std::string_view text) : rest(text) {}

  /// Goes to the next line that holds more than blanks and a comment; false at the end.
  bool nextLine();
  /// True when the line is used up.
  bool atEnd();
  /// E5104 unless the line is used up.
  Status expectEnd();

  /// True for a digit, or a '-' and blanks before one.
  bool atNumber();
  /// True when \p text comes next; it stays.
  bool at(std::string_view text);
  /// Takes \p text when it comes next.
  bool take(std::string_view text);
  /// Takes \p word when it comes next as a whole name.
  bool takeWord(std::string_view word);
  Status expect(std::string_view text);
  Status expectWord(std::string_view word);
  /// Whole numbers, decimal or 0x; \p what names the thing in the message.
  Expected<int64_t> number(const char *what, int64_t low = INT64_MIN, int64_t high = INT64_MAX);
  /// Digits at once, without a sign: the n of T<n>, i<n>, p<n>.
  Expected<int64_t> digits(const char *what, int64_t high);
  /// The longest run of the characters of a name.
  Expected<std::string_view> name(const char *what);
  Expected<std::string> quoted();

  /// Where the last thing was taken or looked for, and back there for a message.
  size_t mark() const { return start; }
  void pointAt(size_t mark) { start = mark; }
  /// E5104 at that place.
  template <typename... Args>
  Status fault(fmt::format_string<Args...> format, Args &&...args) const {
    return error<5104>("line {} column {}: {}", lineNumber, start + 1,
                       fmt::format(format, std::forward<Args>(args)...));
  }
  /// The same, "expected \p what, found ...".
  Status expected(std::string_view what) const;

private:
  void skipBlanks();
  /// Value of the digits at the position, which moves behind them; false when they do not fit.
  bool takeMagnitude(uint64_t &value);

  std::string_view rest;
  std::string_view line;
  size_t lineNumber = 0;
  /// In the line: the next character, and where the current thing begins.
  size_t position = 0;
  size_t start = 0;
};

} // namespace spyre::program
