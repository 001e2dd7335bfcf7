//===- Decision.cpp - the decision trace as JSON --------------------------------------------===//
#include "spyre/Base/Decision.h"

#include "spyre/Base/Json.h"

#include "fmt/compile.h"

#include <algorithm>

namespace spyre {

/// In the form of nlohmann's printer. Names come from user programs; a byte that is not UTF-8 must
/// not throw here.
static void appendString(std::string &out, const std::string &value) {
  const bool plain = std::all_of(value.begin(), value.end(), [](char c) {
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
  });
  if (plain) {
    out.append(1, '"').append(value).append(1, '"');
  } else {
    out += Json(value).dump(-1, ' ', false, Json::error_handler_t::replace);
  }
}

std::string DecisionTrace::toJson() const {
  // One object per line: people read traces with grep. Without a tree of values in between: every
  // compilation writes hundreds of lines.
  std::string text = "[";
  const char *separator = "\n{\"stage\":";
  for (const Entry &entry : entries) {
    appendString(text += separator, entry.stage);
    appendString(text += ",\"subject\":", entry.subject);
    text += entry.decision ? ",\"taken\":true" : ",\"taken\":false";
    appendString(text += ",\"reason\":", entry.decision.reason());
    appendString(text += ",\"detail\":", entry.decision.detail());
    if (!entry.evidence.location.empty()) {
      appendString(text += ",\"location\":", entry.evidence.location);
    }
    const char *before = ",\"numbers\":{";
    for (const auto &[name, value] : entry.evidence.numbers) {
      appendString(text += before, name);
      fmt::format_to(std::back_inserter(text), FMT_COMPILE(":{}"), value);
      before = ",";
    }
    text += entry.evidence.numbers.empty() ? "}" : "}}";
    separator = ",\n{\"stage\":";
  }
  return text + (entries.empty() ? "]\n" : "\n]\n");
}

} // namespace spyre
