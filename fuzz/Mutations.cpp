//===- Mutations.cpp - seeded damage to valid inputs ----------------------------------------===//
#include "Mutations.h"

#include "spyre/Base/Json.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <vector>

namespace spyre::fuzz {

namespace {

constexpr std::array<std::string_view, 12> kEdgeNumbers = {"0",
                                                           "1",
                                                           "-1",
                                                           "127",
                                                           "128",
                                                           "65536",
                                                           "4294967296",
                                                           "140737488355328",
                                                           "9223372036854775807",
                                                           "-9223372036854775808",
                                                           "18446744073709551616",
                                                           "1e999"};
constexpr std::array<uint64_t, 8> kEdgeWords = {0,          1,           0x7F,      0xFF,
                                                0xFFFFFFFF, 0x100000000, INT64_MAX, UINT64_MAX};

template <typename List>
auto pick(const List &list, Random &random) {
  return list[random.below(list.size())];
}

void overwriteWord(std::string &bytes, size_t at, Random &random) {
  const uint64_t word = pick(kEdgeWords, random);
  const size_t count = std::min<size_t>(size_t(1) << random.below(4), bytes.size() - at);
  for (size_t i = 0; i < count; ++i) {
    bytes[at + i] = char(word >> (8 * i));
  }
}

bool isDigit(char c) { return c >= '0' && c <= '9'; }

/// Replaces the decimal number around or after \p at; false when there is none.
bool replaceNumber(std::string &bytes, size_t at, Random &random) {
  size_t begin = at;
  while (begin < bytes.size() && !isDigit(bytes[begin])) {
    ++begin;
  }
  size_t end = begin;
  while (end < bytes.size() && isDigit(bytes[end])) {
    ++end;
  }
  if (begin == end) {
    return false;
  }
  bytes.replace(begin, end - begin, pick(kEdgeNumbers, random));
  return true;
}

void mutateOnce(std::string &bytes, Random &random) {
  const size_t at = random.below(bytes.size());
  const size_t length = 1 + random.below(16);
  switch (random.below(8)) {
  case 0:
    bytes.erase(at, length);
    break;
  case 1:
    bytes.insert(at, bytes.substr(random.below(bytes.size()), length));
    break;
  case 2:
    bytes[at] = char(bytes[at] ^ char(1u << random.below(8)));
    break;
  case 3:
    bytes[at] = char(random.below(256));
    break;
  case 4:
    bytes[at] = "0123456789-.{}[]()<>\"':,=+*/%#@_x \n"[random.below(35)];
    break;
  case 5:
    overwriteWord(bytes, at, random);
    break;
  case 6:
    if (!replaceNumber(bytes, at, random)) {
      bytes.insert(at, pick(kEdgeNumbers, random));
    }
    break;
  default:
    bytes.resize(at);
    break;
  }
}

//===- JSON ---------------------------------------------------------------------------------===//

void collect(Json &value, std::vector<Json *> &nodes) {
  nodes.push_back(&value);
  if (value.is_object() || value.is_array()) {
    for (Json &child : value) {
      collect(child, nodes);
    }
  }
}

Json edgeValue(Random &random) {
  switch (random.below(9)) {
  case 0:
    return nullptr;
  case 1:
    return random.below(2) == 0;
  case 2:
    return Json::array();
  case 3:
    return Json::object();
  case 4:
    return std::string(pick(kEdgeNumbers, random));
  case 5:
    return random.below(2) == 0 ? 0.5 : 1e300;
  case 6:
    return uint64_t(pick(kEdgeWords, random));
  case 7:
    return int64_t(pick(kEdgeWords, random));
  default:
    return std::string(random.below(3) * 100, 'x');
  }
}

/// The object with one key renamed: keys of a Json object are constant.
Json renamed(const Json &object, Random &random) {
  const size_t chosen = random.below(object.size());
  Json out = Json::object();
  size_t index = 0;
  for (const auto &[key, value] : object.get_ref<const Json::object_t &>()) {
    out[index++ == chosen ? key + pick(std::array{"_", "x", " "}, random) : key] = value;
  }
  return out;
}

void changeContainer(Json &value, const Json &other, Random &random) {
  const size_t at = value.empty() ? 0 : random.below(value.size());
  // Iterators of an object cannot jump.
  const auto position = std::next(value.begin(), ptrdiff_t(at));
  switch (random.below(3)) {
  case 0:
    if (!value.empty()) {
      value.erase(position);
    }
    break;
  case 1:
    if (value.is_array()) {
      value.push_back(other);
    } else {
      value[std::to_string(random.below(4))] = other;
    }
    break;
  default:
    if (value.is_object() && !value.empty()) {
      value = renamed(value, random);
    } else if (!value.empty()) {
      value.push_back(value[at]);
    }
    break;
  }
}

void changeScalar(Json &value, Random &random) {
  if (value.is_number_integer() && random.below(2) == 0) {
    const int64_t step = random.between(-2, 2);
    value = int64_t(uint64_t(value.get<int64_t>()) + uint64_t(step));
  } else if (value.is_string() && random.below(2) == 0) {
    std::string text = value.get<std::string>();
    const size_t at = random.below(text.size() + 1);
    text.insert(at, 1, "0123456789-_./x"[random.below(15)]);
    value = text;
  } else {
    value = edgeValue(random);
  }
}

void changeDocument(Json &root, Random &random) {
  std::vector<Json *> nodes;
  collect(root, nodes);
  Json &value = *pick(nodes, random);
  // A copy: the chosen node may lie inside the changed one.
  const Json other = *pick(nodes, random);
  if (random.below(4) == 0) {
    value = other;
  } else if (value.is_structured() && random.below(4) != 0) {
    changeContainer(value, other, random);
  } else {
    changeScalar(value, random);
  }
}

} // namespace

std::string mutateBytes(std::string bytes, Random &random) {
  for (uint64_t edits = 1 + random.below(4); edits > 0 && !bytes.empty(); --edits) {
    mutateOnce(bytes, random);
  }
  return bytes;
}

std::string mutateJson(const std::string &text, Random &random) {
  Expected<Json> document = parseJson(text);
  if (!document.ok()) {
    return "";
  }
  for (uint64_t edits = 1 + random.below(3); edits > 0; --edits) {
    changeDocument(*document, random);
  }
  return document->dump(-1, ' ', false, Json::error_handler_t::replace);
}

} // namespace spyre::fuzz
