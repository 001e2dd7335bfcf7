//===- IrText.cpp - what text must be like before MLIR's parser sees it ---------------------===//
//
// Debian's MLIR 19 crashes on some texts instead of refusing them: on deep nesting, on bytecode,
// and on a value that is used outside of, or in a function before, the one that defines it when the
// text has an error further on. Our IR never uses a value before its definition, so that is refused
// here, in one pass over the characters.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Pipelines/Pipelines.h"

#include <array>
#include <string_view>
#include <unordered_set>

namespace spyre::pipelines {

namespace {

constexpr size_t kIrTextLimitBytes = size_t(64) << 20;
constexpr int kIrNestingLimit = 256;

/// What a character adds to the nesting.
constexpr auto kNesting = [] {
  std::array<int8_t, 256> steps{};
  for (char c : {'(', '[', '{', '<'}) {
    steps[uint8_t(c)] = 1;
  }
  for (char c : {')', ']', '}', '>'}) {
    steps[uint8_t(c)] = -1;
  }
  return steps;
}();

bool isNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$' || c == '.' || c == '-';
}

/// Follows definitions and uses of values from left to right.
class ValueOrder {
public:
  explicit ValueOrder(std::string_view text) : text(text) {}

  Status check() {
    for (at = 0; at < text.size(); ++at) {
      if (!isLineStart && !isBlockLabel) {
        while (!kMatters[uint8_t(text[at])]) {
          if (++at == text.size()) {
            return Status::success();
          }
        }
      }
      const char c = text[at];
      if (c == '%') {
        SPYRE_RETURN_IF_ERROR(value());
      } else {
        step(c);
      }
    }
    return Status::success();
  }

private:
  /// Characters that begin something anywhere; most do not.
  static constexpr auto kMatters = [] {
    std::array<bool, 256> matters{};
    for (char c : {'"', '/', '\n', 'f', '{', '^', '%'}) {
      matters[uint8_t(c)] = true;
    }
    return matters;
  }();

  void step(char c) {
    if (c == '"') {
      skipString();
    } else if (c == '/' && next() == '/') {
      at = std::min(text.find('\n', at), text.size()) - 1;
    } else if (c == '\n') {
      isLineStart = true;
      return;
    } else if (c == 'f' && text.compare(at, kFunction.size(), kFunction) == 0) {
      // Names mean something inside one function only.
      defined.clear();
      isSignature = true;
    } else if (c == '{' && isSignature && endsLine()) {
      isSignature = false;
    } else if (c == '^' && isLineStart) {
      isBlockLabel = true;
    }
    isLineStart = isLineStart && (c == ' ' || c == '\t' || c == '^' || c == ',');
    isBlockLabel = isBlockLabel && c != ':';
  }

  Status value() {
    size_t end = at + 1;
    while (end < text.size() && isNameCharacter(text[end])) {
      ++end;
    }
    const std::string_view name = text.substr(at, end - at);
    size_t after = end;
    while (after < text.size() && (text[after] == ' ' || text[after] == '\t')) {
      ++after;
    }
    const bool isAssigned = after < text.size() && text[after] == '=';
    if (isLineStart || isSignature || isBlockLabel || isAssigned) {
      defined.insert(name);
    } else if (defined.count(name) == 0) {
      return error<1001>("'{}' is used before it is defined; put its definition first",
                         name.substr(0, kShownCharacters));
    }
    at = end - 1;
    return Status::success();
  }

  char next() const { return at + 1 < text.size() ? text[at + 1] : '\0'; }

  void skipString() {
    for (++at; at < text.size() && text[at] != '"' && text[at] != '\n'; ++at) {
      at += text[at] == '\\' ? 1 : 0;
    }
  }

  /// The rest of the line is empty.
  bool endsLine() const {
    const size_t rest = text.find_first_not_of(" \t\r", at + 1);
    return rest == std::string_view::npos || text[rest] == '\n';
  }

  static constexpr std::string_view kFunction = "func.func";
  static constexpr size_t kShownCharacters = 40;

  std::string_view text;
  size_t at = 0;
  bool isLineStart = true, isSignature = false, isBlockLabel = false;
  std::unordered_set<std::string_view> defined;
};

/// Whether brackets may be nested too deep. In a block of characters they are only counted, and the
/// closing ones count first: no order of them nests deeper.
bool mayBeDeep(std::string_view text) {
  constexpr size_t kBlock = 64;
  int deepest = 0;
  for (size_t begin = 0; begin < text.size() && deepest <= kIrNestingLimit; begin += kBlock) {
    uint8_t opening = 0, closing = 0;
    // Without branches, so that many are compared at once.
    for (char c : text.substr(begin, kBlock)) {
      opening = uint8_t(opening + ((c == '(') | (c == '[') | (c == '{') | (c == '<')));
      closing = uint8_t(closing + ((c == ')') | (c == ']') | (c == '}') | (c == '>')));
    }
    deepest = std::max(deepest - closing, 0) + opening;
  }
  return deepest > kIrNestingLimit;
}

bool isDeep(std::string_view text) {
  int depth = 0, deepest = 0;
  for (char c : text) {
    depth = std::max(depth + kNesting[uint8_t(c)], 0);
    deepest = std::max(deepest, depth);
  }
  return deepest > kIrNestingLimit;
}

} // namespace

Status checkIrText(const std::string &text) {
  if (text.size() > kIrTextLimitBytes) {
    return error<1001>("the text has {} bytes, the limit is {}", text.size(), kIrTextLimitBytes);
  }
  if (text.rfind("ML\xefR", 0) == 0) {
    return error<1001>("MLIR bytecode is not accepted; give text");
  }
  if (text.find('\0') != std::string::npos) {
    return error<1001>("the text holds a zero byte");
  }
  if (mayBeDeep(text) && isDeep(text)) {
    return error<1001>("brackets are nested deeper than {}", kIrNestingLimit);
  }
  return ValueOrder(text).check();
}

} // namespace spyre::pipelines
