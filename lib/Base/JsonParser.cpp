//===- JsonParser.cpp - text to JsonDocument ------------------------------------------------===//
//
// Accepts exactly what parseJson() accepts. It does not explain: on a fault the text is given to
// parseJson(), whose words the user sees, so a message does not depend on which tree was asked for.
// [RFC 8259; UTF-8 as in RFC 3629]
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Json.h"

#include "JsonTree.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

namespace spyre {

namespace {

/// Ends a run of plain ASCII inside a string.
constexpr auto kEndsRun = [] {
  std::array<bool, 256> ends{};
  for (size_t byte = 0; byte < ends.size(); ++byte) {
    ends[byte] = byte < 0x20 || byte >= 0x80 || byte == '"' || byte == '\\';
  }
  return ends;
}();

bool isDigit(char c) { return c >= '0' && c <= '9'; }

/// Bytes of the character at \p at, which is not ASCII; 0 when it is not UTF-8. The text ends with
/// a zero, which is no byte of a sequence, so nothing behind it is looked at.
size_t sequenceBytes(const char *at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(at[i]); };
  const auto follows = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned char lead = byte(0);
  if (lead >= 0xC2 && lead <= 0xDF) {
    return follows(1) ? 2 : 0;
  }
  if (lead >= 0xE0 && lead <= 0xEF) {
    const bool isOverlong = lead == 0xE0 && byte(1) < 0xA0;
    const bool isSurrogate = lead == 0xED && byte(1) > 0x9F;
    return follows(1) && !isOverlong && !isSurrogate && follows(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const bool isOverlong = lead == 0xF0 && byte(1) < 0x90;
    const bool isTooLarge = lead == 0xF4 && byte(1) > 0x8F;
    return follows(1) && !isOverlong && !isTooLarge && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

char *appendUtf8(char *to, uint32_t point) {
  const auto put = [&](uint32_t byte) { *to++ = static_cast<char>(byte); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xC0 | point >> 6);
    put(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    put(0xE0 | point >> 12);
    put(0x80 | (point >> 6 & 0x3F));
    put(0x80 | (point & 0x3F));
  } else {
    put(0xF0 | point >> 18);
    put(0x80 | (point >> 12 & 0x3F));
    put(0x80 | (point >> 6 & 0x3F));
    put(0x80 | (point & 0x3F));
  }
  return to;
}

/// Reads with a pointer and no end: the zero behind the text fits no rule.
class Parser {
public:
  explicit Parser(JsonTree &tree) : tree(tree), at(tree.text.data()) {}

  bool run() {
    if (std::strncmp(at, "\xEF\xBB\xBF", 3) == 0) {
      at += 3; // A byte order mark, which some editors write.
    }
    tree.nodes.reserve(tree.text.size() / 16 + 8);
    skipSpace();
    if (!value(0, JsonPiece(), 0)) {
      return false;
    }
    skipSpace();
    return at == tree.text.data() + tree.text.size();
  }

private:
  using Kind = JsonNode::Kind;

  void skipSpace() {
    while (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t') {
      ++at;
    }
  }

  JsonPiece pieceTo(const char *begin, const char *end) const {
    return {uint32_t(begin - tree.text.data()), uint32_t(end - begin)};
  }

  /// The value at `at`; afterwards `at` is behind it.
  bool value(uint32_t parent, JsonPiece key, size_t depth) {
    JsonNode &node = tree.nodes.emplace_back();
    node.key = key;
    node.parent = parent;
    switch (*at) {
    case '{':
      return object(depth + 1);
    case '[':
      return array(depth + 1);
    case '"':
      node.kind = Kind::String;
      ++at;
      return string(node.string);
    case 't':
      node.kind = Kind::Boolean;
      node.boolean = true;
      return literal("true", 4);
    case 'f':
      node.kind = Kind::Boolean;
      node.boolean = false;
      return literal("false", 5);
    case 'n':
      return literal("null", 4);
    default:
      return number(node);
    }
  }

  bool literal(const char *word, size_t size) {
    if (std::strncmp(at, word, size) != 0) {
      return false;
    }
    at += size;
    return true;
  }

  bool array(size_t depth) {
    const auto own = uint32_t(tree.nodes.size() - 1);
    uint32_t count = 0;
    ++at;
    skipSpace();
    if (depth > kMaxJsonNesting) {
      return false;
    }
    for (bool more = *at != ']'; more; ++count) {
      if (!value(own, JsonPiece(), depth) || !nextOr(']', more)) {
        return false;
      }
    }
    return close(own, Kind::Array, count);
  }

  bool object(size_t depth) {
    const auto own = uint32_t(tree.nodes.size() - 1);
    uint32_t count = 0;
    bool ascends = true;
    std::string_view last;
    ++at;
    skipSpace();
    if (depth > kMaxJsonNesting) {
      return false;
    }
    for (bool more = *at != '}'; more; ++count) {
      JsonPiece key;
      if (*at != '"' || !string((++at, key))) {
        return false;
      }
      const std::string_view name = tree.viewOf(key);
      ascends &= count == 0 || isBefore(last, name);
      last = name;
      skipSpace();
      if (*at != ':') {
        return false;
      }
      ++at;
      skipSpace();
      if (!value(own, key, depth) || !nextOr('}', more)) {
        return false;
      }
    }
    return close(own, Kind::Object, count) && (ascends || !hasDuplicate(own));
  }

  /// Between two values, or before \p bracket: \p more says which.
  bool nextOr(char bracket, bool &more) {
    skipSpace();
    more = *at == ',';
    if (more) {
      ++at;
      skipSpace();
      return true;
    }
    return *at == bracket;
  }

  bool close(uint32_t own, Kind kind, uint32_t children) {
    JsonNode &node = tree.nodes[own];
    node.kind = kind;
    node.content = {children, uint32_t(tree.nodes.size()) - own};
    ++at;
    return true;
  }

  /// Any total order will do; keys that are numbers ("0".."31") mostly come in this one.
  static bool isBefore(std::string_view a, std::string_view b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  }

  bool hasDuplicate(uint32_t own) {
    keys.clear();
    const uint32_t end = own + tree.nodes[own].entries();
    for (uint32_t i = own + 1; i < end; i += tree.nodes[i].entries()) {
      keys.push_back(tree.viewOf(tree.nodes[i].key));
    }
    constexpr size_t kFewKeys = 16;
    if (keys.size() <= kFewKeys) {
      for (size_t i = 1; i < keys.size(); ++i) {
        if (std::find(keys.begin(), keys.begin() + ptrdiff_t(i), keys[i]) !=
            keys.begin() + ptrdiff_t(i)) {
          return true;
        }
      }
      return false;
    }
    std::sort(keys.begin(), keys.end(), isBefore);
    return std::adjacent_find(keys.begin(), keys.end()) != keys.end();
  }

  /// `at` is behind the opening quote. A string gets shorter when its escapes are replaced, which
  /// therefore happens in place.
  bool string(JsonPiece &out) {
    const char *begin = at;
    while (!kEndsRun[static_cast<unsigned char>(*at)]) {
      ++at;
    }
    char *to = at;
    while (*at != '"') {
      if (*at == '\\') {
        if (!escape(to)) {
          return false;
        }
        continue;
      }
      const auto byte = static_cast<unsigned char>(*at);
      const size_t size = byte >= 0x80 ? sequenceBytes(at) : size_t(byte >= 0x20);
      if (size == 0) {
        return false;
      }
      std::memmove(to, at, size);
      to += size;
      at += size;
    }
    ++at;
    out = pieceTo(begin, to);
    return true;
  }

  bool escape(char *&to) {
    static constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    const char letter = at[1];
    if (letter != 'u') {
      const size_t which = kLetters.find(letter);
      if (letter == '\0' || which == std::string_view::npos) {
        return false;
      }
      at += 2;
      *to++ = kMeanings[which];
      return true;
    }
    uint32_t point = 0;
    if (!codeUnit(point) || (point >= 0xDC00 && point <= 0xDFFF)) {
      return false;
    }
    if (point >= 0xD800 && point <= 0xDBFF) {
      uint32_t low = 0;
      if (!codeUnit(low) || low < 0xDC00 || low > 0xDFFF) {
        return false;
      }
      point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
    }
    to = appendUtf8(to, point);
    return true;
  }

  /// \uXXXX
  bool codeUnit(uint32_t &unit) {
    if (at[0] != '\\' || at[1] != 'u') {
      return false;
    }
    at += 2;
    unit = 0;
    for (int i = 0; i < 4; ++i, ++at) {
      const char lower = char(*at | 0x20);
      if (isDigit(*at)) {
        unit = unit * 16 + uint32_t(*at - '0');
      } else if (lower >= 'a' && lower <= 'f') {
        unit = unit * 16 + uint32_t(lower - 'a' + 10);
      } else {
        return false;
      }
    }
    return true;
  }

  bool digits() {
    const char *begin = at;
    while (isDigit(*at)) {
      ++at;
    }
    return at != begin;
  }

  bool number(JsonNode &node) {
    const char *begin = at;
    const bool isNegative = *at == '-';
    at += isNegative;
    const bool hasLeadingZero = *at == '0';
    const char *first = at;
    if (!digits() || (hasLeadingZero && at - first > 1)) {
      return false;
    }
    if (*at != '.' && (*at | 0x20) != 'e') {
      return integer(node, begin, isNegative) || real(node, begin);
    }
    if (*at == '.' && (++at, !digits())) {
      return false;
    }
    if ((*at | 0x20) == 'e') {
      ++at;
      at += *at == '+' || *at == '-';
      if (!digits()) {
        return false;
      }
    }
    return real(node, begin);
  }

  bool integer(JsonNode &node, const char *begin, bool isNegative) const {
    node.kind = isNegative ? Kind::Signed : Kind::Unsigned;
    const auto result = isNegative ? std::from_chars(begin, at, node.integer)
                                   : std::from_chars(begin, at, node.natural);
    return result.ec == std::errc();
  }

  bool real(JsonNode &node, const char *begin) const {
    node.kind = Kind::Float;
    double value = 0;
    if (std::from_chars(begin, at, value).ec != std::errc()) {
      // Too large, which is refused, or so small that it is zero: the library knows which.
      const Json number = Json::parse(begin, static_cast<const char *>(at), nullptr, false);
      if (!number.is_number()) {
        return false;
      }
      value = number.get<double>();
    }
    node.real = value;
    return true;
  }

  JsonTree &tree;
  char *at;
  std::vector<std::string_view> keys;
};

} // namespace

JsonDocument::JsonDocument(std::unique_ptr<const JsonTree> tree) : tree(std::move(tree)) {}
JsonDocument::JsonDocument(JsonDocument &&) noexcept = default;
JsonDocument &JsonDocument::operator=(JsonDocument &&) noexcept = default;
JsonDocument::~JsonDocument() = default;

Expected<JsonDocument> JsonDocument::parse(const std::string &text, uint64_t limitBytes) {
  limitBytes = std::min(limitBytes, uint64_t(UINT32_MAX));
  if (text.size() <= limitBytes && text.find('\0') == std::string::npos) {
    auto tree = std::make_unique<JsonTree>();
    tree->text = text;
    if (Parser(*tree).run()) {
      return JsonDocument(std::move(tree));
    }
  }
  SPYRE_RETURN_IF_ERROR(parseJson(text, limitBytes).status());
  return error<9101>("the text is not one JSON value; check it with another tool");
}

} // namespace spyre
