//===- Annotations.cpp - see Annotations.h --------------------------------------------------===//
#include "Annotations.h"

#include <algorithm>
#include <sstream>
#include <vector>

namespace spyre::capi {

std::string quoted(const std::string &text) {
  std::string result = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\' || c < 0x20 || c >= 0x7f) {
      result += fmt::format("\\{:02X}", c);
    } else {
      result += char(c);
    }
  }
  return result + "\"";
}

namespace {

/// Parts of \p text between separators; an empty text has none.
std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) {
    parts.push_back(part);
  }
  return parts;
}

/// Digits that fit 64 bits.
bool isNumber(const std::string &text) {
  constexpr size_t kMostDigits = 16;
  return !text.empty() && text.size() <= kMostDigits &&
         text.find_first_not_of("0123456789") == std::string::npos;
}

/// "[a, b]", or the error of the first entry that \p convert refuses.
template <typename Convert>
Expected<std::string> listOf(const std::string &text, char separator, Convert convert) {
  std::vector<std::string> entries;
  for (const std::string &part : split(text, separator)) {
    SPYRE_ASSIGN_OR_RETURN(entries.emplace_back(), convert(part));
  }
  return fmt::format("[{}]", fmt::join(entries, ", "));
}

/// "tokens:4@0" -> ["tokens", 4 : i64, 0 : i64]; the scope is 0 where none is given.
Expected<std::string> countText(const std::string &entry) {
  const size_t at = entry.find('@');
  const std::vector<std::string> parts = split(entry.substr(0, at), ':');
  const std::string scope = at == std::string::npos ? "0" : entry.substr(at + 1);
  if (parts.size() != 2 || parts[0].empty() || !isNumber(parts[1]) || !isNumber(scope)) {
    return error<1008>("'{}' does not say how often a dimension is cut; give NAME:COUNT or "
                       "NAME:COUNT@SCOPE",
                       entry);
  }
  return fmt::format("[{}, {} : i64, {} : i64]", quoted(parts[0]), parts[1], scope);
}

/// "batch:2*rows:64" -> ["batch", 2 : i64, "rows", 64 : i64]; empty: a dimension without a name.
Expected<std::string> dimText(const std::string &dim) {
  return listOf(dim, '*', [&](const std::string &part) -> Expected<std::string> {
    const std::vector<std::string> pair = split(part, ':');
    if (pair.size() != 2 || pair[0].empty() || !isNumber(pair[1])) {
      return error<1008>("'{}' does not name a dimension; give NAME:SIZE, several of one dimension "
                         "with * between them",
                         part);
    }
    return fmt::format("{}, {} : i64", quoted(pair[0]), pair[1]);
  });
}

/// "tokens:2048,batch:2*rows:64" -> a list per dimension of names with sizes.
Expected<std::string> dimsText(const std::string &dims) { return listOf(dims, ',', dimText); }

/// "0:128:1024,1:64:256" -> a list per entry: dimension, least and largest size.
Expected<std::string> sizesText(const std::string &sizes) {
  return listOf(sizes, ',', [](const std::string &entry) -> Expected<std::string> {
    constexpr size_t kNumbers = 3;
    const std::vector<std::string> numbers = split(entry, ':');
    if (numbers.size() != kNumbers || !std::all_of(numbers.begin(), numbers.end(), isNumber)) {
      return error<1008>("'{}' does not say which sizes a dimension has; give "
                         "DIMENSION:LEAST:LARGEST",
                         entry);
    }
    return fmt::format("array<i64: {}>", fmt::join(numbers, ", "));
  });
}

/// "work_div=tokens:4@0" -> work_div = [["tokens", 4 : i64, 0 : i64]].
Expected<std::string> hintText(const std::string &hint) {
  const size_t equals = hint.find('=');
  const std::string key = hint.substr(0, equals);
  const bool isCount = key == "work_div" || key == "tiles";
  if (equals == std::string::npos || (!isCount && key != "named_dims")) {
    return error<1008>("'{}' is not a hint; give work_div=, tiles= or named_dims=", hint);
  }
  const std::string value = hint.substr(equals + 1);
  SPYRE_ASSIGN_OR_RETURN(std::string text,
                         isCount ? listOf(value, ',', countText) : dimsText(value));
  return fmt::format("{} = {}", key, text);
}

/// "model.py:12" -> "model.py":12:0; nothing where there is no line.
std::string placeText(const std::string &location) {
  constexpr size_t kMostDigits = 8;
  const size_t colon = location.rfind(':');
  const std::string line = colon == std::string::npos ? "" : location.substr(colon + 1);
  if (!isNumber(line) || line.size() > kMostDigits) {
    return "";
  }
  const size_t slash = location.rfind('/', colon);
  const size_t begin = slash == std::string::npos ? 0 : slash + 1;
  return fmt::format("{}:{}:0", quoted(location.substr(begin, colon - begin)), line);
}

} // namespace

Expected<std::string> inputAttributes(const std::string &annotations) {
  constexpr std::string_view kSizes = "sizes=";
  std::string text;
  for (const std::string &part : split(annotations, '|')) {
    if (part.starts_with(kSizes)) {
      SPYRE_ASSIGN_OR_RETURN(std::string sizes, sizesText(part.substr(kSizes.size())));
      text += fmt::format("graph.sizes = {}, ", sizes);
    } else if (!part.empty()) {
      SPYRE_ASSIGN_OR_RETURN(std::string dims, dimsText(part));
      text += fmt::format("graph.dims = {}, ", dims);
    }
  }
  return text;
}

Expected<std::string> locationText(const std::string &location) {
  const size_t bar = location.find('|');
  const std::string place = placeText(location.substr(0, bar));
  if (bar == std::string::npos) {
    return place.empty() ? "" : fmt::format(" loc({})", place);
  }
  std::vector<std::string> hints;
  for (const std::string &part : split(location.substr(bar + 1), '|')) {
    SPYRE_ASSIGN_OR_RETURN(hints.emplace_back(), hintText(part));
  }
  return fmt::format(" loc(fused<{{{}}}>[{}])", fmt::join(hints, ", "),
                     place.empty() ? "unknown" : place);
}

} // namespace spyre::capi
