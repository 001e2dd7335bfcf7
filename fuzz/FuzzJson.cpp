//===- FuzzJson.cpp - any bytes into both JSON parsers --------------------------------------===//
//
// The parser of JsonDocument against the library's: the same texts are taken, with the same values,
// and the others are refused with the same words.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Json.h"

#include "FuzzInput.h"

using namespace spyre;

/// Walks the whole document with the reader; every path must be found again.
static void visit(const JsonReader &value) {
  if (value.isObject()) {
    const Expected<JsonMembers> members = value.eachMember();
    for (const auto [key, member] : *members) {
      SPYRE_CHECK(value.has(key) && value.field(key)->path() == member.path(), "keys are unique");
      visit(member);
    }
  } else if (value.isArray()) {
    const Expected<JsonElements> elements = value.eachElement();
    size_t count = 0;
    for (const JsonReader &element : *elements) {
      ++count;
      visit(element);
    }
    SPYRE_CHECK(count == value.size(), "an array has as many elements as it says");
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string text = fuzz::inputBytes(data, size);
  const Expected<Json> expected = parseJson(text);
  const Expected<JsonDocument> document = JsonDocument::parse(text);
  SPYRE_CHECK(document.ok() == expected.ok(), "both parsers take the same texts");
  if (!document.ok()) {
    fuzz::checkRefusal(document.status(), {9101});
    SPYRE_CHECK(document.status().text() == expected.status().text(), "with the same words");
    return 0;
  }
  const JsonReader root(*document);
  SPYRE_CHECK(root.json().dump() == expected->dump(), "both parsers read the same values");
  constexpr size_t kMaxVisitedBytes = 2048; // Looking up each key again takes quadratic time.
  if (size <= kMaxVisitedBytes) {
    visit(root);
  }
  return 0;
}
